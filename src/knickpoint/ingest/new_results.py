"""Read new results as an import would, without storing them, for ``knick check`` and the comparison page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from knickpoint.ingest.ci import read_ci
from knickpoint.ingest.commit_sources.selection import CommitSources
from knickpoint.ingest.naming_rules import NamingRules
from knickpoint.ingest.profile_files import benchmark_of, params_of
from knickpoint.ingest.results_file import ResultsFile, read_file, read_format_option, reader_of_neighbours
from knickpoint.ingest.settings import Destination, IngestSettings
from knickpoint.ingest.sidecar import FileContext, Sidecar, companions_of, sidecar_of
from knickpoint.ingest.stages.read import ReadResults, defects_refuse, read_results
from knickpoint.model.errors import FormatError, InputError
from knickpoint.model.params import values_in_key
from knickpoint.model.plain_text import path_text, plain_line
from knickpoint.model.report import Outcome, Problem, RunReport, Severity
from knickpoint.store.profiles import StoredProfile

if TYPE_CHECKING:
    from knickpoint.profiles import Profile

_FAILED: Final = list(Outcome).index(Outcome.FAILED)
_LONGEST_MESSAGE: Final = 200
"""Characters of what a failed benchmark printed."""


@dataclass(frozen=True, slots=True)
class NewProfile:
    """A profile that is not stored: what a store would say of it, with a digest of its file, and its content."""

    facts: StoredProfile
    content: Profile

    @classmethod
    def of(cls, file: ResultsFile, profile: Profile) -> NewProfile:
        """Name the profile of a file as an import does.

        Raises:
            InputError: nothing says which benchmark it is of.
        """
        digest = hashlib.sha256(file.data).hexdigest()
        facts = (digest, profile.format, profile.kind.value, profile.unit, file.source)
        return cls(StoredProfile(0, 0, benchmark_of(file), params_of(file), *facts), profile)


@dataclass(frozen=True, slots=True)
class NewResults:
    """The runs of some files, all of one repository, under the names that an import would give them.

    ``files`` has the file of each run, ``profiles`` are those that were given beside the results.
    """

    repository: str
    runs: tuple[RunReport, ...]
    files: tuple[Path, ...]
    warnings: tuple[Problem, ...]
    profiles: tuple[NewProfile, ...] = ()

    @property
    def failures(self) -> Iterator[str]:
        """A line for each result without a value because its benchmark failed, or because the value is none."""
        for run in self.runs:
            table = run.results
            for place in np.flatnonzero(table.outcome_codes == _FAILED).tolist():
                what = plain_line(table.messages.get(place, ""), _LONGEST_MESSAGE)
                yield f"{table.keys[place]} has no value in one run: {what or 'it failed'}"

    def check_complete(self) -> None:
        """Refuse new results of which one has no name that can be read: nothing else would say that it is missing.

        Raises:
            InputError: there is such a result; ``where`` is its place.
        """
        lost = next((problem for problem in self.warnings if problem.severity is Severity.LOSS), None)
        if lost is not None:
            raise InputError(
                lost.message,
                where=lost.where,
                remedy=f"{lost.remedy} With --partial (on the page: part of a suite), the others are judged without it.",
            )

    def check_commit(self) -> None:
        """Refuse new results of several commits: a file of an older commit would hide what the newer one changed.

        An abbreviated hash is the commit that it abbreviates. Runs that name no commit count for any.

        Raises:
            InputError: two runs name different commits; ``where`` has the file of the second.
        """
        first = ""
        for run, file in zip(self.runs, self.files, strict=True):
            if run.revision.startswith(first):
                first = run.revision
            elif run.revision and not first.startswith(run.revision):
                raise InputError(
                    f"the new results are of several commits, {first[:12]} and {run.revision[:12]}",
                    where=str(file),
                    remedy="Give the results of one commit. Those of earlier ones are its history (knick import), or "
                    "what it is compared with (--against; on the page, the base).",
                )


def read_new_results(
    destination: Destination,
    paths: Sequence[Path | str],
    *,
    format: str = "",  # noqa: A002 - the word of the command line
    repository: str = "",
    params: Mapping[str, str] | None = None,
) -> NewResults:
    """Read results files with the naming rules of ``destination``; runs need not name their commit.

    What a run leaves open of commit and branch comes from sidecars, then from the variables of the CI. A run whose
    commit nothing names has the revision "".

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
    profiles: list[NewProfile] = []
    repositories: dict[str, None] = {}
    for path in map(Path, paths):
        context = FileContext.of(options.over(sidecar_of(path)), ci, mapping)
        read = _read_local(path, context, destination.ingest)
        warnings += read.warnings
        if read.profile is not None:
            profiles.append(NewProfile.of(read.file, read.profile))
            continue
        stated = context.stated.repository
        repositories[commit_sources.repository_name(stated, read.report.repository)] = None
        runs += [(path, run) for run in _renamed_runs(read, destination.ingest)]
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
        (*warnings, *_without_results(profiles, runs)),
        tuple(profiles),
    )


def read_compared_results(
    settings: IngestSettings,
    paths: Sequence[Path | str],
    *,
    format: str = "",  # noqa: A002 - the word of the command line
    repository: str = "",
    params: Mapping[str, str] | None = None,
) -> NewResults:
    """Read results files that are compared with others, with the naming rules of ``settings``; no store is needed.

    Sidecars count, variables of a CI do not: which commits were measured is no matter. The repository is the one that
    is given, or the first that a file names, or "".

    Raises:
        InputError: a file cannot be read.
        FormatError: a file is none of results; ``where`` begins with its path.
    """
    name, mapping = read_format_option(format)
    options = Sidecar(repository=repository, format=name, params=dict(params or {}))
    runs: list[tuple[Path, RunReport]] = []
    warnings: list[Problem] = []
    profiles: list[NewProfile] = []
    names: list[str] = []
    for path in map(Path, paths):
        context = FileContext.of(options.over(sidecar_of(path)), None, mapping)
        read = _read_local(path, context, settings)
        warnings += read.warnings
        if read.profile is not None:
            profiles.append(NewProfile.of(read.file, read.profile))
            continue
        names.append(context.stated.repository or read.report.repository)
        runs += [(path, run) for run in _renamed_runs(read, settings)]
    return NewResults(
        next((name for name in names if name), ""),
        tuple(run for _, run in runs),
        tuple(path for path, _ in runs),
        (*warnings, *_without_results(profiles, runs)),
        tuple(profiles),
    )


def read_uploaded_results(settings: IngestSettings, data: bytes, *, name: str, repository: str) -> NewResults:
    """Read the bytes of a results file called ``name``, to compare it with results of ``repository``.

    Nothing of this machine counts for it: no sidecar, no variable of a CI, no mapping.

    Raises:
        FormatError: the file cannot be read; ``where`` begins with its name.
    """
    context = FileContext.of(Sidecar(repository=repository), None)
    read = _read(ResultsFile(name, data, context), settings)
    runs = tuple(_renamed_runs(read, settings))
    return NewResults(repository, runs, tuple(Path(name) for _ in runs), read.warnings)


def _without_results(profiles: Sequence[NewProfile], runs: Sequence[tuple[Path, RunReport]]) -> Iterator[Problem]:
    """Warn of profiles whose benchmark has no result among the runs: nothing shows them."""
    named = {str(values_in_key(key, ["benchmark"])[0]) for _, run in runs for key in run.results.keys}
    for profile in profiles:
        if profile.facts.benchmark not in named:
            yield Problem(
                f"no results of the benchmark {profile.facts.benchmark!r}",
                profile.facts.source,
                "Name the file as the benchmark, or state it: params of a sidecar.",
                Severity.WARNING,
            )


def _read_local(path: Path, context: FileContext, settings: IngestSettings) -> ReadResults:
    """Read the file at ``path``."""
    megabytes = settings.largest_megabytes
    if path.is_dir():
        raise InputError(
            "this is a folder, and new results are files", where=str(path), remedy=f"Name them, as in {path}/*.json."
        )
    data = read_file(path, megabytes)
    companions = companions_of(str(path), reader_of_neighbours(megabytes))
    return _read(ResultsFile(path_text(path), data, context, companions), settings)


def _read(file: ResultsFile, settings: IngestSettings) -> ReadResults:
    """Read ``file``; the first error in it is raised as ``FormatError``."""
    with defects_refuse(file.source):
        read = read_results(file, settings)
    assert read is not None  # only a file that was found in a folder may be unclaimed
    if read.errors:
        error = read.errors[0]
        raise FormatError(error.message, where=f"{file.source}: {error.where}", remedy=error.remedy)
    return read


def _renamed_runs(read: ReadResults, settings: IngestSettings) -> list[RunReport]:
    """Return the completed runs of a file, with their params named as an import names them."""
    context = read.file.context
    rules = NamingRules(context.stated.params, settings.drop_params, settings.refuse_params, settings.renames)
    renamed = []
    with defects_refuse(read.file.source):
        for completed in context.complete(read.report):
            table, _ = rules.apply(completed.run.results, where=read.file.source)
            renamed.append(replace(completed.run, results=table))
    # Where the file says which commits are older, their runs come first: they are a history, whatever the order of its
    # rows.
    places = {commit.hash: place for place, commit in enumerate(read.report.commits)}
    if all(run.revision in places for run in renamed):
        renamed.sort(key=lambda run: places[run.revision])
    return renamed
