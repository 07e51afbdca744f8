"""Know the lines of a repository while alerts run: which line a commit belongs to, and where it stands."""

from __future__ import annotations

from functools import cached_property

from knickpoint.model.commit import Line, Repository
from knickpoint.model.regression import SuspectRange
from knickpoint.store import Store

__all__ = ["Lines"]


class Lines:
    """Hold the lines of ``repository`` as they were when they were first asked for."""

    def __init__(self, store: Store, repository: Repository) -> None:
        self._store = store
        self.repository = repository
        self._lines: dict[str, Line] = {}

    @cached_property
    def default(self) -> Line:
        """The line that is meant when none is named."""
        return self._store.commits.line(self.repository)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self._store.commits.lines(self.repository))

    def line(self, name: str) -> Line:
        """Return the line ``name``; a line that is no more, and "", stand for the default one."""
        if name not in self._names:
            return self.default
        if name not in self._lines:
            self._lines[name] = self._store.commits.line(self.repository, name)
        return self._lines[name]

    def own(self, line: Line, position: int) -> Line:
        """Return the line that the commit at ``position`` of ``line`` belongs to.

        A branch shares what is up to its merge base with its base line: a change there is one of the base.
        """
        while line.base and position <= line.merge_base:
            base = self.line(line.base)
            if position >= len(base.slots) or base.slots[position] != line.slots[position]:
                return line
            line = base
        return line

    def current(self, place: SuspectRange) -> SuspectRange:
        """Return ``place`` on a line that there is."""
        line = self.line(place.line)
        return place if line.name == place.line else SuspectRange(line.name, place.previous, place.slot)
