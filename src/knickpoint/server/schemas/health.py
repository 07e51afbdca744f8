"""Shapes of the state of an instance: its workers, alerts and notices."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from knickpoint.instance import NoticeKind
from knickpoint.server.schemas.base import Answer

__all__ = [
    "AlertAnswer",
    "HealthAnswer",
    "NoticeAnswer",
    "VersionAnswer",
    "WorkerAnswer",
]


class VersionAnswer(Answer):
    """Name and version of the program, and the version of this API."""

    name: str
    version: str
    api: str


class WorkerAnswer(Answer):
    """How one worker does."""

    name: str
    started: datetime
    seen: datetime = Field(description="When it last said that it is at work.")
    failures: int = Field(description="Rounds in a row in which something failed; 0 when all is well.")
    reason: str = Field(description="What the last failure said, also when all is well again.")
    state: Literal["working", "failing", "lost"]


class HealthAnswer(Answer):
    """Whether the store can be read, and how the workers and the alerts do."""

    status: Literal["ok", "troubled"] = Field(
        description="`troubled` when a worker fails or is lost, or an alert cannot run. A store that cannot be read"
        " answers 503 with an error."
    )
    repositories: int
    workers: list[WorkerAnswer]
    troubles: list[str] = Field(description="What is wrong, one line each.")


class AlertAnswer(Answer):
    """An alert of the configuration, and its last run."""

    name: str
    query: str
    repository: str
    line: str
    group_by: list[str]
    method: str
    parameters: dict[str, float | int | str | bool]
    direction: str
    minimum_effect: float
    minimum_traces: int
    window: int
    failure: str = Field(description="Why it cannot run, or could not at the last try; empty where it can.")
    last_run: datetime | None = Field(description="null before the first run.")
    seconds: float | None = Field(description="How long the last run took.")
    traces: int | None = Field(description="Traces that the last run was about.")


class NoticeAnswer(Answer):
    """Something that somebody should look at, and that no finding says."""

    kind: NoticeKind = Field(description="A canary that moved, or the silence of a benchmark that stopped.")
    repository: str
    trace: str = Field(description="Key of the trace; empty where several stopped at one commit.")
    commit: str = Field(description="Where the canary moved, or the last commit before the silence.")
    canary: str = Field(description="Name of its section in knickpoint.toml.")
    regressions: list[int] = Field(description="Unprocessed regressions that are in doubt because of it.")
    text: str
