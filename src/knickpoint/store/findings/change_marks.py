"""Read where findings are, and nothing else of them: for marks in small drawings of many traces."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import select

from knickpoint.model.alert import AlertKind
from knickpoint.model.commit import Line
from knickpoint.model.regression import Direction, Status
from knickpoint.store.database import Database
from knickpoint.store.findings.selection import is_live
from knickpoint.store.tables.findings import change_point

__all__ = ["ChangeMark", "ChangeMarks"]


class ChangeMark(NamedTuple):
    """Where a finding is: its trace, the commit at which the new level begins, its direction and its regression."""

    trace_id: int
    slot: int
    direction: Direction
    regression_id: int


class ChangeMarks:
    """Read the marks of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def newest(self, line: Line, *, limit: int) -> list[ChangeMark]:
        """Return the marks of the newest ``limit`` live findings that are work, on ``line``; without hidden ones."""
        point = change_point.c
        query = (
            select(point.trace_id, point.slot, point.direction, point.regression_id)
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
                ChangeMark(trace_id, slot, Direction(direction), regression_id)
                for trace_id, slot, direction, regression_id in connection.execute(query)
            ]
