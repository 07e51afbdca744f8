"""Import files and folders."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from knickpoint.ingest.books import Books
from knickpoint.ingest.ci import read_ci
from knickpoint.ingest.completion import Context
from knickpoint.ingest.outcome import FileOutcome, ImportState, ImportSummary
from knickpoint.ingest.places import takes_name
from knickpoint.ingest.settings import Destination
from knickpoint.ingest.sidecar import Sidecar, is_sidecar, sidecar_of
from knickpoint.ingest.writing import Arrival, Writer
from knickpoint.model.errors import InputError
from knickpoint.model.report import Problem

__all__ = ["Progress", "import_data", "import_files", "read_file"]

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
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportSummary:
    """Take results files, and all those in folders, into the store, each exactly once.

    What the options leave open is taken from sidecars, then from the results, then from the CI's variables.
    Every file is one transaction: what cannot be read or used leaves no trace but its place in quarantine,
    and does not keep the others from coming in.

    Args:
        destination: an instance.
        paths: files and folders; in folders, files whose names no format has are left alone.
        format: name of the format, "" to look at each file.
        revision: commit of all results, "" where they say it.
        branch: branch of all results.
        repository: name or URL of their repository.
        params: params to add to every result.
        dry_run: do everything, then undo it.
        progress: is told (done, total).

    Returns:
        What became of each file; ``failed`` where anything was refused, could not be read, or waits.

    Raises:
        HistoryError: a repository cannot be read.
        StoreError: the store cannot be written.
    """
    given = Sidecar(commit=revision, branch=branch, repository=repository, format=format, params=dict(params or {}))
    ci = read_ci()
    writer = Writer(destination, Books(destination), dry_run)
    files, outcomes, ignored = _listed(paths)
    for done, path in enumerate(files):
        if progress is not None:
            progress(done, len(files))
        try:
            data = read_file(path, destination.ingest.largest_megabytes)
            context = Context.of(given.over(sidecar_of(path)), ci)
        except InputError as error:
            outcomes.append(_unreadable(str(path), error))
            continue
        outcomes.append(writer.take(Arrival(os.path.abspath(path), data, context)))  # noqa: PTH100 - links stay
    if progress is not None:
        progress(len(files), len(files))
    return ImportSummary(_told(outcomes, files), ignored, dry_run)


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
    writer = Writer(destination, Books(destination), dry_run)
    return ImportSummary((writer.take(Arrival(source, data, Context(told or Sidecar()))),), 0, dry_run)


def _listed(paths: Iterable[Path | str]) -> tuple[list[Path], list[FileOutcome], int]:
    """Return the files to read, outcomes of what cannot be read, and how many files were left alone."""
    files: dict[Path, None] = {}
    outcomes: list[FileOutcome] = []
    ignored = 0
    for given in paths:
        path = Path(given)
        if not path.is_dir():
            files[path] = None
            continue
        found, failures, others = _walk(path)
        files.update(dict.fromkeys(found))
        outcomes += failures
        ignored += others
    return list(files), outcomes, ignored


def _walk(folder: Path) -> tuple[list[Path], list[FileOutcome], int]:
    found: list[Path] = []
    failures: list[FileOutcome] = []
    ignored = 0

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
                ignored += 1
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


def _cannot_read(path: Path, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file or folder", where=str(path), remedy="Correct the name.")
    if isinstance(error, PermissionError):
        return InputError("you may not read it", where=str(path), remedy="Give yourself the right to read it.")
    return InputError(f"it cannot be read: {error.strerror}", where=str(path), remedy="Copy it elsewhere, then retry.")


def _unreadable(source: str, error: InputError) -> FileOutcome:
    return FileOutcome(source, ImportState.UNREADABLE, problems=(Problem(error.message, error.where, error.remedy),))


def _told(outcomes: Sequence[FileOutcome], files: Sequence[Path]) -> tuple[FileOutcome, ...]:
    """Name files as they were named to us, not by the absolute paths that the ledger keeps."""
    from dataclasses import replace

    names = {os.path.abspath(path): str(path) for path in files}  # noqa: PTH100 - as above
    return tuple(replace(outcome, source=names.get(outcome.source, outcome.source)) for outcome in outcomes)
