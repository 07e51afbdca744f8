"""Look up the lines of a repository: the line and the position of a commit, and the commits of suspect ranges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import cached_property

import numpy as np

from knickpoint.model.change_point import LineInterval, SuspectRange
from knickpoint.model.commit import NO_TIME, Commit, Line, Repository
from knickpoint.store import Store
from knickpoint.store.commit_rows import Release


class Lines:
    """Read each line of ``repository`` once, when it is first needed, and keep it as it was then.

    Those that were ``read`` already are kept as they are.
    """

    def __init__(self, store: Store, repository: Repository, *, read: Iterable[Line] = ()) -> None:
        self._store = store
        self.repository = repository
        self._lines: dict[str, Line] = {line.name: line for line in read}

    @cached_property
    def default(self) -> Line:
        """The default line of the repository."""
        return self._store.commits.line(self.repository)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self._store.commits.lines(self.repository))

    @cached_property
    def _releases(self) -> dict[str, Release]:
        return self._store.releases.all(self.repository)

    def line(self, name: str) -> Line:
        """Return the line ``name``; a line that no longer exists, and "", stand for the default one."""
        if name in self._lines:
            return self._lines[name]
        if not name or name not in self._names:
            return self.default
        self._lines[name] = self._store.commits.line(self.repository, name)
        return self._lines[name]

    def existing(self, name: str) -> Line:
        """Return the line ``name``, the default one for "".

        Raises:
            HistoryError: there is no line of that name; the message lists the known ones.
        """
        if not name or name in self._names:
            return self.line(name)
        return self._store.commits.line(self.repository, name)

    def with_bases(self, line: Line) -> tuple[Line, ...]:
        """Return ``line`` and the lines that it begins on, as :meth:`owner` looks them up."""
        found = {line.name: line}
        while line.base and line.base not in found:
            line = self.line(line.base)
            found.setdefault(line.name, line)
        return tuple(found.values())

    def release(self, name: str) -> int | None:
        """Return the last commit (a slot) of the default line that the tag ``name`` contains, None if unknown."""
        found = self._releases.get(name)
        return found.slot if found else None

    def releases(self) -> list[str]:
        """Return the tags of the repository, in the order of the commits of the default line."""
        positions = self.default.positions
        return sorted(self._releases, key=lambda name: (positions.get(self._releases[name].slot, -1), name))

    def last_before(self, line: Line, moment: datetime) -> int | None:
        """Return the position of the last commit of ``line`` that is older than ``moment``, None where none is."""
        older = np.flatnonzero(self._store.commits.times(self.repository, line.slots) < moment.timestamp())
        return int(older[-1]) if older.size else None

    def owner(self, line: Line, position: int) -> Line:
        """Return the line that the commit at ``position`` of ``line`` belongs to.

        A branch shares the commits up to its merge base with its base line: a change there belongs to the base.
        """
        while line.base and position <= line.merge_base:
            base = self.line(line.base)
            if position >= len(base.slots) or base.slots[position] != line.slots[position]:
                return line
            line = base
        return line

    def interval(self, suspect_range: SuspectRange) -> LineInterval | None:
        """Return the positions of ``suspect_range`` on its line, None where its commit has left the line."""
        return suspect_range.on(self.line(suspect_range.line))

    def current(self, suspect_range: SuspectRange) -> SuspectRange:
        """Return ``suspect_range`` on a line that exists."""
        line = self.line(suspect_range.line)
        return suspect_range if line.name == suspect_range.line else replace(suspect_range, line=line.name)


class RangeReader:
    """Read the suspect ranges of one repository; each line and each commit is read once.

    Attributes:
        repository: the repository.
        lines: its lines.
    """

    def __init__(self, store: Store, repository: Repository) -> None:
        self._store = store
        self.repository = repository
        self.lines = Lines(store, repository)
        self._commits: dict[int, Commit | None] = {}

    def load(self, ranges: Iterable[SuspectRange] = (), slots: Iterable[int] = (), *, whole: bool = False) -> None:
        """Read the commits at both ends of ``ranges``, or whole ranges, and those at ``slots``, in one query."""
        wanted = {slot for slot in slots if slot >= 0}
        for each in set(ranges):
            wanted.update(self.slots(each) if whole else (each.previous, each.slot))
        missing = sorted(wanted - self._commits.keys())
        if missing:
            self._commits |= dict.fromkeys(missing)
            self._commits |= {found.slot: found.commit for found in self._store.commits.get(self.repository, missing)}

    def find(self, slot: int) -> Commit | None:
        """Return the commit at ``slot``, None where the store lacks it."""
        if slot not in self._commits:
            self.load(slots=[slot])
        return self._commits.get(slot)

    def commit(self, slot: int) -> Commit:
        """Return the commit at ``slot``; one that the store lacks is named by its slot, and its subject says so."""
        return self.find(slot) or Commit(str(slot), "", "", NO_TIME, "(unknown commit)")

    def slots(self, suspect_range: SuspectRange) -> tuple[int, ...]:
        """Return the slots of a suspect range, oldest first; at least the first measured commit at the new level."""
        interval = self.lines.interval(suspect_range)
        if interval is None:
            return (suspect_range.slot,)
        return self.lines.line(suspect_range.line).slots[interval.previous + 1 : interval.position + 1]

    def before(self, suspect_range: SuspectRange) -> Commit | None:
        """Return the last commit measured before the change, None where the store or the line lacks it."""
        interval, line = self.lines.interval(suspect_range), self.lines.line(suspect_range.line)
        if interval is None or line.positions.get(suspect_range.previous) != interval.previous:
            return None
        return self.find(suspect_range.previous)

    def count(self, suspect_range: SuspectRange) -> int:
        """Return the number of commits in a suspect range, 1 where it has left its line."""
        interval = self.lines.interval(suspect_range)
        return 1 if interval is None else interval.commits
