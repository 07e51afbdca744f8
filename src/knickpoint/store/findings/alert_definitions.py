"""Alerts in the store: those from outside of the configuration, decisions about proposals, and what each run did."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Row, RowMapping, bindparam, delete, func, select

from knickpoint.model.alert import Alert, alert_from, alert_from_json, alert_settings
from knickpoint.model.quality import ProposalDecision, ProposalKind
from knickpoint.store.array_codec import moment, stored_json
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import next_id
from knickpoint.store.tables.announcements import alert_file, stored_alert
from knickpoint.store.tables.announcements import proposal_decision as table
from knickpoint.store.tables.findings import alert_run

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


_STORED_ALERTS: Final = select(
    stored_alert.c.name, stored_alert.c.definition, stored_alert.c.who, stored_alert.c.changed
).order_by(stored_alert.c.name)
_ALERT_FILES: Final = select(alert_file).order_by(alert_file.c.repository)


class AlertDefinitions:
    """Read and write alerts that are defined outside of the configuration."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def stored(self) -> dict[str, StoredAlert]:
        """Return the alerts that people made by command or API, by name."""
        with self._database.reading() as connection:
            rows = self._database.quick(connection, _STORED_ALERTS, {}).fetchall()
        return {
            name: StoredAlert(alert_from_json(name, definition), who, moment(changed))
            for name, definition, who, changed in rows
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
            rows = self._database.quick_rows(connection, _ALERT_FILES, {})
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


_EVENTS_KEPT: Final = 1_000
"""How many runs back to keep those over the traces of an event: there may be one a second."""

_RUNS_KEPT: Final = 100_000
"""How many runs back to keep those over everything."""

_NEWEST: Final = select(
    func.coalesce(func.max(alert_run.c.id), 0).label("id"), func.coalesce(func.max(alert_run.c.run), 0).label("run")
)
_FORGET: Final = delete(alert_run).where(
    alert_run.c.complete == bindparam("whole"), alert_run.c.run <= bindparam("until")
)


@dataclass(frozen=True, slots=True)
class AlertRun:
    """What one alert did in one run over one repository.

    ``complete`` is false for a run over the traces of an event alone. ``kept``, ``added`` and ``lost`` count sightings:
    those of the run before that it saw again, new ones, and those that it no longer saw. ``failure`` is the reason why
    the alert could not run to its end, "" where it could. ``repository_id`` is 0 in runs of older versions.
    """

    alert: str
    started: datetime
    seconds: float
    complete: bool
    traces: int
    kept: int
    added: int
    lost: int
    run: int = 0
    failure: str = ""
    repository_id: int = 0


class AlertRuns:
    """Hold the log of alert runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, runs: Sequence[AlertRun]) -> int:
        """Write what the alerts did in one run, and return the number of the run."""
        with self._database.transaction() as connection:
            last, before = connection.execute(_NEWEST).one()
            rows = [
                {
                    "id": number,
                    "run": before + 1,
                    "alert": run.alert,
                    "repository_id": run.repository_id,
                    "complete": int(run.complete),
                    "started": run.started.timestamp(),
                    "seconds": run.seconds,
                    "traces": run.traces,
                    "kept": run.kept,
                    "added": run.added,
                    "lost": run.lost,
                    "failure": run.failure,
                }
                for number, run in enumerate(runs, last + 1)
            ]
            if rows:
                connection.execute(alert_run.insert(), rows)
            kept = enumerate((_EVENTS_KEPT, _RUNS_KEPT))
            connection.execute(_FORGET, [{"whole": whole, "until": int(before) + 1 - most} for whole, most in kept])
            return int(before) + 1

    def last(self) -> int:
        """Return the number of the newest run that was recorded, 0 before the first."""
        with self._database.reading() as connection:
            return int(connection.execute(_NEWEST).one().run)

    def runs(self, alert: str = "", *, last: int = 100, complete: bool = False) -> list[AlertRun]:
        """Return the ``last`` runs of ``alert``, of all alerts for "", newest first.

        ``complete`` leaves out runs over the traces of an event, and those that failed.
        """
        query = select(alert_run).order_by(alert_run.c.id.desc()).limit(last)
        if complete:
            query = query.where(alert_run.c.complete == 1)
        if alert:
            query = query.where(alert_run.c.alert == alert)
        with self._database.reading() as connection:
            return [_run_of(row) for row in connection.execute(query)]

    def failed_since(self, run: int) -> set[str]:
        """Return the alerts that failed in a run after the one with the number ``run``."""
        query = select(alert_run.c.alert).distinct().where(alert_run.c.run > run, alert_run.c.failure != "")
        with self._database.reading() as connection:
            return set(connection.execute(query).scalars())

    def newest(self, alert: str) -> list[AlertRun]:
        """Return the last run of ``alert`` over each repository, the newest first.

        Runs of older versions, which do not name their repository, count where no run names one.
        """
        return self.newest_of([alert])[alert]

    def newest_of(self, alerts: Collection[str]) -> dict[str, list[AlertRun]]:
        """Return the runs of :meth:`newest` for each of ``alerts``, read by one statement for all of them."""
        newest = select(func.max(alert_run.c.id)).where(alert_run.c.alert.in_(alerts))
        newest = newest.group_by(alert_run.c.alert, alert_run.c.repository_id)
        query = select(alert_run).where(alert_run.c.id.in_(newest)).order_by(alert_run.c.id.desc())
        found: dict[str, list[AlertRun]] = {alert: [] for alert in alerts}
        with self._database.reading() as connection:
            for row in connection.execute(query):
                found[row.alert].append(_run_of(row))
        return {alert: [run for run in runs if run.repository_id] or runs for alert, runs in found.items()}


def _run_of(row: Row[Any]) -> AlertRun:
    return AlertRun(
        alert=row.alert,
        started=moment(row.started),
        seconds=row.seconds,
        complete=bool(row.complete),
        traces=row.traces,
        kept=row.kept,
        added=row.added,
        lost=row.lost,
        run=row.run,
        failure=row.failure,
        repository_id=row.repository_id,
    )
