"""Changes from one regime to the next: a new mode, a vanished one, other shares, or all modes shifted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.patterns.modes.regimes import Regime, Visits
from knickpoint.native.modes import medians_of_modes
from knickpoint.native.regions import median_of

_ALIKE: Final = 3.0
"""Standard deviations within modes by which the shifts of the modes may differ, if all of them are one shift."""

_FURTHEST: Final = 4.5
"""The most that a value can say about the place of a change, as a logarithm."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Change:
    """What is different in a regime from the one before it.

    ``appeared`` and ``vanished`` count modes. ``shift`` is by how much all modes moved, None where they did not move
    together. ``moved`` is the share of the time that went from some modes to others: 1 where none is left.
    """

    appeared: int
    vanished: int
    moved: float
    shift: float | None


def levels_in(values: Floats, visits: Visits, regime: Regime) -> Floats:
    """Return the median of each mode of a regime, in that regime alone."""
    known, bounds, modes = visits.medians, (regime.first, regime.last + 1), list(regime.modes)
    if bounds not in known:
        inside = slice(*bounds)
        own = medians_of_modes(values[inside], visits.labels[inside], visits.levels.size)
        known[bounds] = np.where(np.isnan(own), visits.levels, own)
    return known[bounds][modes]


def levels_of_regimes(values: Floats, visits: Visits, regimes: Sequence[Regime]) -> list[tuple[float, int]]:
    """Return the level of each mode in each regime by itself, and how many values it has there."""
    return [
        (float(level), max(1, round(share * (regime.last - regime.first + 1))))
        for regime in regimes
        for level, share in zip(levels_in(values, visits, regime), regime.shares, strict=True)
    ]


def compare_regimes(values: Floats, visits: Visits, regimes: Sequence[Regime]) -> list[Change]:
    """Return the changes at the beginning of each regime but the first."""
    return [_change(values, visits, before, after) for before, after in pairwise(regimes)]


def _change(values: Floats, visits: Visits, before: Regime, after: Regime) -> Change:
    old, new = levels_in(values, visits, before), levels_in(values, visits, after)
    shared = set(before.modes) & set(after.modes)
    shares_before = dict(zip(before.modes, before.shares, strict=True))
    shares_after = dict(zip(after.modes, after.shares, strict=True))
    moved = sum(max(shares_after.get(mode, 0.0) - share, 0.0) for mode, share in shares_before.items())
    moved += sum(share for mode, share in shares_after.items() if mode not in shares_before)
    shift = None
    if before.modes != after.modes and old.size == new.size:
        shifts = new - old
        if float(np.ptp(shifts)) <= _ALIKE * visits.noise:
            shift = float(shifts.mean())
    elif not shared and (new.min() > old.max() or new.max() < old.min()):
        # All values left the old modes for one side.
        weighted = [float(np.dot(levels, regime.shares)) for levels, regime in ((old, before), (new, after))]
        shift = weighted[1] - weighted[0]
    return Change(len(set(after.modes) - shared), len(set(before.modes) - shared), moved, shift)


def relocate(values: Floats, visits: Visits, regimes: Sequence[Regime]) -> tuple[Regime, ...]:
    """Move the beginning of each regime to where the levels of both sides explain the values best.

    Modes of one regime may lie so near to modes of the next that a value got the label of the other one. Where both
    have the same modes, their shares tell the visits apart. Where the modes of one regime are among those of the other,
    the place stays.
    """
    moved = list(regimes)
    for number in range(1, len(moved)):
        before, after = moved[number - 1 : number + 1]
        if before.modes == after.modes and before.flips:
            first = _place_by_shares(visits, before, after)
        elif set(before.modes) <= set(after.modes) or set(before.modes) >= set(after.modes):
            continue
        else:
            first = _likeliest_place(values, visits, before, after)
        moved[number - 1], moved[number] = replace(before, last=first - 1), replace(after, first=first)
    return tuple(moved)


def _place_by_shares(visits: Visits, before: Regime, after: Regime) -> int:
    """Return the first visit of ``after`` if values at the same modes are drawn by the shares of each regime."""
    shares = np.log(np.array([before.shares, after.shares]))
    modes = np.searchsorted(before.modes, visits.labels[before.first : after.last + 1])
    ahead = np.append(0.0, np.cumsum((shares[0] - shares[1])[modes]))
    starts = visits.starts[(visits.starts > before.first) & (visits.starts <= after.last)]
    return int(starts[np.argmax(ahead[starts - before.first])])


def _likeliest_place(values: Floats, visits: Visits, before: Regime, after: Regime) -> int:
    """Return the first value of ``after``, at least one value behind the beginning of ``before``."""
    part = values[before.first : after.last + 1]
    costs = []
    for regime in (before, after):
        distances = (part[:, None] - levels_in(values, visits, regime)) / visits.noise
        costs.append(np.minimum(np.square(distances).min(axis=1) / 2, _FURTHEST))
    # Cost of all values, if the change lies before each place.
    total = np.cumsum(costs[0] - costs[1])[:-1]
    return before.first + 1 + int(total.argmin())


def without_modes(values: Floats, visits: Visits, regimes: Sequence[Regime], changes: Sequence[Change]) -> Floats:
    """Return the values with each mode replaced by the mean level of its regime, so only the noise is left around it.

    Regimes that differ by a shift of all modes get the same weights, so that their mean levels differ by the shift.
    """
    flat = values.copy()
    for group in _groups(regimes, changes):
        weights = sum(np.array(regime.shares) * (regime.last - regime.first + 1) for regime in group)
        for regime in group:
            levels, inside = levels_in(values, visits, regime), slice(regime.first, regime.last + 1)
            flat[inside] += float(np.average(levels, weights=weights)) - levels[_places(values, visits, regime, levels)]
    return flat


def _places(values: Floats, visits: Visits, regime: Regime, levels: Floats) -> NDArray[np.int64]:
    """Return the mode of a regime that each of its values belongs to, the nearest if it has a label of another one."""
    inside = slice(regime.first, regime.last + 1)
    modes, labels = np.array(regime.modes), visits.labels[inside]
    places = np.searchsorted(modes, labels).clip(max=modes.size - 1)
    nearest = np.abs(values[inside, None] - levels).argmin(axis=1)
    return np.where(modes[places] == labels, places, nearest).astype(np.int64)


def _groups(regimes: Sequence[Regime], changes: Sequence[Change]) -> list[list[Regime]]:
    """Return runs of regimes of as many modes each, between which all modes shifted."""
    groups = [[regimes[0]]]
    for regime, change in zip(regimes[1:], changes, strict=True):
        if change.shift is not None and len(regime.modes) == len(groups[-1][-1].modes):
            groups[-1].append(regime)
        else:
            groups.append([regime])
    return groups


# Find new levels that a flipping series visits rarely, for single values: the modes have none of them, and a lone value
# is an outlier.
#
# Values far from every mode that agree with each other are visits to a level. Where the series had that level all
# along, its visits lie anywhere; that all of them lie behind some place has a chance that falls with each visit.


_FAR: Final = 4.5
"""Standard deviations within modes from which on a value lies at none of them."""

_SEPARATION: Final = 3.0
"""Standard deviations between two such values that are visits to different levels."""

_FEWEST: Final = 4
"""Visits that show a level."""

_RARE: Final = 0.005
"""Chance from which on visits that begin late are not chance, for all levels of a stretch together."""

_OVER: Final = 0.01
"""Chance of the pause since the last visit below which the level was left again."""


@dataclass(frozen=True, slots=True)
class RareLevel:
    """A level visited from the measured value ``place`` on: its value, visits and values, of so many since then.

    ``chance`` is that of visits which begin as late, if the level was there all along.
    """

    place: int
    level: float
    visits: int
    values: int
    since: int
    chance: float

    @property
    def share(self) -> float:
        """The share of the values since it began."""
        return self.values / self.since


def find_rare_levels(values: Floats, visits: Visits, regime: Regime) -> Iterator[RareLevel]:
    """Yield the new levels of a ``regime`` that flips, in the order of their values."""
    part = values[regime.first : regime.last + 1]
    modes = visits.levels[list(regime.modes)]
    far = np.flatnonzero(np.abs(part[:, None] - modes).min(axis=1) > _FAR * visits.noise)
    levels = [each for each in _levels(part, far, visits.noise) if _count_visits(each) >= _FEWEST]
    for places in levels:
        count, first, last = _count_visits(places), int(places[0]), int(places[-1])
        since = part.size - first
        chance = len(levels) * (since / part.size) ** count
        pause = (1 - places.size / since) ** (part.size - 1 - last)
        if chance <= _RARE and pause >= _OVER:
            level = median_of(part[places])
            yield RareLevel(regime.first + first, level, count, places.size, since, chance)


def _levels(part: Floats, far: NDArray[np.int64], noise: float) -> Iterator[NDArray[np.int64]]:
    """Yield the places in ``far``, ascending, of the values that are visits to one level."""
    if not far.size:
        return
    ascending = far[np.argsort(part[far], kind="stable")]
    for group in np.split(ascending, np.flatnonzero(np.diff(part[ascending]) > _SEPARATION * noise) + 1):
        if float(np.ptp(part[group])) <= 2 * _FAR * noise:
            yield np.sort(group)


def _count_visits(places: NDArray[np.int64]) -> int:
    """Return the number of visits: values in a row are one."""
    return 1 + int(np.count_nonzero(np.diff(places) > 1))


def error_of_size(rare: RareLevel, centre: float) -> float:
    """Return the standard error of the mean of the values when the share of the level is known from few visits."""
    share = rare.share
    return abs(rare.level - centre) * math.sqrt(share * (1 - share) / rare.since)
