"""Score what a detector reports against known truth: matching, precision and recall, false alarms, delay.

A reported place and a true one match when they lie at most 5 points apart, one to one, the nearest first. Figures are
over all series together. Changes weaker than one deviation of the noise count in the row "all"; in the other row they
are neither missed nor false.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from accuracy_series import Labelled

__all__ = [
    "INTERVALS",
    "REPEATS",
    "WATCHED",
    "Counts",
    "Detector",
    "Looks",
    "Online",
    "count",
    "f1",
    "false_per_1000",
    "interval",
    "looks",
    "match",
    "median_delay",
    "online",
    "within",
]

Array = NDArray[np.float64]
T = TypeVar("T")
Detector = Callable[[Sequence[Array], str], list[list[int]]]
"""Takes many series of one repository and its name, gives the places found in each."""

MARGIN: Final = 5
WATCHED: Final = 24
"""Commits after a change in which it may be found when the detector runs at every commit."""

_FIRST_RUN: Final = 30
"""Values of the first run along a series without a change."""

MEMORY: Final = 150
"""Values that a run at a commit gets."""

REPEATS: Final = (1, 3, 5)
"""Runs in a row that must make a report before it counts: at once, or when it stays."""


INTERVALS: Final = (1, 3, 5)
"""Commits from one run to the next."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The score of one series: hits, false reports, misses, and its length."""

    hits: int
    false: int
    missed: int
    points: int


def match(found: Sequence[int], places: Sequence[int], margin: int = MARGIN) -> list[tuple[int, int]]:
    """Return pairs of a found and a true place at most ``margin`` apart, one to one, the nearest first."""
    pairs = sorted((abs(f - p), f, p) for f in found for p in places if abs(f - p) <= margin)
    taken_found: set[int] = set()
    taken_places: set[int] = set()
    matched = []
    for _, index, place in pairs:
        if index not in taken_found and place not in taken_places:
            taken_found.add(index)
            taken_places.add(place)
            matched.append((index, place))
    return matched


def count(item: Labelled, found: Sequence[int], weakest: float = 0.0) -> Counts:
    """Count one series; changes weaker than ``weakest`` deviations are neither missed nor false."""
    wanted = [p for p, strength in zip(item.places, item.strengths, strict=True) if strength >= weakest]
    pairs = match(found, wanted)
    rest = [index for index in found if index not in {matched for matched, _ in pairs}]
    forgiven = len(match(rest, [p for p in item.places if p not in wanted]))
    return Counts(len(pairs), len(rest) - forgiven, len(wanted) - len(pairs), item.values.size)


def f1(counts: Sequence[Counts]) -> float:
    """Return the harmonic mean of precision and recall over all series."""
    hits = sum(count.hits for count in counts)
    wrong = sum(count.false + count.missed for count in counts)
    return 2 * hits / (2 * hits + wrong) if hits + wrong else 1.0


def interval(series: Sequence[T], figure: Callable[[Sequence[T]], float], rounds: int = 400) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a figure, whole series drawn with replacement."""
    rng = np.random.default_rng(1)
    drawn = [figure([series[row] for row in rng.integers(0, len(series), len(series))]) for _ in range(rounds)]
    low, high = np.quantile(drawn, [0.025, 0.975], method="nearest")
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Online:
    """Hold what runs at every commit gave, where a report counts once so many runs in a row have made it.

    ``delays`` has, for each clear change, the commits until it first counted (inf: never), ``false``, for each series
    without a change, the distinct false places and the commits watched.
    """

    delays: tuple[float, ...]
    false: tuple[tuple[int, int], ...]


def false_per_1000(series: Sequence[tuple[int, int]]) -> float:
    """Return distinct false places per 1,000 new commits, from pairs of both."""
    return 1000 * sum(alarms for alarms, _ in series) / max(1, sum(commits for _, commits in series))


def median_delay(delays: Sequence[float]) -> float:
    """Return the median of commits until a change was found."""
    return float(np.median(delays))


def within(commits: int) -> Callable[[Sequence[float]], float]:
    """Return what gives the share of changes found within so many commits."""
    return lambda delays: float(np.mean([delay <= commits for delay in delays]))


def _fit_to_watch(series: Sequence[Labelled]) -> tuple[list[Labelled], list[Labelled]]:
    """Select the clear changes with commits on both sides, and the series without a change that are long enough."""
    changed = [
        item
        for item in series
        if item.kind == "one"
        and item.strengths[0] >= 2
        and item.places[0] >= 30
        and item.values.size - item.places[0] >= WATCHED
    ]
    return changed, [item for item in series if item.kind == "zero" and item.values.size >= 80]


def _watched(series: Sequence[Labelled]) -> tuple[list[Labelled], list[Labelled]]:
    """Choose the series for runs at every commit: up to 120 clear changes and 50 series without a change."""
    rng = np.random.default_rng(7)
    changed, quiet = _fit_to_watch(series)
    chosen = sorted(rng.choice(len(changed), min(len(changed), 120), replace=False))
    silent = sorted(rng.choice(len(quiet), min(len(quiet), 50), replace=False))
    return [changed[row] for row in chosen], [quiet[row] for row in silent]


def _delay(runs: Sequence[Sequence[int]], firsts: Sequence[int], place: int, repeats: int) -> float:
    streak = 0
    for commits, (found, first) in enumerate(zip(runs, firsts, strict=True), start=1):
        streak = streak + 1 if any(abs(index + first - place) <= MARGIN for index in found) else 0
        if streak >= repeats:
            return float(commits)
    return float(np.inf)


def _distinct(runs: Sequence[Sequence[int]], repeats: int) -> int:
    """Count the places that so many runs in a row report, each run's being near one of the run before."""
    counted: list[int] = []
    before: dict[int, int] = {}
    for found in runs:
        now = {}
        for index in found:
            near = [other for other in before if abs(other - index) <= MARGIN]
            now[index] = 1 + (before[min(near, key=lambda other: abs(other - index))] if near else 0)
            if now[index] >= repeats and all(abs(index - other) > MARGIN for other in counted):
                counted.append(index)
        before = now
    return len(counted)


def _runs_after(item: Labelled, detect: Detector) -> tuple[list[list[int]], list[int]]:
    """Run a detector at each commit after the change of ``item``: the places found, and where each window begins."""
    place = item.places[0]
    firsts = [max(0, place + k - MEMORY) for k in range(1, WATCHED + 1)]
    windows = [item.values[first : place + k] for k, first in enumerate(firsts, start=1)]
    return detect(windows, item.source), firsts


def _runs_along(item: Labelled, detect: Detector) -> list[list[int]]:
    """Run a detector at each commit of a series without a change, from the 30th to the 120th."""
    return detect([item.values[:n] for n in range(_FIRST_RUN, min(item.values.size, 120) + 1)], item.source)


def online(series: Sequence[Labelled], detect: Detector) -> dict[int, Online]:
    """Run a detector again at every commit, after each clear change and along series without a change.

    By runs in a row.
    """
    changed, quiet = _watched(series)
    after = [(*_runs_after(item, detect), item.places[0]) for item in changed]
    along = [_runs_along(item, detect) for item in quiet]
    return {
        repeats: Online(
            tuple(_delay(runs, firsts, place, repeats) for runs, firsts, place in after),
            tuple((_distinct(runs, repeats), len(runs)) for runs in along),
        )
        for repeats in REPEATS
    }


@dataclass(frozen=True, slots=True)
class Looks:
    """Hold what runs after each so many commits gave, for each series and each offset of the first run.

    ``delays`` has the commits until a change was found (inf: never), ``first_sights`` the distinct false places and the
    commits watched, ``new`` those of them seen among the newest :data:`WATCHED` values, ``settled`` the false places
    that the last run still reports, with these commits.
    """

    delays: tuple[float, ...]
    first_sights: tuple[tuple[int, int], ...]
    new: tuple[tuple[int, int], ...]
    settled: tuple[tuple[int, int], ...]


def looks(series: Sequence[Labelled], detect: Detector) -> dict[int, Looks]:
    """Run a detector after each so many commits, over all series that are fit to watch; by the interval."""
    changed, quiet = _fit_to_watch(series)
    seen = []
    for item in changed:
        runs, firsts = _runs_after(item, detect)
        pairs = zip(runs, firsts, strict=True)
        seen.append([any(abs(index + first - item.places[0]) <= MARGIN for index in found) for found, first in pairs])
    along = [_runs_along(item, detect) for item in quiet]
    newest = [
        [[index for index in found if size - index <= WATCHED] for size, found in enumerate(runs, start=_FIRST_RUN)]
        for runs in along
    ]

    def sights(series: Sequence[Sequence[Sequence[int]]], interval: int) -> tuple[tuple[int, int], ...]:
        return tuple((_distinct(runs[offset::interval], 1), len(runs)) for runs in series for offset in range(interval))

    def delay(found: Sequence[bool], interval: int, offset: int) -> float:
        return next((k for k in range(offset + 1, WATCHED + 1, interval) if found[k - 1]), np.inf)

    return {
        interval: Looks(
            tuple(delay(found, interval, offset) for found in seen for offset in range(interval)),
            sights(along, interval),
            sights(newest, interval),
            tuple((len(runs[-1]), len(runs)) for runs in along),
        )
        for interval in INTERVALS
    }
