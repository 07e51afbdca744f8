"""Alerts that are defined outside of the configuration, and decisions about proposals to change alerts."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import RowMapping, delete, select

from knickpoint.model.alert import Alert
from knickpoint.model.alert_settings import alert_from, alert_from_json, alert_settings
from knickpoint.model.quality import ProposalDecision, ProposalKind
from knickpoint.store.array_codec import moment, stored_json
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import next_id
from knickpoint.store.tables.alerts import alert_file, stored_alert
from knickpoint.store.tables.alerts import proposal_decision as table

# Keep the alerts that are defined outside of the configuration.


_NEVER: Final = datetime.fromtimestamp(0, tz=UTC)


@dataclass(frozen=True, slots=True)
class StoredAlert:
    """An alert that a person made by command or API, and who changed it last."""

    alert: Alert
    who: str = ""
    changed: datetime = _NEVER


@dataclass(frozen=True, slots=True)
class AlertFile:
    """What was read of the file of alerts of one repository.

    ``tip`` is the commit that was read last, with the settings ``rule``. ``alerts`` are those that stand, by name;
    ``commit`` is the one that wrote them. ``failure`` is why the file at ``failed_at`` cannot be used, "" where it can.
    """

    repository: str
    path: str
    rule: str = ""
    tip: str = ""
    commit: str = ""
    alerts: Mapping[str, Alert] = field(default_factory=dict)
    failure: str = ""
    failed_at: str = ""


class AlertDefinitions:
    """Read and write alerts that are defined outside of the configuration."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def stored(self) -> dict[str, StoredAlert]:
        """Return the alerts that people made by command or API, by name."""
        with self._database.reading() as connection:
            rows = connection.execute(select(stored_alert).order_by(stored_alert.c.name)).all()
        return {
            row.name: StoredAlert(alert_from_json(row.name, row.definition), row.who, moment(row.changed))
            for row in rows
        }

    def put(self, alert: Alert, *, who: str) -> None:
        """Write an alert, or replace the one of its name."""
        definition = json.dumps(alert_settings(alert), sort_keys=True, ensure_ascii=False)
        values = {"name": alert.name, "definition": definition, "who": who, "changed": time.time()}
        with self._database.transaction() as connection:
            connection.execute(delete(stored_alert).where(stored_alert.c.name == alert.name))
            connection.execute(stored_alert.insert(), [values])

    def remove(self, name: str) -> bool:
        """Remove an alert; return whether there was one."""
        with self._database.transaction() as connection:
            return bool(connection.execute(delete(stored_alert).where(stored_alert.c.name == name)).rowcount)

    def files(self) -> dict[str, AlertFile]:
        """Return the files of alerts as read last, by repository."""
        with self._database.reading() as connection:
            rows = connection.execute(select(alert_file).order_by(alert_file.c.repository)).mappings().all()
        return {row["repository"]: _file_of(row) for row in rows}

    def put_file(self, read: AlertFile) -> None:
        """Write what was read of the file of a repository."""
        definitions = {name: alert_settings(alert) for name, alert in read.alerts.items()}
        values = {
            "repository": read.repository,
            "path": read.path,
            "rule": read.rule,
            "tip": read.tip,
            "commit": read.commit,
            "definitions": json.dumps(definitions, sort_keys=True, ensure_ascii=False),
            "failure": read.failure,
            "failed_at": read.failed_at,
        }
        with self._database.transaction() as connection:
            connection.execute(delete(alert_file).where(alert_file.c.repository == read.repository))
            connection.execute(alert_file.insert(), [values])

    def remove_file(self, repository: str) -> None:
        """Forget the file of a repository, with its alerts."""
        with self._database.transaction() as connection:
            connection.execute(delete(alert_file).where(alert_file.c.repository == repository))


def _file_of(row: Mapping[Any, Any]) -> AlertFile:
    return AlertFile(
        repository=row["repository"],
        path=row["path"],
        rule=row["rule"],
        tip=row["tip"],
        commit=row["commit"],
        alerts={name: alert_from(name, settings) for name, settings in stored_json(row["definitions"]).items()},
        failure=row["failure"],
        failed_at=row["failed_at"],
    )


# Keep which proposals to change alerts people accepted and rejected.


class ProposalDecisions:
    """Hold one row for each decision that stands."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, decision: ProposalDecision) -> ProposalDecision:
        """Write ``decision``, and return it with its id; the id that it has does not count."""
        with self._database.transaction() as connection:
            added = replace(decision, id=next_id(connection, table))
            connection.execute(
                table.insert().values(
                    id=added.id,
                    alert=added.alert,
                    kind=added.kind.value,
                    accepted=int(added.accepted),
                    change=added.change,
                    hidden=added.hidden,
                    before=_written(added.before),
                    after=_written(added.after),
                    who=added.who,
                    time=added.time.timestamp(),
                )
            )
        return added

    def remove(self, key: int) -> None:
        """Delete the decision ``key``; nothing happens where there is none."""
        with self._database.transaction() as connection:
            connection.execute(delete(table).where(table.c.id == key))

    def all(self) -> list[ProposalDecision]:
        """Return the decisions that stand, by id."""
        with self._database.reading() as connection:
            return [_decision_of(row) for row in connection.execute(select(table).order_by(table.c.id)).mappings()]


def _written(alerts: Mapping[str, Alert | None]) -> str:
    plain = {name: alert_settings(alert) if alert else None for name, alert in alerts.items()}
    return json.dumps(plain, sort_keys=True, ensure_ascii=False)


def _read(text: str) -> dict[str, Alert | None]:
    return {name: alert_from(name, settings) if settings else None for name, settings in stored_json(text).items()}


def _decision_of(row: RowMapping) -> ProposalDecision:
    return ProposalDecision(
        id=row["id"],
        alert=row["alert"],
        kind=ProposalKind(row["kind"]),
        accepted=bool(row["accepted"]),
        change=row["change"],
        hidden=row["hidden"],
        before=_read(row["before"]),
        after={name: alert for name, alert in _read(row["after"]).items() if alert},
        who=row["who"],
        time=moment(row["time"]),
    )
