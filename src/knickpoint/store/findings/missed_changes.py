"""Keep the changes that people marked as missed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from sqlalchemy import RowMapping, delete, select

from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.model.missed import MissedChange
from knickpoint.store.database import Database
from knickpoint.store.findings.row_writes import next_id
from knickpoint.store.tables.missed import missed_change as table
from knickpoint.store.timestamps import moment

__all__ = ["MissedChangeTable"]


class MissedChangeTable:
    """Hold one row for each missed change."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, change: MissedChange) -> MissedChange:
        """Write ``change``, and return it with its id; the id that it has does not count."""
        with self._database.transaction() as connection:
            added = replace(change, id=next_id(connection, table))
            connection.execute(
                table.insert().values(
                    id=added.id,
                    repository_id=added.repository_id,
                    trace_id=added.trace_id,
                    trace_key=added.trace_key,
                    line=added.suspect_range.line,
                    previous=added.suspect_range.previous,
                    slot=added.suspect_range.slot,
                    movement=added.movement,
                    note=added.note,
                    who=added.who,
                    time=added.time.timestamp(),
                )
            )
        return added

    def remove(self, key: int) -> None:
        """Delete the missed change ``key``; nothing happens where there is none."""
        with self._database.transaction() as connection:
            connection.execute(delete(table).where(table.c.id == key))

    def get(self, key: int) -> MissedChange:
        """Return the missed change ``key``.

        Raises:
            InputError: there is none.
        """
        with self._database.reading() as connection:
            row = connection.execute(select(table).where(table.c.id == key)).mappings().first()
        if row is None:
            raise InputError(f"there is no missed change M{key}", remedy="List what there is with knick missed list.")
        return _missed_change_of(row)

    def all(
        self, repository: Repository, *, since: datetime | None = None, until: datetime | None = None
    ) -> list[MissedChange]:
        """Return the missed changes of ``repository`` that were marked from ``since`` on and before ``until``, by id."""
        query = select(table).where(table.c.repository_id == repository.id)
        if since is not None:
            query = query.where(table.c.time >= since.timestamp())
        if until is not None:
            query = query.where(table.c.time < until.timestamp())
        with self._database.reading() as connection:
            return [_missed_change_of(row) for row in connection.execute(query.order_by(table.c.id)).mappings()]

    def of_traces(self, trace_ids: Collection[int]) -> list[MissedChange]:
        """Return the missed changes in some traces, by id."""
        query = select(table).where(self._database.among(table.c.trace_id, "ids")).order_by(table.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query, {"ids": self._database.listed(sorted(trace_ids))}).mappings()
            return [_missed_change_of(row) for row in rows]


def _missed_change_of(row: RowMapping) -> MissedChange:
    return MissedChange(
        id=row["id"],
        repository_id=row["repository_id"],
        trace_id=row["trace_id"],
        trace_key=row["trace_key"],
        suspect_range=SuspectRange(row["line"], row["previous"], row["slot"]),
        movement=row["movement"],
        note=row["note"],
        who=row["who"],
        time=moment(row["time"]),
    )
