"""Write what a run of alerts changed in change points, and which alerts are in force."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, delete, select, update

from knickpoint.model.alert import (
    Alert,
    AlertKind,
    alert_from_json,
    alert_settings,
    kind_of_finding,
    severity_of_finding,
)
from knickpoint.model.change_point import UNWATCHED, Condition, PointUpdate, Status, Transition, severity_of
from knickpoint.model.commit import Repository
from knickpoint.model.frame import Trace
from knickpoint.model.settlement import Certainty
from knickpoint.store.database import Database
from knickpoint.store.findings.announcements import BASELINE
from knickpoint.store.findings.rows import names_of, next_id, settlement_values, step_values, text_of_names, update_rows
from knickpoint.store.tables.findings import (
    STATEMENTS_OF_CHANGES,
    STATEMENTS_OF_POINTS,
    alert_in_force,
    change_point,
    sighting,
)
from knickpoint.store.tables.findings import alert as alert_table

# Keep the alerts that run, and give findings the kind and the severity that they have from them.
#
# A run of the alerts writes both with each finding. When a setting changes afterwards, the findings follow at once,
# without being judged again.


_IN_FORCE: Final = select(alert_in_force.c.name, alert_in_force.c.definition).order_by(alert_in_force.c.name)


class AlertsInForce:
    """Hold the alerts that run, wherever they were defined, and those that were applied last."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, Alert]:
        """Return the alerts by name, as the last call of :meth:`replace` left them."""
        with self._database.reading() as connection:
            rows = self._database.quick(connection, _IN_FORCE, {}).fetchall()
        return {name: alert_from_json(name, definition) for name, definition in rows}

    def replace(self, alerts: Sequence[Alert]) -> None:
        """Make ``alerts`` those that run, and give their findings the kinds and severities of today.

        Findings that were not work and are now stay silent: what settled before the change is not announced. Nothing is
        written where nothing changed.
        """
        if self.all() == {alert.name: alert for alert in alerts}:
            return
        with self._database.transaction() as connection:
            known = self.all()  # another process may have been first
            wanted = {alert.name: alert for alert in alerts}
            differing = {name for name in {*known, *wanted} if known.get(name) != wanted.get(name)}
            connection.execute(alert_in_force.delete().where(alert_in_force.c.name.in_(sorted(differing))))
            rows = [
                {
                    "name": name,
                    "definition": json.dumps(alert_settings(wanted[name]), sort_keys=True, ensure_ascii=False),
                }
                for name in sorted(differing & wanted.keys())
            ]
            if rows:
                connection.execute(alert_in_force.insert(), rows)
            _follow(self._database, connection, wanted, differing & wanted.keys())

    def applied(self) -> dict[str, str]:
        """Return the applied alerts, name → definition, by name."""
        query = select(alert_table.c.name, alert_table.c.definition).order_by(alert_table.c.name)
        with self._database.reading() as connection:
            return {row.name: row.definition for row in connection.execute(query)}

    def replace_applied(self, definitions: Mapping[str, str]) -> None:
        """Replace the applied alerts by ``definitions``, name → text.

        An unchanged one keeps its time of application.
        """
        now = time.time()
        with self._database.transaction() as connection:
            known = self.applied()
            for name in known:
                if definitions.get(name) != known[name]:
                    connection.execute(alert_table.delete().where(alert_table.c.name == name))
            added = [
                {"name": name, "definition": text, "applied": now}
                for name, text in definitions.items()
                if known.get(name) != text
            ]
            if added:
                connection.execute(alert_table.insert(), added)

    def of_changes(self, keys: Collection[int]) -> dict[int, tuple[Alert, ...]]:
        """Return change → the alerts that found its live members, by name; alerts that no longer run are left out.

        Of a change that is gone, they are the alerts that found it last. A change without any is left out.
        """
        if not keys:
            return {}
        point, known = change_point.c, self.all()
        query = select(point.change_id, point.alerts, point.condition).distinct()
        query = query.where(self._database.among(point.change_id, "ids"))
        live: dict[int, set[str]] = {}
        gone: dict[int, set[str]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(query, {"ids": self._database.listed(sorted(keys))}):
                side = gone if row.condition == Condition.GONE.value else live
                side.setdefault(row.change_id, set()).update(names_of(row.alerts))
        found = {key: names & known.keys() for key, names in {**gone, **live}.items()}
        return {key: tuple(known[name] for name in sorted(names)) for key, names in sorted(found.items()) if names}

    def unwatched_changes(self, repositories: Collection[Repository], *, since: datetime | None = None) -> set[int]:
        """Return the changes that no alert watches any more, because alerts were removed or watch other traces.

        Of those that are gone already, only the ones that went since ``since`` count, if it is given. Changes that stay
        until the next run count as well.
        """
        point = change_point.c
        live = point.condition != Condition.GONE.value
        owned = point.repository_id.in_([each.id for each in repositories]) & (point.change_id != 0)
        known = self.all().keys()
        with self._database.reading() as connection:
            texts = connection.execute(select(point.alerts).where(owned, live).distinct()).scalars().all()
            orphaned = point.alerts.in_([text for text in texts if not known & set(names_of(text))])
            taken = ~live & (point.absent_since == UNWATCHED)
            if since is not None:
                taken &= point.changed >= since.timestamp()
            lost = select(point.change_id).where(owned, taken | (live & orphaned))
            kept = select(point.change_id).where(owned, live, ~orphaned)
            return set(connection.execute(lost.except_(kept)).scalars())


def values_from_alerts(names: Collection[str], known: dict[str, Alert]) -> dict[str, Any]:
    """Return the columns of a change point that come from the settings of the alerts called ``names``."""
    alerts = [known[name] for name in names if name in known]
    return {"alert_kind": kind_of_finding(alerts).value, "alert_severity": severity_of_finding(alerts).rank}


def _follow(database: Database, connection: Connection, known: dict[str, Alert], changed: Collection[str]) -> None:
    """Write the kinds and severities of the findings of the alerts that ``changed``."""
    point = change_point.c
    for text in connection.execute(select(point.alerts).distinct()).scalars().all():
        names = names_of(text)
        if not set(names) & set(changed):
            continue
        values = values_from_alerts(names, known)
        of_these = point.alerts == text
        if values["alert_kind"] == AlertKind.WORK.value:
            connection.execute(
                update(change_point)
                .where(
                    of_these,
                    point.alert_kind != AlertKind.WORK.value,
                    point.announced == 0,
                    point.certainty == Certainty.SETTLED.value,
                    point.condition != Condition.GONE.value,
                )
                .values(announced=BASELINE)
            )
        connection.execute(update(change_point).where(of_these).values(**values))
        touched = select(point.change_id).where(of_these, point.change_id != 0).distinct()
        database.later(STATEMENTS_OF_CHANGES, connection.execute(touched).scalars())


# Write what a run of alerts changed: change points that are new, moved, gone or back, and their sightings.
#
# The rule of identity (:mod:`knickpoint.watch.identity`) says what happened to each point, as a
# :class:`~knickpoint.model.change_point.PointUpdate`; here is decided nothing.


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
