"""``knick check``: the verdict on new results against history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance, read_pairs
from knickpoint.cli.output import Column, OutputFormat, format_option, percent, show
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.params import decode_key
from knickpoint.model.query import parse_query
from knickpoint.model.step import Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from knickpoint.instance import CanarySettings
    from knickpoint.watch.check import CheckedTrace, CheckReport

__all__ = ["command"]

_REGRESSED: Final = 1
_NO_DATA: Final = 3
_MOVED: Final = frozenset({Verdict.REGRESSED, Verdict.IMPROVED})

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


def _rows(report: CheckReport) -> list[dict[str, Any]]:
    names = ("relative_size", "detectable_relative", "samples", "reason", "level", "centre", "low", "high")
    more = ("detectable", "p_value", "conditional")
    return [
        {
            "verdict": one.judgement.verdict.value,
            "trace": one.key,
            "unit": one.unit,
            **{name: getattr(one.judgement, name) for name in (*names, *more)},
        }
        for one in report.traces
    ]


def _canaries(settings: Iterable[CanarySettings], repository: str, report: CheckReport) -> list[CheckedTrace]:
    """Return the results of benchmarks that no commit should change."""
    queries = [parse_query(own.query) for own in settings if own.repository in {"", repository}]
    if not queries:
        return []
    return [one for one in report.traces if any(query.matches(decode_key(one.key)) for query in queries)]


def _exit_code(report: CheckReport, fail_on: tuple[str, ...], canaries: Collection[CheckedTrace]) -> int:
    """Return the exit code; no commit is to blame for a canary, so canaries do not count."""
    apart = {one.key for one in canaries}
    verdicts = {one.judgement.verdict for one in report.traces if one.key not in apart} - {Verdict.NO_DATA}
    if any(verdict.value in fail_on for verdict in verdicts):
        return _REGRESSED
    return 0 if verdicts else _NO_DATA


@click.command("check")
@click.argument("results", nargs=-1, required=True)
@click.option("--base", default="", metavar="COMMIT", help="The last commit of the history to compare with.")
@click.option("--line", default="", help="The line (branch) to compare with. Default: the repository's.")
@click.option(
    "--as", "format_name", default="", metavar="FORMAT", help="The format; without it each file is looked at."
)
@click.option("--repository", default="", metavar="NAME", help="The repository, where the results do not say.")
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE", help="A param to add to every result; repeatable."
)
@click.option(
    "--minimum-effect", type=click.FloatRange(0, 10), default=0.0, help="Smallest change that counts: 0.02 is 2 %."
)
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice([verdict.value for verdict in Verdict if verdict is not Verdict.NO_DATA]),
    default=(Verdict.REGRESSED.value,),
    show_default=True,
    help="Verdicts that end with exit code 1; repeatable.",
)
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
    instance: str | None,
    output: OutputFormat,
) -> None:
    """Judge new RESULTS against history, and keep nothing of them.

    The exit code is 0 when nothing is worse, 1 when something regressed (or is what --fail-on says), 2 when the
    command could not do its work, and 3 when there are no data to judge by. Canaries do not count; one that moved
    is told on standard error.
    """
    from knickpoint.ingest.reading import read_results
    from knickpoint.watch.check import check_results

    with open_chosen_instance(instance) as opened:
        read = read_results(
            opened, results, format=format_name, repository=repository, params=read_pairs(params, "--param")
        )
        store = opened.store
        known = {one.name: one for one in store.commits.repositories()}
        own = known.get(read.repository)
        if own is None and known and read.repository not in opened.repositories:
            raise InputError(
                f"there is no history of the repository {read.repository!r}",
                where=results[0],
                remedy=f"Import results first, or name one with --repository: {', '.join(sorted(known))}.",
            )
        slot = None
        if base:
            found = store.commits.find(own, base) if own else None
            if found is None:
                raise HistoryError(
                    f"the repository {read.repository!r} has no commit {base!r}", where="--base", remedy="Correct it."
                )
            slot = found.slot
        report = check_results(store, own, read.runs, base=slot, line=line, minimum_effect=minimum_effect)
        canaries = _canaries(opened.config.canaries.values(), read.repository, report)
    columns = _COLUMNS if output is OutputFormat.TEXT else _COLUMNS + _DETAILS
    show(columns, _rows(report), output, empty="The results hold no measurements.")
    for one in canaries:
        if one.judgement.verdict in _MOVED:
            click.echo(
                f"knick: the canary {one.key} {one.judgement.verdict.value}: the machine is another than in the history,"
                " and the other verdicts are in doubt",
                err=True,
            )
    raise click.exceptions.Exit(_exit_code(report, fail_on, canaries))
