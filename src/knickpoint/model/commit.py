"""Commits, the slots that address them, and the lines that order them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from knickpoint.model.revision import is_number

NO_TIME: Final = datetime.fromtimestamp(0, UTC)
"""The time of a commit whose time is unknown."""

_SHORT: Final = 10
_WHOLE_HASH: Final = 40


def short_name(name: str) -> str:
    """Return the name of a commit for people: the first digits of a whole hash, or all of another name."""
    return name[:_SHORT] if len(name) >= _WHOLE_HASH else name


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository of an instance.

    ``location`` is a local path or URL of a git repository, or "" where commits come from the results only.
    """

    id: int
    name: str
    location: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as its repository or a results file describes it.

    ``hash`` is the full hash, or the number a source uses instead. ``time`` is aware, UTC, ``NO_TIME`` where it is not
    known; it is shown, never used for order where a graph is known. ``parents`` are hashes, first parent first, empty
    where unknown. ``number`` is the count of commits that the repository writes into its messages, if it does.
    """

    hash: str
    author: str
    email: str
    time: datetime
    subject: str
    parents: tuple[str, ...] = ()
    url: str = ""
    number: int | None = None

    @property
    def short(self) -> str:
        """Its name for people."""
        return short_name(self.hash)

    @property
    def day(self) -> str:
        """The day of its time, as in ``2026-11-22``, "" where that is unknown."""
        return self.time.date().isoformat() if self.has_time else ""

    @property
    def is_bare(self) -> bool:
        """Whether only its name is known, from results; its time is at best that of a run."""
        return not (self.author or self.email or self.subject or self.parents)

    @property
    def has_time(self) -> bool:
        """Whether its time is known: when it was made, or first measured."""
        return self.time != NO_TIME

    @property
    def is_number(self) -> bool:
        """Whether its name is a number, so that the number orders it."""
        return is_number(self.hash)


@dataclass(frozen=True, slots=True)
class SlottedCommit:
    """A commit with its slot: the integer that addresses it in tiles, assigned once and never changed."""

    slot: int
    commit: Commit


@dataclass(frozen=True)
class Line:
    """One branch by first parent: position → slot, oldest first.

    ``slots[position]`` is the slot; a branch's line is its base line up to the merge base, then its own
    commits. ``merge_base`` is the last position that is shared with ``base``, -1 for a base line.
    """

    repository: Repository
    name: str
    slots: tuple[int, ...]
    base: str = ""
    merge_base: int = -1

    @cached_property
    def positions(self) -> dict[int, int]:
        """Slot → position."""
        return {slot: position for position, slot in enumerate(self.slots)}


# The history boundary of a repository: findings up to it are history, and need no triage.


@dataclass(frozen=True, slots=True)
class Boundary:
    """The history boundary of a repository.

    ``slots`` are the last commits that are history, one for each line with results; none if nothing is history. A
    rewritten commit stays in it beside its successor. ``who`` moved the boundary at ``changed``; "" if the first run
    set it.
    """

    slots: frozenset[int]
    who: str
    changed: datetime

    def position(self, line: Line) -> int:
        """Return the last position of ``line`` that is history, -1 if none is."""
        return max((line.positions.get(slot, -1) for slot in self.slots), default=-1)
