"""Read the two sides that the command line names, and have them judged."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.cli.commands.check.printing import NO_PLOTS, ReportPlots
from knickpoint.cli.options import chosen_repositories, no_trace_remedy, open_chosen_instance, parse_terms
from knickpoint.gate import GateOptions, GateReport, judge_commits, judge_files, judge_results
from knickpoint.ingest.new_results import read_compared_results, read_new_results
from knickpoint.instance.named_commits import find_on_some_line, find_revision
from knickpoint.model.errors import ConfigError, InputError

if TYPE_CHECKING:
    from knickpoint.instance import Config
    from knickpoint.model.commit import Repository
    from knickpoint.store import Store

STORED_VALUES: Final = 3
"""New values of a trace that count where no number is given, as on the page."""


@dataclass(frozen=True, slots=True)
class ResultsFiles:
    """The results files of the command line, and how they are read."""

    paths: Sequence[str]
    format: str
    repository: str
    params: Mapping[str, str]


def check_against_history(
    instance: str | None, files: ResultsFiles, options: GateOptions, *, base: str, line: str, draws: bool
) -> tuple[GateReport, ReportPlots]:
    """Judge files by the history of an instance up to ``base``, "" for the merge base.

    With ``draws``, draw what fails.
    """
    with open_chosen_instance(instance) as opened:
        read = read_new_results(
            opened, files.paths, format=files.format, repository=files.repository, params=files.params
        )
        report = judge_results(opened, read, options, file=files.paths[0], reference=base, line=line)
        if not draws:
            return report, NO_PLOTS
        from knickpoint.cli.commands.check.new_results_plot import draw_failures

        return report, draw_failures(opened, report)


def check_against_files(
    instance: str | None, files: ResultsFiles, options: GateOptions, against: Sequence[str]
) -> GateReport:
    """Judge files by other ones. Of an instance only the configuration counts, and there need not be one."""
    config = _configuration(instance)
    base, read = (
        read_compared_results(
            config.ingest, paths, format=files.format, repository=files.repository, params=files.params
        )
        for paths in (against, files.paths)
    )
    return judge_files(
        config,
        base,
        read,
        options,
        against=against,
        file=files.paths[0],
        directions=[settings.rule for settings in config.directions.values()],
        repository=read.repository or base.repository,
    )


def check_stored(
    instance: str | None, options: GateOptions, *, commit: str, base: str, line: str, values: int, repository: str
) -> GateReport:
    """Judge ``commit`` by the history up to ``base``; both are names of commits in the store.

    Raises:
        InputError: there is no base, or no trace matches, or there are several repositories, and none is named.
        HistoryError: there is no such repository, line or commit.
    """
    if not base:
        raise InputError(
            f"--stored {commit} has nothing to compare with",
            where="--base",
            remedy=f"Name the last commit of the old side: knick check --stored {commit} --base REF.",
        )
    with open_chosen_instance(instance) as opened:
        store, chosen = opened.store, _repository(opened.store, repository)
        old = find_revision(opened, store.commits.line(chosen, line), base)
        new = find_on_some_line(opened, old.line, commit)
        ids = store.traces.select(chosen, parse_terms(store, [chosen], options.query)).tolist()
        if not ids:
            remedy = no_trace_remedy(store, [chosen], options.query)
            raise InputError(f"no trace matches {options.query!r}", where="--query", remedy=remedy)
        return judge_commits(opened, old, new, ids, options, values=values, reason=f"--base {base}")


def _repository(store: Store, name: str) -> Repository:
    """Return the repository of that name, or the only one."""
    found = chosen_repositories(store, name)
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError("the store has no results", remedy="Import some: knick import PATH.")
    names = ", ".join(each.name for each in found)
    raise InputError("there are several repositories", where="--repository", remedy=f"Name one: {names}.")


def _configuration(instance: str | None) -> Config:
    """Return the configuration of the instance that is named or near; that of an empty one where there is none."""
    from knickpoint.instance import CONFIG_FILE, Config, find_instance, read_config

    try:
        return read_config((Path(instance) if instance is not None else find_instance()) / CONFIG_FILE)
    except ConfigError:
        if instance is not None or os.environ.get("KNICKPOINT_INSTANCE"):
            raise
        return Config()
