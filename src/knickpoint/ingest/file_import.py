"""Import files and folders of this machine, files that arrive as bytes, and what is new in a watched source."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

from knickpoint.history import is_head
from knickpoint.ingest.ci import read_ci
from knickpoint.ingest.file_sources import (
    FileSource,
    is_named_as_profile,
    may_hold_results,
    open_file_source,
    retrieve_file,
    sidecar_names,
)
from knickpoint.ingest.import_summary import FileSummary, ImportState, ImportSummary, unreadable_file
from knickpoint.ingest.pipeline import ImportPipeline
from knickpoint.ingest.results_file import (
    ResultsFile,
    cannot_read,
    is_stream,
    read_file,
    read_format_option,
    reader_of_neighbours,
    within_memory,
    written_at,
)
from knickpoint.ingest.settings import CommitOrder, Destination, SourceSettings
from knickpoint.ingest.sidecar import FileContext, Sidecar, companions_of, is_sidecar, sidecar_of
from knickpoint.ingest.stages.read import Reader, defects_refuse, read_results
from knickpoint.model.commit import is_placeholder
from knickpoint.model.errors import HistoryError, InputError, ServiceError
from knickpoint.model.plain_text import path_text

Progress = Callable[[int, int], None]
"""Is called with the number of files that are done, and the number of all files."""

_NUMBERS: Final = re.compile(r"(\d+)")
_FEWEST_SORTED: Final = 3
"""Paths from which on their being sorted is not chance."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """The files below some paths.

    ``files`` maps a file to whether it was found in a folder. ``unreadable`` are folders that cannot be read,
    ``ignored`` the files in folders that no format fits by their names.
    """

    files: Mapping[Path, bool]
    unreadable: tuple[FileSummary, ...]
    ignored: tuple[str, ...]


def import_files(
    destination: Destination,
    paths: Sequence[Path | str],
    *,
    format: str = "",  # noqa: A002 - the word of the command line
    revision: str = "",
    branch: str = "",
    repository: str = "",
    params: Mapping[str, str] | None = None,
    time: datetime | None = None,
    order: CommitOrder = CommitOrder.TIME,
    dry_run: bool = False,
    as_work: bool = False,
    allow_empty: bool = False,
    progress: Progress | None = None,
) -> ImportSummary:
    """Import results files, and all those in folders, each exactly once.

    What the options leave open comes from sidecars, then from the results, then from the variables of the CI. Every
    file is one transaction: a file that cannot be read or used leaves nothing but its entry in quarantine, and does not
    keep the others out.

    Args:
        destination: an instance.
        paths: files and folders, ``-`` for standard input; files in folders that no format fits are left alone.
        format: name of the format, or path of a mapping (``….toml``); "" to recognise the format of each file.
        revision: commit of all results, "" where they state it: hash, number, or a branch or tag of the git repository.
        branch: branch of all results.
        repository: name or URL of their repository.
        params: params to add to every result.
        time: when all results were measured, aware; None where they state it.
        order: what orders new commits without a git repository: their times, or the order of ``paths`` and of rows.
        dry_run: do everything, then undo it.
        allow_empty: take files among ``paths`` that hold no results; else they are refused, unless they lie in a
            folder.
        as_work: the repositories that files come into have no history: all that runs find there is work.
        progress: is called with (done, total).

    Returns:
        What became of each file; ``failed`` where any was refused, could not be read, or waits.

    Raises:
        HistoryError: a repository cannot be read.
        InputError: an option cannot be, or ``paths`` that give the order are sorted as text, though they are numbered.
        StoreError: the store cannot be written.
    """
    name, mapping = read_format_option(format)
    if is_placeholder(revision) and revision.strip() and not is_head(revision):
        raise InputError(
            f"{revision!r} is a placeholder, and names no commit",
            where="--commit",
            remedy="Name the commit by its hash.",
        )
    options = Sidecar(
        commit=revision.strip(),
        branch=branch,
        repository=repository,
        time=time,
        format=name,
        params=dict(params or {}),
    )
    ci = read_ci()
    limit = destination.ingest.largest_megabytes
    read_neighbour = reader_of_neighbours(limit)
    pipeline = ImportPipeline(destination, dry_run, as_work, order, allow_empty)
    paths = list(paths)
    if order is CommitOrder.GIVEN:
        _check_order(paths)
    listing = _list_files(paths)
    summaries, ignored = [*listing.unreadable], [*listing.ignored]
    ordered = sorted(listing.files.items(), key=lambda file: is_named_as_profile(file[0].name))
    for done, (path, found) in enumerate(ordered):
        if progress is not None:
            progress(done, len(listing.files))
        stream = is_stream(path)
        place = os.path.abspath(path)  # noqa: PTH100 - links stay
        source = path_text(place)
        try:
            with defects_refuse(path_text(path)):
                written = written_at(path)
                data = within_memory(lambda path=path: read_file(path, limit), path_text(path))  # type: ignore[misc]
                context = FileContext.of(options if stream else options.over(sidecar_of(path)), ci, mapping)
                companions = {} if stream else companions_of(place, read_neighbour)
        except InputError as error:
            summaries.append(unreadable_file(path_text(path), error))
            continue
        if stream:  # what comes next through it is other results, and no correction of these
            source = f"standard input ({hashlib.sha256(data).hexdigest()})"
        summary = pipeline.import_file(
            ResultsFile(source, data, context, companions, found=found, written=written, references=True)
        )
        if summary is None:
            ignored.append(path_text(path))
        else:
            summaries.append(_named_as_given(summary, source, path_text(path)))
    pipeline.finish()
    if progress is not None:
        progress(len(listing.files), len(listing.files))
    return ImportSummary.of(summaries, pipeline.commit_sources.notes(), ignored=ignored, dry_run=dry_run)


def import_data(
    destination: Destination,
    data: bytes,
    *,
    source: str,
    stated: Sidecar | None = None,
    dry_run: bool = False,
    allow_empty: bool = False,
) -> ImportSummary:
    """Import one results file that arrives as bytes, such as an upload.

    Args:
        destination: an instance.
        data: the file.
        source: what names the file among all others, such as its URL.
        stated: what is stated beside it: commit, branch, format, params.
        dry_run: do everything, then undo it.
        allow_empty: take a file that holds no results; else it is refused.
    """
    pipeline = ImportPipeline(destination, dry_run, allow_empty=allow_empty)
    summary = pipeline.import_file(ResultsFile(source, data, FileContext(stated or Sidecar())))
    return ImportSummary.of([summary], pipeline.commit_sources.notes(), dry_run=dry_run)


def _by_numbers(name: str) -> list[tuple[bool, int, str]]:
    """Return a key by which names are sorted as people do: run-2 before run-10."""
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in _NUMBERS.split(name)]


def _check_order(paths: Sequence[Path | str]) -> None:
    """Refuse paths that a shell sorted as text, where they are numbered: that order is not what anybody gave.

    Raises:
        InputError: there are three or more, and neighbours differ in numbers only, of which the larger comes first.
    """
    names = [str(path) for path in paths]
    if len(names) < _FEWEST_SORTED or names != sorted(names):
        return
    for earlier, later in pairwise(names):
        same = _NUMBERS.sub("#", earlier) == _NUMBERS.sub("#", later)
        if same and _by_numbers(earlier) > _by_numbers(later):
            raise InputError(
                f"the paths are sorted as text, {Path(earlier).name} before {Path(later).name}, and --order given takes this for the"
                " order of their commits",
                where="PATH",
                remedy="Name them in the order of their commits, oldest first: $(ls -v PATHS) sorts by numbers, and so "
                "does a folder.",
            )


def _list_files(paths: Iterable[Path | str]) -> _Listing:
    """Return the files among ``paths`` and in the folders among them."""
    files: dict[Path, bool] = {}
    unreadable: list[FileSummary] = []
    ignored: list[str] = []
    for path in map(Path, paths):
        if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir() raises where a directory may not be entered
            files[path] = False
            continue
        folder = _list_folder(path)
        files |= {found: True for found in folder.files if found not in files}
        unreadable += folder.unreadable
        ignored += folder.ignored
    return _Listing(files, tuple(unreadable), tuple(ignored))


def _list_folder(top: Path) -> _Listing:
    """Return the files below a folder, in the order of their names, by the numbers in them."""
    files: dict[Path, bool] = {}
    unreadable: list[FileSummary] = []
    ignored: list[str] = []

    def fail(error: OSError) -> None:
        path = Path(str(error.filename))
        unreadable.append(unreadable_file(path_text(path), cannot_read(path, error)))

    for directory, folders, names in os.walk(top, onerror=fail):
        folders[:] = sorted((name for name in folders if not name.startswith(".")), key=_by_numbers)
        for name in sorted(names, key=_by_numbers):
            path = Path(directory, name)
            if name.startswith(".") or is_sidecar(path):
                continue
            if may_hold_results(name):
                files[path] = True
            else:
                ignored.append(path_text(path))
    return _Listing(files, tuple(unreadable), tuple(ignored))


def _named_as_given(summary: FileSummary, source: str, name: str) -> FileSummary:
    """Name a file as the caller named it, not by the absolute path that the ledger keeps."""
    problems = tuple(
        replace(problem, where=name + problem.where.removeprefix(source))
        if problem.where.startswith(source)
        else problem
        for problem in summary.problems
    )
    return replace(summary, source=name, problems=problems)


_MOST_UNREADABLE: Final = 5
"""After so many unreadable files in a row, the file source or the repository is taken for one that does not answer."""

_AT_A_TIME: Final = 100
"""Files that a poll imports at most: their summaries are in memory, and other sources wait."""


@dataclass
class WatchedSource:
    """A file source that is polled.

    It remembers the versions of the files that it imported, so that a poll reads only what is new or changed, and why
    files could not be read, so that each reason is reported once.

    Attributes:
        reader: what reads a file.
        unfinished: whether the last poll left files for the next one, so that other sources have their turn.
    """

    destination: Destination
    name: str
    settings: SourceSettings
    reader: Reader = read_results
    unfinished: bool = field(default=False, init=False)
    _versions: dict[str, str] = field(default_factory=dict)
    _failures: dict[str, tuple[str, str]] = field(default_factory=dict)

    def poll(self) -> ImportSummary:
        """Import what is new or changed since the last poll; after a start, what the ledger does not know.

        A file that cannot be read does not keep the others out. It is reported once, and tried again at every poll.
        After five unreadable files in a row, the rest is left for the next poll. So is what is beyond 100 files.

        Raises:
            ServiceError: the source cannot be listed.
            StoreError: the store cannot be written; the next poll tries again.
        """
        # List the files, and drop from memory those that are gone.
        source = open_file_source(self.settings, self.destination.directory)
        listing = source.listing()
        versions = {name: _version(name, listing) for name in listing if may_hold_results(name, self.settings.pattern)}
        self._versions = {name: version for name, version in self._versions.items() if name in versions}
        self._failures = {name: reason for name, reason in self._failures.items() if name in versions}
        # Import what changed; files that could not be read before come last, so that they hold up no others.
        changed = [name for name in sorted(versions) if self._is_due(name, versions[name], source)]
        changed.sort(key=lambda name: (name in self._failures, is_named_as_profile(name)))
        self.unfinished = len(changed) > _AT_A_TIME
        pipeline = ImportPipeline(self.destination, reader=self.reader)
        summaries: list[FileSummary | None] = []
        unreadable = 0
        for name in changed[:_AT_A_TIME]:
            summary = _import(pipeline, source, name, self.settings, listing)
            if summary is None or summary.state is not ImportState.UNREADABLE:
                unreadable = 0
                self._versions[name] = versions[name]
                self._failures.pop(name, None)
                summaries.append(summary)
                continue
            unreadable += 1
            reason = versions[name], summary.problems[0].message
            if self._failures.get(name) != reason:
                summaries.append(summary)
            self._failures[name] = reason
            if unreadable >= _MOST_UNREADABLE:
                self.unfinished = False
                break
        pipeline.finish()
        return ImportSummary.of(summaries, pipeline.commit_sources.notes())

    def _is_due(self, name: str, version: str, source: FileSource) -> bool:
        """Return True if a file changed since it was imported, and is not being written just now."""
        return self._versions.get(name) != version and not any(map(source.may_still_change, version.split("\n")))


def _import(
    pipeline: ImportPipeline, source: FileSource, name: str, settings: SourceSettings, names: Collection[str]
) -> FileSummary | None:
    """Import one file; one that cannot be fetched or resolved just now is unreadable.

    None where it is gone again, or where no format claims it.
    """
    megabytes = pipeline.destination.ingest.largest_megabytes
    try:
        with defects_refuse(source.address(name)):
            file = retrieve_file(source, name, settings, megabytes=megabytes, names=names)
        return pipeline.import_file(file) if file is not None else None
    except (InputError, ServiceError, HistoryError) as error:
        return unreadable_file(source.address(name), error)


def _version(name: str, listing: Mapping[str, str]) -> str:
    """Return a text that changes when the file or one of its sidecars does, one line for each of them."""
    return "\n".join(listing[file] for file in (name, *sidecar_names(name)) if file in listing)
