"""Build the answers about the health of an instance: its workers, alerts and notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from knickpoint.instance import Instance, find_notices
from knickpoint.instance.alert_definition import alert_problem
from knickpoint.instance.alert_sources import sourced_alerts
from knickpoint.instance.waiting_events import abandoned_since
from knickpoint.model.access import Permission
from knickpoint.model.service_part import WORKER_PARTS, ServicePart
from knickpoint.server.schemas.health import AlertAnswer, HealthAnswer, NoticeAnswer, WorkerAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store.events.workers import WorkerState
from knickpoint.watch.alert_config.alert_health import missing_params, newest_runs
from knickpoint.watch.alert_config.applied_alerts import AlertState, alert_states
from knickpoint.watch.lines import Lines

__all__ = ["State", "list_alerts", "list_notices", "list_workers", "read_health"]

State = Literal["working", "failing", "lost"]
"""The state of a worker."""

_HIDDEN_REASON: Final = "the reason is shown to callers who may read every repository"

_LOST_AFTER: Final = timedelta(minutes=10)
"""A worker without a heartbeat for longer is lost."""


def list_notices(instance: Instance, visible: VisibleRepositories, limit: int) -> list[NoticeAnswer]:
    """List at most ``limit`` notices."""
    return [NoticeAnswer.of(notice) for notice in find_notices(instance, visible.all())[:limit]]


def list_alerts(
    instance: Instance, visible: VisibleRepositories, *, shadowed: bool = False, warnings: bool = True
) -> list[AlertAnswer]:
    """List the alerts that run by name, each with its last run and the reason why it cannot run, or may find nothing.

    With ``shadowed``, also those that do not run because another has their name. Without ``warnings``, no trace is read.
    A run over repositories that the caller may not read gives neither its reason nor its size.
    """
    known = visible.all()
    lines = [Lines(instance.store, repository) for repository in known]
    answers = []
    sources = [
        each
        for each in sourced_alerts(instance.config, instance.store)
        if (shadowed or not each.shadowed) and (not each.alert.repository or visible.shows(each.alert.repository))
    ]
    newest = instance.store.findings.alert_runs.newest_of(sorted({each.alert.name for each in sources}))
    states = alert_states(instance.store, [each.alert for each in sources if not each.shadowed])
    for source in sorted(sources, key=lambda each: each.alert.name):
        alert = source.alert
        runs = () if source.shadowed else newest[alert.name]
        run = runs[0] if runs else None
        whole = run if alert.repository or visible.is_everything else None
        # A later run over another repository does not make good the one that failed.
        failed = next((each for each in newest_runs(alert, runs, known) if each.failure), None)
        failure = (failed.failure if whole else _HIDDEN_REASON) if failed else ""
        answers.append(
            AlertAnswer.of(
                alert,
                direction=alert.direction.value,
                source=source.source,
                place=source.place,
                state=AlertState.SHADOWED if source.shadowed else states[alert.name],
                failure=alert_problem(instance, alert, lines) or failure,
                warning=missing_params(instance.store, alert, known) if warnings else "",
                last_run=run.started if run else None,
                seconds=whole.seconds if whole else None,
                traces=whole.traces if whole else None,
            )
        )
    return answers


def list_workers(instance: Instance, visible: VisibleRepositories, now: datetime) -> list[WorkerAnswer]:
    """List the workers that the store knows, each with its state at ``now``.

    Reasons of failures may name any repository, and are for callers who may read all of them.
    """
    return [
        WorkerAnswer.of(
            worker,
            state=_state(worker, now),
            parts=[part for part in ServicePart if part in worker.parts],
            reason=worker.reason if visible.is_everything or not worker.reason else _HIDDEN_REASON,
            slowed=worker.slowed if visible.is_everything or not worker.slowed else _HIDDEN_REASON,
        )
        for worker in instance.store.workers.all()
    ]


def _state(worker: WorkerState, now: datetime) -> State:
    if worker.failures:
        return "failing"
    return "lost" if now - worker.seen > _LOST_AFTER else "working"


def read_health(instance: Instance, visible: VisibleRepositories, now: datetime | None = None) -> HealthAnswer:
    """Return the health of the instance at ``now``, by default the present.

    A caller who may read nothing learns the status, and nothing else.

    Raises:
        StoreError: the store cannot be read.
    """
    workers = list_workers(instance, visible, now or datetime.now(UTC))
    troubles = [
        *_alert_troubles(list_alerts(instance, visible, warnings=False)),
        *_worker_troubles(workers),
        *_waiting_troubles(instance, now or datetime.now(UTC)),
        *instance.replicas.problems(),
        *instance.primaries.problems(),
    ]
    known = visible.caller.grants.allow_somewhere(Permission.READ)
    return HealthAnswer(
        status="troubled" if troubles else "ok",
        repositories=len(visible.all()),
        workers=workers if known else [],
        troubles=troubles if known else [],
    )


def _alert_troubles(alerts: Sequence[AlertAnswer]) -> Iterator[str]:
    for alert in alerts:
        if alert.failure:
            yield f"alert {alert.name}: {alert.failure}"


def _worker_troubles(workers: Sequence[WorkerAnswer]) -> Iterator[str]:
    """Yield the failing workers, then the lost ones, then the parts that no worker runs while others are at work."""
    for worker in workers:
        if worker.state == "failing":
            yield f"worker {worker.name} fails: {worker.reason}"
    for worker in workers:
        if worker.state == "lost":
            yield f"worker {worker.name} has not been seen since {worker.seen:%Y-%m-%d %H:%M} UTC"
    running = {part for worker in workers if worker.state != "lost" for part in worker.parts}
    for part in ServicePart:
        if running and part in WORKER_PARTS - running:
            yield f"no process runs the part {part.value}: knick serve --only {part.value} does"


def _waiting_troubles(instance: Instance, now: datetime) -> Iterator[str]:
    """Say that results wait where nobody runs the alerts, also long after the last worker was forgotten."""
    since = abandoned_since(instance, now)
    if since is not None:
        yield (
            f"results have waited for the alerts since {since:%Y-%m-%d %H:%M} UTC, and no process runs them:"
            " knick serve --only worker does, or knick run"
        )
