"""Files that are not stored: those that wait for their commits, those in quarantine, and those of a wrong import."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import Destination
from knickpoint.model.access import AuditKind
from knickpoint.model.commit import Repository
from knickpoint.model.plain_text import counted
from knickpoint.model.report import Problem
from knickpoint.store import FileEntry, FileState, Run, Store, Waiting
from knickpoint.store.profiles import StoredProfile

_UNKNOWN_KEY: Final = "unknown"
"""The key of the commits that a waiting file waits for, among the options that the store keeps with it."""


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
    """How many files are in each state, which wait, and which are in quarantine.

    ``recent`` has the newest files first.
    """

    counts: dict[str, int]
    waiting: tuple[WaitingFile, ...]
    refused: tuple[RefusedFile, ...]
    recent: tuple[FileEntry, ...]


def ingest_status(destination: Destination, *, recent: int = 20) -> IngestStatus:
    """Return the state of all files so far."""
    ledger = destination.store.ledger
    names = {repository.id: repository.name for repository in destination.store.commits.repositories()}
    waiting = tuple(
        WaitingFile(held.id, held.source, names.get(held.repository_id, "?"), unknown_revisions(held), held.created)
        for held in ledger.waiting(payloads=False)
    )
    refused = tuple(
        RefusedFile(held.id, held.source, held.problems, held.attempts, held.changed)
        for held in ledger.quarantined(payloads=False)
    )
    counts = ledger.counts()
    # The ledger remembers what was refused; only the quarantine knows what still is.
    present = {file.source for file in refused}
    return IngestStatus(
        {state.value: counts[state] for state in FileState},
        waiting,
        refused,
        tuple(
            entry
            for entry in ledger.files(limit=recent)
            if entry.state is not FileState.QUARANTINED or entry.source in present
        ),
    )


def unknown_revisions(held: Waiting) -> tuple[str, ...]:
    """Return the commits that a file waits for."""
    unknown = held.options.get(_UNKNOWN_KEY)
    return tuple(str(revision) for revision in unknown) if isinstance(unknown, list) else (held.revision,)


def hold_until_known(
    destination: Destination,
    repository: Repository,
    file: ResultsFile,
    unknown: Sequence[str],
    *,
    format: str,  # noqa: A002 - as everywhere in this room
    content_hash: str,
) -> None:
    """Keep ``file`` until ``repository`` has the ``unknown`` commits; the oldest file makes room for it."""
    ledger = destination.store.ledger
    ledger.wait(
        repository,
        unknown[0],
        zlib.compress(file.data, 1),
        identity=file.source,
        source=file.source,
        content_hash=content_hash,
        options={**file.as_options(format), _UNKNOWN_KEY: list(unknown)},
    )
    for held in ledger.waiting(payloads=False)[: -destination.ingest.waiting_files or None]:
        quarantine_waiting(destination.store, held.id, "and too many files wait")


def release_former(store: Store, repository: Repository, former: FileEntry | None, revisions: Collection[str]) -> None:
    """Take what was held of a file out of the waiting files and the quarantine: it arrived again.

    ``revisions`` are the commits of its runs. What waits for another commit stays: jobs write the results of every
    commit to one path.
    """
    if former is None:
        return
    for held in store.ledger.waiting(repository, payloads=False):
        if held.source == former.source and _is_of(unknown_revisions(held), revisions):
            store.ledger.release(held.id)
    if former.state is FileState.QUARANTINED:
        for refused in store.ledger.quarantined(payloads=False):
            if refused.source == former.source:
                store.ledger.discharge(refused.id)


def _is_of(unknown: Collection[str], revisions: Collection[str]) -> bool:
    """Return True if one of ``unknown`` is one of ``revisions``, or one abbreviates the other."""
    return _abbreviates(unknown, revisions) or _abbreviates(revisions, unknown)


def _abbreviates(short: Collection[str], names: Iterable[str]) -> bool:
    """Return True if one of ``names`` begins with one of ``short``; names of commits have few different lengths."""
    known, lengths = set(short), {len(name) for name in short if name}
    return any(name[:length] in known for name in names for length in lengths)


def quarantine_file(
    destination: Destination,
    source: str,
    digest: str,
    data: bytes,
    problems: Sequence[Problem],
    *,
    options: Mapping[str, object],
) -> None:
    """Put a refused file into quarantine; the oldest one makes room for it."""
    ledger = destination.store.ledger
    with destination.store.transaction():
        ledger.quarantine(source, digest, zlib.compress(data, 1), problems, options=options)
        for oldest in ledger.quarantined(payloads=False)[: -destination.ingest.quarantine_files or None]:
            ledger.discharge(oldest.id)
        detail = problems[0].message if problems else ""
        ledger.record(source, digest, FileState.QUARANTINED, detail=detail, size=len(data))


def quarantine_waiting(store: Store, number: int, reason: str) -> None:
    """Move a waiting file into quarantine; the problem names its commit and the ``reason``."""
    with store.transaction():
        for held in store.ledger.waiting(number=number):
            problem = Problem(
                f"no repository has its commit {held.revision[:12]} {reason}",
                where=held.source,
                remedy="Fetch the commit, then try again with knick ingest retry.",
            )
            store.ledger.quarantine(held.source, held.content_hash, held.payload, [problem], options=held.options)
            store.ledger.record(
                held.source, held.content_hash, FileState.QUARANTINED, detail=problem.message, size=len(held.payload)
            )
            store.ledger.release(held.id)


_NAMED = 5
"""Files that the audit log names for one removal."""


def remove_runs(store: Store, repository: Repository, runs: Sequence[Run], *, who: str) -> None:
    """Take ``runs`` and their values out of ``store``, all or none; the audit log names ``who`` and their files.

    Commits and traces stay. The alerts judge the traces again, and what no other run shows is gone. A folder or a
    bucket that still has a file does not import it again; a person who names it does.

    Raises:
        StoreError: one of the runs is not there any more, or the store cannot be written.
    """
    of_source = Counter(run.source for run in runs)
    files = ", ".join(sorted(of_source)[:_NAMED]) + (
        f" and {len(of_source) - _NAMED} more" if len(of_source) > _NAMED else ""
    )
    with store.transaction():
        store.runs.remove(repository, [run.id for run in runs])
        for source, number in of_source.items():
            store.ledger.mark_removed(source, f"{counted(number, 'run')} removed by {who}")
        about = f"{counted(len(runs), 'run')} of {repository.name}, from {files}"
        store.audit.append(AuditKind.RUNS_REMOVED, who, about)


def remove_profiles(store: Store, profiles: Sequence[tuple[Repository, StoredProfile]], *, who: str) -> None:
    """Take ``profiles`` out of ``store``, all or none; the audit log names ``who`` and their files."""
    for repository in {repository.id: repository for repository, _ in profiles}.values():
        several = [profile for owner, profile in profiles if owner.id == repository.id]
        files = sorted({profile.source for profile in several})
        with store.transaction():
            store.profiles.remove(profile.id for profile in several)
            store.profiles.forget_causes({profile.digest for profile in several})
            for source in files:
                store.ledger.mark_removed(source, f"its profile was removed by {who}")
            named = ", ".join(files[:_NAMED]) + (f" and {len(files) - _NAMED} more" if len(files) > _NAMED else "")
            about = f"{counted(len(several), 'profile')} of {repository.name}, from {named}"
            store.audit.append(AuditKind.RUNS_REMOVED, who, about)
