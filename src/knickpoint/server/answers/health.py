"""Build the answers about the health of an instance: its workers, alerts and notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from knickpoint.instance import Instance, find_notices
from knickpoint.server.schemas.health import AlertAnswer, HealthAnswer, NoticeAnswer, WorkerAnswer
from knickpoint.store.events.workers import WorkerState
from knickpoint.store.findings.alerts import AlertRun
from knickpoint.watch.alert_validation import reason_against

__all__ = ["State", "list_alerts", "list_notices", "list_workers", "read_health"]

State = Literal["working", "failing", "lost"]
"""The state of a worker."""

_LOST_AFTER: Final = timedelta(minutes=10)
"""A worker without a heartbeat for longer is lost."""


def list_notices(instance: Instance, limit: int) -> list[NoticeAnswer]:
    """List at most ``limit`` of the canaries that moved, and of the benchmarks that stopped."""
    return [NoticeAnswer.of(notice) for notice in find_notices(instance)[:limit]]


def _last_run(instance: Instance, name: str) -> AlertRun | None:
    return next(iter(instance.store.findings.alerts.runs(name, last=1)), None)


def list_alerts(instance: Instance) -> list[AlertAnswer]:
    """List the alerts of the configuration by name, each with its last run and the reason why it cannot run."""
    repositories = [repository.name for repository in instance.store.commits.repositories()]
    answers = []
    for alert in sorted(instance.alerts, key=lambda alert: alert.name):
        run = _last_run(instance, alert.name)
        answers.append(
            AlertAnswer.of(
                alert,
                direction=alert.direction.value,
                failure=reason_against(alert, repositories) or (run.failure if run else ""),
                last_run=run.started if run else None,
                seconds=run.seconds if run else None,
                traces=run.traces if run else None,
            )
        )
    return answers


def list_workers(instance: Instance, now: datetime) -> list[WorkerAnswer]:
    """List the workers that the store knows, each with its state at ``now``."""
    return [WorkerAnswer.of(worker, state=_state(worker, now)) for worker in instance.store.workers.all()]


def _state(worker: WorkerState, now: datetime) -> State:
    if worker.failures:
        return "failing"
    return "lost" if now - worker.seen > _LOST_AFTER else "working"


def read_health(instance: Instance, now: datetime | None = None) -> HealthAnswer:
    """Return the health of the instance at ``now``, by default the present.

    Raises:
        StoreError: the store cannot be read.
    """
    workers = list_workers(instance, now or datetime.now(UTC))
    troubles = [*_alert_troubles(list_alerts(instance)), *_worker_troubles(workers)]
    return HealthAnswer(
        status="troubled" if troubles else "ok",
        repositories=len(instance.store.commits.repositories()),
        workers=workers,
        troubles=troubles,
    )


def _alert_troubles(alerts: Sequence[AlertAnswer]) -> Iterator[str]:
    for alert in alerts:
        if alert.failure:
            yield f"alert {alert.name}: {alert.failure}"


def _worker_troubles(workers: Sequence[WorkerAnswer]) -> Iterator[str]:
    """Yield the failing workers, then the lost ones."""
    for worker in workers:
        if worker.state == "failing":
            yield f"worker {worker.name} fails: {worker.reason}"
    for worker in workers:
        if worker.state == "lost":
            yield f"worker {worker.name} has not been seen since {worker.seen:%Y-%m-%d %H:%M} UTC"
