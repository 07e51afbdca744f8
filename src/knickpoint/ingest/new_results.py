"""Read results as an import would, and write nothing: for judging them before, or instead of, keeping them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from knickpoint.ingest.commit_sources.selection import CommitSources
from knickpoint.ingest.context.ci import read_ci
from knickpoint.ingest.context.companions import companions_of
from knickpoint.ingest.context.file_context import FileContext
from knickpoint.ingest.context.sidecar import Sidecar, sidecar_of
from knickpoint.ingest.file_import import mapping_of, read_file, reader
from knickpoint.ingest.naming_rules import NamingRules
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import Destination
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, RunReport, Severity

__all__ = ["NewResults", "read_new_results"]


@dataclass(frozen=True, slots=True)
class NewResults:
    """The runs of some files, all of one repository, named as an import would name them.

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
    """Read results files with the naming rules of ``destination``; runs need not say their commit.

    What a run leaves open of commit and branch is taken from sidecars, then from the variables of the CI. A run of which
    nothing says the commit has none.

    ``format`` names a format, or the path of a mapping (``….toml``).

    Raises:
        InputError: a file cannot be read, or the files belong to several repositories.
    """
    name, mapping = mapping_of(format)
    books = CommitSources(destination)
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
        context = FileContext.of(told, ci, mapping)
        read = ResultsFile(str(path), data, context, companions).read(settings.largest_megabytes)
        assert read is not None
        report, problems = read
        refused = next((problem for problem in problems if problem.severity is Severity.ERROR), None)
        if refused is not None:
            raise FormatError(refused.message, where=f"{path}: {refused.where}", remedy=refused.remedy)
        warnings += problems
        names[books.name(told.repository, report.repository)] = None
        naming = NamingRules(told.params, settings.drop_params, settings.refuse_params, settings.renames)
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
    return NewResults(next(iter(names), ""), tuple(runs), tuple(files), tuple(warnings))
