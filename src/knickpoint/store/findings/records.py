"""What the measures of alert quality read: findings with their first decisions, and missed changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import RowMapping, delete, func, select

from knickpoint.model.change_point import Action, Condition, Direction, Status, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.model.quality import FindingRecord, MissedChange
from knickpoint.model.settlement import FindingKind
from knickpoint.store.array_codec import moment
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import names_of, next_id, number_or_nan
from knickpoint.store.tables.announcements import missed_change as table
from knickpoint.store.tables.commits import commit
from knickpoint.store.tables.findings import change, change_point, decision, sighting

# Read findings with their first decisions, as the measures of alert quality need them.


_COLUMNS: Final = (
    *("id", "trace_id", "trace_key", "unit", "line", "previous", "slot", "movement", "interval", "direction"),
    *("kind", "condition", "alerts", "method", "before_level", "after_level", "deviation", "size", "relative_size"),
    *("score", "status", "ticket", "matched_ticket", "change_id", "found"),
)
"""Columns of change points that records need: a point has twice as many."""


_STATUSES: Final = {each.value: each for each in Status}
_DIRECTIONS: Final = {each.value: each for each in Direction}
_KINDS: Final = {each.value: each for each in FindingKind}
_CONDITIONS: Final = {each.value: each for each in Condition}


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
        joined = change_point.outerjoin(change, point.change_id == change.c.id)
        columns = (point[name] for name in _COLUMNS)
        query = select(*columns, commit.c.time.label("committed")).select_from(joined.outerjoin(commit, of_commit))
        query = query.where(point.repository_id == repository.id, func.coalesce(change.c.history, 0) == 0)
        if since is not None:
            query = query.where(point.found >= since.timestamp())
        if until is not None:
            query = query.where(point.found < until.timestamp())
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(point.id)).all()
            # Most findings have the method that placed them: only the others are read.
            seen = select(sighting.c.change_point_id, sighting.c.alert, sighting.c.method)
            seen = seen.join(change_point, point.id == sighting.c.change_point_id)
            seen = seen.where(sighting.c.repository_id == repository.id, sighting.c.method != point.method)
            others: dict[int, dict[str, str]] = defaultdict(dict)
            for key, alert, method in connection.execute(seen):
                others[key][alert] = method
            entry = decision.c
            first = select(entry.change_point_id, func.min(entry.time).label("time")).group_by(entry.change_point_id)
            first = first.where(entry.action == Action.DECIDE.value, entry.status != Status.NEW.value)
            decided = {key: moment(time) for key, time in connection.execute(first)}
        usual: dict[tuple[str, str], Mapping[str, str]] = {}
        return [_record_of(tuple(row), usual, others.get(row[0]), decided.get(row[0])) for row in rows]


def _record_of(
    row: tuple[Any, ...],
    usual: dict[tuple[str, str], Mapping[str, str]],
    others: Mapping[str, str] | None,
    decided: datetime | None,
) -> FindingRecord:
    """Make a record of a row; ``usual`` has the methods of findings that one method found, by alerts and method."""
    # By place and not by name, in the order of _COLUMNS: there are tens of thousands of rows.
    key, trace_id, trace_key, unit, line, previous, slot, movement, interval, direction = row[:10]
    kind, condition, alerts, method, before_level, after_level, deviation, size, relative_size = row[10:19]
    score, stored, ticket, matched_ticket, change_id, found, committed = row[19:]
    status = _STATUSES[stored]
    if status is Status.NEW and matched_ticket:
        status = Status.TICKET
    methods = usual.get((alerts, method))
    if methods is None:
        # A finding that is gone has no sightings: it counts for the alerts that saw it last, by the last method.
        methods = usual[alerts, method] = dict.fromkeys(names_of(alerts), method)
    if others:
        methods = {name: others.get(name, method) for name in methods}
    return FindingRecord(
        key,
        trace_id,
        trace_key,
        unit,
        SuspectRange(line, previous, slot),
        movement,
        interval,
        _DIRECTIONS[direction],
        _KINDS[kind],
        _CONDITIONS[condition],
        methods,
        number_or_nan(before_level),
        number_or_nan(after_level),
        number_or_nan(deviation),
        number_or_nan(size),
        number_or_nan(relative_size),
        number_or_nan(score),
        status,
        ticket or matched_ticket,
        change_id,
        moment(committed) if committed else None,
        moment(found),
        decided if status is not Status.NEW else None,
    )


# Keep the changes that people marked as missed.


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
            raise InputError(f"there is no missed change M{key}", remedy="knick missed list lists them.")
        return _missed_change_of(row)

    def all(
        self, repository: Repository, *, since: datetime | None = None, until: datetime | None = None
    ) -> list[MissedChange]:
        """Return the missed changes of ``repository`` marked from ``since`` on and before ``until``, by id."""
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
