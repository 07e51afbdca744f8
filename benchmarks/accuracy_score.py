"""Score what a detector reports against known truth: matching, precision and recall, false alarms, delay.

A reported place and a true one match when they lie at most 5 points apart, one to one, the nearest first. Figures are
over all series together. Changes weaker than one deviation of the noise count in the row "all"; in the other row they
are neither missed nor false.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from accuracy_series import Labelled

__all__ = ["Counts", "Detector", "Online", "count", "f1", "interval", "match", "online"]

Array = NDArray[np.float64]
Detector = Callable[[Sequence[Array], str], list[list[int]]]
"""Takes many series of one repository and its name, gives the places found in each."""

MARGIN: Final = 5
WATCHED: Final = 24
"""Commits after a change in which it may be found when the detector runs at every commit."""

MEMORY: Final = 150
"""Values that a run at a commit sees."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Hold the outcome of one series: hits, false reports, misses, and its length."""

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
    for _, one, other in pairs:
        if one not in taken_found and other not in taken_places:
            taken_found.add(one)
            taken_places.add(other)
            matched.append((one, other))
    return matched


def count(item: Labelled, found: Sequence[int], weakest: float = 0.0) -> Counts:
    """Count one series; changes weaker than ``weakest`` deviations are neither missed nor false."""
    wanted = [p for p, strength in zip(item.places, item.strengths, strict=True) if strength >= weakest]
    pairs = match(found, wanted)
    rest = [f for f in found if f not in {one for one, _ in pairs}]
    forgiven = len(match(rest, [p for p in item.places if p not in wanted]))
    return Counts(len(pairs), len(rest) - forgiven, len(wanted) - len(pairs), item.values.size)


def f1(counts: Sequence[Counts]) -> float:
    """Return the harmonic mean of precision and recall over all series."""
    hits = sum(one.hits for one in counts)
    wrong = sum(one.false + one.missed for one in counts)
    return 2 * hits / (2 * hits + wrong) if hits + wrong else 1.0


def interval(
    counts: Sequence[Counts], figure: Callable[[Sequence[Counts]], float], rounds: int = 400
) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a figure, whole series drawn with replacement."""
    rng = np.random.default_rng(1)
    drawn = [figure([counts[row] for row in rng.integers(0, len(counts), len(counts))]) for _ in range(rounds)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Online:
    """Hold what runs at every commit gave: commits until each change was first found (inf: never), and false reports.

    ``false`` has, for each series without a change, the distinct false places and the commits watched.
    """

    delays: tuple[float, ...]
    false: tuple[tuple[int, int], ...]

    @property
    def false_per_1000(self) -> float:
        """Distinct false places per 1,000 new commits."""
        return 1000 * sum(one for one, _ in self.false) / max(1, sum(commits for _, commits in self.false))

    def within(self, commits: int) -> float:
        """Return the share of changes found within so many commits."""
        return float(np.mean([delay <= commits for delay in self.delays]))


def _watched(series: Sequence[Labelled]) -> tuple[list[Labelled], list[Labelled]]:
    """Choose what the runs at every commit see: up to 120 clear changes and 50 series without one."""
    rng = np.random.default_rng(7)
    changed = [
        item
        for item in series
        if item.kind == "one"
        and item.strengths[0] >= 2
        and item.places[0] >= 30
        and item.values.size - item.places[0] >= WATCHED
    ]
    quiet = [item for item in series if item.kind == "zero" and item.values.size >= 80]
    chosen = sorted(rng.choice(len(changed), min(len(changed), 120), replace=False))
    silent = sorted(rng.choice(len(quiet), min(len(quiet), 50), replace=False))
    return [changed[row] for row in chosen], [quiet[row] for row in silent]


def online(series: Sequence[Labelled], detect: Detector) -> Online:
    """Run a detector again at every commit: after each clear change, and along series without one."""
    changed, quiet = _watched(series)
    delays = []
    for item in changed:
        place = item.places[0]
        firsts = [max(0, place + k - MEMORY) for k in range(1, WATCHED + 1)]
        runs = detect([item.values[first : place + k] for k, first in enumerate(firsts, start=1)], item.source)
        seen = (
            k
            for k, (first, found) in enumerate(zip(firsts, runs, strict=True), start=1)
            if any(abs(f + first - place) <= MARGIN for f in found)
        )
        delays.append(float(next(seen, np.inf)))
    false = []
    for item in quiet:
        runs = detect([item.values[:n] for n in range(30, min(item.values.size, 120) + 1)], item.source)
        distinct: list[int] = []
        for found in runs:
            distinct += [f for f in found if all(abs(f - other) > MARGIN for other in distinct)]
        false.append((len(distinct), len(runs)))
    return Online(tuple(delays), tuple(false))
