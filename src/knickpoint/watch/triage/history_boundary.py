"""Move the history boundary of a repository: take findings into work, or declare them history.

What the first run over a repository finds is history: it is listed, and never announced. A boundary is one slot on each
line; on a branch it lies after the merge base, because up to there the branch is its base line. See
``docs/decisions/grouping-changes.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from knickpoint.model.access import AuditKind
from knickpoint.model.commit import Boundary, Commit, Line, Repository
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.store import Store
from knickpoint.store.events import MOST_LISTED, BoundaryMoved
from knickpoint.store.findings.rewrites import Sides

_NO_HISTORY: Final = "nothing is history"
_IMPORT: Final = "import"
"""Who moves the boundary in an import that says that all of its repository is work."""

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}([T ].+)?")

Mark = Callable[[Line, int], int]
"""Takes a line and the last position on it that is history now; returns the last that is to be history."""


@dataclass(frozen=True, slots=True)
class BoundaryMove:
    """The changes of a repository that became work, and those that became history, by id."""

    repository: Repository
    work: tuple[int, ...]
    history: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HistoryExtent:
    """How far the history of a repository reaches on its default line, and the findings on either side.

    ``commit`` is the last one that is history, at ``position`` of the line; None and -1 where nothing is.
    ``boundary`` is None before the first run.
    """

    line: str
    position: int
    commit: Commit | None
    boundary: Boundary | None
    sides: Sides


def read_extent(store: Store, repository: Repository) -> HistoryExtent:
    """Return the extent of the history of ``repository``."""
    line = store.commits.line(repository)
    boundary = store.boundaries.get(repository)
    position = boundary.position(line) if boundary else -1
    commit = store.commits.get(repository, [line.slots[position]])[0].commit if position >= 0 else None
    return HistoryExtent(line.name, position, commit, boundary, store.boundaries.sides(repository))


def take(store: Store, repository: Repository, since: str = "", *, who: str) -> BoundaryMove:
    """Take history of ``repository`` into work: all of it, or what is newer than ``since``.

    ``since`` is a commit, which itself stays history, or a date, whose day is work already. The boundary moves back
    only: work stays work. The audit log names ``who``.

    Raises:
        InputError: ``since`` is neither a date nor a commit of the default line.
    """
    if not since:
        return _move(store, repository, lambda _line, _end: -1, who, _NO_HISTORY)
    mark = _mark(store, repository, since, days=0)
    return _move(store, repository, lambda line, end: min(end, mark(line, end)), who, f"work since {since}")


def set_boundary(store: Store, repository: Repository, until: str, *, who: str) -> BoundaryMove:
    """Declare that everything of ``repository`` up to ``until`` is history, and what is newer is work.

    ``until`` is a commit or a date, both included. The audit log names ``who``.

    Raises:
        InputError: ``until`` is neither a date nor a commit of the default line.
    """
    return _move(store, repository, _mark(store, repository, until, days=1), who, f"history until {until}")


def drop_boundary(store: Store, repository: Repository) -> BoundaryMove:
    """Make everything of ``repository`` work: what is there, and what its first run will find.

    Unlike :func:`take`, it works before the repository has a line, and does nothing where the boundary has nothing
    before it. The audit log has an entry if there was a boundary to move.
    """
    with store.transaction():
        known = store.boundaries.get(repository)
        if known is not None and not known.slots:
            return BoundaryMove(repository, (), ())
        moved = _put(store, repository, set(), "")
        if known is not None:
            _record(store, moved, _IMPORT, _NO_HISTORY)
        return moved


def is_date(text: str) -> bool:
    """Return True if ``text`` is written as a date, not as a commit."""
    return _DATE.fullmatch(text) is not None


def _moment(text: str, days: int) -> datetime | None:
    """Return the moment that ``text`` names, for a date the end of ``days`` of it; None where it is not a date."""
    if not is_date(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(
            f"{text!r} is not a date: {error}", remedy="Write it as in 2026-05-31 or 2026-05-31T12:00+02:00."
        ) from None
    whole_days = timedelta(days=days) if len(text) == len("2026-05-31") else timedelta(0)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) + whole_days


def _mark(store: Store, repository: Repository, text: str, *, days: int) -> Mark:
    """Return the mark that ``text`` sets on each line: a date, or a commit of the default line."""
    moment = _moment(text, days)
    if moment is not None:
        return _before(store, repository, moment)
    commit = store.commits.find(repository, text)
    default = store.commits.line(repository)
    if commit is None or commit.slot not in default.positions:
        what = "there is no such commit" if commit is None else f"the commit is not on the line {default.name}"
        raise InputError(
            what,
            where=f"{repository.name}, {text!r}",
            remedy="Name a commit of the default line by its hash, or a date as in 2026-05-31.",
        )
    position = default.positions[commit.slot]

    def mark(line: Line, end: int) -> int:
        # A branch that left the default line after the commit is newer; the others stay as they are.
        if line.name == default.name:
            return position
        return end if line.merge_base <= position else -1

    return mark


def position_before(store: Store, repository: Repository, since: str) -> int:
    """Return the last position of the default line that is older than ``since``, -1 for none.

    ``since`` is a commit, which is that position itself, or a date.

    Raises:
        InputError: ``since`` is neither a date nor a commit of the default line.
    """
    line = store.commits.line(repository)
    return _mark(store, repository, since, days=0)(line, len(line.slots) - 1)


def _before(store: Store, repository: Repository, moment: datetime) -> Mark:
    """Return the mark at the last commit of each line that is older than ``moment``."""

    def mark(line: Line, _end: int) -> int:
        older = np.flatnonzero(store.commits.times(repository, line.slots) < moment.timestamp())
        return int(older[-1]) if older.size else -1

    return mark


def _move(store: Store, repository: Repository, mark: Mark, who: str, what: str) -> BoundaryMove:
    """Set the boundary of every line by ``mark``, and record that ``who`` did so, in one transaction."""
    with store.transaction():
        known = store.boundaries.get(repository)
        slots: set[int] = set()
        for name in store.commits.lines(repository) or ("",):
            line = store.commits.line(repository, name)
            end = mark(line, known.position(line) if known else len(line.slots) - 1)
            # Up to its merge base a branch is its base line.
            if end > line.merge_base:
                slots.add(line.slots[end])
        moved = _put(store, repository, slots, who)
        _record(store, moved, who, what)
        return moved


def _put(store: Store, repository: Repository, slots: Collection[int], who: str) -> BoundaryMove:
    """Set the boundary to ``slots`` and announce the changes that it moved past, in one transaction."""
    with store.transaction():
        changed = store.boundaries.put(repository, slots, who=who)
        history = store.boundaries.history_among(changed)
        work = tuple(key for key in changed if key not in history)
        if changed:
            truncated = len(work) > MOST_LISTED
            store.outbox.publish(BoundaryMoved(repository.name, work[:MOST_LISTED], len(history), truncated))
    return BoundaryMove(repository, work, tuple(sorted(history)))


def _record(store: Store, moved: BoundaryMove, who: str, what: str) -> None:
    """Add the entry of a move to the audit log."""
    sides = f"{counted(len(moved.work), 'change')} became work, {len(moved.history):,} became history"
    store.audit.append(AuditKind.BOUNDARY_MOVED, who, f"{moved.repository.name}: {what}; {sides}")
