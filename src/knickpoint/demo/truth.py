"""Hold what was found against what is true."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from knickpoint.demo.history import CHANGES, Change

__all__ = ["Comparison", "Found", "Judged", "compare"]

_REACH: Final = 1
"""Benchmarked commits that a finding may lie beside the truth."""


@dataclass(frozen=True, slots=True)
class Found:
    """A change point that detection reported: the first commit at the new level, by position in the history."""

    benchmark: str
    previous: int
    position: int
    relative_size: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A true change beside what was found of it; ``reverts`` are the change points at its revert.

    ``found`` is true when a change point of the right benchmark and direction lies within one benchmarked
    commit of it, and of its revert where it has one.
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
    """What is true beside what was found, and the rest of what was found, grouped by commit.

    ``beside`` are change points of other benchmarks at a commit where a true change was found: the side
    effects of a change on the memory that others use are real, if small. ``false`` has no true one beside it.
    """

    changes: tuple[Judged, ...]
    beside: tuple[tuple[Found, ...], ...]
    false: tuple[tuple[Found, ...], ...]

    @property
    def count_found(self) -> int:
        """Number of true changes that were found."""
        return sum(judged.found for judged in self.changes)


def compare(points: Sequence[Found], benchmarked: Sequence[int], changes: Sequence[Change] = CHANGES) -> Comparison:
    """Match ``points`` with ``changes``; ``benchmarked`` are the positions that have results, ascending.

    What is triaged is a commit with all that moved there. It is false when no change explains any of it:
    benchmark, direction and place.
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
            and abs(rank(point.position) - rank(position)) <= _REACH
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
    places = {point.position for point in used}
    rest: dict[int, list[Found]] = {}
    for point in points:
        if point not in used:
            rest.setdefault(point.position, []).append(point)
    return Comparison(
        judged,
        tuple(tuple(rest[position]) for position in sorted(rest) if position in places),
        tuple(tuple(rest[position]) for position in sorted(rest) if position not in places),
    )
