"""The boundary of a repository's history: up to which commits findings are no work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from knickpoint.model.commit import Line

__all__ = ["Boundary"]


@dataclass(frozen=True, slots=True)
class Boundary:
    """Up to which commits the findings of a repository are history.

    ``slots`` are the last commits that are history, one for each line that had results; none where nothing is
    history. A commit that was rewritten stays beside its successor. ``who`` moved the boundary, "" where the first
    run set it, at ``changed``.
    """

    slots: frozenset[int]
    who: str
    changed: datetime

    def position(self, line: Line) -> int:
        """Return the last position of ``line`` that is history, -1 where none is."""
        return max((line.positions.get(slot, -1) for slot in self.slots), default=-1)
