"""``knick compare``: build two commits, measure them in turns on this machine, and judge what changed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knickpoint.cli.commands.bisect.options import (
    SearchOptions,
    false_positives_option,
    measuring_options,
    profiler_options,
)
from knickpoint.cli.exit_codes import INTERRUPTED
from knickpoint.cli.options import fail_on_option, instance_option, job_name_option, minimum_effect_option
from knickpoint.cli.output import OutputFormat, format_option
from knickpoint.cli.process import interrupted_by_end
from knickpoint.cli.terminal import announcer
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

    from knickpoint.bisect.comparison import Comparison, ComparisonEnd, ComparisonRequest, KeptRounds
    from knickpoint.instance import Config
    from knickpoint.model.step import Verdict


# The command: read what to compare, make the rounds, and report.


@click.command("compare")
@click.argument("base")
@click.argument("head")
@click.argument("measure", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND]")
@click.option(
    "--find",
    type=click.FloatRange(0, 10, min_open=True),
    default=None,
    metavar="SHARE",
    help="Stop measuring a benchmark once a change of this size would have been detected; makes the rounds that this "
    "takes. Default: 0.05, within 20 rounds.",
)
@click.option(
    "--power",
    type=click.FloatRange(0.5, 0.999),
    default=0.95,
    show_default=True,
    metavar="SHARE",
    help="The probability with which a change of the size of --find is detected.",
)
@minimum_effect_option
@false_positives_option
@click.option("--least-rounds", type=int, default=2, show_default=True, metavar="N", help="Minimum number of rounds.")
@click.option(
    "--most-rounds",
    type=int,
    default=None,
    metavar="N",
    help="Maximum number of rounds. Default: what --find or --minutes allows, else 20.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(0),
    default=0.0,
    metavar="N",
    help="Maximum duration in minutes, divided among the benchmarks. Default: no limit.",
)
@click.option("--seed", type=int, default=0, metavar="N", help="Random seed for the order of the sides.")
@fail_on_option
@job_name_option
@click.option(
    "--report",
    "reports",
    multiple=True,
    metavar="FORM[=FILE]",
    help="Write a report as knick check does: markdown=FILE, html=FILE, json=FILE, junit=FILE, sarif=FILE, annotations, "
    "summary.",
)
@click.option(
    "--merge-base",
    is_flag=True,
    help="Compare HEAD with its merge base with BASE instead, as git diff --merge-base does.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    metavar="DIR",
    help="Keep the measurements: rounds.json for --rounds, and results files of both sides, below base and head, for "
    "knick import. DIR must be empty.",
)
@click.option(
    "--rounds",
    type=click.Path(dir_okay=False, path_type=Path),
    default=None,
    metavar="FILE",
    help="Judge the rounds written by --keep, without building or measuring.",
)
@profiler_options
@click.option("--all", "everything", is_flag=True, help="Include unchanged benchmarks.")
@instance_option
@format_option
@measuring_options
def command(
    *,
    base: str,
    head: str,
    options: SearchOptions,
    find: float | None,
    power: float,
    minimum_effect: float,
    false_positives: float,
    least_rounds: int,
    most_rounds: int | None,
    minutes: float,
    seed: int,
    fail_on: frozenset[Verdict],
    name: str,
    reports: tuple[str, ...],
    merge_base: bool,
    keep: Path | None,
    rounds: Path | None,
    profiler: str,
    profiles: Path | None,
    everything: bool,
    instance: str | None,
    output: OutputFormat,
) -> None:
    """Build the commits BASE and HEAD, measure them in turns with COMMAND on this machine, and judge what changed.

    It needs no history, and slow drifts of the machine cancel: in each round both sides run once, in random order, and
    the differences are judged. It ends as soon as each benchmark is decided, and says which change it would have found.
    If the instance has a history of a benchmark, its noise ends the rounds earlier where nothing changed.
    COMMAND writes results in any format that knick import reads; without --results, the time of COMMAND is compared.
    {benchmarks} in COMMAND becomes a regular expression of the benchmarks that are not decided yet.

    The exit code is 0 when nothing is worse, 1 when something regressed or vanished, 2 when a side cannot be built or
    measured, and 3 without data to judge by, for example if a side ends with exit code 125.
    """
    from knickpoint.bisect.comparison import MOST_ROUNDS, Comparison, ComparisonRules, judge_kept
    from knickpoint.bisect.pool import machine_name
    from knickpoint.bisect.profiling import read_profiler
    from knickpoint.cli.commands.bisect.search import local_workspace
    from knickpoint.cli.commands.check.printing import print_gate, read_targets
    from knickpoint.cli.commands.profile import EndsProfiler
    from knickpoint.gate import GateOptions, judge_rounds
    from knickpoint.instance import Config

    targets = read_targets(reports)
    if most_rounds is None:
        most_rounds = MOST_ROUNDS if find or minutes else 20
    rules = ComparisonRules(
        false_positives=false_positives,
        find=find or 0.05,
        power=power,
        minimum_effect=minimum_effect,
        least_rounds=min(least_rounds, most_rounds),
        most_rounds=most_rounds,
        seed=seed,
    )
    config = _configuration(instance, options)
    request = _request(base, head, options, config, merge_base=merge_base, measures=rounds is None)
    request = replace(request, rules=rules, minutes=minutes)
    noise = partial(_noise, instance, request) if config else _no_noise
    tool = read_profiler(profiler) if profiler else None
    if rounds is not None and tool is not None:
        raise InputError("--profiler has nothing to run beside --rounds", remedy="Leave one of them out.")
    workspace = local_workspace(options.workspace, config)
    comparison = Comparison(request, workspace, machine_name(), announcer(err=True), noise)
    if rounds is not None:
        end, interrupted = judge_kept(rounds, request, noise), False
    else:
        end, interrupted = _run(comparison, keep)
    report = judge_rounds(end, request, GateOptions(fail_on=fail_on, name=name), config or Config())
    ends = None
    if tool is not None and end.rounds and not interrupted:
        ends = EndsProfiler(tool, comparison, profiles)
        report = replace(report, causes=tuple(filter(None, [ends.compare()])))
    print_gate(report, output, everything=everything, targets=targets, instance=instance)
    if ends is not None and report.causes:
        err = output is not OutputFormat.TEXT
        if err:
            click.echo(report.causes[0], err=True)
        ends.name_kept(err=err)
    raise click.exceptions.Exit(INTERRUPTED if interrupted else report.exit_code)


def _configuration(instance: str | None, options: SearchOptions) -> Config | None:
    from knickpoint.cli.commands.bisect.search import nearest_configuration

    return nearest_configuration(instance, options.repository)[0]


def _no_noise(_keys: Collection[str]) -> dict[str, float]:
    return {}


def _noise(instance: str | None, request: ComparisonRequest, keys: Collection[str]) -> dict[str, float]:
    """Return the noise that the history of the instance knows; {} for a configuration without a store."""
    from knickpoint.cli.options import open_chosen_instance
    from knickpoint.gate import known_noise
    from knickpoint.model.errors import ConfigError, StoreError

    try:
        with open_chosen_instance(instance) as opened:
            return known_noise(opened, request.location, request.base, keys)
    except (ConfigError, StoreError):
        return {}


def _request(
    base: str, head: str, options: SearchOptions, config: Config | None, *, merge_base: bool, measures: bool
) -> ComparisonRequest:
    """Return the request of the comparison.

    With ``merge_base``, the base is that of both commits. Only a comparison that ``measures`` needs a command.

    Raises:
        InputError: a value cannot be used, or both names mean one commit.
        HistoryError: there is no repository, or it lacks a commit.
        ConfigError: the configuration or the recipe cannot be used.
    """
    from knickpoint.bisect.comparison import ComparisonRequest
    from knickpoint.bisect.coordinator.revision_range import find_revision
    from knickpoint.bisect.settings import RecipeSettings
    from knickpoint.cli.commands.bisect.search import naming_of, work_tree_of
    from knickpoint.history import Git

    recipes = config.bisect if config else {}
    if not options.measure and Path(base).is_file() and Path(head).is_file():
        raise InputError(
            f"{base} and {head} are files, but knick compare builds and measures commits",
            remedy=f"To compare existing results: knick check {head} --against {base}.",
        )
    if measures and not options.measure and not options.recipe and len(recipes) != 1:
        raise InputError(
            "there is no command to measure with",
            remedy="Give it after --, as in knick compare main HEAD --results out.json -- make bench"
            + (f", or a recipe: --recipe {' or '.join(sorted(recipes))}" if recipes else "")
            + f". To compare imported results: knick check --stored {head} --base {base}.",
        )
    top = work_tree_of(options.repository)
    git = Git.at(top)
    hashes = find_revision(git, base), find_revision(git, head)
    if merge_base:
        hashes = git.merge_base(*hashes), hashes[1]
    if hashes[0] == hashes[1]:
        raise InputError(
            f"{base} and {head} are the same commit",
            where=hashes[0][:12],
            remedy="Name two commits, the older one first.",
        )
    return ComparisonRequest(
        str(top),
        *hashes,
        options.settings(recipes) if measures else RecipeSettings("kept rounds"),
        ingest=naming_of(config),
        added_params=options.added_params,
    )


def _run(comparison: Comparison, keep: Path | None) -> tuple[ComparisonEnd, bool]:
    """Return the end of the comparison, and whether it was interrupted; what it measured is kept in a directory."""
    from knickpoint.bisect.comparison import ComparisonEnd, SideSkippedError

    kept = _kept(comparison.request, keep) if keep else None
    if kept:
        comparison.keep = kept.add
    interrupted = False
    try:
        with interrupted_by_end():
            end = comparison.run()
    except KeyboardInterrupt:
        end, interrupted = comparison.end("interrupted", interrupted=True), True
    except SideSkippedError as skipped:
        click.echo(f"knick: {skipped}", err=True)
        return ComparisonEnd((), 0, "a side cannot be judged"), False
    if kept:
        kept.finish(comparison.judge, end)
    return end, interrupted


def _kept(request: ComparisonRequest, directory: Path) -> KeptRounds:
    """Prepare to keep a comparison, with the facts from the variables of a CI.

    Raises:
        InputError: the directory has files, which may be of another comparison.
    """
    from knickpoint.bisect.comparison import KeptRounds
    from knickpoint.ingest.ci import read_ci

    if directory.exists() and any(directory.iterdir()):
        raise InputError("the directory is not empty", where=str(directory), remedy="Give --keep a new one.")
    ci = read_ci()
    if ci is None:
        return KeptRounds(directory, request)
    return KeptRounds(
        directory, request, {"run": ci.identity, "environment": dict(ci.environment), "links": dict(ci.links)}
    )
