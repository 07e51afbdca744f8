"""The overview: what happened since a time, and what waits."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.announcement import AnnouncementKind
from knickpoint.model.statement import ChangeDirection
from knickpoint.server.schemas.base import Answer, ChangeId, FiniteOrNull
from knickpoint.server.schemas.changes import ChangeAnswer, StatementAnswer
from knickpoint.server.schemas.commits import CommitAnswer

__all__ = [
    "AssignedAnswer",
    "DeviceUseAnswer",
    "FailingAlertAnswer",
    "NewsAnswer",
    "OverviewAnswer",
    "SharedOverviewAnswer",
]


class NewsAnswer(Answer):
    """One thing that was announced."""

    kind: AnnouncementKind
    time: datetime
    repository: str
    change: ChangeId
    trace: str = Field(description="Key of the trace that led the change then.")
    trace_id: int | None = Field(description="Its id; null where there is no such trace any more.")
    traces: int = Field(description="How many traces were concerned.")
    relative_size: FiniteOrNull
    size: FiniteOrNull
    unit: str
    commit: CommitAnswer | None
    announced_size: str = Field(description="The size of the top trace in words, as it was announced.")
    statement: StatementAnswer | None = Field(
        description="What the change is now; null where it has no trace any more."
    )
    updated: bool = Field(description="Whether the direction, the size or the condition is another one now.")


class DeviceUseAnswer(Answer):
    """What a device did in the last 7 days, by the probes of bisections and schedules."""

    name: str
    probes: int
    lost: int = Field(description="Probes during which it died, hung or lost its network.")
    last: datetime


class FailingAlertAnswer(Answer):
    """An alert that cannot run."""

    name: str
    reason: str


class SharedOverviewAnswer(Answer):
    """What is the same for everybody who reads an overview: what waits, what fails, and what was announced lately."""

    waiting: int = Field(description="Number of changes with unprocessed findings.")
    waiting_directions: dict[ChangeDirection, int] = Field(description="Number of these changes, by direction.")
    canaries: int = Field(description="Number of unprocessed changes of canary alerts.")
    quarantined: int = Field(description="Number of runs whose results are quarantined.")
    largest: list[ChangeAnswer] = Field(
        description="The largest unprocessed changes, at most 6, each with its lead; improvements and what recovered are left out."
    )
    failing: list[FailingAlertAnswer] = Field(description="The alerts that cannot run.")
    devices: list[DeviceUseAnswer]
    news: list[NewsAnswer] = Field(
        description="The newest announcements, at most 12; in an overview those since its time."
    )


class AssignedAnswer(Answer):
    """What is assigned to the caller."""

    mine: int = Field(description="Number of changes with findings that are assigned to the caller.")


class OverviewAnswer(SharedOverviewAnswer, AssignedAnswer):
    """What happened since a time, and what waits."""

    since: datetime
    announced: dict[AnnouncementKind, int] = Field(description="Number of announcements since, by kind.")
