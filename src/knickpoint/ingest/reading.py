"""Read results as an import would, and write nothing: for judging them before, or instead of, keeping them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from knickpoint.ingest.arrival import Arrival
from knickpoint.ingest.books import Books
from knickpoint.ingest.ci import CiFacts, read_ci
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
    """The runs of some files, all of one repository, named as an import would name them."""

    repository: str
    runs: tuple[RunReport, ...]
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

    What a run leaves open of commit and branch is taken from sidecars, then from the variables of the CI.

    ``format`` names a format, or the path of a mapping (``….toml``).

    Raises:
        InputError: a file cannot be read, or the files belong to several repositories.
    """
    name, mapping = mapping_of(format)
    books = Books(destination)
    settings = destination.ingest
    ci = read_ci()
    runs: list[RunReport] = []
    warnings: list[Problem] = []
    names: dict[str, None] = {}
    for path in map(Path, paths):
        told = Sidecar(repository=repository, format=name, params=dict(params or {})).over(sidecar_of(path))
        data = read_file(path, settings.largest_megabytes)
        companions = companions_of(str(path), reader(settings.largest_megabytes))
        read = Arrival(str(path), data, Context(told, mapping=mapping), companions).read(settings.largest_megabytes)
        assert read is not None
        report, problems = read
        refused = next((problem for problem in problems if problem.severity is Severity.ERROR), None)
        if refused is not None:
            raise FormatError(refused.message, where=f"{path}: {refused.where}", remedy=refused.remedy)
        warnings += problems
        names[books.name(told.repository, report.repository)] = None
        naming = Naming(told.params, settings.drop_params, settings.refuse_params, settings.renames)
        for run in report.runs:
            table, _notes = naming.apply(run.results, where=str(path))
            runs.append(_placed(replace(run, results=table), told, ci))
    if len(names) > 1:
        raise FormatError(
            f"the results belong to several repositories: {', '.join(names)}",
            where=str(paths[0]),
            remedy="Name one with --repository, or judge them one by one.",
        )
    return ReadResults(next(iter(names), ""), tuple(runs), tuple(warnings))


def _placed(run: RunReport, told: Sidecar, ci: CiFacts | None) -> RunReport:
    """Return a run with its commit and branch, as far as sidecars, the file itself or the CI say them."""
    if told.commit or run.revision or ci is None:
        return replace(run, revision=told.commit or run.revision, branch=told.branch or run.branch)
    revisions = {**run.revisions, **ci.revisions}
    return replace(run, revision=ci.revision, branch=told.branch or run.branch or ci.branch, revisions=revisions)
