"""Keep the alerts that run, and give findings the kind and the severity that they have from them.

A run of the alerts writes both with each finding. When a setting changes afterwards, the findings follow at once, without
being judged again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, select, update

from knickpoint.model.alert import Alert, AlertKind
from knickpoint.model.alert_settings import alert_from_json, alert_settings, kind_of_finding, severity_of_finding
from knickpoint.model.change_point import Condition
from knickpoint.model.settlement import Certainty
from knickpoint.store.database import Database
from knickpoint.store.findings.announcements import BASELINE
from knickpoint.store.findings.rows import names_of
from knickpoint.store.tables.findings import STATEMENTS_OF_CHANGES, alert_in_force, change_point
from knickpoint.store.tables.findings import alert as alert_table

__all__ = ["AlertsInForce", "values_from_alerts"]


class AlertsInForce:
    """Hold the alerts that run, wherever they were defined, and those that were applied last."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> dict[str, Alert]:
        """Return the alerts by name, as the last call of :meth:`replace` left them."""
        query = select(alert_in_force.c.name, alert_in_force.c.definition).order_by(alert_in_force.c.name)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return {row.name: alert_from_json(row.name, row.definition) for row in rows}

    def replace(self, alerts: Sequence[Alert]) -> None:
        """Make ``alerts`` those that run, and give their findings the kinds and severities of today.

        Findings that were no work and are now stay silent: what settled before the change is not announced. Nothing is
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
        """Replace the applied alerts by ``definitions``, name → text; an unchanged one keeps its time of application."""
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
