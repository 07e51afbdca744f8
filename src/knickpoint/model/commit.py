"""Commits, their names and the slots that address them, and the lines that order them.

A name of a commit is told from what tools write where they know none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from knickpoint.model.errors import HistoryError

_PLACEHOLDERS: Final = frozenset(
    {
        "?",
        "detached",
        "detached head",
        "dirty",
        "empty",
        "error",
        "exported",
        "fetch head",
        "head",
        "invalid",
        "missing",
        "n/a",
        "na",
        "nan",
        "nil",
        "no branch",
        "no commit",
        "none",
        "not available",
        "not committed yet",
        "not set",
        "null",
        "tbd",
        "unavailable",
        "uncommitted",
        "undefined",
        "unknown",
        "unknown dirty",
        "unset",
        "unspecified",
        "unversioned",
        "unversioned directory",
        "working copy",
        "working directory",
        "working tree",
        "worktree",
    }
)
"""Words that tools (pytest-benchmark: unversioned; svnversion: exported.

Git blame: not committed yet) and scripts write.
"""

_AROUND: Final = " \t\r\n\"'`()[]<>"
_GAP: Final = re.compile(r"[\s_-]+")
_NO_NUMBER: Final = re.compile(r"-1|0{7,64}\+?")
"""Names of no commit in version control: revision -1, and a hash of zeros."""
_OF_A_SPREADSHEET: Final = re.compile(r"\d(?:[.,]\d+)?[eE]\+\d+")
"""A hash of digits that a spreadsheet took for a number, such as 1.23E+10: its digits are lost."""
_VARIABLE: Final = re.compile(r"\$\w+|\$\{.*\}|\$\(.*\)|\{\{.*\}\}|%\w+%", re.DOTALL)
"""A variable that a script or a template did not replace."""

HASH_DIGITS: Final = 16
"""A text with at least this many digits is a hash that happens to have no letters."""

_HASH: Final = re.compile(r"[0-9a-fA-F]{7,64}")
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


def is_placeholder(text: str) -> bool:
    """Return True if ``text`` names no commit: it is empty, a word such as unversioned, or zeros only.

    Case, brackets and quotes around it do not matter. HEAD is a placeholder, because it names another commit later.
    """
    bare = text.strip(_AROUND)
    words = _GAP.sub(" ", bare).strip().lower()
    return words in _PLACEHOLDERS or not words or bool(_NO_NUMBER.fullmatch(bare) or _VARIABLE.fullmatch(text.strip()))


def is_rounded(text: str) -> bool:
    """Return True if ``text`` is what a spreadsheet makes of a hash of digits, such as 1.23E+10."""
    return bool(_OF_A_SPREADSHEET.fullmatch(text.strip()))


def commit_name(text: str) -> str:
    """Return the commit that ``text`` names, without spaces around it and a hash in small letters.

    "" for a placeholder.
    """
    name = text.strip()
    return "" if is_placeholder(text) else name.lower() if _HASH.fullmatch(name) else name


def is_hash(text: str) -> bool:
    """Return True if ``text`` is 7 to 64 hexadecimal digits: a hash, or an abbreviated one."""
    return _HASH.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Return True if ``text`` is a number of fewer digits than a hash has."""
    return text.isascii() and text.isdigit() and len(text) < HASH_DIGITS


def full_hashes(names: Iterable[str], hashes: Collection[str]) -> dict[str, str]:
    """Return name → the longest of ``hashes`` that it abbreviates, for those of ``names`` that abbreviate one.

    One number is not an abbreviation of another.

    Raises:
        HistoryError: a name abbreviates several that do not abbreviate each other.
    """
    ordered = sorted(name for name in hashes if is_hash(name) and not is_number(name))
    found = {}
    for name in filter(is_hash, names):
        longest = name
        for place in range(bisect_right(ordered, name), len(ordered)):
            other = ordered[place]
            if not other.startswith(name):
                break
            if not other.startswith(longest):
                raise HistoryError(
                    f"{name!r} fits more than one commit: {longest[:16]}, {other[:16]}",
                    remedy="Write more of its digits.",
                )
            longest = other
        if longest != name:
            found[name] = longest
    return found


def is_hash_or_number(text: str) -> bool:
    """Return True if ``text`` looks like a commit: 7 to 64 hexadecimal digits, or a number."""
    return bool(_HASH.fullmatch(text) or _NUMBER.fullmatch(text))


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
