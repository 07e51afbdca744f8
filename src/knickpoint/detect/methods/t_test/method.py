"""The Talos t-test: compare the values before and after each commit, and blame the local maximum of t.

Mozilla's method for Talos and Perfherder. Near values weigh more than far ones, so that a change does not have an echo
a window away. After a detection the window before a place starts again at its shortest. ``windows`` computes t, and the
functions here decide which place is to blame. The guide page ``docs/guide/detect/t_test.md`` has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import MeasuredSeries, drop_missing, safe_unit
from knickpoint.detect.method import Method, MethodKind, Value
from knickpoint.detect.methods.t_test.windows import Scan, Weights, Windows, scan_commits, scan_values
from knickpoint.detect.steps import build_steps
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection

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
        threshold: t has to be larger. It is no quantile: the method has no degrees of freedom and no p-value.
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
