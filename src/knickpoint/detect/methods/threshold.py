"""Thresholds: compare each value with an earlier one, and report a change of more than so many percent.

What every continuous integration knows: against the previous run, against a run of a week ago, against the
last release. A baseline for the other methods, and the method of choice for metrics without noise. See
``docs/guide/detect/threshold.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.parameters import Value
from knickpoint.detect.regions import build_steps
from knickpoint.detect.series import Series, read_series
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection

__all__ = ["PRESETS", "detect_threshold"]

PRESETS: Final[dict[str, dict[str, Value]]] = {
    "exact": {"change": 0.0, "absolute": 1.0},
    "github-action-benchmark": {"change": 1.0},
}
"""``exact``: any change of 1 or more in the unit, for counts without noise; ``github-action-benchmark``: its 200 %."""


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Which earlier place each value is compared with, -1 for none."""

    name: str
    places: NDArray[np.int64]


def _last_at_or_before(rows: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.searchsorted(rows, wanted, side="right").astype(np.int64) - 1


def _comparisons(
    series: Series,
    *,
    previous: bool,
    ago: int,
    releases: tuple[int, ...],
    times: tuple[float, ...],
    age: float,
) -> list[_Comparison]:
    count = series.values.size
    found: list[_Comparison] = []
    if previous:
        found.append(_Comparison("the previous run", np.arange(-1, count - 1)))
    if ago:
        found.append(_Comparison(f"the run {ago} commits ago", _last_at_or_before(series.rows, series.rows - ago)))
    if times:
        when = np.asarray(times)[series.rows]
        places = np.searchsorted(when, when - age, side="right").astype(np.int64) - 1
        found.append(_Comparison(f"the run {age:g} ago", np.minimum(places, np.arange(-1, count - 1))))
    if releases:
        at = np.sort(np.asarray(releases, dtype=np.int64))
        latest = np.searchsorted(at, series.rows, side="left") - 1
        release = np.where(latest >= 0, at[np.maximum(latest, 0)], -1)
        places = np.where(latest >= 0, _last_at_or_before(series.rows, release), -1)
        found.append(_Comparison("the last release", places))
    return found


def _relative(before: float, after: float) -> float:
    step = after - before
    if step == 0:
        return 0.0
    return step / abs(before) if before else math.copysign(math.inf, step)


@dataclass(frozen=True, slots=True)
class _Bounds:
    change: float
    absolute: float

    def exceeds(self, before: float, after: float) -> bool:
        """Say whether the change is both large enough in share and in unit, and is one at all."""
        size = abs(after - before)
        return size > 0 and abs(_relative(before, after)) >= self.change and size >= self.absolute

    def checks(self, name: str, before: float, after: float) -> list[Check]:
        """Compare the change with both bounds; without any it has to be one at all."""
        share, size = abs(_relative(before, after)), abs(after - before)
        if not self.change and not self.absolute:
            return [Check(name, share, ">", 0.0, passed=size > 0)]
        found = [Check(name, share, ">=", self.change, passed=share >= self.change)]
        if self.absolute:
            found.append(Check("the same in the unit", size, ">=", self.absolute, passed=size >= self.absolute))
        return found


def _candidate(series: Series, place: int, comparisons: list[_Comparison], bounds: _Bounds) -> tuple[Candidate, float]:
    """Judge one place, accepted when a change begins here rather than goes on; also return the largest change."""
    value = float(series.values[place])
    checks: list[Check] = []
    begins = goes_on = False
    strongest = 0.0
    for comparison in comparisons:
        other = int(comparison.places[place])
        if other < 0:
            continue
        before = float(series.values[other])
        checks += bounds.checks(f"change since {comparison.name}", before, value)
        if not bounds.exceeds(before, value):
            continue
        strongest = max(strongest, abs(_relative(before, value)))
        again = place - 1
        former = int(comparison.places[again]) if again >= 0 else -1
        same = former >= 0 and bounds.exceeds(float(series.values[former]), float(series.values[again]))
        way = same and (series.values[again] > series.values[former]) == (value > before)
        if not way or other == again:
            begins = True
            continue
        goes_on = True
        share = abs(_relative(float(series.values[former]), float(series.values[again])))
        name = f"the commit before saw this since {comparison.name}"
        checks.append(Check(name, share, "<", bounds.change, passed=False))
    if not checks:
        checks.append(Check("runs to compare with", 0.0, ">=", 1.0, passed=False))
        reason = "nothing to compare with"
    elif begins:
        reason = ""
    elif goes_on:
        reason = "the change began at an earlier commit"
    else:
        reason = "no change is large enough"
    return Candidate(int(series.rows[place]), begins, tuple(checks), reason), strongest


def _worth_judging(series: Series, comparisons: list[_Comparison], bounds: _Bounds) -> NDArray[np.int64]:
    """Return the places where the change since some earlier run is large enough."""
    values = series.values
    large = np.zeros(values.size, dtype=np.bool_)
    for comparison in comparisons:
        before = values[np.maximum(comparison.places, 0)]
        with np.errstate(all="ignore"):
            size = np.abs(values - before)
            far = size >= bounds.change * np.abs(before) * (1 - 1e-9)
        large |= (comparison.places >= 0) & (size > 0) & (size >= bounds.absolute) & far
    return np.flatnonzero(large)


def _check(
    length: int,
    *,
    change: float,
    absolute: float,
    ago: int,
    age: float,
    releases: tuple[int, ...],
    times: tuple[float, ...],
) -> None:
    if not min(change, absolute, age) >= 0 or ago < 0:
        raise InputError(
            f"change is {change}, absolute {absolute}, ago {ago} and age {age}", remedy="Give numbers of 0 or more."
        )
    if any(not 0 <= release < length for release in releases):
        raise InputError(
            f"releases are {', '.join(map(str, releases))} in a series of {length} values",
            remedy="Give indices of the series, counting from 0.",
        )
    if times and len(times) != length:
        raise InputError(
            f"there are {len(times)} times for {length} values",
            remedy="Give one time for each value, missing ones too.",
        )
    if times and bool((np.diff(np.asarray(times)) < 0).any()):
        raise InputError("the times fall", remedy="Give them in the order of the commits, not falling.")


def detect_threshold(
    values: NDArray[np.float64],
    *,
    change: float = 0.05,
    absolute: float = 0.0,
    previous: bool = True,
    ago: int = 0,
    releases: tuple[int, ...] = (),
    times: tuple[float, ...] = (),
    age: float = 7.0,
    candidates: bool = True,
) -> Detection:
    """Compare each value with earlier ones, and report where one differs by at least ``change``.

    A change that several commits in a row see against an older run is reported at the first of them.

    Args:
        values: 1-D, ``nan`` for missing.
        change: smallest |change|, as a share of |value before|: 0.05 is 5 %.
        absolute: smallest |change| in the unit of the series; both have to hold.
        previous: compare with the previous measured value.
        ago: compare with the last value measured at least so many commits before, 0 for no such comparison.
        releases: indices of releases; compare with the last one before each value.
        times: a time for each value, in any unit; compare with the last value at least ``age`` older.
        age: in the unit of ``times``.
        candidates: whether to give the candidates, too; without them it takes less time.

    Raises:
        InputError: negative bounds, releases outside of the series, times that do not fit it, or
            nothing to compare with.
    """
    _check(values.size, change=change, absolute=absolute, ago=ago, age=age, releases=releases, times=times)
    parameters: dict[str, float | int | str | bool | None] = {
        "change": change,
        "absolute": absolute,
        "previous": previous,
        "ago": ago,
        "releases": ",".join(map(str, releases)),
        "times": ",".join(map(str, times)),
        "age": age,
    }
    series = read_series(values)
    comparisons = _comparisons(series, previous=previous, ago=ago, releases=releases, times=times, age=age)
    if not comparisons:
        raise InputError("nothing to compare with", remedy="Set previous, ago, releases or times.")
    bounds = _Bounds(change, absolute)
    places = range(1, series.values.size) if candidates else _worth_judging(series, comparisons, bounds).tolist()
    judged = [_candidate(series, place, comparisons, bounds) for place in places]
    found = [(candidate, strength) for candidate, strength in judged if candidate.accepted]
    return Detection(
        "threshold",
        parameters,
        build_steps(
            values,
            [candidate.index for candidate, _ in found],
            method="threshold",
            scores=[strength for _, strength in found],
            evidence=[candidate.checks for candidate, _ in found],
        ),
        tuple(candidate for candidate, _ in judged) if candidates else (),
        {"comparisons": float(len(comparisons))},
    )
