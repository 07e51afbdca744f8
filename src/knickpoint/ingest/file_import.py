"""Import files and folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from knickpoint.history import is_head
from knickpoint.ingest.commit_sources.selection import CommitSources
from knickpoint.ingest.context.ci import read_ci
from knickpoint.ingest.context.companions import companions_of
from knickpoint.ingest.context.file_context import FileContext
from knickpoint.ingest.context.sidecar import Sidecar, is_sidecar, sidecar_of
from knickpoint.ingest.file_sources.locations import takes_name
from knickpoint.ingest.import_summary import FileSummary, ImportState, ImportSummary
from knickpoint.ingest.pipeline import Writer
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import CommitOrder, Destination
from knickpoint.model.errors import InputError
from knickpoint.model.report import Problem
from knickpoint.model.revision import is_placeholder

__all__ = ["Progress", "import_data", "import_files", "mapping_of", "read_file", "reader", "written_at"]

Progress = Callable[[int, int], None]
"""Is told how many files of how many are done."""


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
    progress: Progress | None = None,
) -> ImportSummary:
    """Take results files, and all those in folders, into the store, each exactly once.

    What the options leave open is taken from sidecars, then from the results, then from the CI's variables.
    Every file is one transaction: what cannot be read or used leaves no trace but its place in quarantine,
    and does not keep the others from coming in.

    Args:
        destination: an instance.
        paths: files and folders; files in folders that no format fits are left alone.
        format: name of the format, or path of a mapping (``….toml``); "" to look at each file.
        revision: commit of all results, "" where they say it: hash, number, or a branch or tag of the git repository.
        branch: branch of all results.
        repository: name or URL of their repository.
        params: params to add to every result.
        time: when all results were measured, aware; None where they say it.
        order: what orders new commits without a git repository: their times, or that of ``paths`` and of rows.
        dry_run: do everything, then undo it.
        as_work: nothing of the repositories that files come into is history: what runs find there is work.
        progress: is told (done, total).

    Returns:
        What became of each file; ``failed`` where anything was refused, could not be read, or waits.

    Raises:
        HistoryError: a repository cannot be read.
        StoreError: the store cannot be written.
    """
    name, mapping = mapping_of(format)
    if is_placeholder(revision) and revision.strip() and not is_head(revision):
        raise InputError(
            f"{revision!r} is a placeholder, and names no commit",
            where="--commit",
            remedy="Name the commit by its hash.",
        )
    given = Sidecar(
        commit=revision.strip(),
        branch=branch,
        repository=repository,
        time=time,
        format=name,
        params=dict(params or {}),
    )
    ci = read_ci()
    limit = destination.ingest.largest_megabytes
    beside = reader(limit)
    writer = Writer(destination, CommitSources(destination), dry_run, as_work, order)
    files, outcomes, ignored = _listed(paths)
    for done, (path, found) in enumerate(files.items()):
        if progress is not None:
            progress(done, len(files))
        source = os.path.abspath(path)  # noqa: PTH100 - links stay
        try:
            written = written_at(path)
            data = read_file(path, limit)
            context = FileContext.of(given.over(sidecar_of(path)), ci, mapping)
        except InputError as error:
            outcomes.append(_unreadable(str(path), error))
            continue
        arrival = ResultsFile(source, data, context, companions_of(source, beside), written=written, references=True)
        outcome = writer.take_found(arrival) if found else writer.take(arrival)
        if outcome is None:
            ignored.append(str(path))
        else:
            outcomes.append(_renamed(outcome, source, str(path)))
    writer.finish()
    if progress is not None:
        progress(len(files), len(files))
    return ImportSummary(tuple(outcomes), tuple(ignored), dry_run, writer.books.told())


def import_data(
    destination: Destination,
    data: bytes,
    *,
    source: str,
    told: Sidecar | None = None,
    dry_run: bool = False,
) -> ImportSummary:
    """Take one results file in that came as bytes: an upload, an object of a bucket.

    Args:
        destination: an instance.
        data: the file.
        source: what names the file among all others, such as its URL.
        told: what was said beside it: commit, branch, format, params.
        dry_run: do everything, then undo it.
    """
    writer = Writer(destination, CommitSources(destination), dry_run)
    outcome = writer.take(ResultsFile(source, data, FileContext(told or Sidecar())))
    return ImportSummary((outcome,), dry_run=dry_run, notes=writer.books.told())


def mapping_of(format: str) -> tuple[str, str]:  # noqa: A002 - the word of the command line
    """Return the name of a format and the text of a mapping, one of them "": ``format`` names either.

    Raises:
        InputError: the mapping cannot be read.
    """
    if not format.lower().endswith(".toml"):
        return format, ""
    try:
        return "", read_file(Path(format), 1).decode()
    except UnicodeDecodeError as error:
        raise InputError("the mapping is not UTF-8", where=format, remedy="Save it as UTF-8.") from error


def reader(megabytes: int) -> Callable[[str], bytes | None]:
    """Return what reads files beside results; one that stands beside many is read once."""

    @lru_cache(maxsize=8)
    def read(name: str) -> bytes | None:
        try:
            data = read_file(Path(name), megabytes)
        except InputError:
            return None
        return data if len(data) <= megabytes * 1_000_000 else None

    return read


def _listed(paths: Iterable[Path | str]) -> tuple[dict[Path, bool], list[FileSummary], list[str]]:
    """Return the files to read, and whether each was found in a folder; what cannot be read; what is left alone."""
    files: dict[Path, bool] = {}
    outcomes: list[FileSummary] = []
    ignored: list[str] = []
    for given in paths:
        path = Path(given)
        if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir() raises where a directory may not be entered
            files[path] = False
            continue
        found, failures, others = _walk(path)
        for one in found:
            files.setdefault(one, True)
        outcomes += failures
        ignored += others
    return files, outcomes, ignored


def _walk(folder: Path) -> tuple[list[Path], list[FileSummary], list[str]]:
    found: list[Path] = []
    failures: list[FileSummary] = []
    ignored: list[str] = []

    def fail(error: OSError) -> None:
        failures.append(_unreadable(str(error.filename), _cannot_read(Path(str(error.filename)), error)))

    for directory, folders, names in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(directory, name)
            if name.startswith(".") or is_sidecar(path):
                continue
            if takes_name(name):
                found.append(path)
            else:
                ignored.append(str(path))
    return found, failures, ignored


def read_file(path: Path, megabytes: int) -> bytes:
    """Return the bytes of a file, one more than ``megabytes`` allow at most.

    Raises:
        InputError: it cannot be read.
    """
    try:
        if path.exists() and not path.is_file():
            raise InputError(
                "this is neither a file nor a folder", where=str(path), remedy="Name a file with results, or a folder."
            )
        with path.open("rb") as file:
            return file.read(megabytes * 1_000_000 + 1)
    except OSError as error:
        raise _cannot_read(path, error) from error


def written_at(path: Path) -> datetime | None:
    """Return when the file was written, None where it cannot be found out."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return None


def _cannot_read(path: Path, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file or folder", where=str(path), remedy="Correct the name.")
    if isinstance(error, PermissionError):
        return InputError("you may not read it", where=str(path), remedy="Give yourself the right to read it.")
    return InputError(f"it cannot be read: {error.strerror}", where=str(path), remedy="Copy it elsewhere, then retry.")


def _renamed(outcome: FileSummary, source: str, name: str) -> FileSummary:
    """Name a file as it was named to us, not by the absolute path that the ledger keeps."""
    problems = tuple(
        replace(problem, where=name + problem.where.removeprefix(source))
        if problem.where.startswith(source)
        else problem
        for problem in outcome.problems
    )
    return replace(outcome, source=name, problems=problems)


def _unreadable(source: str, error: InputError) -> FileSummary:
    return FileSummary(source, ImportState.UNREADABLE, problems=(Problem(error.message, error.where, error.remedy),))
