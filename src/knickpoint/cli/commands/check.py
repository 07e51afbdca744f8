"""``knick check``: judge new results against the history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance, read_pairs
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, percent, show
from knickpoint.model.errors import InputError
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted
from knickpoint.model.query import parse_query
from knickpoint.model.step import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from knickpoint.ingest.comparison_base import Base
    from knickpoint.instance import CanarySettings, Instance
    from knickpoint.model.commit import Repository
    from knickpoint.watch.results_check import CheckedTrace, CheckReport

__all__ = ["command"]

_REGRESSED: Final = 1
_NO_DATA: Final = 3
_NO_HISTORY: Final = "there is no history yet"
_CHANGED: Final = frozenset({Verdict.REGRESSED, Verdict.IMPROVED})

_COLUMNS = (
    Column("verdict"),
    Column("trace"),
    Column("relative_size", "change", percent, right=True),
    Column("detectable_relative", "detectable", lambda size: percent(size).lstrip("+"), right=True),
    Column("samples", right=True),
    Column("reason"),
)
_DETAILS = tuple(
    Column(name) for name in ("unit", "level", "centre", "low", "high", "detectable", "p_value", "conditional")
)
_BASE = tuple(Column(name) for name in ("base", "base_time", "base_subject", "base_reason", "base_commits"))


def _base_fields(base: Base | None, report: CheckReport) -> Row:
    """Return the columns about the base; ``base_commits`` is the number of measured commits up to it."""
    commit = base.commit.commit if base and base.commit else None
    return {
        "base": commit.hash if commit else None,
        "base_time": commit.time.isoformat() if commit and commit.has_time else None,
        "base_subject": commit.subject if commit else None,
        "base_reason": base.reason if base else _NO_HISTORY,
        "base_commits": report.measured,
    }


def _base_line(base: Base | None, report: CheckReport, newest: str) -> str:
    """Return the line about the base, for people; ``newest`` is the hash of the last measured commit up to it."""
    if base is None or base.commit is None:
        return f"Base: none, {base.reason if base else _NO_HISTORY}."
    commit = base.commit.commit
    subject = f" {commit.subject!r}" if commit.subject else ""
    count = counted(report.measured, "measured commit")
    history = f"{count}, the newest {newest[:12]}" if report.measured else "no results of these benchmarks"
    return f"Base: {commit.hash[:12]}{subject} of {commit.time:%Y-%m-%d %H:%M} UTC, {base.reason}. History: {history}."


def _rows(report: CheckReport) -> list[Row]:
    names = ("relative_size", "detectable_relative", "samples", "reason", "level", "centre", "low", "high")
    more = ("detectable", "p_value", "conditional")
    return [
        {
            "verdict": trace.judgement.verdict.value,
            "trace": trace.key,
            "unit": trace.unit,
            **{name: getattr(trace.judgement, name) for name in (*names, *more)},
        }
        for trace in report.traces
    ]


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


def _canaries(settings: Iterable[CanarySettings], repository: str, report: CheckReport) -> list[CheckedTrace]:
    """Return the results of canaries, which no commit should change."""
    queries = [parse_query(canary.query) for canary in settings if canary.repository in {"", repository}]
    if not queries:
        return []
    return [trace for trace in report.traces if any(query.matches(decode_key(trace.key)) for query in queries)]


def _exit_code(report: CheckReport, fail_on: tuple[str, ...], canaries: Collection[CheckedTrace]) -> int:
    """Return the exit code; canaries do not count, because no commit is the reason when they move."""
    ignored = {canary.key for canary in canaries}
    verdicts = {trace.judgement.verdict for trace in report.traces if trace.key not in ignored} - {Verdict.NO_DATA}
    if any(verdict.value in fail_on for verdict in verdicts):
        return _REGRESSED
    return 0 if verdicts else _NO_DATA


def _canary_warning(canary: CheckedTrace) -> str:
    """Return the warning about a canary that moved, failed or vanished."""
    if canary.values:
        moved = f"{canary.judgement.verdict.value}: the machine differs from that of the history"
    else:
        moved = f"has no value ({canary.judgement.reason}): it is unknown whether the machine is that of the history"
    return f"the canary {canary.key} {moved}, and the other verdicts are in doubt"


def _left_out_warning(left_out: int) -> str:
    """Return the warning that series of the base are not judged, because the results have a single benchmark."""
    others = "1 other series of the base is" if left_out == 1 else f"{left_out:,} other series of the base are"
    return f"the results have one benchmark only, so {others} considered left out on purpose; --partial confirms it"


@click.command("check")
@click.argument("results", nargs=-1, required=True)
@click.option(
    "--base",
    default="",
    metavar="REF",
    help="The last commit of the history to compare with: a branch, a tag, a hash, HEAD~3. Default: the merge base.",
)
@click.option("--line", default="", help="The line (branch) to compare with. Default: the default line.")
@click.option(
    "--as", "format_name", default="", metavar="FORMAT", help="The format. Default: recognised from the content."
)
@click.option("--repository", default="", metavar="NAME", help="The repository, if the results do not name it.")
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE", help="A param to add to every result; repeatable."
)
@click.option(
    "--minimum-effect", type=click.FloatRange(0, 10), default=0.0, help="The smallest change that counts: 0.02 is 2 %."
)
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice([verdict.value for verdict in Verdict if verdict is not Verdict.NO_DATA]),
    default=(Verdict.REGRESSED.value,),
    show_default=True,
    help="Verdicts that end with exit code 1; repeatable.",
)
@click.option("--partial", is_flag=True, help="The results are only a part: do not report benchmarks that they lack.")
@instance_option
@format_option
def command(
    *,
    results: tuple[str, ...],
    base: str,
    line: str,
    format_name: str,
    repository: str,
    params: tuple[str, ...],
    minimum_effect: float,
    fail_on: tuple[str, ...],
    partial: bool,
    instance: str | None,
    output: OutputFormat,
) -> None:
    """Judge new RESULTS against the history up to their merge base, without importing them.

    A benchmark that failed, vanished or changed its unit counts as regressed. It vanished if the history has it at the
    base, with the params that all RESULTS share, and RESULTS do not. The exit code is 0 when nothing is worse, 1 when
    something regressed (or has a verdict of --fail-on), 2 when the command could not do its work, and 3 when there are
    no data to judge by. Canaries do not count; those that moved are named on standard error.
    """
    from knickpoint.ingest.comparison_base import find_base
    from knickpoint.ingest.new_results import read_new_results
    from knickpoint.watch.results_check import check_results

    with open_chosen_instance(instance) as opened:
        read = read_new_results(
            opened, results, format=format_name, repository=repository, params=read_pairs(params, "--param")
        )
        store = opened.store
        # Read the results, and find the base that they are compared with.
        known = _repository(opened, read.repository, results[0])
        found = find_base(opened, known, read, requested=base, line=line) if known else None
        slot = found.commit.slot if found and found.commit else None
        report = check_results(
            store, known, read.runs, base=slot, line=line, partial=partial, minimum_effect=minimum_effect
        )
        newest = store.commits.get(known, [report.newest])[0].commit.hash if known and report.newest is not None else ""
        canaries = _canaries(opened.config.canaries.values(), read.repository, report)
    if output is OutputFormat.TEXT:
        click.echo(_base_line(found, report, newest))
    columns = _COLUMNS if output is OutputFormat.TEXT else _COLUMNS + _DETAILS + _BASE
    fields = _base_fields(found, report)
    show(columns, [{**row, **fields} for row in _rows(report)], output, empty="The results have no measurements.")
    if report.left_out:
        click.echo(f"knick: {_left_out_warning(report.left_out)}", err=True)
    for canary in canaries:
        if canary.judgement.verdict in _CHANGED:
            click.echo(f"knick: {_canary_warning(canary)}", err=True)
    raise click.exceptions.Exit(_exit_code(report, fail_on, canaries))
