"""The history boundary of a repository: findings up to it are history, and need no triage."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from knickpoint.model.commit import Line

__all__ = ["Boundary"]


@dataclass(frozen=True, slots=True)
class Boundary:
    """The history boundary of a repository.

    ``slots`` are the last commits that are history, one for each line with results; none if nothing is history. A
    rewritten commit stays in it beside its successor. ``who`` moved the boundary at ``changed``; "" if the first run set
    it.
    """

    slots: frozenset[int]
    who: str
    changed: datetime

    def position(self, line: Line) -> int:
        """Return the last position of ``line`` that is history, -1 if none is."""
        return max((line.positions.get(slot, -1) for slot in self.slots), default=-1)
