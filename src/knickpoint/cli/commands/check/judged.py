"""Read new results and what they are compared with, the history or other files, and judge them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.cli.commands.check.gate_rows import (
    NO_HISTORY,
    base_sentence,
    canary_keys,
    files_sentence,
    gate_report,
)
from knickpoint.cli.commands.check.report_files import NO_PLOTS, ReportPlots
from knickpoint.cli.options import open_chosen_instance
from knickpoint.cli.output import Row
from knickpoint.ingest.comparison_base import Base, find_base
from knickpoint.ingest.new_results import NewResults, read_compared_results, read_new_results
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.query import parse_query
from knickpoint.model.step import Verdict
from knickpoint.model.summary import read_summary
from knickpoint.watch.accepted_changes import match_accepted
from knickpoint.watch.results_check import CheckReport, CheckRules, check_files, check_results

if TYPE_CHECKING:
    from knickpoint.instance import Config, Instance
    from knickpoint.instance.config import CheckSettings
    from knickpoint.model.commit import Commit, Repository
    from knickpoint.reports import GateReport

__all__ = ["CheckOptions", "JudgedResults", "decide_by", "judge_by_files", "judge_by_history"]

_MOST_PICTURES: Final = 20
_MOST_FAILURES: Final = 20


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What the command line says about the results and the decision; None where the configuration decides."""

    results: Sequence[str]
    format: str
    repository: str
    params: Mapping[str, str]
    query: str
    summary: str | None
    minimum_effect: float | None
    false_positives: float | None
    partial: bool
    fail_on: Collection[Verdict]
    draws: bool

    def rules(self, settings: CheckSettings) -> CheckRules:
        """Return how is decided; ``settings`` say what the command line leaves open."""
        return CheckRules(
            partial=self.partial,
            false_positives=settings.false_positives if self.false_positives is None else self.false_positives,
            minimum_effect=settings.minimum_effect if self.minimum_effect is None else self.minimum_effect,
            summary=read_summary(settings.summary if self.summary is None else self.summary),
            query=parse_query(self.query),
        )


@dataclass(frozen=True, slots=True)
class JudgedResults:
    """The verdicts, the report for people, the columns about the base, and what is said beside them."""

    report: CheckReport
    gate: GateReport
    base_fields: Row
    canaries: Collection[str]
    warnings: Sequence[str]
    plots: ReportPlots = NO_PLOTS


def judge_by_history(instance: str | None, reference: str, line: str, options: CheckOptions) -> JudgedResults:
    """Judge results by the history of an instance up to the base that ``reference`` names, "" for the merge base."""
    with open_chosen_instance(instance) as opened:
        read = read_new_results(
            opened, options.results, format=options.format, repository=options.repository, params=options.params
        )
        read.check_commit()
        if not options.partial:
            read.check_complete()
            _check_measured(read, options.results[0])
        rules, store = options.rules(opened.config.check), opened.store
        # Read the results, and find the base that they are compared with.
        known = _repository(opened, read.repository, options.results[0])
        found = find_base(opened, known, read, requested=reference, line=line) if known else None
        slot = found.commit.slot if found and found.commit else None
        report = check_results(store, known, read.runs, base=slot, line=line, rules=rules)
        newest = store.commits.get(known, [report.newest])[0].commit.hash if known and report.newest is not None else ""
        # Say it: what the commits accept, what canaries say, and the plots of what fails.
        gate, canaries, warnings = decide_by(
            opened.config,
            report,
            options,
            repository=read.repository,
            base=base_sentence(found, report, newest, rules.summary),
            accepted=found.accepted if found else (),
            has_history=found is not None,
        )
        plots = _plots(opened, report, gate) if options.draws else NO_PLOTS
    told = (*(problem.sentence for problem in read.warnings), *warnings)
    return JudgedResults(report, gate, _base_fields(found, report), canaries, told, plots)


def decide_by(
    config: Config,
    report: CheckReport,
    options: CheckOptions,
    *,
    repository: str,
    base: str,
    accepted: Iterable[tuple[Commit, str]],
    has_history: bool = True,
) -> tuple[GateReport, Collection[str], Sequence[str]]:
    """Return what ``report`` decides in an instance of ``config``, the keys of its canaries, and warnings.

    ``accepted`` are the commits with a trailer that accepts changes, and what each accepts. ``base`` is the sentence about the base.
    ``has_history`` says whether anything is stored to compare with.
    """
    keys = [trace.key for trace in report.traces]
    canaries = canary_keys(config.canaries.values(), repository, keys)
    matched, warnings = match_accepted(accepted, keys)
    gate = gate_report(
        report,
        repository=repository,
        base=base,
        fail_on=options.fail_on,
        canaries=canaries,
        accepted=matched,
        address=config.server.address.rstrip("/"),
        has_history=has_history,
    )
    return gate, canaries, warnings


def judge_by_files(instance: str | None, against: Sequence[str], options: CheckOptions) -> JudgedResults:
    """Judge results by those of other files. Of an instance only the configuration counts, and there need not be one."""
    config = _configuration(instance)
    base, read = (
        read_compared_results(
            config.ingest, files, format=options.format, repository=options.repository, params=options.params
        )
        for files in (against, options.results)
    )
    read.check_commit()
    if not options.partial:
        read.check_complete()
    for results, file in ((base, against[0]), (read, options.results[0])):
        if not options.partial or results is base:
            _check_measured(results, file)
    repository = read.repository or base.repository
    rules = options.rules(config.check)
    directions = [settings.rule for settings in config.directions.values()]
    name = against[0] if len(against) == 1 else "the base"
    report = check_files(base.runs, read.runs, name=name, rules=rules, directions=directions, repository=repository)
    canaries = canary_keys(config.canaries.values(), repository, [trace.key for trace in report.traces])
    sentence = files_sentence(against, len(base.runs), report, rules.summary)
    gate = gate_report(report, repository=repository, base=sentence, fail_on=options.fail_on, canaries=canaries)
    reason = f"--against {' '.join(against)}"
    fields = {
        "base": None,
        "base_time": None,
        "base_subject": None,
        "base_reason": reason,
        "base_commits": report.measured,
    }
    told = [problem.sentence for problem in (*base.warnings, *read.warnings)]
    told += (f"{name}: {text}" for text in islice(base.failures, _MOST_FAILURES))
    return JudgedResults(report, gate, fields, canaries, told)


def _configuration(instance: str | None) -> Config:
    """Return the configuration of the instance that is named or near; that of an empty one where there is none."""
    from knickpoint.instance import CONFIG_FILE, Config, find_instance, read_config

    try:
        return read_config((Path(instance) if instance is not None else find_instance()) / CONFIG_FILE)
    except ConfigError:
        if instance is not None or os.environ.get("KNICKPOINT_INSTANCE"):
            raise
        return Config()


def _base_fields(base: Base | None, report: CheckReport) -> Row:
    """Return the columns about the base; ``base_commits`` is the number of measured commits up to it."""
    commit = base.commit.commit if base and base.commit else None
    return {
        "base": commit.hash if commit else None,
        "base_time": commit.time.isoformat() if commit and commit.has_time else None,
        "base_subject": commit.subject if commit else None,
        "base_reason": base.reason if base else NO_HISTORY,
        "base_commits": report.measured,
    }


def _repository(opened: Instance, name: str, where: str) -> Repository | None:
    """Return the repository of the results; None if nothing was imported yet, or nothing of a configured repository."""
    known = {repository.name: repository for repository in opened.store.commits.repositories()}
    if name not in known and known and name not in opened.repositories:
        raise InputError(
            f"there is no history of the repository {name!r}",
            where=where,
            remedy=f"Import results first, or name one with --repository: {', '.join(sorted(known))}.",
        )
    return known.get(name)


def _plots(opened: Instance, report: CheckReport, gate: GateReport) -> ReportPlots:
    """Return the plots of the rows that fail the check."""
    from knickpoint.cli.commands.check.new_results_plot import up_to, with_new_results
    from knickpoint.plots import draw_trend, svg
    from knickpoint.watch.lines import Lines
    from knickpoint.watch.trend import read_trend

    traces = {trace.key: trace.trace for trace in report.traces if trace.trace is not None}
    wanted = [(row, traces[row.key]) for row in gate.failures if row.key in traces]
    owners = {repository.id: repository for repository in opened.store.commits.repositories()}
    pictures, histories = {}, {}
    for row, trace in wanted[:_MOST_PICTURES]:
        repository = owners[opened.store.traces.owners([trace.id])[trace.id]]
        line = opened.store.commits.line(repository, report.line)
        read = read_trend(opened.store, Lines(opened.store, repository), trace, line)
        trend = up_to(read, line.positions[report.newest]) if report.newest in line.positions else read
        pictures[row.key] = svg(draw_trend(with_new_results(trend, row))).decode()
        histories[row.key] = trend.values.tolist()
    return ReportPlots(pictures, histories)


def _check_measured(read: NewResults, first: str) -> None:
    """Refuse files without any result: nothing was measured, and a job lets "no data" pass."""
    if not any(len(run.results) for run in read.runs):
        raise InputError(
            "no file holds any result, so there is nothing to judge",
            where=first,
            remedy="Look whether the run was filtered to nothing; --partial takes part of a suite that may be empty.",
        )
