"""Read results as an import would, and write nothing: for judging them before, or instead of, keeping them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from knickpoint.ingest.arrival import Arrival
from knickpoint.ingest.books import Books
from knickpoint.ingest.ci import read_ci
from knickpoint.ingest.companions import companions_of
from knickpoint.ingest.completion import Context
from knickpoint.ingest.importing import mapping_of, read_file, reader
from knickpoint.ingest.naming import Naming
from knickpoint.ingest.settings import Destination
from knickpoint.ingest.sidecar import Sidecar, sidecar_of
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, RunReport, Severity

__all__ = ["ReadResults", "read_results"]


@dataclass(frozen=True, slots=True)
class ReadResults:
    """The runs of some files, all of one repository, named as an import would name them.

    ``files`` has the file of each run.
    """

    repository: str
    runs: tuple[RunReport, ...]
    files: tuple[Path, ...]
    warnings: tuple[Problem, ...]


def read_results(
    destination: Destination,
    paths: Sequence[Path | str],
    *,
    format: str = "",  # noqa: A002 - the word of the command line
    repository: str = "",
    params: Mapping[str, str] | None = None,
) -> ReadResults:
    """Read results files with the naming rules of ``destination``; runs need not say their commit.

    What a run leaves open of commit and branch is taken from sidecars, then from the variables of the CI. A run of which
    nothing says the commit has none.

    ``format`` names a format, or the path of a mapping (``….toml``).

    Raises:
        InputError: a file cannot be read, or the files belong to several repositories.
    """
    name, mapping = mapping_of(format)
    books = Books(destination)
    settings = destination.ingest
    ci = read_ci()
    runs: list[RunReport] = []
    files: list[Path] = []
    warnings: list[Problem] = []
    names: dict[str, None] = {}
    for path in map(Path, paths):
        told = Sidecar(repository=repository, format=name, params=dict(params or {})).over(sidecar_of(path))
        data = read_file(path, settings.largest_megabytes)
        companions = companions_of(str(path), reader(settings.largest_megabytes))
        context = Context.of(told, ci, mapping)
        read = Arrival(str(path), data, context, companions).read(settings.largest_megabytes)
        assert read is not None
        report, problems = read
        refused = next((problem for problem in problems if problem.severity is Severity.ERROR), None)
        if refused is not None:
            raise FormatError(refused.message, where=f"{path}: {refused.where}", remedy=refused.remedy)
        warnings += problems
        names[books.name(told.repository, report.repository)] = None
        naming = Naming(told.params, settings.drop_params, settings.refuse_params, settings.renames)
        for completed in context.complete(report, lambda _run: ""):
            table, _notes = naming.apply(completed.run.results, where=str(path))
            runs.append(replace(completed.run, results=table))
            files.append(path)
    if len(names) > 1:
        raise FormatError(
            f"the results belong to several repositories: {', '.join(names)}",
            where=str(paths[0]),
            remedy="Name one with --repository, or judge them one by one.",
        )
    return ReadResults(next(iter(names), ""), tuple(runs), tuple(files), tuple(warnings))
