"""Build the status of an instance, and try files and events again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from knickpoint.ingest.held_files import RefusedFile, ingest_status
from knickpoint.ingest.import_summary import ImportSummary
from knickpoint.ingest.retries import retry_refused
from knickpoint.instance import Instance
from knickpoint.instance.separate_import import separate_reader
from knickpoint.instance.waiting_events import waiting_events
from knickpoint.server.answers.health import list_workers
from knickpoint.server.answers.overview import list_devices
from knickpoint.server.schemas.status import (
    DeadEventAnswer,
    EventCountAnswer,
    FilesAnswer,
    ImportedFileAnswer,
    RefusedFileAnswer,
    RetriedFileAnswer,
    RetryAnswer,
    RetryRequest,
    StatusAnswer,
    StoreAnswer,
    WaitingFileAnswer,
)
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store
from knickpoint.store.schema import HEAD

__all__ = ["read_status", "retry"]

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
