"""Thresholds: compare each value with an earlier one, and report a change of more than so many percent.

What every continuous integration knows: against the previous run, against a run of a week ago, against the
last release. A baseline for the other methods, and the method of choice for metrics without noise. See
``docs/guide/detect/threshold.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from knickpoint.detect.measured_series import MeasuredSeries, drop_missing
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.methods.threshold.usual_changes import deviations_of
from knickpoint.detect.parameters import Value
from knickpoint.detect.steps import build_steps
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection

__all__ = ["METHOD", "PRESETS", "detect_threshold"]

PRESETS: Final[dict[str, dict[str, Value]]] = {
    "exact": {"change": 0.0, "absolute": 1.0},
    "github-action-benchmark": {"change": 1.0},
    "mozdetect": {"change": 0.0, "previous": False, "trailing": 7, "deviations": 6.0, "confirm": True},
}
"""``exact``: any change of 1 or more in the unit, for counts without noise; ``github-action-benchmark``: its 200 %;
``mozdetect``: the quick lane of Mozilla's detector for telemetry, over values instead of distributions."""

_ROUNDING: Final = 1e-12
"""A share that is this near to the bound, relative to it, is the bound: 19.701 is 1 % less than 19.9."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What each value is compared with, ``nan`` for nothing, and whether that is the value right before it."""

    name: str
    before: Floats
    adjacent: NDArray[np.bool_]

    @classmethod
    def of_places(cls, name: str, values: Floats, places: NDArray[np.int64]) -> _Comparison:
        """Compare with the values at these places, -1 for none."""
        before = np.where(places >= 0, values[np.maximum(places, 0)], np.nan)
        return cls(name, before, places == np.arange(-1, values.size - 1))


def _last_at_or_before(rows: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.searchsorted(rows, wanted, side="right").astype(np.int64) - 1


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
    values, rows, count = series.values, series.rows, series.values.size
    found: list[_Comparison] = []
    if previous:
        found.append(_Comparison.of_places("the previous run", values, np.arange(-1, count - 1)))
    if ago:
        places = _last_at_or_before(rows, rows - min(ago, series.length))
        found.append(_Comparison.of_places(f"the run {ago} commits ago", values, places))
    if times:
        when = np.asarray(times)[rows]
        places = np.searchsorted(when, when - age, side="right").astype(np.int64) - 1
        places = np.minimum(places, np.arange(-1, count - 1))
        found.append(_Comparison.of_places(f"the run {age:g} ago", values, places))
    if releases:
        at = np.sort(np.asarray(releases, dtype=np.int64))
        latest = np.searchsorted(at, rows, side="left") - 1
        release = np.where(latest >= 0, at[np.maximum(latest, 0)], -1)
        places = np.where(latest >= 0, _last_at_or_before(rows, release), -1)
        found.append(_Comparison.of_places("the last release", values, places))
    if trailing:
        before = np.full(count, np.nan)
        if count > trailing:
            before[trailing:] = np.median(sliding_window_view(values[:-1], trailing), axis=1)
        name = f"the median of the {trailing} runs before"
        found.append(_Comparison(name, before, np.zeros(count, dtype=np.bool_)))
    return found


@dataclass(frozen=True, slots=True)
class _Bounds:
    change: float
    absolute: float
    deviations: float
    confirm: bool


@dataclass(frozen=True, slots=True)
class _Look:
    """What one comparison sees at each place: how large the change is, and its direction where it is large enough."""

    comparison: _Comparison
    share: Floats
    size: Floats
    deviations: Floats
    way: NDArray[np.int8]

    @classmethod
    def at(cls, values: Floats, comparison: _Comparison, bounds: _Bounds) -> _Look:
        with np.errstate(all="ignore"):
            step = values - comparison.before
            size = np.abs(step)
            share = np.where(size == 0, 0.0, size / np.abs(comparison.before))
            share = np.where(np.isclose(share, bounds.change, rtol=_ROUNDING, atol=0.0), bounds.change, share)
            far = deviations_of(values, comparison.before) if bounds.deviations else np.full(values.size, np.inf)
            large = (size > 0) & (share >= bounds.change) & (size >= bounds.absolute) & (far > bounds.deviations)
        return cls(comparison, share, size, far, np.where(large, np.sign(step), 0).astype(np.int8))

    def checks(self, place: int, bounds: _Bounds) -> list[Check]:
        """Compare the change with each bound; without any it has to be one at all."""
        share, size, far = (float(each[place]) for each in (self.share, self.size, self.deviations))
        name = f"change since {self.comparison.name}"
        found = [Check(name, share, ">=", bounds.change, passed=share >= bounds.change)]
        if not bounds.change:
            found = [Check(name, share, ">", 0.0, passed=size > 0)] if not bounds.absolute else found
        if bounds.absolute:
            found.append(Check("the same in the unit", size, ">=", bounds.absolute, passed=size >= bounds.absolute))
        if bounds.deviations:
            most = bounds.deviations
            found.append(Check("the same in usual deviations", far, ">", most, passed=far > most))
        return found

    def confirmed(self, place: int) -> bool:
        """Say whether the next value lies as far to the same side."""
        return place + 1 < self.way.size and bool(self.way[place + 1] == self.way[place])

    def goes_on(self, place: int) -> bool:
        """Say whether the value before saw the change, too, against a run of its own."""
        return bool(self.way[place - 1] == self.way[place]) and not bool(self.comparison.adjacent[place])


def _candidate(row: int, place: int, looks: list[_Look], bounds: _Bounds) -> tuple[Candidate, float]:
    """Judge one place, accepted when a change begins here rather than goes on; also return the largest change."""
    checks: list[Check] = []
    reasons: list[str] = []
    begins = False
    strongest = 0.0
    for look in looks:
        if np.isnan(look.comparison.before[place]):
            continue
        checks += look.checks(place, bounds)
        if not look.way[place]:
            continue
        strongest = max(strongest, float(look.share[place]))
        if look.goes_on(place):
            former = float(look.share[place - 1])
            name = f"the commit before saw this since {look.comparison.name}"
            checks.append(Check(name, former, "<", bounds.change, passed=False))
            reasons.append("the change began at an earlier commit")
            continue
        confirmed = not bounds.confirm or look.confirmed(place)
        if bounds.confirm:
            checks.append(Check("values in a row so far off", 1.0 + confirmed, ">=", 2.0, passed=confirmed))
        if not confirmed:
            reasons.append("the next value does not confirm it")
        begins |= confirmed
    if not checks:
        checks.append(Check("runs to compare with", 0.0, ">=", 1.0, passed=False))
        reasons.append("nothing to compare with")
    reason = "" if begins else "; ".join(dict.fromkeys(reasons)) or "no change is large enough"
    return Candidate(row, begins, tuple(checks), reason), strongest


def _check(length: int, *, releases: tuple[int, ...], times: tuple[float, ...], **least: float) -> None:
    low = next((name for name, value in least.items() if not value >= 0), "")
    if low:
        raise InputError(f"{low} is {least[low]:g}", remedy="Give a number of 0 or more.")
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
    trailing: int = 0,
    deviations: float = 0.0,
    confirm: bool = False,
    candidates: bool = True,
) -> Detection:
    """Compare each value with earlier ones, and report where one differs by at least ``change``.

    A change that several commits in a row see against an older run is reported at the first of them.

    Args:
        values: 1-D, ``nan`` for missing.
        change: smallest |change|, as a share of |value before|: 0.05 is 5 %.
        absolute: smallest |change| in the unit of the series; all bounds have to hold.
        previous: compare with the previous measured value.
        ago: compare with the last value measured at least so many commits before, 0 for no such comparison.
        releases: indices of releases; compare with the last one before each value.
        times: a time for each value, in any unit; compare with the last value at least ``age`` older.
        age: in the unit of ``times``.
        trailing: compare with the median of so many measured values before, 0 for no such comparison.
        deviations: the change has to be further from the median of all changes of its kind than so many of their
            robust standard deviations, 0 for no such bound. It takes 14 changes to know them.
        confirm: the next value has to be as far off, to the same side.
        candidates: whether to give the candidates, too; without them it takes less time.

    Raises:
        InputError: negative bounds, releases outside of the series, times that do not fit it, or
            nothing to compare with.
    """
    _check(
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
    parameters: dict[str, float | int | str | bool | None] = {
        "change": change,
        "absolute": absolute,
        "previous": previous,
        "ago": ago,
        "releases": ",".join(map(str, releases)),
        "times": ",".join(map(str, times)),
        "age": age,
        "trailing": trailing,
        "deviations": deviations,
        "confirm": confirm,
    }
    series = drop_missing(values)
    comparisons = _comparisons(
        series, previous=previous, ago=ago, releases=releases, times=times, age=age, trailing=trailing
    )
    if not comparisons:
        raise InputError("nothing to compare with", remedy="Set previous, ago, releases, times or trailing.")
    bounds = _Bounds(change, absolute, deviations, confirm)
    looks = [_Look.at(series.values, comparison, bounds) for comparison in comparisons]
    large = np.any([look.way != 0 for look in looks], axis=0)
    places = range(1, series.values.size) if candidates else np.flatnonzero(large).tolist()
    judged = [_candidate(int(series.rows[place]), place, looks, bounds) for place in places]
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


METHOD: Final = Method("threshold", MethodKind.SERIES, detect_threshold, presets=PRESETS)
