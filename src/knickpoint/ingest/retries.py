"""Show what waits and what was refused, and try both again."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from knickpoint.ingest.commit_sources.git import GitCommits
from knickpoint.ingest.commit_sources.selection import CommitSources
from knickpoint.ingest.file_import import mapping_of
from knickpoint.ingest.import_summary import FileSummary, ImportState, ImportSummary
from knickpoint.ingest.pipeline import Writer, give_up
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import Destination
from knickpoint.ingest.watched_source import BUCKET_EVENT, import_bucket_event, quarantine_bucket_event
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.report import Problem
from knickpoint.store import FileEntry, FileState, Quarantined, Waiting

__all__ = ["IngestStatus", "RefusedFile", "WaitingFile", "ingest_status", "retry_refused", "retry_waiting"]


@dataclass(frozen=True, slots=True)
class WaitingFile:
    """A file with results of commits that its repository does not have; ``unknown`` are those."""

    id: int
    source: str
    repository: str
    unknown: tuple[str, ...]
    since: datetime


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file in quarantine."""

    id: int
    source: str
    problems: tuple[Problem, ...]
    attempts: int
    since: datetime


@dataclass(frozen=True, slots=True)
class IngestStatus:
    """What came in, what waits, and what was refused. ``recent`` are the newest files first."""

    counts: dict[str, int]
    waiting: tuple[WaitingFile, ...]
    refused: tuple[RefusedFile, ...]
    recent: tuple[FileEntry, ...]


def ingest_status(destination: Destination, *, recent: int = 20) -> IngestStatus:
    """Return what became of all files so far."""
    ledger = destination.store.ledger
    names = {repository.id: repository.name for repository in destination.store.commits.repositories()}
    waiting = tuple(
        WaitingFile(held.id, held.source, names.get(held.repository_id, "?"), _unknown(held), held.created)
        for held in ledger.waiting(payloads=False)
    )
    refused = tuple(
        RefusedFile(one.id, one.source, one.problems, one.attempts, one.changed)
        for one in ledger.quarantined(payloads=False)
    )
    counts = ledger.counts()
    return IngestStatus(
        {state.value: counts.get(state, 0) for state in FileState},
        waiting,
        refused,
        tuple(ledger.files(limit=recent)),
    )


def retry_waiting(
    destination: Destination, *, fetch: bool = True, progress: Callable[[int, int], None] | None = None
) -> ImportSummary:
    """Bring repositories up to date and take in what waited for commits that are known now.

    What has waited for longer than ``waiting_days`` goes into quarantine. A repository that cannot be read is
    ``unread``; the others are not kept waiting for it.
    """
    books = CommitSources(destination)
    broken = books.sync(fetch=fetch)
    ledger = destination.store.ledger
    names = {repository.id: repository.name for repository in destination.store.commits.repositories()}
    held = ledger.waiting(payloads=False)
    asked = [one for one in held if names.get(one.repository_id) not in broken]
    known, silent = _known_revisions(books, names, asked)
    broken |= silent
    ready = [one for one in held if not known.get(one.repository_id, set()).isdisjoint(_unknown(one))]
    writer = Writer(destination, books)
    outcomes: list[FileSummary] = []
    for done, one in enumerate(ready):
        if progress is not None:
            progress(done, len(ready))
        outcomes += [
            writer.take(ResultsFile.kept(entry.source, entry.payload, entry.options))
            for entry in ledger.waiting(number=one.id)
        ]
    oldest = datetime.now(UTC) - timedelta(days=destination.ingest.waiting_days)
    for one in ledger.waiting(payloads=False):
        if one.created < oldest:
            give_up(destination.store, one.id, f"for {destination.ingest.waiting_days:g} days")
    unread = tuple(f"repository {name}: {error}" for name, error in sorted(broken.items()))
    return ImportSummary(tuple(outcomes), notes=books.told(), unread=unread)


def retry_refused(
    destination: Destination,
    numbers: Collection[int] = (),
    *,
    format: str = "",  # noqa: A002 - the word of the command line
    revision: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> ImportSummary:
    """Try files in quarantine again, as they came, under the configuration of today.

    Args:
        destination: an instance.
        numbers: the files' numbers, all files without any.
        format: name of the format, or path of a mapping, where it was not recognised.
        revision: the commit, where the results do not say it: hash, number, or a branch or tag of the git repository.
        progress: is told (done, total).

    Raises:
        InputError: there is no such file in quarantine.
    """
    ledger = destination.store.ledger
    known = [one.id for one in ledger.quarantined(payloads=False)]
    missing = sorted(set(numbers) - set(known))
    if missing:
        raise InputError(
            f"there is no file {missing[0]} in quarantine", remedy="List them with knick ingest quarantine."
        )
    chosen = [number for number in known if not numbers or number in numbers]
    name, mapping = mapping_of(format)
    writer = Writer(destination, CommitSources(destination))
    outcomes: list[FileSummary] = []
    for done, number in enumerate(chosen):
        if progress is not None:
            progress(done, len(chosen))
        for entry in ledger.quarantined(number):
            if entry.options.get(BUCKET_EVENT):
                outcomes += _announced_again(destination, entry)
                continue
            arrival = ResultsFile.kept(entry.source, entry.payload, entry.options)
            context = arrival.context.with_told(format=name, commit=revision, mapping=mapping)
            outcomes.append(writer.take(replace(arrival, context=context, references=bool(revision))))
    return ImportSummary(tuple(outcomes))


def _announced_again(destination: Destination, entry: Quarantined) -> Sequence[FileSummary]:
    """Take in the files of an event that could not be used before; it leaves the quarantine when that works."""
    body = zlib.decompress(entry.payload)
    try:
        outcomes = import_bucket_event(destination, body).files
    except InputError as error:
        problem = Problem(error.message, error.where, error.remedy)
        return [quarantine_bucket_event(destination, body, entry.source, problem)]
    if all(outcome.state is not ImportState.UNREADABLE for outcome in outcomes):
        destination.store.ledger.discharge(entry.id)
    return outcomes


def _unknown(held: Waiting) -> tuple[str, ...]:
    unknown = held.options.get("unknown")
    return tuple(str(revision) for revision in unknown) if isinstance(unknown, list) else (held.revision,)


def _known_revisions(
    books: CommitSources, names: dict[int, str], held: Sequence[Waiting]
) -> tuple[dict[int, set[str]], dict[str, HistoryError]]:
    """Return repository → the revisions among those waited for that it knows now, and why others cannot be asked."""
    wanted: dict[int, set[str]] = {}
    for one in held:
        wanted.setdefault(one.repository_id, set()).update(_unknown(one))
    known: dict[int, set[str]] = {}
    broken: dict[str, HistoryError] = {}
    for number, revisions in wanted.items():
        try:
            book = books.book(names[number]) if number in names else None
            known[number] = set(book.locate(revisions)) if isinstance(book, GitCommits) else revisions
        except HistoryError as error:
            broken[names[number]] = error
    return known, broken
