"""Read new results as an import would, without storing them, for ``knick check`` and the comparison page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from knickpoint.ingest.commit_sources.selection import CommitSources
from knickpoint.ingest.context.ci import read_ci
from knickpoint.ingest.context.companions import companions_of
from knickpoint.ingest.context.file_context import FileContext
from knickpoint.ingest.context.sidecar import Sidecar, sidecar_of
from knickpoint.ingest.local_files import read_file, read_format_option, reader_of_neighbours
from knickpoint.ingest.naming_rules import NamingRules
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import Destination, IngestSettings
from knickpoint.ingest.stages.read import ReadResults, read_results
from knickpoint.model.errors import FormatError, InputError
from knickpoint.model.report import Problem, RunReport

__all__ = ["NewResults", "read_new_results", "read_uploaded_results"]


@dataclass(frozen=True, slots=True)
class NewResults:
    """The runs of some files, all of one repository, under the names that an import would give them.

    ``files`` has the file of each run.
    """

    repository: str
    runs: tuple[RunReport, ...]
    files: tuple[Path, ...]
    warnings: tuple[Problem, ...]


def read_new_results(
    destination: Destination,
    paths: Sequence[Path | str],
    *,
    format: str = "",  # noqa: A002 - the word of the command line
    repository: str = "",
    params: Mapping[str, str] | None = None,
) -> NewResults:
    """Read results files with the naming rules of ``destination``; runs need not name their commit.

    What a run leaves open of commit and branch comes from sidecars, then from the variables of the CI. A run whose commit
    nothing names has the revision "".

    ``format`` names a format, or the path of a mapping (``….toml``).

    Raises:
        InputError: a file cannot be read, or the files belong to several repositories.
    """
    name, mapping = read_format_option(format)
    commit_sources = CommitSources(destination)
    options = Sidecar(repository=repository, format=name, params=dict(params or {}))
    ci = read_ci()
    runs: list[tuple[Path, RunReport]] = []
    warnings: list[Problem] = []
    repositories: dict[str, None] = {}
    for path in map(Path, paths):
        context = FileContext.of(options.over(sidecar_of(path)), ci, mapping)
        read = _read_local(path, context, destination.ingest)
        warnings += read.warnings
        stated = context.stated.repository
        repositories[commit_sources.repository_name(stated, read.report.repository)] = None
        runs += [(path, run) for run in _renamed_runs(read, destination)]
    if len(repositories) > 1:
        raise FormatError(
            f"the results belong to several repositories: {', '.join(repositories)}",
            where=str(paths[0]),
            remedy="Name one with --repository, or judge them one by one.",
        )
    return NewResults(
        next(iter(repositories), ""),
        tuple(run for _, run in runs),
        tuple(path for path, _ in runs),
        tuple(warnings),
    )


def read_uploaded_results(destination: Destination, data: bytes, *, name: str, repository: str) -> NewResults:
    """Read the bytes of a results file called ``name``, which someone sends to compare it with results of ``repository``.

    Nothing of this machine counts for it: no sidecar, no variable of a CI, no mapping.

    Raises:
        FormatError: the file cannot be read; ``where`` begins with its name.
    """
    context = FileContext.of(Sidecar(repository=repository), None)
    read = _read(ResultsFile(name, data, context), destination.ingest)
    runs = tuple(_renamed_runs(read, destination))
    return NewResults(repository, runs, tuple(Path(name) for _ in runs), read.warnings)


def _read_local(path: Path, context: FileContext, settings: IngestSettings) -> ReadResults:
    """Return what the file at ``path`` states."""
    megabytes = settings.largest_megabytes
    if path.is_dir():
        raise InputError(
            "this is a folder, and new results are files", where=str(path), remedy=f"Name them, as in {path}/*.json."
        )
    data = read_file(path, megabytes)
    companions = companions_of(str(path), reader_of_neighbours(megabytes))
    return _read(ResultsFile(str(path), data, context, companions), settings)


def _read(file: ResultsFile, settings: IngestSettings) -> ReadResults:
    """Return what ``file`` states; the first error in it is raised as ``FormatError``."""
    read = read_results(file, settings)
    assert read is not None  # only a file that was found in a folder may be unclaimed
    if read.errors:
        error = read.errors[0]
        raise FormatError(error.message, where=f"{file.source}: {error.where}", remedy=error.remedy)
    return read


def _renamed_runs(read: ReadResults, destination: Destination) -> list[RunReport]:
    """Return the completed runs of a file, with their params named as an import names them."""
    context, settings = read.file.context, destination.ingest
    rules = NamingRules(context.stated.params, settings.drop_params, settings.refuse_params, settings.renames)
    renamed = []
    for completed in context.complete(read.report):
        table, _ = rules.apply(completed.run.results, where=read.file.source)
        renamed.append(replace(completed.run, results=table))
    return renamed
