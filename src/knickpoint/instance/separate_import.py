"""Read and import results files in processes of their own, so that the program that received them goes on working.

Reading and storing a file keep the interpreter busy, and reading JSON holds it: all readers of an API would wait
meanwhile. And only a process can be ended in the middle of a file, when its time is up or nobody waits for it any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from knickpoint.budget import Budget, spending
from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.import_summary import ImportSummary
from knickpoint.ingest.new_results import NewResults, read_uploaded_results
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import IngestSettings
from knickpoint.ingest.sidecar import FileContext, Sidecar
from knickpoint.ingest.stages.read import Reader, ReadResults, defects_refuse, read_results, refuse_file
from knickpoint.instance.instance import Instance, open_instance
from knickpoint.model.errors import DeadlineError, FormatError
from knickpoint.model.report import Problem, Report
from knickpoint.work import ProcessEndedError

_LARGE_BYTES: Final = 16_000_000
"""Size of a file from which on its process ends with it: what reading it takes of memory would stay with the process.
"""


def import_separately(
    instance: Instance, path: Path, *, source: str, stated: Sidecar, dry_run: bool = False, allow_empty: bool = False
) -> ImportSummary:
    """Import the file at ``path`` as :func:`knickpoint.ingest.file_import.import_data` does, in another process.

    That process opens the instance by its directory. Where the time of the request is up, it is ended, and the file is
    refused: a file that takes too long once takes too long again.

    Raises:
        AbandonedError: nobody waits for the answer; nothing of the file is stored.
        ProcessEndedError: the process was ended, as by a system that is out of memory; nothing of the file is stored.
    """
    large = path.stat().st_size > _LARGE_BYTES
    call = instance.importers.call_once if large else instance.importers.call
    options = {"dry_run": dry_run, "allow_empty": allow_empty}
    try:
        return call(_import, instance.directory, path, source, stated, options)
    except ProcessEndedError as error:
        raise _ended(source) from error
    except DeadlineError:
        problem = Problem.of(_too_slow(instance, source))
        file = ResultsFile(source, path.read_bytes(), FileContext(stated))
        with spending(None):
            return ImportSummary.of([refuse_file(instance, file, [problem], dry_run=dry_run)])


def read_separately(instance: Instance, data: bytes, *, name: str, repository: str) -> NewResults:
    """Read results as :func:`knickpoint.ingest.new_results.read_uploaded_results` does, in another process.

    Raises:
        AbandonedError: nobody waits for the answer.
        DeadlineError: the time of the request is up.
        FormatError: the file cannot be read; ``where`` begins with its name.
        ProcessEndedError: the process was ended.
    """
    try:
        return instance.importers.call(_read, instance.ingest, data, name, repository)
    except ProcessEndedError as error:
        raise _ended(name) from error


def separate_reader(instance: Instance) -> Reader:
    """Return a reader like :func:`knickpoint.ingest.stages.read.read_results`, in another process.

    A file whose reading takes longer than an import may is refused with a ``FormatError``, and its process ended.
    """

    def read(file: ResultsFile, settings: IngestSettings) -> ReadResults | None:
        call = instance.importers.call_once if len(file.data) > _LARGE_BYTES else instance.importers.call
        limits = instance.config.limits
        try:
            with spending(Budget.begin(limits.import_seconds, limits.request_values)):
                parsed = call(_parse, file, settings)
        except ProcessEndedError as error:
            raise _ended(file.source) from error
        except DeadlineError as error:
            raise _too_slow(instance, file.source) from error
        return None if parsed is None else ReadResults(file, *parsed)

    return read


def warm_up(instance: Instance) -> None:
    """Have a process ready that has the instance open, so that the first file is imported as fast as later ones.

    Raises:
        KnickpointError: the instance cannot be opened there.
    """
    instance.importers.call(_warm_up, instance.directory)


def _too_slow(instance: Instance, source: str) -> FormatError:
    return FormatError(
        f"importing it took longer than {instance.config.limits.import_seconds:g} seconds, and was stopped",
        where=source,
        remedy="Split the file, raise import_seconds of [limits] in knickpoint.toml, or import it with knick ingest "
        "retry.",
    )


def _ended(source: str) -> ProcessEndedError:
    return ProcessEndedError(
        "the process that read the file was ended, and nothing of it is stored",
        where=source,
        remedy="Check whether the memory of the server suffices, or split the file.",
    )


@lru_cache(maxsize=1)
def _opened(directory: Path) -> Instance:
    """Open the instance, once in the process that imports."""
    return open_instance(directory)


def _warm_up(directory: Path) -> None:
    _opened(directory)


def _import(directory: Path, path: Path, source: str, stated: Sidecar, options: Mapping[str, bool]) -> ImportSummary:
    return import_data(_opened(directory), path.read_bytes(), source=source, stated=stated, **options)


def _parse(
    file: ResultsFile, settings: IngestSettings
) -> tuple[Report, tuple[Problem, ...], tuple[Problem, ...]] | None:
    """Read a file and return its content without the file, which the caller has."""
    with defects_refuse(file.source):
        read = read_results(file, settings)
    return None if read is None else (read.report, read.errors, read.warnings)


def _read(settings: IngestSettings, data: bytes, name: str, repository: str) -> NewResults:
    return read_uploaded_results(settings, data, name=name, repository=repository)
