"""Read findings with their first decisions, as the measures of alert quality need them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from sqlalchemy import RowMapping, func, select

from knickpoint.model.commit import Repository
from knickpoint.model.quality import FindingRecord
from knickpoint.model.regression import Action, Condition, Direction, Status, SuspectRange
from knickpoint.model.settlement import FindingKind
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import names_of, number_or_nan
from knickpoint.store.tables.commits import commit
from knickpoint.store.tables.findings import change_point, decision, regression, sighting
from knickpoint.store.timestamps import moment

__all__ = ["FindingRecords"]


_COLUMNS: Final = (
    *("id", "trace_id", "trace_key", "unit", "line", "previous", "slot", "movement", "interval", "direction"),
    *("kind", "condition", "alerts", "method", "before_level", "after_level", "deviation", "size", "relative_size"),
    *("score", "status", "ticket", "matched_ticket", "regression_id", "found"),
)
"""Columns of change points that records need: a point has twice as many."""


class FindingRecords:
    """Read the findings of a store as records."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(
        self, repository: Repository, *, since: datetime | None = None, until: datetime | None = None
    ) -> list[FindingRecord]:
        """Return the findings of ``repository`` that are work, found from ``since`` on and before ``until``, by id.

        Findings that later data no longer show are among them.
        """
        point = change_point.c
        of_commit = (commit.c.repository_id == point.repository_id) & (commit.c.slot == point.slot)
        joined = change_point.outerjoin(regression, point.regression_id == regression.c.id)
        columns = (point[name] for name in _COLUMNS)
        query = select(*columns, commit.c.time.label("committed")).select_from(joined.outerjoin(commit, of_commit))
        query = query.where(point.repository_id == repository.id, func.coalesce(regression.c.history, 0) == 0)
        if since is not None:
            query = query.where(point.found >= since.timestamp())
        if until is not None:
            query = query.where(point.found < until.timestamp())
        with self._database.reading() as connection:
            rows = list(connection.execute(query.order_by(point.id)).mappings())
            seen = select(sighting.c.change_point_id, sighting.c.alert, sighting.c.method)
            methods: dict[int, dict[str, str]] = defaultdict(dict)
            for row in connection.execute(seen.where(sighting.c.repository_id == repository.id)):
                methods[row.change_point_id][row.alert] = row.method
            entry = decision.c
            first = select(entry.change_point_id, func.min(entry.time).label("time")).group_by(entry.change_point_id)
            first = first.where(entry.action == Action.DECIDE.value, entry.status != Status.NEW.value)
            decided = {row.change_point_id: moment(row.time) for row in connection.execute(first)}
        return [_record_of(row, methods.get(row["id"], {}), decided.get(row["id"])) for row in rows]


def _record_of(row: RowMapping, methods: Mapping[str, str], decided: datetime | None) -> FindingRecord:
    status = Status(row["status"])
    if status is Status.NEW and row["matched_ticket"]:
        status = Status.TICKET
    return FindingRecord(
        id=row["id"],
        trace_id=row["trace_id"],
        trace_key=row["trace_key"],
        unit=row["unit"],
        suspect_range=SuspectRange(row["line"], row["previous"], row["slot"]),
        movement=row["movement"],
        interval=row["interval"],
        direction=Direction(row["direction"]),
        kind=FindingKind(row["kind"]),
        condition=Condition(row["condition"]),
        # A finding that is gone has no sightings: it counts for the alerts that saw it last, by the last method.
        methods={name: methods.get(name, row["method"]) for name in names_of(row["alerts"])},
        before_level=number_or_nan(row["before_level"]),
        after_level=number_or_nan(row["after_level"]),
        deviation=number_or_nan(row["deviation"]),
        size=number_or_nan(row["size"]),
        relative_size=number_or_nan(row["relative_size"]),
        score=number_or_nan(row["score"]),
        status=status,
        ticket=row["ticket"] or row["matched_ticket"],
        regression_id=row["regression_id"],
        committed=moment(row["committed"]) if row["committed"] else None,
        found=moment(row["found"]),
        decided=decided if status is not Status.NEW else None,
    )
