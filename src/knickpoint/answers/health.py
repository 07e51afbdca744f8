"""The health of an instance: its workers, alerts and notices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

from pydantic import Field

from knickpoint.answers.base import Answer
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.instance import Instance, NoticeKind, find_notices
from knickpoint.instance.alert_definition import alert_problem
from knickpoint.instance.alert_sources import AlertSource, sourced_alerts
from knickpoint.instance.worker.heartbeat import abandoned_since
from knickpoint.model.access import Permission
from knickpoint.model.alert import AlertKind, AlertSeverity
from knickpoint.model.service_part import WORKER_PARTS, ServicePart
from knickpoint.store.events import WorkerState
from knickpoint.watch.alert_config.alert_health import missing_params, newest_runs
from knickpoint.watch.alert_config.applied_alerts import AlertState, alert_states
from knickpoint.watch.lines import Lines

# The health of an instance: its workers, alerts and notices, and the version of the server.


class VersionAnswer(Answer):
    """Name and version of the program, and the version of this API."""

    name: str
    version: str
    api: str


class ReadyAnswer(Answer):
    """That the process can serve requests, and what it runs."""

    ready: bool
    parts: list[ServicePart] = Field(description="The parts of the instance that this process runs.")


class WorkerAnswer(Answer):
    """The state of one worker."""

    name: str
    started: datetime
    seen: datetime = Field(description="Time of its last heartbeat.")
    failures: int = Field(description="Number of consecutive failures; 0 when all is well.")
    reason: str = Field(description="Reason of the last failure; kept when all is well again.")
    slowed: str = Field(
        description="Why it works slower than it could, as where those who detect for it cannot read the store; empty "
        "where it does not. That is not trouble: it does all of its work."
    )
    state: Literal["working", "failing", "lost"]
    parts: list[ServicePart] = Field(description="The parts that it runs; empty for one of an older version.")


class HealthAnswer(Answer):
    """Whether the store can be read, the workers work, and the alerts can run."""

    status: Literal["ok", "troubled"] = Field(
        description="`troubled` when a worker fails or is lost, a part of the instance runs nowhere, or an alert cannot run. A store that cannot be read"
        " answers 503 with an error."
    )
    repositories: int
    workers: list[WorkerAnswer]
    troubles: list[str] = Field(description="What is wrong, one problem a line.")


class AlertAnswer(Answer):
    """An alert, where it is defined, and its last run."""

    name: str
    query: str
    repository: str
    line: str
    group_by: list[str]
    method: str
    parameters: dict[str, float | int | str | bool]
    direction: str
    minimum_effect: float
    minimum_change: float
    since: str = Field(description="`start`, `best`, a date, or the tag of a release.")
    samples: bool
    summary: str = Field(description="Which summary of samples is judged, such as `p99`; empty for their level.")
    minimum_traces: int
    window: int
    settle_share: float
    settle_least: int
    settle_most: int
    kind: AlertKind
    severity: AlertSeverity
    owners: list[str]
    notify: list[str]
    every_minutes: float = Field(description="Pause between two runs over all its traces; 0: whenever results arrive.")
    source: AlertSource = Field(
        description="`configuration`: knickpoint.toml; `store`: made by command or API; `repository`: a file of the "
        "watched repository; `default`: as no other is defined."
    )
    place: str = Field(description="The section, who changed it, or the file and its commit.")
    state: AlertState = Field(
        description="`applied`; `added` or `changed` since the alerts were applied last; `shadowed`: it does not run, "
        "as another place defines one of its name."
    )
    failure: str = Field(description="Why it cannot run, or could not the last time; empty where it can.")
    warning: str = Field(description="Why it may find nothing though it runs; empty where nothing is known.")
    last_run: datetime | None = Field(description="null before the first run.")
    seconds: float | None = Field(description="Duration of the last run.")
    traces: int | None = Field(description="Number of traces in the last run.")


class NoticeAnswer(Answer):
    """Something to look at besides the changes: a canary that moved, a silent benchmark, or a changed direction."""

    kind: NoticeKind = Field(
        description="`canary`: a canary moved; `silence`: a benchmark stopped; `direction`: findings would turn between "
        "regression and improvement, because another direction of their traces is better now."
    )
    repository: str
    trace: str = Field(
        description="Key of the trace; empty where several stopped at one commit; an example for a direction."
    )
    commit: str = Field(
        description="The commit at which the canary moved, or the last one with results; empty for a direction."
    )
    canary: str = Field(description="Name of its section in knickpoint.toml.")
    changes: list[int] = Field(description="Unprocessed changes that are in doubt because of it.")
    text: str


# Build the answers about the health of an instance: its workers, alerts and notices.


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

    With ``shadowed``, also those that do not run because another has their name. Without ``warnings``, no trace is
    read. A run over repositories that the caller may not read gives neither its reason nor its size.
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
