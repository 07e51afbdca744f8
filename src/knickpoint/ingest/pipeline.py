"""Turn results files into points: each file is read, resolved and written, all of it or nothing.

:meth:`ImportPipeline.import_file` is the whole path of a file. Every way in ends there: files and folders
(:mod:`~knickpoint.ingest.file_import`), watched sources, bucket events, and files that are tried again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from knickpoint.ingest.commit_sources.protocol import is_fixed_name
from knickpoint.ingest.commit_sources.selection import CommitSources
from knickpoint.ingest.import_summary import FileSummary, unreadable_file
from knickpoint.ingest.profile_files import write_profile
from knickpoint.ingest.results_file import ResultsFile, within_memory
from knickpoint.ingest.settings import CommitOrder, Destination
from knickpoint.ingest.stages.read import Reader, ReadResults, defects_refuse, find_unchanged, read_results, refuse_file
from knickpoint.ingest.stages.resolve import name_runs, resolve_commit_name, resolve_runs
from knickpoint.ingest.stages.write import write_runs
from knickpoint.model.commit import Repository
from knickpoint.model.errors import DefectError, FormatError, HistoryError, InputError
from knickpoint.model.report import Problem
from knickpoint.watch.triage.history_boundary import drop_boundary


class _UndoError(Exception):
    """Make the transaction around it roll back."""


@dataclass
class ImportPipeline:
    """Imports results files one by one; the files of one import share the repositories that are open.

    Attributes:
        destination: an instance.
        dry_run: whether to undo each file after it is written.
        as_work: whether the repositories that files come into have no history any more.
        order: what orders new commits where git does not.
        reader: what reads a file.
    """

    destination: Destination
    dry_run: bool = False
    as_work: bool = False
    order: CommitOrder = CommitOrder.TIME
    allow_empty: bool = False
    reader: Reader = read_results
    commit_sources: CommitSources = field(init=False)
    _had_runs: dict[str, bool] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Begin without open repositories."""
        self.commit_sources = CommitSources(self.destination)

    def import_file(self, file: ResultsFile) -> FileSummary | None:
        """Store a file, keep it until its commits are known, or put it into quarantine; stored points are never lost.

        An unforeseen exception refuses the file as well, and is marked as a defect.

        Returns:
            What became of the file. None where it was found in a folder or bucket and no format claims it.

        Raises:
            StoreError: the store cannot be written.
            HistoryError: a repository cannot be opened or brought up to date.
            ServiceError: the process that read the file was ended.
        """
        try:
            with defects_refuse(file.source):
                return within_memory(lambda: self._import_file(file), file.source)
        except (DefectError, FormatError) as error:
            reason = error
        with suppress(MemoryError):
            return refuse_file(self.destination, file, [Problem.of(reason)], dry_run=self.dry_run)
        return unreadable_file(file.source, reason)  # not even its bytes can be kept

    def _import_file(self, file: ResultsFile) -> FileSummary | None:
        """Pass a file through the stages."""
        stated, settings, store = file.context.stated, self.destination.ingest, self.destination.store
        fixed = is_fixed_name(stated.commit)
        if fixed and (unchanged := find_unchanged(self.destination, file)):
            return unchanged
        try:
            # Stage 1: what the file states.
            read = self.reader(file, settings)
            if read is None:
                return None
            if errors := read.errors or self._emptiness(read):
                return refuse_file(self.destination, file, errors, dry_run=self.dry_run)
            # Stage 2: what its runs refer to. Opening a repository may take long, and so precedes the transaction.
            name = self.commit_sources.repository_name(stated.repository, read.report.repository)
            source = self.commit_sources.open(name)
            read = resolve_commit_name(read, source)
            if not fixed and (unchanged := find_unchanged(self.destination, read.file)):
                return unchanged
            named = name_runs(read, source, settings)
            with self._transaction():
                resolved = resolve_runs(named, source, store, self.order)
                self._begin_repository(resolved.repository)
                # Stage 3: the points.
                write = write_profile if read.profile else write_runs
                summary = write(self.destination, resolved)
                return replace(summary, notes=(*summary.notes, *self._remark_on_new(name)))
        except InputError as error:
            return refuse_file(self.destination, file, [Problem.of(error)], dry_run=self.dry_run)

    def _emptiness(self, read: ReadResults) -> tuple[Problem, ...]:
        """Return the reason to refuse a named file without results; folders may hold other files."""
        is_chance = read.file.found and not read.file.context.stated.format
        if self.allow_empty or is_chance or read.profile or any(len(run.results) for run in read.report.runs):
            return ()
        remedy = "Check whether a filter excluded all benchmarks; --allow-empty takes a file that may hold nothing."
        return (Problem("the file holds no results", read.file.source, remedy),)

    def finish(self) -> None:
        """End the import: in a repository that had no results before, all commits of the import are its history.

        A worker may have run alerts between two files of the import, and taken a commit for the newest one that was
        not.
        """
        store = self.destination.store
        for repository in store.commits.repositories():
            if not self.dry_run and not self._had_runs.get(repository.name, True):
                store.boundaries.extend(repository)

    def _begin_repository(self, repository: Repository) -> None:
        """Note whether ``repository`` had results before, and move its history boundary with ``as_work``."""
        store = self.destination.store
        if repository.name not in self._had_runs:
            self._had_runs[repository.name] = store.runs.has_any(repository)
        if self.as_work:
            drop_boundary(store, repository)

    def _remark_on_new(self, name: str) -> Iterator[str]:
        """Yield a line about a repository that this import made beside configured ones: its name may be mistyped."""
        configured = self.destination.repositories
        if configured and name not in configured and not self._had_runs[name]:
            yield (
                f"made the repository {name!r}, which has no section in knickpoint.toml, as "
                f"{', '.join(sorted(configured)[:3])} has: its commits come from its results"
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Keep all writes of a file or none; none in a dry run.

        What the open repositories take for stored is forgotten with the writes that are undone.

        Raises:
            InputError: the commits of the file have no place in the history.
        """
        kept = False
        try:
            with suppress(_UndoError), self.destination.store.transaction(whole=True):
                yield
                if self.dry_run:
                    raise _UndoError
            kept = not self.dry_run
        except HistoryError as error:
            raise InputError(error.message, where=error.where, remedy=error.remedy) from error
        finally:
            if not kept:
                self.commit_sources.forget()
