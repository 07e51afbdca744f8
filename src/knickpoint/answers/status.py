"""The status of an instance, and another try of files and events."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from knickpoint.answers.base import Answer, Id
from knickpoint.answers.health import WorkerAnswer, list_workers
from knickpoint.answers.overview import DeviceUseAnswer, list_devices
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.ingest.held_files import RefusedFile, ingest_status
from knickpoint.ingest.import_summary import ImportSummary
from knickpoint.ingest.retries import retry_refused
from knickpoint.instance import Instance
from knickpoint.instance.separate_import import separate_reader
from knickpoint.instance.worker.heartbeat import waiting_events
from knickpoint.store import Store
from knickpoint.store.schema import HEAD

# The status of an instance: files, events, workers, devices, the store.


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


# Build the status of an instance, and try files and events again.


_MOST: Final = 50
_RECENT: Final = 10
_MOST_UNKNOWN: Final = 3


def read_status(instance: Instance, visible: VisibleRepositories) -> StatusAnswer:
    """Return the status of an instance.

    Files and events belong to no repository; a caller who may not read every repository gets none of them.
    """
    store = instance.store
    everything = visible.is_everything
    dead = store.outbox.dead() if everything else []
    return StatusAnswer(
        workers=list_workers(instance, visible, datetime.now(UTC)),
        devices=list_devices(store, visible.all()),
        files=_files(instance) if everything else None,
        events=[EventCountAnswer.of(each, kind=each.kind.value) for each in waiting_events(instance)]
        if everything
        else None,
        dead_events=[DeadEventAnswer.of(event, kind=event.kind.value) for event in reversed(dead[-_MOST:])],
        dead_total=len(dead),
        store=_store(store, visible),
    )


def _files(instance: Instance) -> FilesAnswer:
    status = ingest_status(instance, recent=_RECENT)
    return FilesAnswer(
        counts=status.counts,
        waiting=[
            WaitingFileAnswer.of(file, unknown=list(file.unknown[:_MOST_UNKNOWN])) for file in status.waiting[:_MOST]
        ],
        refused=[_refused(file) for file in reversed(status.refused[-_MOST:])],
        recent=[ImportedFileAnswer.of(file, state=file.state.value) for file in status.recent],
    )


def _refused(file: RefusedFile) -> RefusedFileAnswer:
    first = file.problems[0] if file.problems else None
    return RefusedFileAnswer.of(
        file,
        error=first.message if first else "the file was refused",
        where=first.where if first else "",
        remedy=first.remedy if first else "",
    )


def _store(store: Store, visible: VisibleRepositories) -> StoreAnswer:
    embedded = store.database.embedded
    repositories = visible.all()
    return StoreAnswer(
        kind="sqlite" if embedded else "postgresql",
        schema_revision=HEAD,
        size=Path(store.location).stat().st_size if embedded else None,
        traces=sum(store.traces.count(each) for each in repositories),
        commits=sum(len(store.commits.line(each).slots) for each in repositories if store.commits.lines(each)),
    )


def retry(instance: Instance, request: RetryRequest) -> RetryAnswer:
    """Import refused files again, as they arrived, and make events due again that were given up.

    Raises:
        InputError: there is no such file in quarantine.
    """
    reader = separate_reader(instance)
    summary = retry_refused(instance, request.files, reader=reader) if request.files else ImportSummary(())
    return RetryAnswer(
        files=[RetriedFileAnswer(source=file.source, lines=file.lines()) for file in summary.files],
        events=instance.store.outbox.retry() if request.events else 0,
    )
