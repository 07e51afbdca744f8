"""Find the commit of a line that a hash, a number, a day, a tag, a branch or another name of git stands for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Final

import numpy as np

from knickpoint.history import find_commit, newest_contained
from knickpoint.ingest.commit_sources.git_repository import open_present_git
from knickpoint.model.errors import HistoryError
from knickpoint.watch.commit_comparison import LinePosition

if TYPE_CHECKING:
    from knickpoint.instance.instance import Instance
    from knickpoint.model.commit import Line, Repository
    from knickpoint.store import Store

_NEWEST: Final = "newest"

_BLOCK: Final = 500
"""Commits of a line that are looked up at once; a release is mostly near its end."""


def named_position(instance: Instance, line: Line, name: str) -> int | None:
    """Return the position on ``line`` of the commit that git knows by ``name``; None without a clone or such a name.

    A release is often made on a branch of its own, and so is not a commit of the line: it stands for the newest commit
    of the line that it contains.

    Raises:
        HistoryError: ``name`` cannot be a name, or fits several commits, or git fails.
    """
    settings = instance.repositories.get(line.repository.name)
    git = open_present_git(line.repository.name, settings, instance.directory) if settings else None
    full = find_commit(git, name) if git else ""
    if git is None or not full:
        return None
    known = instance.store.commits.find(line.repository, full)
    if known is not None and known.slot in line.positions:
        return line.positions[known.slot]
    contained = newest_contained(git, _blocks(instance, line), full)
    found = instance.store.commits.find(line.repository, contained) if contained else None
    return line.positions.get(found.slot) if found else None


def known_revision(instance: Instance, repository: Repository, revision: str) -> str:
    """Resolve a branch, a tag or ``HEAD~2`` into the hash of a commit of the default line.

    Unknown texts stay as they are.
    """
    if instance.store.commits.find(repository, revision) is not None:
        return revision
    line = instance.store.commits.line(repository)
    position = named_position(instance, line, revision)
    if position is None:
        return revision
    return instance.store.commits.get(repository, [line.slots[position]])[0].commit.hash


def _blocks(instance: Instance, line: Line) -> Iterator[Sequence[str]]:
    """Yield the hashes of the commits of ``line``, newest first, in blocks."""
    for end in range(len(line.slots), 0, -_BLOCK):
        slots = line.slots[max(0, end - _BLOCK) : end]
        yield [each.commit.hash for each in instance.store.commits.get(line.repository, slots)][::-1]


def find_revision(instance: Instance, line: Line, revision: str) -> LinePosition:
    """Return the commit of a hash, a number, a day (its last commit or the one before), ``newest``, or a name of git.

    Raises:
        HistoryError: there is no such commit, or it is not on the line.
    """
    store = instance.store
    if not line.slots:
        raise HistoryError("the line has no commits", where=line.name, remedy="Import results with knick import.")
    if revision == _NEWEST:
        return LinePosition(line, len(line.slots) - 1)
    day = _day(revision)
    if day is not None:
        return LinePosition(line, _position_of_day(store, line, day))
    found = store.commits.find(line.repository, revision)
    named = named_position(instance, line, revision) if found is None else None
    if named is not None:
        return LinePosition(line, named)
    if found is None:
        raise HistoryError(
            f"there is no commit {revision!r}",
            where=line.repository.name,
            remedy="Give its hash or its number, a day as 2026-03-14, newest, or a tag or a branch that the repository "
            "has here.",
        )
    position = line.positions.get(found.slot)
    if position is None:
        raise HistoryError(
            f"the commit {revision!r} is not on the line {line.name!r}",
            where=line.repository.name,
            remedy="Name the line of each of the two commits.",
        )
    return LinePosition(line, position)


def find_on_some_line(instance: Instance, line: Line, revision: str) -> LinePosition:
    """Return the place of a commit on ``line``, else on the first line of its repository that has it.

    Raises:
        HistoryError: there is no such commit, or it is on no line.
    """
    commits = instance.store.commits
    try:
        return find_revision(instance, line, revision)
    except HistoryError:
        known = commits.find(line.repository, revision)
        others = (commits.line(line.repository, name) for name in commits.lines(line.repository) if name != line.name)
        other = next((each for each in others if known and known.slot in each.positions), None)
        if known is None or other is None:
            raise
        return LinePosition(other, other.positions[known.slot])


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if len(text) == len("2026-03-14") else None
    except ValueError:
        return None


def _position_of_day(store: Store, line: Line, day: date) -> int:
    """Return the position of the last commit at the end of a day, in UTC."""
    end = datetime.combine(day, time.max, UTC).timestamp()
    times = store.commits.times(line.repository, line.slots)
    reached = np.flatnonzero((times != 0.0) & (times <= end))
    if not reached.size:
        raise HistoryError(
            f"the line {line.name!r} has no commit up to {day.isoformat()}",
            where=line.repository.name,
            remedy="Choose a later day.",
        )
    return int(reached[-1])
