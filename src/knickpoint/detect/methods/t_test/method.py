"""The Talos t-test: compare the values before and after each commit, and blame the local maximum of t.

Mozilla's method for Talos and Perfherder. Near values weigh more than far ones, so that a change does not have an echo
a window away. After a detection the window before a place starts again at its shortest. ``windows`` computes t, and the
functions here decide which place is to blame. The guide page ``docs/guide/detect/t_test.md`` has the formulas.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from knickpoint.detect.measured_series import MeasuredSeries, drop_missing, safe_unit
from knickpoint.detect.method import Method, MethodKind, Value
from knickpoint.detect.steps import build_steps
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection

# The windows of the Talos t-test: their weighted means, their variances, and t between the two at each place.
#
# The window before a place is read from the place backwards, so that cumulative sums over one matrix of windows give
# the statistics for every length of the window at once.


Weights = Literal["triangular", "uniform"]

_ROUNDING: Final = 1e-12
"""Differences below this share of the values are rounding, not measurement."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sample:
    """Statistics of windows, one element each: weighted ``mean``, ``variance`` around it, ``count``, plain level."""

    mean: Floats
    variance: Floats
    count: Floats
    level: Floats


@dataclass(frozen=True, slots=True)
class _Sums:
    """Cumulative sums over the first 1, 2, … values of each window, of distances from its first value.

    Distances keep the digits of the variance whatever the level is. ``placed`` weighs each distance by its position.
    """

    origin: Floats
    plain: Floats
    placed: Floats
    squared: Floats

    @classmethod
    def of(cls, windows: Floats) -> _Sums:
        distance = windows - windows[:, :1]
        position = np.arange(windows.shape[1])
        return cls(
            windows[:, 0],
            np.cumsum(distance, axis=1),
            np.cumsum(distance * position, axis=1),
            np.cumsum(distance * distance, axis=1),
        )

    def first(self, lengths: NDArray[np.int64], weights: Weights) -> Sample:
        """Return the statistics of the first ``lengths[..., i]`` values of window i, a count of 0 where that is 0."""
        rows = np.arange(lengths.shape[-1])
        last = np.maximum(lengths - 1, 0)
        count = np.where(lengths > 0, lengths, np.nan)
        total = self.plain[rows, last]
        offset = total / count
        # The sum of (length - position) * distance over the sum of these weights.
        if weights == "triangular":
            weighted = (count * total - self.placed[rows, last]) / (count * (count + 1) / 2)
        else:
            weighted = offset
        # The sum of (distance - weighted)^2, multiplied out.
        squares = self.squared[rows, last] - 2 * weighted * total + count * weighted * weighted
        variance = np.where(lengths > 1, np.maximum(squares, 0.0) / np.maximum(count - 1, 1), 0.0)
        return Sample(self.origin + weighted, variance, lengths.astype(np.float64), self.origin + offset)


def weighted_sample(windows: Floats, lengths: NDArray[np.int64], weights: Weights) -> Sample:
    """Return the statistics of the first ``lengths[i]`` values of each row, the value nearest to the candidate first.

    Triangular weights fall from 1 to 1 / length. In the variance every value has the same weight, with divisor count -
    1.
    """
    return _Sums.of(windows).first(lengths, weights)


def weighted_commits(window: list[Floats], weights: Weights) -> Sample:
    """Return the statistics of one window of commits with any number of values each, the nearest commit first.

    Every value has the weight of its commit, so a commit that was measured five times counts five times. In the
    variance every value has the same weight.
    """
    if not window:
        empty = np.zeros(1)
        return Sample(empty, empty, empty, empty)
    values = np.concatenate(window)
    size = len(window)
    shares = (size - np.arange(size)) / size if weights == "triangular" else np.ones(size)
    weight = np.repeat(shares, [sample.size for sample in window])
    origin = values[0]
    distance = values - origin
    mean = float(weight @ distance) / float(weight.sum())
    variance = float(np.square(distance - mean).sum()) / max(values.size - 1, 1)
    return Sample(
        *(np.array([number]) for number in (origin + mean, variance, float(values.size), origin + distance.mean()))
    )


def t_statistic(before: Sample, after: Sample) -> Floats:
    """Return (after - before) in standard errors: infinite when the means differ without any variance, 0 when equal.

    An empty window gives 0.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        step = after.mean - before.mean
        scale = np.maximum(np.abs(after.mean), np.abs(before.mean))
        step = np.where(np.abs(step) <= _ROUNDING * scale, 0.0, step)
        error = np.sqrt(before.variance / before.count + after.variance / after.count)
        t = np.where(step == 0, 0.0, step / error)
    return np.where((before.count > 0) & (after.count > 0), t, 0.0)


def _effect(before: Floats, after: Floats) -> tuple[Floats, Floats]:
    """Return the size of the change of level, and its share of the level before."""
    size = np.abs(after - before)
    with np.errstate(divide="ignore", invalid="ignore"):
        return size, np.where(size == 0, 0.0, size / np.abs(before))


@dataclass(frozen=True, slots=True)
class Scan:
    """For every place: absolute t, values in its windows, size of the change and its share of the level before."""

    t: Floats
    values_before: Floats
    values_after: Floats
    size: Floats
    effect: Floats


@dataclass(frozen=True, slots=True)
class Windows:
    """The lengths of the windows, the t above which the window before starts again at ``back``, and the weights."""

    fore: int
    back: int
    longest_back: int
    threshold: float
    weights: Weights


def scan_values(values: Floats, windows: Windows) -> Scan:
    """Compute t at every place of ``values`` (1-D, finite), where each value is a commit of its own."""
    count = values.size
    fore, back, longest_back, weights = windows.fore, windows.back, windows.longest_back, windows.weights
    places = np.arange(count)
    # Windows before each place, read backwards, and windows from it on; nan beyond the ends.
    backward = sliding_window_view(np.r_[np.full(longest_back, np.nan), values], longest_back)[:count, ::-1]
    forward = sliding_window_view(np.r_[values, np.full(fore - 1, np.nan)], fore)
    # t for every length of the window before, a row a length.
    values_after = np.minimum(fore, count - places)
    after = weighted_sample(forward, values_after, weights)
    lengths = np.arange(back, longest_back + 1)[:, None]
    before = _Sums.of(backward).first(np.minimum(lengths, places), weights)
    table = t_statistic(before, after)
    # The length at each place: it grows with every place since the last detection.
    chosen = np.zeros(count, dtype=np.int64)
    since_detection = 0
    above = (np.abs(table) > windows.threshold).T.tolist()
    for place in range(1, count):
        row = min(max(since_detection, back), longest_back) - back
        chosen[place] = row
        since_detection = 0 if above[place][row] else since_detection + 1
    size, effect = _effect(before.level[chosen, places], after.level)
    return Scan(
        t=np.abs(table[chosen, places]),
        values_before=np.minimum(chosen + back, places).astype(np.float64),
        values_after=values_after.astype(np.float64),
        size=size,
        effect=effect,
    )


def _take(commits: Iterable[Floats], most: int) -> tuple[list[Floats], int]:
    """Return the first commits until they hold ``most`` values, and how many values they hold."""
    taken: list[Floats] = []
    held = 0
    for values in commits:
        if held >= most:
            break
        taken.append(values)
        held += values.size
    return taken, held


def scan_commits(samples: list[Floats], windows: Windows) -> Scan:
    """Compute t at every commit; ``samples`` are the values of each commit, one or more.

    The windows count values. The one after takes commits until it holds ``fore``. The one before takes commits until it
    holds ``longest_back``, but no more commits than since the last detection, and ``back`` at least.
    """
    count = len(samples)
    back, longest_back = windows.back, windows.longest_back
    t, size, effect, values_before, values_after = (np.zeros(count) for _ in range(5))
    since_detection = 0
    for place in range(count):
        furthest = max(0, place - min(max(since_detection, back), longest_back))
        before, values_before[place] = _take(reversed(samples[furthest:place]), longest_back)
        after, values_after[place] = _take(samples[place : place + windows.fore], windows.fore)
        old, new = weighted_commits(before, windows.weights), weighted_commits(after, windows.weights)
        t[place] = abs(float(t_statistic(old, new)[0]))
        changes, shares = _effect(old.level, new.level)
        size[place], effect[place] = float(changes[0]), float(shares[0])
        if place:
            since_detection = 0 if t[place] > windows.threshold else since_detection + 1
    return Scan(t, values_before, values_after, size, effect)


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
"""``perfherder``: with Perfherder's minimum effect of 2 %; ``graphs``: the plain form of 2009 to 2012."""


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What a place has to reach to be a step."""

    fore: int
    back: int
    threshold: float
    minimum_effect: float
    blame: Literal["peak", "first"]


def _plateau(t: NDArray[np.float64], place: int) -> tuple[int, int]:
    """Return the first and last place of the stretch of equal t around ``place``."""
    first = last = place
    while first > 0 and t[first - 1] == t[place]:
        first -= 1
    while last + 1 < t.size and t[last + 1] == t[place]:
        last += 1
    return first, last


def _compare_with_previous(scan: Scan, place: int, bounds: _Bounds) -> tuple[tuple[Check, ...], str]:
    """Return the check that the place before is below the threshold, and why ``place`` is not to blame, "" if it is."""
    previous = float(scan.t[place - 1])
    above = previous > bounds.threshold
    check = Check("t one before", previous, "<=", bounds.threshold, passed=not above)
    return (check,), "an earlier neighbour is above the threshold, too" if above else ""


def _compare_with_neighbours(scan: Scan, place: int, unit: float) -> tuple[tuple[Check, ...], str]:
    """Return the checks that t has its peak at ``place``, and why ``place`` is not to blame, "" if it is.

    Of neighbours with equal t, the one with the largest change is to blame, and the first of those.
    """
    here = float(scan.t[place])
    first, last = _plateau(scan.t, place)
    neighbours = [float(scan.t[other]) for other in (first - 1, last + 1) if 0 <= other < scan.t.size]
    largest_t = max(neighbours, default=0.0)
    checks: tuple[Check, ...] = (Check("t at the neighbours", largest_t, "<=", here, passed=largest_t <= here),)
    if largest_t > here:
        return checks, "t is larger at a neighbour"
    if first == last:
        return checks, ""
    sizes = scan.size[first : last + 1]
    chosen = first + int(np.argmax(sizes))
    largest, size = float(sizes.max()) * unit, float(scan.size[place]) * unit
    checks += (
        Check("largest change of those with this t", largest, "<=", size, passed=largest <= size),
        Check(
            "of these, places before this one",
            float(place - chosen if largest <= size else 0),
            "<=",
            0.0,
            passed=place == chosen or largest > size,
        ),
    )
    return checks, "" if place == chosen else "a neighbour with the same t changes more"


def _candidate(scan: Scan, row: int, place: int, bounds: _Bounds, unit: float) -> Candidate:
    """Judge one place: enough values on both sides, t, the neighbours, and the size of the change."""
    t, effect = float(scan.t[place]), float(scan.effect[place])
    before, after = float(scan.values_before[place]), float(scan.values_after[place])
    checks: tuple[Check, ...] = (
        Check("values before", before, ">=", float(bounds.back), passed=before >= bounds.back),
        Check("values from here on", after, ">=", float(bounds.fore), passed=after >= bounds.fore),
        Check("t", t, ">", bounds.threshold, passed=t > bounds.threshold),
    )
    failed = [check for check in checks if not check.passed]
    reason = "; ".join(f"{check.name} is {check.value:g}, not {check.relation} {check.bound:g}" for check in failed)
    if not reason:
        if bounds.blame == "first":
            more, reason = _compare_with_previous(scan, place, bounds)
        else:
            more, reason = _compare_with_neighbours(scan, place, unit)
        checks += more
    least = bounds.minimum_effect
    if least > 0:
        checks += (Check("relative change", effect, ">=", least, passed=effect >= least),)
        if not reason and effect < least:
            reason = f"the change is {effect:.3g}, less than {least:g} of the level before"
    return Candidate(row, not reason, checks, reason)


def _by_commit(series: MeasuredSeries, commits: tuple[int, ...]) -> tuple[list[NDArray[np.float64]], NDArray[np.int64]]:
    """Return the values of each measured commit, and the row of the first of them."""
    if len(commits) != series.length:
        raise InputError(
            f"there are {len(commits)} commits for {series.length} values",
            remedy="Give the commit of each value, missing ones too.",
        )
    if any(later < earlier for earlier, later in pairwise(commits)):
        raise InputError(
            "the commits are not in order", remedy="Give them in ascending order, equal for values of one commit."
        )
    measured = [commits[row] for row in series.rows.tolist()]
    starts = [place for place, commit in enumerate(measured) if not place or commit != measured[place - 1]]
    return np.split(series.values, starts[1:]) if starts else [], series.rows[starts]


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
    commits: tuple[int, ...] = (),
    candidates: bool = True,
) -> Detection:
    """Compare the values before each commit with those from it on, and report where t is largest.

    Args:
        values: 1-D, ``nan`` for missing; missing values are left out before windows are cut.
        fore: measured values from the candidate on.
        back: measured values before it, at least.
        longest_back: how many values before it to use as long as t stays below the threshold; after a t above it
            the window starts again at ``back``.
        threshold: t has to be larger. It is not a quantile: the method has no degrees of freedom and no p-value.
        minimum_effect: smallest |change| of the plain window means, as a share of |level before|.
        weights: ``triangular`` falls with the distance from the candidate; ``uniform`` is the older form.
        blame: of neighbours above the threshold report the ``peak`` of t, or the ``first`` as before 2013.
        commits: the commit of each value, as ascending numbers; values of one commit are samples of it, all count,
            and have one weight. By default each value is a commit.
        candidates: whether to return the candidates, which takes more time.

    Raises:
        InputError: windows that cannot be, or commits that do not fit the values.
    """
    if fore < 1 or back < 1 or longest_back < back:
        raise InputError(
            f"the windows are fore={fore}, back={back}, longest_back={longest_back}",
            remedy="Give at least 1 each, and longest_back not below back.",
        )
    if not (threshold >= 0 and minimum_effect >= 0):
        raise InputError(
            f"threshold is {threshold:g} and minimum_effect {minimum_effect:g}", remedy="Give numbers of 0 or more."
        )
    series = drop_missing(values)
    unit = safe_unit(series.values)
    samples, rows = _by_commit(series, commits) if commits else ([], series.rows)
    if rows.size < 2:
        return Detection.nothing("t_test", {})
    # t at every place.
    count = series.values.size
    windows = Windows(min(fore, count), min(back, count), min(longest_back, count), threshold, weights)
    if commits:
        scan = scan_commits([sample / unit for sample in samples], windows)
    else:
        scan = scan_values(series.values / unit, windows)
    # Judgement: all places, or those only that can be steps.
    places = np.arange(1, rows.size)
    if not candidates:
        enough = (scan.values_before >= back) & (scan.values_after >= fore) & (scan.t > threshold)
        places = places[enough[1:]]
    bounds = _Bounds(fore, back, threshold, minimum_effect, blame)
    judged = [(place, _candidate(scan, int(rows[place]), place, bounds, unit)) for place in places.tolist()]
    accepted = [(place, candidate) for place, candidate in judged if candidate.accepted]
    return Detection(
        "t_test",
        {},
        build_steps(
            values,
            [candidate.index for _, candidate in accepted],
            method="t_test",
            scores=[float(scan.t[place]) for place, _ in accepted],
            evidence=[candidate.checks for _, candidate in accepted],
        ),
        tuple(candidate for _, candidate in judged) if candidates else (),
        {"largest t": float(scan.t.max())},
    )


METHOD: Final = Method(
    "t_test",
    MethodKind.SERIES,
    detect_t_test,
    presets=PRESETS,
    fewest=lambda found: int(found["fore"]) + int(found["back"]),
)
