"""Compare the findings with the true changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from knickpoint.demo.history import CHANGES, Change

__all__ = ["Comparison", "Found", "Judged", "compare"]

_TOLERANCE: Final = 1
"""Benchmarked commits by which a finding may miss the true change."""


@dataclass(frozen=True, slots=True)
class Found:
    """A change point that the alerts found; ``position`` is that of the first commit at the new level in the history."""

    benchmark: str
    previous: int
    position: int
    relative_size: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A true change with its change points; ``reverts`` are those at its revert.

    ``found`` is true when a change point of the right benchmark and direction lies within one benchmarked
    commit of the change, and of its revert if it has one.
    """

    change: Change
    expected: int
    points: tuple[Found, ...]
    reverts: tuple[Found, ...]

    @property
    def found(self) -> bool:
        """Whether the change was found, at both ends where it has two."""
        return bool(self.points) and (self.change.reverted is None or bool(self.reverts))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The true changes with their findings; ``false`` are the change points that no true change explains."""

    changes: tuple[Judged, ...]
    false: tuple[Found, ...]

    @property
    def count_found(self) -> int:
        """Number of true changes that were found."""
        return sum(judged.found for judged in self.changes)


def compare(points: Sequence[Found], benchmarked: Sequence[int], changes: Sequence[Change] = CHANGES) -> Comparison:
    """Match ``points`` with ``changes``; ``benchmarked`` are the positions that have results, ascending.

    A change explains a point when benchmark, direction and position agree.
    """

    def rank(position: int) -> int:
        return bisect_left(benchmarked, position)

    used: set[Found] = set()

    def near(change: Change, position: int, *, slower: bool) -> tuple[Found, ...]:
        fitting = tuple(
            point
            for point in points
            if point.benchmark in change.benchmarks
            and (point.relative_size > 0) == slower
            and abs(rank(point.position) - rank(position)) <= _TOLERANCE
        )
        used.update(fitting)
        return fitting

    judged = tuple(
        Judged(
            change,
            benchmarked[min(rank(change.position), len(benchmarked) - 1)],
            near(change, change.position, slower=change.slower),
            () if change.reverted is None else near(change, change.reverted, slower=not change.slower),
        )
        for change in changes
    )
    return Comparison(judged, tuple(point for point in sorted(points, key=_order) if point not in used))


def _order(point: Found) -> tuple[int, str]:
    return point.position, point.benchmark
