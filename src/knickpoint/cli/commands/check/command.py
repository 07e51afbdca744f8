"""The command: read the results, find their base, judge them, and report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knickpoint.cli.options import (
    fail_on_option,
    instance_option,
    job_name_option,
    read_pairs,
    refuse_empty,
    share_of_change,
)
from knickpoint.cli.output import OutputFormat, format_option
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knickpoint.model.step import Verdict


@click.command("check")
@click.argument("results", nargs=-1, metavar="[RESULTS]...")
@click.option(
    "--base",
    default="",
    callback=refuse_empty,
    metavar="REF",
    help="The last commit of the history to compare with: a branch, a tag, a hash, HEAD~3. Default: the merge base.",
)
@click.option(
    "--line", default="", callback=refuse_empty, help="The line (branch) to compare with. Default: the default line."
)
@click.option(
    "--against",
    multiple=True,
    metavar="FILE",
    help="Compare with the results of this file instead of the history; repeatable. No instance is needed.",
)
@click.option(
    "--stored",
    default="",
    callback=refuse_empty,
    metavar="COMMIT",
    help="Judge the stored results of this commit instead of files: a hash, a number, a day, a branch or newest.",
)
@click.option(
    "--values",
    type=click.IntRange(1, 5),
    default=None,
    metavar="N",
    help="With --stored: the number of newest values up to COMMIT that represent a benchmark. Default: 3.",
)
@click.option("--query", default="", help="Which traces are judged, as in knick query. Default: all of the results.")
@click.option(
    "--as", "format_name", default="", metavar="FORMAT", help="The format. Default: recognised from the content."
)
@click.option("--repository", default="", metavar="NAME", help="The repository, if not in the results.")
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE", help="A param to add to every result; repeatable."
)
@click.option(
    "--minimum-effect",
    type=click.FloatRange(0),
    callback=share_of_change,
    default=None,
    help="The smallest change that counts: 0.02 is 2 %. Default: that of [check], or 0.",
)
@click.option(
    "--false-positives",
    type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
    default=None,
    metavar="SHARE",
    help="The share of unchanged pull requests that may fail, over all benchmarks. Default: that of [check], or 0.01.",
)
@click.option(
    "--summary",
    default=None,
    metavar="NAME",
    help="The statistic of the samples of a run to compare: median, min, max, or a percentile such as p99. Default: "
    "that of [check], or the median.",
)
@fail_on_option
@job_name_option
@click.option("--partial", is_flag=True, help="The results are partial: do not report missing benchmarks.")
@click.option("--all", "everything", is_flag=True, help="Include unchanged benchmarks.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FORM[=FILE]",
    help="A report to write: markdown=, html=, json=, junit= or sarif=FILE, annotations or summary (GitHub Actions);"
    " repeatable.",
)
@instance_option
@format_option
def command(
    *,
    results: tuple[str, ...],
    base: str,
    line: str,
    against: tuple[str, ...],
    stored: str,
    values: int | None,
    query: str,
    format_name: str,
    repository: str,
    params: tuple[str, ...],
    minimum_effect: float | None,
    false_positives: float | None,
    summary: str | None,
    fail_on: frozenset[Verdict],
    name: str,
    partial: bool,
    everything: bool,
    reports: tuple[str, ...],
    instance: str | None,
    output: OutputFormat,
) -> None:
    """Judge new RESULTS against the history up to their merge base, without importing them.

    Several files of one commit are samples of one side. All benchmarks are judged by one decision: at most 1 % of pull
    requests that change nothing fail, however many benchmarks there are (--false-positives). A benchmark that failed,
    vanished or changed its unit counts as regressed. It vanished if the history has it at the base, with the params
    that all RESULTS share, and RESULTS do not. Statistics beside the main value of a benchmark, such as stat=max, have
    verdicts, but do not decide. A commit with the trailer "Knickpoint-Accept: BENCHMARK, REASON" accepts a regression.

    Profiles among RESULTS, named BENCHMARK.folded or by a sidecar, say which function a change costs: they are compared
    with the newest ones up to the base, or with those among --against.

    With --against, the runs of another file replace the history. If it has fewer than 5 runs of each benchmark, their
    samples are used instead, and changes are conditional.

    With --stored, the imported results of a commit are judged against the history up to --base, as on the page
    Compare.

    The exit code is 0 when nothing is worse, 1 when something regressed (or has a verdict of --fail-on), 2 when the
    command could not do its work, and 3 without data to judge by, for example with an empty history, or if most
    benchmarks moved together on a machine like that of the history: measure again. On another machine, a common move
    of the benchmarks is attributed to it. Canaries do not count; those that moved are named on standard error.

    An instance keeps the findings of checks of pull requests for 30 days. A change that several of them without a
    common commit share is a moved environment, and a change in one check of a commit but not in another is noise:
    neither fails.
    """
    from knickpoint.cli.commands.check.printing import NO_PLOTS, print_gate, read_targets
    from knickpoint.cli.commands.check.sides import (
        STORED_VALUES,
        ResultsFiles,
        check_against_files,
        check_against_history,
        check_stored,
    )
    from knickpoint.gate import GateOptions

    targets = read_targets(reports)
    options = GateOptions(query, summary, minimum_effect, false_positives, partial, fail_on, name)
    files = ResultsFiles(results, format_name, repository, read_pairs(params, "--param"))
    _refuse_other_sides(results, against, stored, values)
    plots = NO_PLOTS
    if stored:
        report = check_stored(
            instance,
            options,
            commit=stored,
            base=base,
            line=line,
            values=values or STORED_VALUES,
            repository=repository,
        )
    elif against:
        _refuse_beside_files(base, line)
        report = check_against_files(instance, files, options, against)
    else:
        draws = any(target.draws for target in targets)
        report, plots = check_against_history(instance, files, options, base=base, line=line, draws=draws)
    print_gate(report, output, everything=everything, targets=targets, plots=plots, instance=instance)
    if against and report.failures:
        note("Whether other pull requests moved alike is known only to an instance that judges them: knick init.")
    raise click.exceptions.Exit(report.exit_code)


def _refuse_other_sides(results: Sequence[str], against: Sequence[str], stored: str, values: int | None) -> None:
    """Refuse what is judged twice, or nothing."""
    if not results and not stored:
        raise InputError(
            "there are no results to judge",
            remedy="Name their files: knick check results.json; or a commit of the store: knick check --stored HEAD "
            "--base v1.0.",
        )
    if stored and (results or against):
        raise InputError(
            f"--stored {stored} judges what is in the store, and {[*results, *against][0]} is a file",
            where="--stored",
            remedy="Give one of the two.",
        )
    if values is not None and not stored:
        raise InputError(
            "of files, all values count", where=f"--values {values}", remedy="Give it with --stored COMMIT."
        )


def _refuse_beside_files(base: str, line: str) -> None:
    """Refuse options that choose a base in the history, where a file is the base."""
    for name, value in (("--base", base), ("--line", line)):
        if value:
            raise InputError(
                f"{name} {value} chooses a base in the history, and --against chooses a file",
                where=name,
                remedy="Give one of the two.",
            )
