"""Keep the log of alert runs: what each alert did in each of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row, delete, func, select

from knickpoint.store.array_codec import moment
from knickpoint.store.database import Database
from knickpoint.store.tables.findings import alert_run

_EVENTS_KEPT: Final = 1_000
"""How many runs back to keep those over the traces of an event: there may be one a second."""

_RUNS_KEPT: Final = 100_000
"""How many runs back to keep those over everything."""


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
            query = select(func.coalesce(func.max(alert_run.c.id), 0), func.coalesce(func.max(alert_run.c.run), 0))
            last, before = connection.execute(query).one()
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
            for kept, old in ((_EVENTS_KEPT, alert_run.c.complete == 0), (_RUNS_KEPT, alert_run.c.complete == 1)):
                connection.execute(delete(alert_run).where(old, alert_run.c.run <= int(before) + 1 - kept))
            return int(before) + 1

    def last(self) -> int:
        """Return the number of the newest run that was recorded, 0 before the first."""
        with self._database.reading() as connection:
            return int(connection.execute(select(func.coalesce(func.max(alert_run.c.run), 0))).scalar_one())

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
