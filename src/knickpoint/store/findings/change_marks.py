"""Read where findings are, and nothing else of them: for marks in small drawings of many traces."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import select

from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import Direction, Status
from knickpoint.model.commit import Line
from knickpoint.store.database import Database
from knickpoint.store.findings.selection import is_live
from knickpoint.store.tables.findings import change, change_point

__all__ = ["ChangeMark", "ChangeMarks"]


class ChangeMark(NamedTuple):
    """Where a finding is: its trace, the commit at which the new level begins, its direction and its change."""

    trace_id: int
    slot: int
    direction: Direction
    change_id: int


class ChangeMarks:
    """Read the marks of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def around(self, line: Line, slot: int) -> list[int]:
        """Return the changes on ``line`` whose suspect range has the commit ``slot``, without those that begin there."""
        point = change_point.c
        live = select(point.change_id).where(point.repository_id == line.repository.id, is_live())
        query = select(change.c.id, change.c.previous, change.c.slot).where(
            change.c.repository_id == line.repository.id,
            change.c.line == line.name,
            change.c.slot != slot,
            change.c.id.in_(live),
        )
        place = line.positions.get(slot, -1)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        unknown = len(line.slots)
        return sorted(
            key
            for key, previous, last in rows
            if line.positions.get(previous, unknown) < place < line.positions.get(last, -1)
        )

    def newest(self, line: Line, *, limit: int) -> list[ChangeMark]:
        """Return the marks of the newest ``limit`` live findings that are work, on ``line``; without hidden ones."""
        point = change_point.c
        query = (
            select(point.trace_id, point.slot, point.direction, point.change_id)
            .where(
                point.repository_id == line.repository.id,
                point.line == line.name,
                is_live(),
                point.alert_kind == AlertKind.WORK.value,
                point.status != Status.HIDDEN.value,
            )
            .order_by(point.id.desc())
            .limit(limit)
        )
        with self._database.reading() as connection:
            return [
                ChangeMark(trace_id, slot, Direction(direction), change_id)
                for trace_id, slot, direction, change_id in connection.execute(query)
            ]
