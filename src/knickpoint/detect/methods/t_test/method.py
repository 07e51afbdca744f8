"""The Talos t-test: compare the values before and after each commit, and blame the local maximum of t.

Near values weigh more than far ones, so that a change does not cast an echo a window away. See
``docs/guide/detect/t_test.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import MeasuredSeries, drop_missing, safe_unit
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.methods.t_test.windows import Scan, Weights, Windows, scan_commits, scan_values
from knickpoint.detect.parameters import Value
from knickpoint.detect.steps import build_steps
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection

__all__ = ["METHOD", "PRESETS", "detect_t_test"]

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


@dataclass(frozen=True, slots=True)
class _Bounds:
    fore: int
    back: int
    threshold: float
    minimum_effect: float
    blame: Literal["peak", "first"]


def _plateau(strength: NDArray[np.float64], place: int) -> tuple[int, int]:
    """Return the first and last place of the run of equal strengths around ``place``."""
    first = last = place
    while first > 0 and strength[first - 1] == strength[place]:
        first -= 1
    while last + 1 < strength.size and strength[last + 1] == strength[place]:
        last += 1
    return first, last


def _beside(scan: Scan, place: int, bounds: _Bounds, unit: float) -> tuple[tuple[Check, ...], str]:
    """Compare ``place`` with its neighbours: is it the one to blame? Return the checks, and why it is not."""
    strength = scan.strength
    here = float(strength[place])
    if bounds.blame == "first":
        former = float(strength[place - 1])
        earlier = former > bounds.threshold
        return (
            (Check("t one before", former, "<=", bounds.threshold, passed=not earlier),),
            "an earlier neighbour is above the threshold, too" if earlier else "",
        )
    first, last = _plateau(strength, place)
    beside = [float(strength[other]) for other in (first - 1, last + 1) if 0 <= other < strength.size]
    most = max(beside, default=0.0)
    checks: tuple[Check, ...] = (Check("t at the neighbours", most, "<=", here, passed=most <= here),)
    if most > here:
        return checks, "t is larger at a neighbour"
    if first == last:
        return checks, ""
    among = scan.size[first : last + 1]
    chosen = first + int(np.argmax(among))
    larger, own = float(among.max()) * unit, float(scan.size[place]) * unit
    checks += (
        Check("largest change of those with this t", larger, "<=", own, passed=larger <= own),
        Check(
            "of these, places before this one",
            float(place - chosen if larger <= own else 0),
            "<=",
            0.0,
            passed=place == chosen or larger > own,
        ),
    )
    return checks, "" if place == chosen else "a neighbour with the same t changes more"


def _candidate(scan: Scan, row: int, place: int, bounds: _Bounds, unit: float) -> Candidate:
    t, effect = float(scan.strength[place]), float(scan.effect[place])
    behind, ahead = float(scan.back[place]), float(scan.ahead[place])
    checks: tuple[Check, ...] = (
        Check("values before", behind, ">=", float(bounds.back), passed=behind >= bounds.back),
        Check("values from here on", ahead, ">=", float(bounds.fore), passed=ahead >= bounds.fore),
        Check("t", t, ">", bounds.threshold, passed=t > bounds.threshold),
    )
    reason = "; ".join(
        [
            f"{check.name} is {check.value:g}, not {check.relation} {check.bound:g}"
            for check in checks
            if not check.passed
        ]
    )
    if not reason:
        beside, reason = _beside(scan, place, bounds, unit)
        checks += beside
    least = bounds.minimum_effect
    if least > 0:
        checks += (Check("relative change", effect, ">=", least, passed=effect >= least),)
        if not reason and effect < least:
            reason = f"the change is {effect:.3g}, less than {least:g} of the level before"
    return Candidate(row, not reason, checks, reason)


def _by_commit(series: MeasuredSeries, commits: tuple[int, ...]) -> tuple[list[NDArray[np.float64]], NDArray[np.int64]]:
    """Return the values of each commit that has some, and the row of the first of them."""
    if len(commits) != series.length:
        raise InputError(
            f"there are {len(commits)} commits for {series.length} values",
            remedy="Give the commit of each value, missing ones too.",
        )
    if any(later < earlier for earlier, later in pairwise(commits)):
        raise InputError("the commits fall", remedy="Give them in their order, equal for values of one commit.")
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
        longest_back: how many values before it to use while nothing happens; after a t above the threshold
            the window begins again at ``back``.
        threshold: t has to be larger. It is no quantile: there are no degrees of freedom and no p-value.
        minimum_effect: smallest |change| of the plain window means, as a share of |level before|.
        weights: ``triangular`` falls with the distance from the candidate; ``uniform`` is the older form.
        blame: of neighbours above the threshold report the ``peak`` of t, or the ``first`` as before 2013.
        commits: the commit of each value, as a number that does not fall; values of one commit are samples of
            it, count all, and have one weight. By default each value is a commit.
        candidates: whether to give the candidates, too; without them it takes less time.

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
    parameters: dict[str, float | int | str | bool | None] = {
        "fore": fore,
        "back": back,
        "longest_back": longest_back,
        "threshold": threshold,
        "minimum_effect": minimum_effect,
        "weights": weights,
        "blame": blame,
        "commits": ",".join(map(str, commits)),
    }
    series = drop_missing(values)
    unit = safe_unit(series.values)
    samples, rows = _by_commit(series, commits) if commits else ([], series.rows)
    if rows.size < 2:
        return Detection.nothing("t_test", parameters)
    most = series.values.size
    windows = Windows(min(fore, most), min(back, most), min(longest_back, most), threshold, weights)
    if commits:
        scan = scan_commits([each / unit for each in samples], windows)
    else:
        scan = scan_values(series.values / unit, windows)
    bounds = _Bounds(fore, back, threshold, minimum_effect, blame)
    places = np.arange(1, rows.size)
    if not candidates:
        enough = (scan.back >= back) & (scan.ahead >= fore) & (scan.strength > threshold)
        places = places[enough[1:]]
    judged = [(place, _candidate(scan, int(rows[place]), place, bounds, unit)) for place in places.tolist()]
    found = [(place, candidate) for place, candidate in judged if candidate.accepted]
    return Detection(
        "t_test",
        parameters,
        build_steps(
            values,
            [candidate.index for _, candidate in found],
            method="t_test",
            scores=[float(scan.strength[place]) for place, _ in found],
            evidence=[candidate.checks for _, candidate in found],
        ),
        tuple(candidate for _, candidate in judged) if candidates else (),
        {"largest t": float(scan.strength.max())},
    )


METHOD: Final = Method("t_test", MethodKind.SERIES, detect_t_test, presets=PRESETS)
