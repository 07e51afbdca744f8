"""Thresholds: compare each value with an earlier one, and report a change of more than so many percent.

The rule that most continuous integration uses: compare with the previous run, with a run of a week ago, with the last
release. It is a baseline for the other methods, and the method of choice for metrics without noise. The guide page
``docs/guide/detect/threshold.md`` has the details.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from knickpoint.detect.measured_series import MeasuredSeries, drop_missing, safe_unit
from knickpoint.detect.method import Method, MethodKind, Value
from knickpoint.detect.steps import build_steps
from knickpoint.model.distribution import MAD
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection

# How unusual each change is among all changes of a series, in robust standard deviations.
#
# The scale is the median of absolute deviations, or their mean where most changes are equal (Iglewicz and Hoaglin
# 1993).


_MEAN: Final = 1.2533
"""Factors from the median and from the mean of absolute deviations to the standard deviation of normal noise."""

_FEWEST: Final = 14
"""How many changes define what is usual; with fewer, none is unusual."""


def usual_deviations(changes: Floats) -> Floats:
    """Return |change - median of all| in robust standard deviations: 0 where there are too few changes, ``nan`` kept.

    The scale is the median of the absolute deviations; where that is 0, because most changes are equal, their mean.
    """
    known = changes[~np.isnan(changes)]
    if known.size < _FEWEST:
        return np.where(np.isnan(changes), np.nan, 0.0)
    deviations = np.abs(changes - np.median(known))
    scale = MAD * float(np.nanmedian(deviations)) or _MEAN * float(np.nanmean(deviations))
    return deviations / scale if scale else deviations


def deviations_of(values: Floats, before: Floats) -> Floats:
    """Return the usual deviations of the changes from ``before`` (``nan`` where there is none) to ``values``."""
    unit = safe_unit(values)
    return usual_deviations(values / unit - before / unit)


PRESETS: Final[dict[str, dict[str, Value]]] = {
    "exact": {"change": 0.0, "absolute": 1.0},
    "github-action-benchmark": {"change": 1.0},
    "mozdetect": {"change": 0.0, "previous": False, "trailing": 7, "deviations": 6.0, "confirm": True},
}
"""``exact``: any change of 1 or more in the unit, for counts without noise; ``github-action-benchmark``: its 200 %;
``mozdetect``: the quick rule of Mozilla's detector for telemetry, over values instead of distributions."""

_ROUNDING: Final = 1e-12
"""A share that differs from the bound by less than this share of it equals it: 19.701 is 1 % less than 19.9."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What each value is compared with, ``nan`` for nothing, and whether that is the value right before."""

    name: str
    before: Floats
    adjacent: NDArray[np.bool_]

    @classmethod
    def of_places(cls, name: str, values: Floats, places: NDArray[np.int64]) -> _Comparison:
        """Compare with the values at ``places``, -1 for none."""
        before = np.where(places >= 0, values[np.maximum(places, 0)], np.nan)
        return cls(name, before, places == np.arange(-1, values.size - 1))


def _last_at_or_before(rows: NDArray[np.int64], latest: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places of the last measured values at or before the ``latest`` rows, -1 for none."""
    return np.searchsorted(rows, latest, side="right").astype(np.int64) - 1


def _comparisons(
    series: MeasuredSeries,
    *,
    previous: bool,
    ago: int,
    releases: tuple[int, ...],
    times: tuple[float, ...],
    age: float,
    trailing: int,
) -> list[_Comparison]:
    """Return the comparisons that the parameters ask for."""
    values, rows, count = series.values, series.rows, series.values.size
    comparisons: list[_Comparison] = []
    if previous:
        comparisons.append(_Comparison.of_places("the previous run", values, np.arange(-1, count - 1)))
    if ago:
        places = _last_at_or_before(rows, rows - min(ago, series.length))
        comparisons.append(_Comparison.of_places(f"the run {ago} commits ago", values, places))
    if times:
        when = np.asarray(times)[rows]
        places = np.searchsorted(when, when - age, side="right").astype(np.int64) - 1
        places = np.minimum(places, np.arange(-1, count - 1))
        comparisons.append(_Comparison.of_places(f"the run {age:g} ago", values, places))
    if releases:
        ordered = np.sort(np.asarray(releases, dtype=np.int64))
        latest = np.searchsorted(ordered, rows, side="left") - 1
        release = np.where(latest >= 0, ordered[np.maximum(latest, 0)], -1)
        places = np.where(latest >= 0, _last_at_or_before(rows, release), -1)
        comparisons.append(_Comparison.of_places("the last release", values, places))
    if trailing:
        before = np.full(count, np.nan)
        if count > trailing:
            before[trailing:] = np.median(sliding_window_view(values[:-1], trailing), axis=1)
        name = f"the median of the {trailing} runs before"
        comparisons.append(_Comparison(name, before, np.zeros(count, dtype=np.bool_)))
    return comparisons


@dataclass(frozen=True, slots=True)
class _Bounds:
    """What a change has to reach."""

    change: float
    absolute: float
    deviations: float
    confirm: bool


@dataclass(frozen=True, slots=True)
class _Changes:
    """The change at each value by one comparison.

    Attributes:
        comparison: what the values are compared with.
        share: |change| as a share of |value before|.
        size: |change| in the unit.
        deviations: |change| in usual deviations of such changes; infinite where they have no bound.
        direction: +1 or -1 where the change reaches all bounds, 0 elsewhere.
    """

    comparison: _Comparison
    share: Floats
    size: Floats
    deviations: Floats
    direction: NDArray[np.int8]

    @classmethod
    def of(cls, values: Floats, comparison: _Comparison, bounds: _Bounds) -> _Changes:
        with np.errstate(all="ignore"):
            change = values - comparison.before
            size = np.abs(change)
            share = np.where(size == 0, 0.0, size / np.abs(comparison.before))
            share = np.where(np.isclose(share, bounds.change, rtol=_ROUNDING, atol=0.0), bounds.change, share)
            unusual = bounds.deviations > 0
            deviations = deviations_of(values, comparison.before) if unusual else np.full(values.size, np.inf)
            large = (size > 0) & (share >= bounds.change) & (size >= bounds.absolute) & (deviations > bounds.deviations)
        return cls(comparison, share, size, deviations, np.where(large, np.sign(change), 0).astype(np.int8))

    def checks(self, place: int, bounds: _Bounds) -> list[Check]:
        """Compare the change with each bound; without any it only has to be a change."""
        share, size, deviations = (float(row[place]) for row in (self.share, self.size, self.deviations))
        name = f"change since {self.comparison.name}"
        checks = [Check(name, share, ">=", bounds.change, passed=share >= bounds.change)]
        if not bounds.change and not bounds.absolute:
            checks = [Check(name, share, ">", 0.0, passed=size > 0)]
        if bounds.absolute:
            checks.append(Check("the same in the unit", size, ">=", bounds.absolute, passed=size >= bounds.absolute))
        if bounds.deviations:
            most = bounds.deviations
            checks.append(Check("the same in usual deviations", deviations, ">", most, passed=deviations > most))
        return checks

    def is_confirmed(self, place: int) -> bool:
        """Return True if the next value lies as far to the same side."""
        return place + 1 < self.direction.size and bool(self.direction[place + 1] == self.direction[place])

    def began_earlier(self, place: int) -> bool:
        """Return True if the value before shows the change, too, compared with another run than ``place`` is."""
        same = bool(self.direction[place - 1] == self.direction[place])
        return same and not bool(self.comparison.adjacent[place])


def _begins(changes: _Changes, place: int, bounds: _Bounds) -> tuple[list[Check], str]:
    """Return checks for a large change that say whether it begins at ``place``, and why it does not, "" if it does."""
    if changes.began_earlier(place):
        previous = float(changes.share[place - 1])
        name = f"the commit before saw this since {changes.comparison.name}"
        return [Check(name, previous, "<", bounds.change, passed=False)], "the change began at an earlier commit"
    if not bounds.confirm:
        return [], ""
    confirmed = changes.is_confirmed(place)
    check = Check("values in a row so far off", 1.0 + confirmed, ">=", 2.0, passed=confirmed)
    return [check], "" if confirmed else "the next value does not confirm it"


def _candidate(row: int, place: int, by_comparison: list[_Changes], bounds: _Bounds) -> tuple[Candidate, float]:
    """Judge one place, accepted when some change begins there; also return the largest share of those that count."""
    checks: list[Check] = []
    reasons: list[str] = []
    begins = False
    strongest = 0.0
    for changes in by_comparison:
        if np.isnan(changes.comparison.before[place]):
            continue
        checks += changes.checks(place, bounds)
        if not changes.direction[place]:
            continue
        strongest = max(strongest, float(changes.share[place]))
        more, reason = _begins(changes, place, bounds)
        checks += more
        begins |= not reason
        if reason:
            reasons.append(reason)
    if not checks:
        checks.append(Check("runs to compare with", 0.0, ">=", 1.0, passed=False))
        reasons.append("nothing to compare with")
    reason = "" if begins else "; ".join(dict.fromkeys(reasons)) or "no change is large enough"
    return Candidate(row, begins, tuple(checks), reason), strongest


def _check_parameters(
    length: int, *, releases: tuple[int, ...], times: tuple[float, ...], **at_least_zero: float
) -> None:
    """Raise ``InputError`` where a parameter is out of its range, or does not fit a series of ``length`` values."""
    negative = next((name for name, value in at_least_zero.items() if not value >= 0), "")
    if negative:
        raise InputError(f"{negative} is {at_least_zero[negative]:g}", remedy="Give a number of 0 or more.")
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
        raise InputError("the times are not in order", remedy="Give them in ascending order, as the commits.")


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
    trailing: int = 0,
    deviations: float = 0.0,
    confirm: bool = False,
    candidates: bool = True,
) -> Detection:
    """Compare each value with earlier ones, and report where it differs by at least ``change``.

    A change that several commits in a row show against an older run is reported at the first of them.

    Args:
        values: 1-D, ``nan`` for missing.
        change: smallest |change|, as a share of |value before|: 0.05 is 5 %.
        absolute: smallest |change| in the unit of the series; all bounds have to hold.
        previous: compare with the previous measured value.
        ago: compare with the last value measured at least so many commits before, 0 for no such comparison.
        releases: indices of releases; compare with the last one before each value.
        times: a time for each value, in any unit; compare with the last value at least ``age`` older.
        age: how old the run to compare with is at least, in the unit of ``times``.
        trailing: compare with the median of so many measured values before, 0 for no such comparison.
        deviations: the change has to be further from the median of all such changes than so many of their robust
            standard deviations, 0 for no such bound. With fewer than 14 changes none passes.
        confirm: the next value has to be as far off, to the same side.
        candidates: whether to return the candidates, which takes more time.

    Raises:
        InputError: negative bounds, releases outside of the series, times that do not fit it, or nothing to compare
            with.
    """
    _check_parameters(
        values.size,
        releases=releases,
        times=times,
        change=change,
        absolute=absolute,
        ago=ago,
        age=age,
        trailing=trailing,
        deviations=deviations,
    )
    series = drop_missing(values)
    comparisons = _comparisons(
        series, previous=previous, ago=ago, releases=releases, times=times, age=age, trailing=trailing
    )
    if not comparisons:
        raise InputError("nothing to compare with", remedy="Set previous, ago, releases, times or trailing.")
    # Changes at every value, by every comparison.
    bounds = _Bounds(change, absolute, deviations, confirm)
    by_comparison = [_Changes.of(series.values, comparison, bounds) for comparison in comparisons]
    # Judgement: all places, or those only where some change is large enough.
    large = np.any([changes.direction != 0 for changes in by_comparison], axis=0)
    places = range(1, series.values.size) if candidates else np.flatnonzero(large).tolist()
    judged = [_candidate(int(series.rows[place]), place, by_comparison, bounds) for place in places]
    accepted = [(candidate, strength) for candidate, strength in judged if candidate.accepted]
    return Detection(
        "threshold",
        {},
        build_steps(
            values,
            [candidate.index for candidate, _ in accepted],
            method="threshold",
            scores=[strength for _, strength in accepted],
            evidence=[candidate.checks for candidate, _ in accepted],
        ),
        tuple(candidate for candidate, _ in judged) if candidates else (),
        {"comparisons": float(len(comparisons))},
    )


METHOD: Final = Method("threshold", MethodKind.SERIES, detect_threshold, presets=PRESETS, fewest=lambda _found: 2)
