"""The status of an instance: files, events, workers, devices, the store."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from knickpoint.server.schemas.base import Answer, Id
from knickpoint.server.schemas.health import WorkerAnswer
from knickpoint.server.schemas.overview import DeviceUseAnswer

__all__ = [
    "DeadEventAnswer",
    "EventCountAnswer",
    "FilesAnswer",
    "ImportedFileAnswer",
    "RefusedFileAnswer",
    "RetriedFileAnswer",
    "RetryAnswer",
    "RetryRequest",
    "StatusAnswer",
    "StoreAnswer",
    "WaitingFileAnswer",
]


class WaitingFileAnswer(Answer):
    """A file that waits for a commit that its repository does not have."""

    id: int
    source: str
    repository: str
    unknown: list[str] = Field(description="The commits that it waits for, at most 3.")
    since: datetime


class RefusedFileAnswer(Answer):
    """A file that was refused; it is kept and can be tried again."""

    id: int
    source: str
    error: str
    where: str
    remedy: str
    attempts: int
    since: datetime


class ImportedFileAnswer(Answer):
    """A file that was seen lately."""

    source: str
    state: Literal["stored", "waiting", "quarantined", "removed"]
    format: str
    runs: int
    size: int = Field(description="Bytes.")
    changed: datetime


class FilesAnswer(Answer):
    """The files that were seen. Lists have at most 50 entries."""

    counts: dict[str, int] = Field(
        description="Number of files by state: `stored`, `waiting`, `quarantined`, `removed`."
    )
    waiting: list[WaitingFileAnswer]
    refused: list[RefusedFileAnswer] = Field(description="The newest first.")
    recent: list[ImportedFileAnswer] = Field(description="The newest 10 files.")


class EventCountAnswer(Answer):
    """How many events of a kind wait for a consumer."""

    consumer: str
    kind: str
    count: int


class DeadEventAnswer(Answer):
    """An event that was given up."""

    id: int
    consumer: str
    kind: str
    created: datetime
    attempts: int
    reason: str


class StoreAnswer(Answer):
    """The database."""

    kind: Literal["sqlite", "postgresql"]
    schema_revision: str
    size: int | None = Field(description="Bytes of the database file; null for PostgreSQL.")
    traces: int
    commits: int


class StatusAnswer(Answer):
    """The status of an instance."""

    workers: list[WorkerAnswer]
    devices: list[DeviceUseAnswer] = Field(description="Devices that made probes in the last 7 days.")
    files: FilesAnswer | None = Field(description="null for callers who may not read every repository.")
    events: list[EventCountAnswer] | None = Field(description="null for callers who may not read every repository.")
    dead_events: list[DeadEventAnswer] = Field(description="The newest 50 events that were given up.")
    dead_total: int
    store: StoreAnswer


class RetryRequest(Answer):
    """What to try again."""

    files: list[Id] = Field(default=[], max_length=20, description="Ids of refused files.")
    events: bool = Field(default=False, description="Whether to process all events again that were given up.")


class RetriedFileAnswer(Answer):
    """What became of a file that was tried again."""

    source: str
    lines: list[str] = Field(description="As `knick ingest retry` prints them.")


class RetryAnswer(Answer):
    """What became of what was tried again."""

    files: list[RetriedFileAnswer]
    events: int = Field(description="Number of events that are due again.")
