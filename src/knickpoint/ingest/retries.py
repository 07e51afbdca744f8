"""Try again the files that wait for their commits, and those in quarantine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from knickpoint.ingest.bucket_events import BUCKET_EVENT, import_bucket_event, quarantine_bucket_event
from knickpoint.ingest.commit_sources.selection import CommitSources
from knickpoint.ingest.held_files import quarantine_waiting, unknown_revisions
from knickpoint.ingest.import_summary import FileSummary, ImportState, ImportSummary, unreadable_file
from knickpoint.ingest.pipeline import ImportPipeline
from knickpoint.ingest.results_file import ResultsFile, read_format_option
from knickpoint.ingest.settings import Destination
from knickpoint.ingest.stages.read import Reader, read_results
from knickpoint.model.errors import HistoryError, InputError, ServiceError, StoreError
from knickpoint.model.report import Problem
from knickpoint.store import Quarantined, Waiting

Item = TypeVar("Item")
Progress = Callable[[int, int], None]
"""Is called with the number of files that are done, and the number of all files."""


@dataclass(frozen=True, slots=True)
class _Known:
    """Repository id → the revisions that it has by now, and repository name → why it cannot be read."""

    revisions: Mapping[int, frozenset[str]] = field(default_factory=dict)
    failures: Mapping[str, HistoryError] = field(default_factory=dict)


def retry_waiting(
    destination: Destination, *, fetch: bool = True, progress: Progress | None = None, reader: Reader = read_results
) -> ImportSummary:
    """Bring repositories up to date, and import the files whose commits are known by now.

    A file that has waited for longer than ``waiting_days`` goes into quarantine. A repository that cannot be read is
    ``unread`` in the summary, and does not hold up the others.
    """
    pipeline, ledger = ImportPipeline(destination, allow_empty=True, reader=reader), destination.store.ledger
    # Which of the commits that files wait for are there now?
    failures: dict[str, HistoryError] = pipeline.commit_sources.sync(fetch=fetch)
    names = {repository.id: repository.name for repository in destination.store.commits.repositories()}
    waiting = ledger.waiting(payloads=False)
    readable = [held for held in waiting if names.get(held.repository_id) not in failures]
    known = _find_known(pipeline.commit_sources, names, readable)
    failures |= known.failures
    # Import the files with at least one of them.
    ready = [
        held
        for held in waiting
        if not known.revisions.get(held.repository_id, frozenset()).isdisjoint(unknown_revisions(held))
    ]
    summaries = [
        _import_waiting(pipeline, entry)
        for held in _with_progress(ready, progress)
        for entry in ledger.waiting(number=held.id)
    ]
    # Give up on those that have waited for too long.
    oldest = datetime.now(UTC) - timedelta(days=destination.ingest.waiting_days)
    for held in ledger.waiting(payloads=False):
        if held.created < oldest:
            quarantine_waiting(destination.store, held.id, f"for {destination.ingest.waiting_days:g} days")
    unread = [f"repository {name}: {error}" for name, error in sorted(failures.items())]
    return ImportSummary.of(summaries, pipeline.commit_sources.notes(), unread=unread)


def _import_waiting(pipeline: ImportPipeline, entry: Waiting) -> FileSummary | None:
    """Import one file.

    Where it is damaged, or the process that reads it is ended, it goes on waiting and holds up no others.
    """
    try:
        file = ResultsFile.kept(entry.source, entry.payload, entry.options)
    except StoreError as error:
        return unreadable_file(entry.source, error)
    try:
        return pipeline.import_file(file)
    except ServiceError as error:
        return unreadable_file(entry.source, error)


def retry_refused(
    destination: Destination,
    numbers: Collection[int] = (),
    *,
    format: str = "",  # noqa: A002 - the word of the command line
    revision: str = "",
    progress: Progress | None = None,
    reader: Reader = read_results,
) -> ImportSummary:
    """Import files in quarantine again, as they arrived, under the configuration of today.

    Args:
        destination: an instance.
        numbers: the files' numbers, none for all files.
        format: name of the format, or path of a mapping, where it was not recognised.
        revision: the commit, where the results do not state it: hash, number, or a branch or tag of the git repository.
        progress: is called with (done, total).
        reader: what reads a file.

    Raises:
        InputError: there is no such file in quarantine.
    """
    ledger = destination.store.ledger
    known = [held.id for held in ledger.quarantined(payloads=False)]
    missing = sorted(set(numbers) - set(known))
    if missing:
        raise InputError(
            f"there is no file {missing[0]} in quarantine", remedy="List them with knick ingest quarantine."
        )
    chosen = [number for number in known if not numbers or number in numbers]
    name, mapping = read_format_option(format)
    pipeline = ImportPipeline(destination, reader=reader)
    summaries: list[FileSummary | None] = []
    for number in _with_progress(chosen, progress):
        for entry in ledger.quarantined(number):
            try:
                file = ResultsFile.kept(entry.source, entry.payload, entry.options)
            except StoreError as error:
                summaries.append(unreadable_file(entry.source, error))
                continue
            if entry.options.get(BUCKET_EVENT):
                summaries += _retry_bucket_event(destination, entry, file.data, reader)
                continue
            context = file.context.with_stated(format=name, commit=revision, mapping=mapping)
            summaries.append(pipeline.import_file(replace(file, context=context, references=bool(revision))))
    return ImportSummary.of(summaries)


def _retry_bucket_event(
    destination: Destination, entry: Quarantined, body: bytes, reader: Reader
) -> Sequence[FileSummary]:
    """Import the files of an event that was refused; it leaves the quarantine when all of them can be read."""
    try:
        summaries = import_bucket_event(destination, body, reader=reader).files
    except InputError as error:
        return [quarantine_bucket_event(destination, body, entry.source, Problem.of(error))]
    if all(summary.state is not ImportState.UNREADABLE for summary in summaries):
        destination.store.ledger.discharge(entry.id)
    return summaries


def _find_known(commit_sources: CommitSources, names: Mapping[int, str], waiting: Sequence[Waiting]) -> _Known:
    """Return the commits that each repository has by now of those that files wait for.

    A file of a repository that is gone is ready: the import finds out where it belongs.
    """
    wanted: dict[int, set[str]] = {}
    for held in waiting:
        wanted.setdefault(held.repository_id, set()).update(unknown_revisions(held))
    revisions: dict[int, frozenset[str]] = {}
    failures: dict[str, HistoryError] = {}
    for number, unknown in wanted.items():
        if number not in names:
            revisions[number] = frozenset(unknown)
            continue
        try:
            revisions[number] = commit_sources.open(names[number]).locate(unknown)
        except HistoryError as error:
            failures[names[number]] = error
    return _Known(revisions, failures)


def _with_progress(items: Sequence[Item], progress: Progress | None) -> Iterable[Item]:
    """Yield ``items``, and report each before it is worked on."""
    for done, item in enumerate(items):
        if progress is not None:
            progress(done, len(items))
        yield item
