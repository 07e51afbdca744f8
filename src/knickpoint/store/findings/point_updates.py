"""Write what a look at the data changed: change points, who saw them, and the regressions they belong to."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, select, update

from knickpoint.model.frame import Trace
from knickpoint.model.regression import Condition, PointUpdate, Status, SuspectRange, Transition, severity_of
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import step_values, text_of_names
from knickpoint.store.tables.findings import change_point, regression, sighting

__all__ = ["Membership", "apply_changes", "refresh", "set_groups"]


@dataclass(frozen=True, slots=True)
class Membership:
    """The members of one regression by id; ``id`` is 0 for a regression that is not there yet."""

    id: int
    suspect_range: SuspectRange
    members: tuple[int, ...]


def _next_id(connection: Connection, table: Any) -> int:
    return int(connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one()) + 1


def _update(connection: Connection, table: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Set the columns of ``rows`` by their ``id``; all rows have the same columns."""
    if not rows:
        return
    values: dict[str, Any] = {name: bindparam(name) for name in rows[0] if name != "id"}
    parameters = [{("key" if name == "id" else name): value for name, value in row.items()} for row in rows]
    connection.execute(update(table).where(table.c.id == bindparam("key")).values(values), parameters)


def _live_values(change: PointUpdate, seconds: float) -> dict[str, Any]:
    names = sorted(sighting.alert for sighting in change.sightings)
    first = change.sightings[0]
    severity = severity_of(first.direction, first.numbers.relative_size)
    return {**step_values(first), "severity": severity, "alerts": text_of_names(names), "changed": seconds}


def _fresh_values(key: int, repository_id: int, change: PointUpdate, trace: Trace, seconds: float) -> dict[str, Any]:
    return {
        "id": key,
        "repository_id": repository_id,
        "trace_id": change.trace_id,
        "trace_key": trace.key,
        "unit": trace.unit,
        "status": Status.NEW.value,
        "note": "",
        "ticket": "",
        "assignee": "",
        "matched_ticket": "",
        "apart": 0,
        "together": 0,
        "regression_id": 0,
        "found": seconds,
        **_live_values(change, seconds),
    }


def apply_changes(
    database: Database,
    connection: Connection,
    repository_id: int,
    changes: Sequence[PointUpdate],
    traces: Mapping[int, Trace],
    *,
    seconds: float,
) -> list[int]:
    """Write ``changes`` and return the id of each change point, in the same order.

    ``traces`` has those that the changes are about; ``seconds`` is the time of writing.
    """
    following = _next_id(connection, change_point)
    ids: list[int] = []
    for change in changes:
        ids.append(change.id or following)
        following += not change.id
    pairs = list(zip(ids, changes, strict=True))
    fresh = [
        _fresh_values(key, repository_id, change, traces[change.trace_id], seconds)
        for key, change in pairs
        if change.transition is Transition.NEW
    ]
    if fresh:
        connection.execute(change_point.insert(), fresh)
    live = [(key, change) for key, change in pairs if change.transition not in {Transition.NEW, Transition.GONE}]
    _update(connection, change_point, [{"id": key, **_live_values(change, seconds)} for key, change in live])
    carried = [
        {"id": key, "anchor_line": place.line, "anchor_previous": place.previous, "anchor_slot": place.slot}
        for key, change in live
        if change.carried and (place := change.sightings[0].suspect_range)
    ]
    _update(connection, change_point, carried)
    gone = [
        {"id": key, "condition": Condition.GONE.value, "changed": seconds}
        for key, change in pairs
        if change.transition is Transition.GONE
    ]
    _update(connection, change_point, gone)
    _replace_sightings(database, connection, repository_id, pairs)
    return ids


def _replace_sightings(
    database: Database, connection: Connection, repository_id: int, pairs: Sequence[tuple[int, PointUpdate]]
) -> None:
    numbers = database.numbers("ids")
    stale = delete(sighting).where(sighting.c.change_point_id.in_(select(numbers.c.value)))
    connection.execute(stale, {"ids": database.listed([key for key, _ in pairs])})
    rows = [
        {
            "change_point_id": key,
            "alert": one.alert,
            "repository_id": repository_id,
            "trace_id": one.trace_id,
            **step_values(one),
        }
        for key, change in pairs
        for one in change.sightings
    ]
    if rows:
        connection.execute(sighting.insert(), rows)


def refresh(database: Database, connection: Connection, ids: Collection[int]) -> None:
    """Count and weigh the live members of the regressions ``ids`` anew."""
    if not ids:
        return
    point = change_point.c
    live = (point.regression_id == regression.c.id) & (point.condition != Condition.GONE.value)
    new = (point.status == Status.NEW.value) & (point.matched_ticket == "")
    strongest = (
        select(point.hazard)
        .where(live, point.hazard.is_not(None))
        .order_by(func.abs(point.hazard).desc(), point.id)
        .limit(1)
        .scalar_subquery()
    )
    numbers = database.numbers("ids")
    connection.execute(
        update(regression)
        .where(regression.c.id.in_(select(numbers.c.value)))
        .values(
            traces=select(func.count()).select_from(change_point).where(live).scalar_subquery(),
            unprocessed=select(func.count()).select_from(change_point).where(live, new).scalar_subquery(),
            hazard=func.coalesce(strongest, 0.0),
        ),
        {"ids": database.listed(sorted(ids))},
    )


def set_groups(
    database: Database,
    connection: Connection,
    repository_id: int,
    groups: Sequence[Membership],
    *,
    left: Collection[int],
    seconds: float,
) -> list[int]:
    """Write which change points make one regression and return the id of each group, in the same order.

    ``left`` are regressions that lost members without being among ``groups``.
    """
    following = _next_id(connection, regression)
    ids: list[int] = []
    fresh: list[dict[str, Any]] = []
    moved: list[dict[str, Any]] = []
    members: list[dict[str, Any]] = []
    for group in groups:
        place = {
            "line": group.suspect_range.line,
            "previous": group.suspect_range.previous,
            "slot": group.suspect_range.slot,
        }
        if group.id:
            moved.append({"id": group.id, "changed": seconds, **place})
        else:
            empty = {"hazard": 0.0, "traces": 0, "unprocessed": 0, "found": seconds, "changed": seconds}
            fresh.append({"id": following, "repository_id": repository_id, **place, **empty})
        ids.append(group.id or following)
        following += not group.id
        members += [{"id": member, "regression_id": ids[-1]} for member in group.members]
    if fresh:
        connection.execute(regression.insert(), fresh)
    _update(connection, regression, moved)
    _update(connection, change_point, members)
    refresh(database, connection, {*ids, *left})
    return ids
