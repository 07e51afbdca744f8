"""Read the commits of suspect ranges: command line, API and messages say the same about them."""

from __future__ import annotations

from collections.abc import Iterable

from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import NO_TIME, Commit, Repository
from knickpoint.store import Store
from knickpoint.watch.lines import Lines


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
