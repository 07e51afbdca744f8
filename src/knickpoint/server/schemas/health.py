"""The health of an instance: its workers, alerts and notices, and the version of the server."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from knickpoint.instance import NoticeKind
from knickpoint.instance.alert_sources import AlertSource
from knickpoint.model.alert import AlertKind, AlertSeverity
from knickpoint.model.service_part import ServicePart
from knickpoint.server.schemas.base import Answer
from knickpoint.watch.alert_config.applied_alerts import AlertState

__all__ = [
    "AlertAnswer",
    "HealthAnswer",
    "NoticeAnswer",
    "ReadyAnswer",
    "VersionAnswer",
    "WorkerAnswer",
]


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
        description="Why it works slower than it could, as where those who detect for it cannot read the store; empty where "
        "it does not. That is no trouble: it does all of its work."
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
    troubles: list[str] = Field(description="What is wrong, one line a trouble.")


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
        description="`configuration`: knickpoint.toml; `store`: made by command or API; `repository`: a file of the watched "
        "repository; `default`: as no other is defined."
    )
    place: str = Field(description="The section, who changed it, or the file and its commit.")
    state: AlertState = Field(
        description="`applied`; `added` or `changed` since the alerts were applied last; `shadowed`: it does not run, as "
        "another place defines one of its name."
    )
    failure: str = Field(description="Why it cannot run, or could not the last time; empty where it can.")
    warning: str = Field(description="Why it may find nothing though it runs; empty where nothing is known.")
    last_run: datetime | None = Field(description="null before the first run.")
    seconds: float | None = Field(description="Duration of the last run.")
    traces: int | None = Field(description="Number of traces in the last run.")


class NoticeAnswer(Answer):
    """Something to look at besides the changes: a canary that moved, a benchmark that stopped, or a changed direction."""

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
