"""Write what a run of alerts changed: change points that are new, moved, gone or back, and their sightings.

The rule of identity (:mod:`knickpoint.watch.identity`) says what happened to each point, as a
:class:`~knickpoint.model.change_point.PointUpdate`; here is decided nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Condition, PointUpdate, Status, Transition, severity_of
from knickpoint.model.frame import Trace
from knickpoint.store.database import Database
from knickpoint.store.findings.alerts_in_force import AlertsInForce, values_from_alerts
from knickpoint.store.findings.row_writes import next_id, update_rows
from knickpoint.store.findings.rows import settlement_values, step_values, text_of_names
from knickpoint.store.tables.findings import STATEMENTS_OF_POINTS, change_point, sighting

__all__ = ["write_point_updates"]


def write_point_updates(
    database: Database,
    connection: Connection,
    repository_id: int,
    updates: Sequence[PointUpdate],
    traces: Mapping[int, Trace],
    *,
    seconds: float,
    found: float,
) -> list[int]:
    """Write ``updates`` and return the id of each change point, in the same order.

    ``traces`` has those that the updates are about; ``seconds`` is the time of writing, ``found`` that of finding
    the new ones.
    """
    # A new point takes the next number.
    following = next_id(connection, change_point)
    ids: list[int] = []
    for change in updates:
        ids.append(change.id or following)
        following += not change.id
    pairs = list(zip(ids, updates, strict=True))
    known = AlertsInForce(database).all()

    # New points
    added = [
        _new_values(key, repository_id, change, traces[change.trace_id], known=known, seconds=seconds)
        | {"found": found}
        for key, change in pairs
        if change.transition is Transition.NEW
    ]
    if added:
        connection.execute(change_point.insert(), added)

    # Points that were there before and still are. A decision that was carried along is anchored where they are now.
    live = [(key, change) for key, change in pairs if change.transition not in {Transition.NEW, Transition.GONE}]
    update_rows(connection, change_point, [{"id": key, **_live_values(change, known, seconds)} for key, change in live])
    anchors = [
        {"id": key, "anchor_line": suspects.line, "anchor_previous": suspects.previous, "anchor_slot": suspects.slot}
        for key, change in live
        if change.carried and (suspects := change.sightings[0].suspect_range)
    ]
    update_rows(connection, change_point, anchors)

    # Points that are gone keep their numbers.
    gone = [
        {"id": key, "condition": Condition.GONE.value, "absent_since": change.absent_since, "changed": seconds}
        for key, change in pairs
        if change.transition is Transition.GONE
    ]
    update_rows(connection, change_point, gone)

    _replace_sightings(database, connection, repository_id, pairs)
    database.later(STATEMENTS_OF_POINTS, ids)
    return ids


def _live_values(change: PointUpdate, known: dict[str, Alert], seconds: float) -> dict[str, Any]:
    """Return the columns of a point that come from its sightings; the numbers are those of the first."""
    names = sorted(sighting.alert for sighting in change.sightings)
    first = change.sightings[0]
    severity = severity_of(first.direction, first.numbers.relative_size, first.numbers.certain_share)
    settled = next((seen.settlement for seen in change.sightings if seen.settlement.settled), first.settlement)
    return {
        **step_values(first),
        **settlement_values(settled),
        "severity": severity,
        "alerts": text_of_names(names),
        **values_from_alerts(names, known),
        "changed": seconds,
    }


def _new_values(
    key: int, repository_id: int, change: PointUpdate, trace: Trace, *, known: dict[str, Alert], seconds: float
) -> dict[str, Any]:
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
        "change_id": 0,
        **_live_values(change, known, seconds),
    }


def _replace_sightings(
    database: Database, connection: Connection, repository_id: int, pairs: Sequence[tuple[int, PointUpdate]]
) -> None:
    """Replace all sightings of the points in ``pairs`` (id, update) by those of their updates."""
    stale = delete(sighting).where(database.among(sighting.c.change_point_id, "ids"))
    connection.execute(stale, {"ids": database.listed([key for key, _ in pairs])})
    rows = [
        {
            "change_point_id": key,
            "alert": seen.alert,
            "repository_id": repository_id,
            "trace_id": seen.trace_id,
            **step_values(seen),
        }
        for key, change in pairs
        for seen in change.sightings
    ]
    if rows:
        connection.execute(sighting.insert(), rows)
