"""Answer how the instance does: its workers, its alerts, its queues; for people, scripts and monitoring."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from knickpoint.instance import Instance, notices_of
from knickpoint.server.schemas.health import AlertAnswer, HealthAnswer, NoticeAnswer, WorkerAnswer
from knickpoint.store.findings.alerts import AlertRun
from knickpoint.store.findings.selection import Selection
from knickpoint.watch.alert_validation import reason_against

__all__ = [
    "list_alerts",
    "list_notices",
    "read_health",
    "render_metrics",
]

_WORK: Final = Selection(history=False)
_HISTORY: Final = Selection(history=True)
_PATIENCE: Final = timedelta(minutes=10)
"""A worker that nobody saw for longer is lost."""


def list_notices(instance: Instance, limit: int) -> list[NoticeAnswer]:
    """List at most ``limit`` of the canaries that moved, and of the benchmarks that stopped."""
    return [
        NoticeAnswer(
            kind=own.kind,
            repository=own.repository,
            trace=own.trace,
            commit=own.commit,
            canary=own.canary,
            regressions=list(own.regressions),
            text=own.text,
        )
        for own in notices_of(instance)[:limit]
    ]


def _last_run(instance: Instance, name: str) -> AlertRun | None:
    return next(iter(instance.store.findings.alerts.runs(name, last=1)), None)


def list_alerts(instance: Instance) -> list[AlertAnswer]:
    """List the alerts of the configuration, by name, with why one cannot run."""
    repositories = [repository.name for repository in instance.store.commits.repositories()]
    found = []
    for alert in sorted(instance.alerts, key=lambda alert: alert.name):
        run = _last_run(instance, alert.name)
        found.append(
            AlertAnswer(
                name=alert.name,
                query=alert.query,
                repository=alert.repository,
                line=alert.line,
                group_by=list(alert.group_by),
                method=alert.method,
                parameters=dict(alert.parameters),
                direction=alert.direction.value,
                minimum_effect=alert.minimum_effect,
                minimum_traces=alert.minimum_traces,
                window=alert.window,
                failure=reason_against(alert, repositories) or (run.failure if run else ""),
                last_run=run.started if run else None,
                seconds=run.seconds if run else None,
                traces=run.traces if run else None,
            )
        )
    return found


def _workers(instance: Instance, now: datetime) -> list[WorkerAnswer]:
    return [
        WorkerAnswer(
            name=own.name,
            started=own.started,
            seen=own.seen,
            failures=own.failures,
            reason=own.reason,
            state="failing" if own.failures else "lost" if now - own.seen > _PATIENCE else "working",
        )
        for own in instance.store.workers.all()
    ]


def read_health(instance: Instance, now: datetime | None = None) -> HealthAnswer:
    """Say how the instance does at ``now``, by default the present.

    Raises:
        StoreError: the store cannot be read.
    """
    workers = _workers(instance, now or datetime.now(UTC))
    troubles = [f"alert {own.name}: {own.failure}" for own in list_alerts(instance) if own.failure]
    troubles += [f"worker {own.name} fails: {own.reason}" for own in workers if own.state == "failing"]
    lost = [own for own in workers if own.state == "lost"]
    troubles += [f"worker {own.name} has not been seen since {own.seen:%Y-%m-%d %H:%M} UTC" for own in lost]
    return HealthAnswer(
        status="troubled" if troubles else "ok",
        repositories=len(instance.store.commits.repositories()),
        workers=workers,
        troubles=troubles,
    )


@dataclass
class _Page:
    """The text format of Prometheus, one family of numbers after the other."""

    lines: list[str] = field(default_factory=list)

    def add(self, name: str, about: str, values: Iterable[tuple[Mapping[str, str], float]]) -> None:
        self.lines += [f"# HELP knickpoint_{name} {about}", f"# TYPE knickpoint_{name} gauge"]
        for labels, value in values:
            told = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            self.lines.append(f"knickpoint_{name}{f'{{{told}}}' if told else ''} {value:.15g}")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def render_metrics(instance: Instance) -> str:
    """Return the numbers of the instance in the text format of Prometheus.

    Raises:
        StoreError: the store cannot be read.
    """
    store = instance.store
    page = _Page()
    repositories = store.commits.repositories()
    named = [({"repository": own.name}, own) for own in repositories]
    page.add("traces", "Traces.", [(labels, store.traces.count(own)) for labels, own in named])
    page.add(
        "commits", "Commits of the default line.", [(lab, len(store.commits.line(own).slots)) for lab, own in named]
    )
    page.add(
        "regressions_unprocessed",
        "Unprocessed regressions and improvements that are work.",
        [(labels, store.findings.count(own, processed=False, selection=_WORK)) for labels, own in named],
    )
    page.add(
        "regressions_history",
        "Unprocessed regressions and improvements that are history.",
        [(labels, store.findings.count(own, processed=False, selection=_HISTORY)) for labels, own in named],
    )
    page.add(
        "events_waiting",
        "Events that are not done yet.",
        [({"consumer": each.consumer, "kind": each.kind.value}, each.count) for each in store.outbox.pending()],
    )
    page.add("events_failed", "Events that were given up.", [({}, len(store.outbox.dead()))])
    alerts = list_alerts(instance)
    page.add(
        "alert_up", "1 where the alert can run.", [({"alert": own.name}, float(not own.failure)) for own in alerts]
    )
    ran = [own for own in alerts if own.last_run is not None]
    page.add(
        "alert_run_seconds", "How long the last run took.", [({"alert": own.name}, own.seconds or 0) for own in ran]
    )
    page.add("alert_run_time", "Begin of the last run, seconds since 1970.", _times(ran))
    workers = _workers(instance, datetime.now(UTC))
    page.add(
        "worker_failures", "Rounds in a row that failed.", [({"worker": own.name}, own.failures) for own in workers]
    )
    page.add(
        "worker_seen_time",
        "When the worker was last seen, seconds since 1970.",
        [({"worker": own.name}, own.seen.timestamp()) for own in workers],
    )
    return "\n".join(page.lines) + "\n"


def _times(alerts: Iterable[AlertAnswer]) -> Iterator[tuple[Mapping[str, str], float]]:
    return (({"alert": own.name}, own.last_run.timestamp()) for own in alerts if own.last_run is not None)
