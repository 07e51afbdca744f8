"""Modes: sort the values into discrete levels, ignore short visits to a level, and report the moves between levels.

The strategy of the Firefox OS performance team, for benchmarks that switch between a few levels. The modes are the best
partition of the values by exact k-means (``partition``), with as many modes as stand clearly apart. The guide page
``docs/guide/detect/modes.md`` has the rules.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import MeasuredSeries, check_series, drop_missing, safe_unit
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.steps import build_steps
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection
from knickpoint.native.partition import extend_partition

# Exact k-means of numbers: the best division of sorted values into 1, 2, … groups, by dynamic programming.
#
# The best division of the first n values into k groups ends with one group, before which the best division into k - 1
# groups stands. The start of that last group never decreases as n grows, so a layer takes O(n log n) (the kernel
# ``partition``).


Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Partition:
    """A division of numbers into groups, ascending.

    ``labels`` gives the group of each number in the order they came, ``means`` and ``counts`` are those of the
    groups, ``squares`` is the sum of squared distances of the numbers to the means of their groups.
    """

    labels: NDArray[np.int64]
    means: Floats
    counts: NDArray[np.int64]
    squares: float


def _walk_back(begins: list[Places], size: int) -> Places:
    """Return the begin of each group, ascending, of the division into ``len(begins) + 1`` groups."""
    bounds: list[int] = []
    last = size - 1
    for begin in reversed(begins):
        bounds.append(int(begin[last]))
        last = bounds[-1] - 1
    return np.array([0, *reversed(bounds)], dtype=np.int64)


def best_partitions(values: Floats, most: int) -> list[Partition]:
    """Return the best divisions of ``values`` into 1 to ``most`` groups, at most as many as there are distinct values.

    ``values`` is 1-D, finite, not empty. Takes O(most * n log n) time after sorting.
    """
    distinct, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    # Cumulative sums of the distinct values around their median, which keeps their digits.
    middle = np.median(distinct)
    centred = distinct - middle
    weight, value, square = (
        np.r_[0.0, np.cumsum(terms)] for terms in (counts.astype(np.float64), counts * centred, counts * centred**2)
    )
    # One group: the sum of squares around its mean, for the first 1, 2, … values.
    cost = np.maximum(square[1:] - value[1:] ** 2 / weight[1:], 0.0)
    cost[0] = 0.0
    begins: list[Places] = []
    partitions: list[Partition] = []
    for groups in range(1, min(most, distinct.size) + 1):
        # Recursion: one group more.
        if groups > 1:
            cost, begin = extend_partition(cost, weight, value, square)
            begins.append(begin)
        # Backtracking, and the statistics of each group.
        bounds = _walk_back(begins, distinct.size)
        members = np.add.reduceat(counts, bounds).astype(np.int64)
        means = np.add.reduceat(centred * counts, bounds) / members + middle
        labels = np.searchsorted(bounds, inverse, side="right").astype(np.int64) - 1
        alone = np.diff(np.r_[bounds, distinct.size]) == 1
        means = np.where(alone, distinct[bounds], means)
        partitions.append(Partition(labels, means, members, float(cost[-1])))
    return partitions


_FEWEST_A_MODE = 5
"""Values that there have to be for each mode."""

_STAY = 20
"""Equal values in a row, on average, that rounded noise does not reach."""

_MOST = 100
"""The largest number of modes that can be asked for."""

_ROUNDING = 1e-12
"""Spread below this share of the values is rounding."""


@dataclass(frozen=True, slots=True)
class Visit:
    """Consecutive values of one mode, from ``first`` to ``last``, both inclusive."""

    mode: int
    first: int
    last: int

    @property
    def length(self) -> int:
        """Number of values."""
        return self.last - self.first + 1


def _rounding_variance(values: NDArray[np.float64]) -> float:
    """Return the variance that rounding to a grid gives ``values``, whose finest difference counts as the grid.

    It is 0 where there are only two distinct values, or where values stay the same for long: then the values are levels
    without noise.
    """
    distinct = np.unique(values)
    moves = np.count_nonzero(np.diff(values))
    return float(np.diff(distinct).min()) ** 2 / 12 if distinct.size > 2 and moves * _STAY > values.size else 0.0


def find_modes(values: NDArray[np.float64], *, separation: float = 4.5, most: int = 6) -> tuple[Partition, float]:
    """Return the modes of ``values`` (finite, not empty) and the standard deviation within them.

    There are as many modes as possible, up to ``most`` and one for five values, such that neighbouring
    modes are at least ``separation`` standard deviations apart, and each division is the best there is of
    that many modes. Values on a grid (whole milliseconds) have at least the spread that rounding gives them.
    """
    scale = safe_unit(values)
    if scale != 1:
        partition, spread = find_modes(values / scale, separation=separation, most=most)
        squares = partition.squares * scale * scale
        return replace(partition, means=partition.means * scale, squares=squares), spread * scale
    chosen, spread = None, 0.0
    grid, rounding = _rounding_variance(values), _ROUNDING * float(np.abs(values).max())
    for partition in best_partitions(values, min(most, max(1, values.size // _FEWEST_A_MODE))):
        freedom = values.size - partition.means.size
        variance = partition.squares / freedom if freedom > 0 else 0.0
        within = max(math.sqrt(variance + grid), rounding)
        if chosen is None or np.diff(partition.means).min() >= separation * within:
            chosen, spread = partition, within
    assert chosen is not None
    return chosen, spread


def _absorb_enclosed(visits: list[Visit], longest: int) -> tuple[list[Visit], list[Visit]]:
    """Remove visits of at most ``longest`` values between visits to one other mode; also return the removed ones."""
    kept: list[Visit] = []
    ignored: list[Visit] = []
    place = 0
    while place < len(visits):
        visit = visits[place]
        after = visits[place + 1] if place + 1 < len(visits) else None
        if kept and after is not None and visit.length <= longest and kept[-1].mode == after.mode:
            kept[-1] = replace(kept[-1], last=after.last)
            ignored.append(visit)
            place += 2
        else:
            kept.append(visit)
            place += 1
    return kept, ignored


def _absorb_others(visits: list[Visit], longest: int, means: NDArray[np.float64]) -> tuple[list[Visit], list[Visit]]:
    """Merge visits of at most ``longest`` values into the neighbour of the nearer level, at equal levels the next."""
    kept: list[Visit] = []
    ignored: list[Visit] = []
    start = visits[0].first
    for place, visit in enumerate(visits):
        # A visit begins with the values that the visits before it passed on.
        grown = replace(visit, first=start)
        after = visits[place + 1] if place + 1 < len(visits) else None
        start = visit.last + 1
        if grown.length > longest or (after is None and not kept):
            kept.append(grown)
            continue
        ignored.append(visit)
        level = means[visit.mode]
        if kept and (after is None or abs(means[kept[-1].mode] - level) < abs(means[after.mode] - level)):
            kept[-1] = replace(kept[-1], last=visit.last)
        else:
            start = grown.first
    return kept, ignored


def _merged(visits: list[Visit]) -> list[Visit]:
    """Join neighbouring visits to one mode."""
    merged: list[Visit] = []
    for visit in visits:
        if merged and merged[-1].mode == visit.mode:
            merged[-1] = replace(merged[-1], last=visit.last)
        else:
            merged.append(visit)
    return merged


def _visits(labels: NDArray[np.int64]) -> list[Visit]:
    """Return the stretches of equal labels."""
    starts = np.flatnonzero(np.diff(labels, prepend=labels[0] - 1))
    stops = [*starts[1:].tolist(), labels.size]
    modes = labels[starts].tolist()
    return [Visit(mode, first, stop - 1) for mode, first, stop in zip(modes, starts.tolist(), stops, strict=True)]


def absorb_short_visits(
    labels: NDArray[np.int64], means: NDArray[np.float64], window: int
) -> tuple[list[Visit], list[Visit]]:
    """Return the visits that last, and those that are ignored; ``labels`` are the modes of the values in order.

    A window of ``window`` values does not show visits shorter than ``window - 1``. Those between visits to one other
    mode are merged into it, the shortest first. Then the others, at an end or between two modes, are merged into a
    neighbour.
    """
    visits = _visits(labels)
    longest = min(window - 2, labels.size)
    ignored: list[Visit] = []
    # Enclosed visits: merging two neighbours may enclose others, so repeat until nothing changes.
    for length in range(1, longest + 1):
        dropped = [visits[0]]
        while dropped:
            visits, dropped = _absorb_enclosed(visits, length)
            ignored += dropped
    # All other short visits.
    for length in range(1, longest + 1):
        dropped = [visits[0]]
        while dropped:
            visits, dropped = _absorb_others(visits, length, means)
            visits, enclosed = _absorb_enclosed(_merged(visits), length)
            dropped += enclosed
            ignored += dropped
    return visits, sorted(ignored, key=lambda visit: visit.first)


def flatten(
    values: NDArray[np.float64], *, window: int = 5, separation: float = 4.5, most: int = 6
) -> NDArray[np.float64]:
    """Return the series with each value replaced by the mean of the mode that it counts for, ``nan`` kept.

    Raises:
        SeriesError: the values are not one series of finite or missing numbers.
    """
    checked = check_series(values)
    series = drop_missing(checked)
    flat = np.full(checked.size, np.nan)
    if series.values.size:
        partition, _ = find_modes(series.values, separation=separation, most=most)
        for visit in absorb_short_visits(partition.labels, partition.means, window)[0]:
            flat[series.rows[visit.first : visit.last + 1]] = partition.means[visit.mode]
    return flat


def _relative(before: float, after: float) -> float:
    step = abs(after - before)
    if step == 0:
        return 0.0
    return step / abs(before) if before else math.inf


def _describe_move(
    visits: tuple[Visit, Visit], series: MeasuredSeries, partition: Partition, *, spread: float, minimum_effect: float
) -> tuple[Candidate, float]:
    """Describe the move from one visit to the next as a candidate; also return its size in standard deviations."""
    before, after = visits
    old, new = float(partition.means[before.mode]), float(partition.means[after.mode])
    strength = abs(new - old) / spread if spread > 0 else math.inf
    effect = _relative(old, new)
    checks = (
        Check("mode before", old),
        Check("mode after", new),
        Check("distance in standard deviations within modes", strength),
        Check("values in the new mode", float(after.length)),
        Check("relative change of the mode", effect, ">=", minimum_effect, passed=effect >= minimum_effect),
    )
    reason = "" if effect >= minimum_effect else f"the modes differ by {effect:.3g}, less than {minimum_effect:g}"
    return Candidate(int(series.rows[after.first]), not reason, checks, reason), strength


def _describe_ignored(visit: Visit, series: MeasuredSeries, partition: Partition, window: int) -> Candidate:
    """Describe an ignored visit where it begins, or where it ends if the series begins with it."""
    checks = (
        Check("mode visited", float(partition.means[visit.mode])),
        Check("values in it", float(visit.length), ">=", float(window - 1), passed=visit.length >= window - 1),
    )
    open_end = visit.last == series.values.size - 1
    reason = f"a visit of {visit.length}, shorter than {window - 1}" + ("; it may go on" if open_end else "")
    index = visit.first or visit.last + 1
    return Candidate(int(series.rows[index]), accepted=False, checks=checks, reason=reason)


def detect_modes(
    values: NDArray[np.float64],
    *,
    window: int = 5,
    separation: float = 4.5,
    most: int = 6,
    minimum_effect: float = 0.0,
) -> Detection:
    """Sort the values into modes, ignore visits shorter than ``window - 1``, and report the moves that remain.

    Args:
        values: 1-D, ``nan`` for missing; missing values neither lengthen nor interrupt a visit.
        window: visits shorter than ``window - 1`` values are ignored: 4 ignores two stray values, 3 one.
        separation: standard deviations within modes that two modes have to be apart. The halves of a single noisy
            level are 3 apart, so smaller numbers find modes that do not exist.
        most: the largest number of modes; there is at most one for five values.
        minimum_effect: smallest |change| from mode to mode, as a share of |mode before|.

    Raises:
        InputError: a window below 2, fewer than one mode, or a separation that is not positive.
    """
    if window < 2 or not 1 <= most <= _MOST or not separation > 0 or not minimum_effect >= 0:
        raise InputError(
            f"window is {window}, most {most}, separation {separation:g} and minimum_effect {minimum_effect:g}",
            remedy=f"Give a window of 2 or more, 1 to {_MOST} modes, a separation above 0 and an effect of 0 or more.",
        )
    series = drop_missing(values)
    if not series.values.size:
        return Detection.nothing("modes", {})
    # Modes, and the visits to them that last.
    partition, spread = find_modes(series.values, separation=separation, most=most)
    visits, ignored = absorb_short_visits(partition.labels, partition.means, window)
    # Moves from visit to visit are candidates; so are the ignored visits, which are rejected.
    moves = [
        _describe_move(pair, series, partition, spread=spread, minimum_effect=minimum_effect)
        for pair in pairwise(visits)
    ]
    accepted = [(candidate, strength) for candidate, strength in moves if candidate.accepted]
    candidates = [candidate for candidate, _ in moves]
    candidates += [_describe_ignored(visit, series, partition, window) for visit in ignored]
    facts = {"modes": float(partition.means.size), "standard deviation within modes": spread}
    facts |= {f"mode {number}": float(mean) for number, mean in enumerate(partition.means, start=1)}
    return Detection(
        "modes",
        {},
        build_steps(
            values,
            [candidate.index for candidate, _ in accepted],
            method="modes",
            scores=[strength for _, strength in accepted],
            evidence=[candidate.checks for candidate, _ in accepted],
        ),
        tuple(sorted(candidates, key=lambda candidate: candidate.index)),
        facts,
    )


METHOD: Final = Method("modes", MethodKind.SERIES, detect_modes, fewest=lambda found: 2 * int(found["window"]))
