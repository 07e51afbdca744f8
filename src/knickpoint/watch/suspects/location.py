"""Which commits may be the place of a change: those of its suspect range, and of its interval of location around it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Line

__all__ = ["MOST_CANDIDATES", "Candidate", "candidates_of"]

MOST_CANDIDATES: Final = 1_000
"""Commits of the longest list of suspects."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A commit of a line that may have caused a change, ``distance`` measured commits from the suspect range."""

    slot: int
    position: int
    distance: int


def candidates_of(line: Line, suspect_range: SuspectRange, measured: Collection[int], interval: int) -> list[Candidate]:
    """Return the commits of a suspect range, and those up to ``interval`` measured commits around it, by position.

    ``measured`` are the slots of commits with results. The list is empty where the range is no longer on the line, or
    longer than :data:`MOST_CANDIDATES`; the commits around it are left out, the farthest first, where the list would be.
    """
    within = suspect_range.on(line)
    if within is None:
        return []
    begin, end = within.previous + 1, within.position
    found = [Candidate(line.slots[position], position, 0) for position in range(begin, end + 1)]
    if len(found) > MOST_CANDIDATES:
        return []
    before = _around(line, range(begin - 1, -1, -1), measured, interval, -1)
    after = _around(line, range(end + 1, len(line.slots)), measured, interval, 1)
    around = sorted([*before, *after], key=lambda each: (abs(each.distance), each.position))
    return sorted([*found, *around[: MOST_CANDIDATES - len(found)]], key=lambda each: each.position)


def _around(line: Line, positions: range, measured: Collection[int], interval: int, direction: int) -> list[Candidate]:
    """Return the commits on one side of a suspect range, nearest first, as far as the interval reaches.

    A change between two measured commits lies at the later one. Before the range, a measured commit therefore begins the
    next distance; after it, a measured commit ends one.
    """
    found: list[Candidate] = []
    distance = 0 if direction < 0 else 1
    for position in positions:
        slot = line.slots[position]
        if direction < 0 and slot in measured:
            distance += 1
        if distance > interval or len(found) >= MOST_CANDIDATES:
            break
        if distance:
            found.append(Candidate(slot, position, direction * distance))
        if direction > 0 and slot in measured:
            distance += 1
    return found if direction < 0 else _whole(found, measured)


def _whole(found: list[Candidate], measured: Collection[int]) -> list[Candidate]:
    """Leave out commits after the last measured one: no value is at or after them."""
    while found and found[-1].slot not in measured:
        found.pop()
    return found
