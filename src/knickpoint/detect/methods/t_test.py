"""The Talos t-test: compare the values before and after each commit, and blame the local maximum of t.

Near values weigh more than far ones, so that a change does not cast an echo a window away. See
``docs/guide/detect/t_test.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from knickpoint.detect.parameters import Value
from knickpoint.detect.regions import build_steps
from knickpoint.detect.series import Series, read_series
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection

__all__ = ["PRESETS", "Sample", "Weights", "detect_t_test", "t_statistic", "weigh"]

Weights = Literal["triangular", "uniform"]

PRESETS: Final[dict[str, dict[str, Value]]] = {
    "perfherder": {"minimum_effect": 0.02},
    "graphs": {
        "fore": 5,
        "back": 30,
        "longest_back": 30,
        "threshold": 9.0,
        "weights": "uniform",
        "blame": "first",
    },
}
"""``perfherder``: with its floor of 2 % on the effect; ``graphs``: the plain form of 2009 to 2012."""

_ROUNDING: Final = 1e-12
"""Differences below this share of the values are rounding, not measurement."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """Describe windows, one element a window: weighted ``mean``, ``variance`` around it, ``count``, plain ``level``."""

    mean: Floats
    variance: Floats
    count: Floats
    level: Floats


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums over the first 1, 2, … values of each window, as distances from its first value.

    That value is part of every sum, so the variance keeps its digits whatever the level.
    """

    origin: Floats
    plain: Floats
    placed: Floats
    squared: Floats

    @classmethod
    def of(cls, windows: Floats) -> _Sums:
        distance = windows - windows[:, :1]
        place = np.arange(windows.shape[1])
        return cls(
            windows[:, 0],
            np.cumsum(distance, axis=1),
            np.cumsum(distance * place, axis=1),
            np.cumsum(distance * distance, axis=1),
        )

    def first(self, lengths: NDArray[np.int64], weights: Weights) -> Sample:
        """Describe the first ``lengths[i]`` values of each window; none of them where that is 0."""
        rows = np.arange(lengths.size)
        last = np.maximum(lengths - 1, 0)
        count = np.where(lengths > 0, lengths, np.nan).astype(np.float64)
        total = self.plain[rows, last]
        offset = total / count
        if weights == "triangular":
            weighted = (count * total - self.placed[rows, last]) / (count * (count + 1) / 2)
        else:
            weighted = offset
        squares = self.squared[rows, last] - 2 * weighted * total + count * weighted * weighted
        variance = np.where(lengths > 1, np.maximum(squares, 0.0) / np.maximum(count - 1, 1), 0.0)
        return Sample(self.origin + weighted, variance, lengths.astype(np.float64), self.origin + offset)


def weigh(windows: Floats, lengths: NDArray[np.int64], weights: Weights) -> Sample:
    """Describe the first ``lengths[i]`` values of each row, the value nearest to the candidate first.

    Triangular weights fall from 1 to 1 / length. The variance takes every value as one, with divisor count - 1.
    """
    return _Sums.of(windows).first(lengths, weights)


def t_statistic(before: Sample, after: Sample) -> Floats:
    """Return (after - before) in standard errors: infinite when nothing varies but the means differ, 0 when equal.

    An empty window gives 0.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        step = after.mean - before.mean
        scale = np.maximum(np.abs(after.mean), np.abs(before.mean))
        step = np.where(np.abs(step) <= _ROUNDING * scale, 0.0, step)
        error = np.sqrt(before.variance / before.count + after.variance / after.count)
        t = np.where(step == 0, 0.0, step / error)
    return np.where((before.count > 0) & (after.count > 0), t, 0.0)


@dataclass(frozen=True, slots=True)
class _Scan:
    """|t| of every place, the lengths of the windows chosen for it, and the change of level there."""

    strength: list[float]
    back: list[float]
    ahead: list[float]
    size: list[float]
    effect: list[float]


def _scan(values: Floats, *, fore: int, back: int, longest_back: int, threshold: float, weights: Weights) -> _Scan:
    count = values.size
    places = np.arange(count)
    behind = sliding_window_view(np.r_[np.full(longest_back, np.nan), values], longest_back)[:count, ::-1]
    forward = sliding_window_view(np.r_[values, np.full(fore - 1, np.nan)], fore)
    ahead = np.minimum(fore, count - places)
    after = weigh(forward, ahead, weights)
    widths = range(back, longest_back + 1)
    sums = _Sums.of(behind)
    samples = [sums.first(np.minimum(width, places), weights) for width in widths]
    table = np.array([t_statistic(sample, after) for sample in samples])
    chosen = np.zeros(count, dtype=np.int64)
    calm = 0
    over = (np.abs(table) > threshold).tolist()
    for place in range(1, count):
        choice = min(max(calm, back), longest_back) - back
        chosen[place] = choice
        calm = 0 if over[choice][place] else calm + 1
    before = np.array([sample.level for sample in samples])[chosen, places]
    size = np.abs(after.level - before)
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(size == 0, 0.0, size / np.abs(before))
    return _Scan(
        strength=np.abs(table[chosen, places]).tolist(),
        back=np.minimum(chosen + back, places).astype(np.float64).tolist(),
        ahead=ahead.astype(np.float64).tolist(),
        size=size.tolist(),
        effect=effect.tolist(),
    )


def _plateau(strength: list[float], place: int) -> tuple[int, int]:
    """Return the first and last place of the run of equal strengths around ``place``."""
    first = last = place
    while first > 0 and strength[first - 1] == strength[place]:
        first -= 1
    while last + 1 < len(strength) and strength[last + 1] == strength[place]:
        last += 1
    return first, last


def _to_blame(scan: _Scan, place: int, threshold: float, blame: Literal["peak", "first"]) -> str:
    """Say why ``place`` is not the one to blame, "" if it is."""
    strength = scan.strength
    if blame == "first":
        earlier = place > 0 and strength[place - 1] > threshold
        return "an earlier neighbour is above the threshold, too" if earlier else ""
    first, last = _plateau(strength, place)
    for neighbour in (first - 1, last + 1):
        if 0 <= neighbour < len(strength) and strength[neighbour] > strength[place]:
            return "t is larger at a neighbour"
    most = max(range(first, last + 1), key=lambda each: (scan.size[each], -each))
    return "" if place == most else "a neighbour with the same t changes more"


def _candidate(
    scan: _Scan,
    series: Series,
    place: int,
    *,
    fore: int,
    back: int,
    threshold: float,
    minimum_effect: float,
    blame: Literal["peak", "first"],
) -> Candidate:
    t, effect = scan.strength[place], scan.effect[place]
    behind, ahead = scan.back[place], scan.ahead[place]
    checks: tuple[Check, ...] = (
        Check("values before", behind, ">=", float(back), passed=behind >= back),
        Check("values from here on", ahead, ">=", float(fore), passed=ahead >= fore),
        Check("t", t, ">", threshold, passed=t > threshold),
    )
    missed = "; ".join(
        [
            f"{check.name} is {check.value:g}, not {check.relation} {check.bound:g}"
            for check in checks
            if not check.passed
        ]
    )
    reason = missed or _to_blame(scan, place, threshold, blame)
    if minimum_effect > 0:
        checks += (Check("relative change", effect, ">=", minimum_effect, passed=effect >= minimum_effect),)
        if not reason and effect < minimum_effect:
            reason = f"the change is {effect:.3g}, less than {minimum_effect:g} of the level before"
    return Candidate(int(series.rows[place]), not reason, checks, reason)


def detect_t_test(
    values: NDArray[np.float64],
    *,
    fore: int = 12,
    back: int = 12,
    longest_back: int = 24,
    threshold: float = 7.0,
    minimum_effect: float = 0.0,
    weights: Weights = "triangular",
    blame: Literal["peak", "first"] = "peak",
) -> Detection:
    """Compare the values before each commit with those from it on, and report where t is largest.

    Args:
        values: 1-D, ``nan`` for missing; missing values are left out before windows are cut.
        fore: measured values from the candidate on.
        back: measured values before it, at least.
        longest_back: how many values before it to use while nothing happens; after a t above the threshold
            the window begins again at ``back``.
        threshold: t has to be larger. It is no quantile: there are no degrees of freedom and no p-value.
        minimum_effect: smallest |change| of the plain window means, as a share of |level before|.
        weights: ``triangular`` falls with the distance from the candidate; ``uniform`` is the older form.
        blame: of neighbours above the threshold report the ``peak`` of t, or the ``first`` as before 2013.

    Raises:
        InputError: windows that cannot be.
    """
    if fore < 1 or back < 1 or longest_back < back:
        raise InputError(
            f"the windows are fore={fore}, back={back}, longest_back={longest_back}",
            remedy="Give at least 1 each, and longest_back not below back.",
        )
    parameters: dict[str, float | int | str | bool | None] = {
        "fore": fore,
        "back": back,
        "longest_back": longest_back,
        "threshold": threshold,
        "minimum_effect": minimum_effect,
        "weights": weights,
        "blame": blame,
    }
    series = read_series(values)
    if series.values.size < 2:
        return Detection.nothing("t_test", parameters)
    scan = _scan(series.values, fore=fore, back=back, longest_back=longest_back, threshold=threshold, weights=weights)
    candidates = tuple(
        _candidate(
            scan, series, place, fore=fore, back=back, threshold=threshold, minimum_effect=minimum_effect, blame=blame
        )
        for place in range(1, series.values.size)
    )
    found = [place for place, candidate in enumerate(candidates, start=1) if candidate.accepted]
    return Detection(
        "t_test",
        parameters,
        build_steps(
            values,
            [int(series.rows[place]) for place in found],
            method="t_test",
            scores=[scan.strength[place] for place in found],
            evidence=[candidates[place - 1].checks for place in found],
        ),
        candidates,
        {"largest t": max(scan.strength)},
    )
