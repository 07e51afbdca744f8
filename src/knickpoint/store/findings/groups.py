"""Which live change points make one change: what the rules of grouping read, and what they write.

The rules are in :mod:`knickpoint.watch.changes`. A split or merge that a person made is a number on each of its
change points (``apart``, ``together``), so that the rules find it again whenever the data change.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, func, select, update

from knickpoint.model.change_point import Condition, Status, SuspectRange, UncertainRange
from knickpoint.model.commit import Repository
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import next_id, update_rows
from knickpoint.store.tables.findings import STATEMENTS_OF_CHANGES, change, change_point


@dataclass(frozen=True, slots=True)
class GroupMember:
    """What grouping and the match of tickets need of a live change point.

    ``apart`` is the number of the split that set it apart, ``together`` that of the merge that joined it, and
    ``change_id`` its change; each is 0 for none. ``interval`` is that of location, in measured commits, which
    cover ``before`` and ``after`` commits of the line.
    """

    id: int
    trace_id: int
    trace_key: str
    suspect_range: SuspectRange
    interval: int
    before: int
    after: int
    apart: int
    together: int
    change_id: int
    matched_ticket: str


@dataclass(frozen=True, slots=True)
class SplitAndMerge:
    """The numbers of the split and of the merge that hold a change point, 0 for none."""

    apart: int
    together: int


@dataclass(frozen=True, slots=True)
class Membership:
    """The suspect range of one change, and the ids of the change points that join it from another or from none.

    ``id`` is 0 for a change that is not there yet.
    """

    id: int
    suspect_range: SuspectRange
    joining: tuple[int, ...]


_POINT: Final = change_point.c
_LIVE: Final = (_POINT.change_id == change.c.id) & (_POINT.condition != Condition.GONE.value)
_NEW: Final = (_POINT.status == Status.NEW.value) & (_POINT.matched_ticket == "")
_STRONGEST: Final = (
    select(_POINT.hazard)
    .where(_LIVE, _POINT.hazard.is_not(None))
    .order_by(func.abs(_POINT.hazard).desc(), _POINT.id)
    .limit(1)
    .scalar_subquery()
)
_RECOUNT: Final = (
    update(change)
    .where(Database.among(change.c.id, "ids"))
    .values(
        traces=select(func.count()).select_from(change_point).where(_LIVE).scalar_subquery(),
        unprocessed=select(func.count()).select_from(change_point).where(_LIVE, _NEW).scalar_subquery(),
        hazard=func.coalesce(_STRONGEST, 0.0),
    )
)


class GroupTable:
    """Read and write which change points make one change."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def members(
        self,
        repository: Repository,
        *,
        among: Collection[int] | None = None,
        changes: Collection[int] | None = None,
    ) -> list[GroupMember]:
        """Return live change points by id: all, those with ids ``among``, or those of some ``changes``."""
        point = change_point.c
        query = select(
            *(point.id, point.trace_id, point.trace_key, point.line, point.previous, point.slot),
            *(point.interval, point.interval_before, point.interval_after),
            *(point.apart, point.together, point.change_id, point.matched_ticket),
        ).where(point.repository_id == repository.id, point.condition != Condition.GONE.value)
        bound: dict[str, object] = {}
        for name, column, ids in (("ids", point.id, among), ("held", point.change_id, changes)):
            if ids is not None:
                query = query.where(self._database.among(column, name))
                bound[name] = self._database.listed(sorted(ids))
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(point.id), bound).all()
        # All live points may be read, and looking columns up by name takes longer than reading them.
        return [
            GroupMember(key, trace, name, SuspectRange(line, previous, slot), *further)
            for key, trace, name, line, previous, slot, *further in rows
        ]

    def ranges_of_changes(self, repository: Repository) -> list[tuple[UncertainRange, int]]:
        """Return the ranges of live change points with their changes, 0 for none yet.

        Each suspect range of a change once.

        The interval of location is the largest of its points.
        """
        point = change_point.c
        pair = (point.line, point.previous, point.slot, point.change_id)
        largest = (func.max(each) for each in (point.interval, point.interval_before, point.interval_after))
        query = select(*pair, *largest).group_by(*pair)
        query = query.where(point.repository_id == repository.id, point.condition != Condition.GONE.value)
        with self._database.reading() as connection:
            return [
                (UncertainRange(SuspectRange(line, previous, slot), interval, before, after), key)
                for line, previous, slot, key, interval, before, after in connection.execute(query)
            ]

    def suspect_ranges(self, repository: Repository) -> dict[int, SuspectRange]:
        """Return the suspect range of every change that has live members, by id."""
        live = (change.c.repository_id == repository.id) & (change.c.traces > 0)
        query = select(change.c.id, change.c.line, change.c.previous, change.c.slot).where(live)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(change.c.id))
            return {row.id: SuspectRange(row.line, row.previous, row.slot) for row in rows}

    def has_loose_points(self, repository: Repository) -> bool:
        """Return True if there are live change points that are in no change yet."""
        loose = (change_point.c.change_id == 0) & (change_point.c.repository_id == repository.id)
        query = select(change_point.c.id).where(loose, change_point.c.condition != Condition.GONE.value).limit(1)
        with self._database.reading() as connection:
            return connection.execute(query).first() is not None

    def splits_and_merges(self, ids: Collection[int]) -> dict[int, SplitAndMerge]:
        """Return the split and the merge that hold each of the change points ``ids``."""
        point = change_point.c
        query = select(point.id, point.apart, point.together).where(self._database.among(point.id, "ids"))
        with self._database.reading() as connection:
            rows = connection.execute(query, {"ids": self._database.listed(sorted(ids))})
            return {row.id: SplitAndMerge(row.apart, row.together) for row in rows}

    def joined_with(self, ids: Collection[int]) -> set[int]:
        """Return the changes of the live change points that a merge joined with some of ``ids``."""
        point = change_point.c
        merges = {held.together for held in self.splits_and_merges(ids).values()} - {0}
        query = select(point.change_id).where(
            self._database.among(point.together, "merges"), point.condition != Condition.GONE.value
        )
        with self._database.reading() as connection:
            return set(connection.execute(query, {"merges": self._database.listed(sorted(merges))}).scalars())

    def write(self, repository: Repository, groups: Sequence[Membership], *, left: Collection[int] = ()) -> list[int]:
        """Write which change points join which changes; return the id of each group, in the same order.

        ``left`` are changes that lost members without being among ``groups``.
        """
        seconds = datetime.now(UTC).timestamp()
        with self._database.transaction() as connection:
            # A group without an id is a new change and takes the next number.
            following = next_id(connection, change)
            ids: list[int] = []
            for group in groups:
                ids.append(group.id or following)
                following += not group.id

            added: list[dict[str, Any]] = []
            moved: list[dict[str, Any]] = []
            for key, group in zip(ids, groups, strict=True):
                suspects = group.suspect_range
                row = {
                    "id": key,
                    "changed": seconds,
                    "line": suspects.line,
                    "previous": suspects.previous,
                    "slot": suspects.slot,
                }
                if group.id:
                    moved.append(row)
                else:
                    counted = {"hazard": 0.0, "traces": 0, "unprocessed": 0}
                    added.append(row | {"repository_id": repository.id, "found": seconds} | counted)
            if added:
                connection.execute(change.insert(), added)
            update_rows(connection, change, moved)

            joining = [
                {"id": member, "change_id": key}
                for key, group in zip(ids, groups, strict=True)
                for member in group.joining
            ]
            update_rows(connection, change_point, joining)
            _refresh(self._database, connection, {*ids, *left})
        return ids

    def refresh(self, ids: Collection[int]) -> None:
        """Count again the changes that the change points ``ids`` are in."""
        with self._database.transaction() as connection:
            refresh_changes_of(self._database, connection, ids)


def refresh_changes_of(database: Database, connection: Connection, ids: Collection[int]) -> None:
    """Count again the changes that the change points ``ids`` are in: live and unprocessed members, hazard."""
    query = select(change_point.c.change_id).distinct().where(database.among(change_point.c.id, "ids"))
    held = set(connection.execute(query, {"ids": database.listed(sorted(ids))}).scalars())
    _refresh(database, connection, held - {0})


def _refresh(database: Database, connection: Connection, changes: Collection[int]) -> None:
    """Count the live members of ``changes`` again, and take the hazard level of the strongest."""
    if not changes:
        return
    connection.execute(_RECOUNT, {"ids": database.listed(sorted(changes))})
    database.later(STATEMENTS_OF_CHANGES, changes)
