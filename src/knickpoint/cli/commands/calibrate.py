"""``knick calibrate``: measure one commit in several ways, and say which changes comparisons on this machine can find."""

from __future__ import annotations

import json
import math
import shlex
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.commands.bisect.options import SearchOptions, false_positives_option, measuring_options
from knickpoint.cli.exit_codes import INTERRUPTED
from knickpoint.cli.options import instance_option
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.cli.process import interrupted_by_end
from knickpoint.cli.terminal import announcer, note
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import percent_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knickpoint.bisect.comparison import CalibratedBenchmark, Calibration, CalibrationRun, Plant


def _share(value: float | None) -> str:
    if value is None or math.isnan(value):
        return "–"
    return percent_text(value) if value < 10 else "–"


_COLUMNS: Final = (
    Column("benchmark"),
    Column("state", text=str),
    Column("found_80", "found with 80 %", text=_share, right=True),
    Column("found_95", "with 95 %", text=_share, right=True),
    Column("with_twice", "with twice the rounds", text=_share, right=True),
    Column("rounds_needed", "rounds for --find", text=lambda count: f"{count:,}" if count else "–", right=True),
    Column("within", text=_share, right=True),
    Column("between", "between runs", text=_share, right=True),
    Column("builds", text=_share, right=True),
    Column("environment", text=_share, right=True),
    Column("shown", "planted", text=_share, right=True),
    Column("shown_large", "large", text=_share, right=True),
    Column("alarms", "false alarms", right=True),
    Column("comparisons", "of", right=True),
    Column("alarms_builds", "of other builds", right=True),
    Column("comparisons_builds", "of", right=True),
    Column("rounds", right=True, detail=True),
    Column("level", right=True, detail=True),
    Column("unit", detail=True),
    Column("trace", detail=True),
)

_JOINED_COLUMNS: Final = (
    Column("benchmark"),
    Column("state", text=str),
    Column("machines", right=True),
    Column("noise", "between machines", text=_share, right=True),
    Column("found_80", "found across with 80 %", text=_share, right=True),
    Column("found_95", "with 95 %", text=_share, right=True),
    Column("in_turns", "in turns with 80 %", text=_share, right=True),
    Column("between", "between runs", text=_share, right=True),
    Column("builds", text=_share, right=True),
    Column("trace", detail=True),
)


@click.command("calibrate")
@click.argument("commit", default="")
@click.argument("measure", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND]")
@click.option(
    "--minutes",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="N",
    help="Time for the measurements, after the builds.",
)
@click.option(
    "--rounds",
    type=click.IntRange(7, 20_000),
    default=20,
    show_default=True,
    metavar="N",
    help="Rounds of a comparison.",
)
@click.option(
    "--find",
    type=click.FloatRange(0, 10, min_open=True),
    default=0.05,
    show_default=True,
    metavar="SHARE",
    help="The change to find, and the planted slow-down.",
)
@click.option(
    "--limit",
    type=click.FloatRange(0, 10, min_open=True),
    default=0.1,
    show_default=True,
    metavar="SHARE",
    help="A benchmark in which only larger changes are found is useless.",
)
@false_positives_option
@click.option("--builds", type=click.IntRange(1, 20), default=3, show_default=True, metavar="N", help="Builds to make.")
@click.option(
    "--plant",
    type=click.Choice(["pause", "repeat", "variable"]),
    default=None,
    help="How slow-downs are planted: pause stops the command for a share of its time, repeat runs its first part once "
    "more, variable sets KNICKPOINT_PLANT for a command that repeats this share of its work. Default: pause where the "
    "command writes results, else repeat.",
)
@click.option("--seed", type=int, default=0, metavar="N", help="Random seed for the order of the runs.")
@click.option(
    "--join",
    is_flag=True,
    help="Measure nothing: the arguments are outputs of knick calibrate --format json, one for each machine.",
)
@instance_option
@format_option
@measuring_options
def command(
    *,
    commit: str,
    options: SearchOptions,
    minutes: float,
    rounds: int,
    find: float,
    limit: float,
    false_positives: float,
    builds: int,
    plant: str | None,
    seed: int,
    join: bool,
    instance: str | None,
    output: OutputFormat,
) -> None:
    """Measure COMMIT against itself, and say which changes knick compare finds on this machine.

    In each round, the commit runs twice as it is, in an environment of another size, from other builds, and with a
    planted slow-down. {build} in the build command is the number of the build, to link in another order.

    With --join, state the noise between the machines of several such calibrations, and the changes that knick check
    finds across them: knick calibrate --join one.json two.json three.json
    """
    if not commit:
        raise InputError(
            "no commit is named", where="knick calibrate", remedy="Name one, such as HEAD; or files with --join."
        )
    if join:
        _join([commit, *options.measure], output, false_positives, limit)
        return
    from knickpoint.bisect.comparison import Calibration, ComparisonRules

    rules = ComparisonRules(false_positives=false_positives, find=find, most_rounds=rounds, seed=seed)
    run = _prepare(commit, options, instance, Calibration(rules, rounds, limit, find))
    run.request, run.builds = replace(run.request, minutes=minutes), builds
    run.plant = _plant(plant, results=bool(run.request.recipe.results))
    interrupted = False
    try:
        with interrupted_by_end():
            run.run()
    except KeyboardInterrupt:
        interrupted = True
    show(_COLUMNS, _rows(run.calibration), output, empty="Nothing was measured.")
    if output is OutputFormat.TEXT and run.calibration.measured:
        _print_summary(run.calibration, run.plant, options)
    if interrupted:
        raise click.exceptions.Exit(INTERRUPTED)


def _plant(name: str | None, *, results: bool) -> Plant:
    from knickpoint.bisect.comparison import Plant

    chosen = Plant(name) if name else Plant.PAUSE if results else Plant.REPEAT
    if chosen is Plant.REPEAT and results:
        raise InputError(
            "repeating the first part of a command does not change the results that it writes",
            where="--plant repeat",
            remedy="Use pause, or let the command repeat a share of its work with variable.",
        )
    return chosen


def _prepare(commit: str, options: SearchOptions, instance: str | None, calibration: Calibration) -> CalibrationRun:
    from knickpoint.bisect.comparison import CalibrationRun, ComparisonRequest
    from knickpoint.bisect.coordinator.revision_range import find_revision
    from knickpoint.bisect.pool import machine_name
    from knickpoint.cli.commands.bisect.search import local_workspace, naming_of, nearest_configuration, work_tree_of
    from knickpoint.history import Git

    config = nearest_configuration(instance, options.repository)[0]
    recipe = options.settings(config.bisect if config else {})
    top = work_tree_of(options.repository)
    found = find_revision(Git.at(top), commit)
    request = ComparisonRequest(
        str(top),
        found,
        found,
        recipe,
        calibration.rules,
        ingest=naming_of(config),
        added_params=options.added_params,
    )
    workspace = local_workspace(options.workspace, config)
    return CalibrationRun(request, calibration, workspace, machine_name(), progress=announcer(err=True))


def _rows(calibration: Calibration) -> list[Row]:
    from knickpoint.model.params import decode_key
    from knickpoint.model.quantity_text import trace_name

    return [
        {
            "benchmark": trace_name(decode_key(each.trace))[0],
            "state": each.state.value,
            "found_80": each.found_80,
            "found_95": each.found_95,
            "with_twice": each.with_twice,
            "rounds_needed": each.needed,
            "within": each.within,
            "between": each.between,
            "builds": each.builds,
            "environment": each.environment,
            "shown": each.shown,
            "shown_large": each.shown_large,
            "alarms": each.alarms[0],
            "comparisons": each.comparisons[0],
            "alarms_builds": each.alarms[1],
            "comparisons_builds": each.comparisons[1],
            "rounds": each.rounds,
            "level": each.level,
            "unit": each.unit,
            "trace": each.trace,
        }
        for each in calibration.benchmarks
    ]


def _print_summary(calibration: Calibration, plant: Plant, options: SearchOptions) -> None:
    """Print what was planted, what the states mean, and what to paste."""
    from knickpoint.bisect.comparison import BenchmarkState, suggested_limits

    states = Counter(each.state for each in calibration.benchmarks)
    note(
        f"{counted(len(calibration.measured), 'round')}; found: at the latest, with {calibration.rounds} rounds."
        f" Planted: {percent_text(calibration.planted)} and 50 %; {plant.sentence}."
    )
    if states[BenchmarkState.DEAD]:
        note(f"{counted(states[BenchmarkState.DEAD], 'benchmark')} did not show the large slow-down: dead.")
    if states[BenchmarkState.USELESS]:
        limit = percent_text(calibration.limit)
        note(f"{counted(states[BenchmarkState.USELESS], 'benchmark')} would hide a change of {limit}: useless.")
    limits = suggested_limits(calibration)
    if limits:
        words = ["knick", "compare", "BASE", "HEAD", "--find", f"{limits['find']:g}"]
        words += ["--minimum-effect", f"{limits['minimum_effect']:g}", "--most-rounds", str(calibration.rounds)]
        words += [*(["--recipe", options.recipe] if options.recipe else [])]
        words += [word for name in options.results for word in ("--results", name)]
        words += ["--build", shlex.join(options.build)] if options.build else []
        note("To paste: " + shlex.join([*words, *(["--", *options.measure] if options.measure else [])]))


def _join(files: Sequence[str], output: OutputFormat, false_positives: float, limit: float) -> None:
    """Print the noise between the machines of ``files``, and what to paste."""
    from knickpoint.bisect.comparison import BenchmarkState, join_machines, rounded_up
    from knickpoint.model.params import decode_key
    from knickpoint.model.quantity_text import trace_name

    joined = join_machines([_read_machine(Path(file)) for file in files], false_positives=false_positives, limit=limit)
    rows = [
        {"benchmark": trace_name(decode_key(each.trace))[0], **asdict(each), "state": each.state.value}
        for each in joined.benchmarks
    ]
    show(_JOINED_COLUMNS, rows, output)
    if output is not OutputFormat.TEXT:
        return
    speeds = ", ".join(f"{file} {factor:.2f}" for file, factor in zip(files, joined.factors, strict=True))
    note(f"Common factor of each machine, which checks take out: {speeds}. Found: by one run on another machine.")
    useless = sum(each.state is BenchmarkState.USELESS for each in joined.benchmarks)
    if useless:
        hidden = f"{counted(useless, 'benchmark')} would hide a change of {percent_text(limit)} across machines"
        note(f"{hidden}: useless there; compare in turns.")
    if joined.find == joined.find:
        note(f"To paste, in turns on any of them: knick compare BASE HEAD --find {rounded_up(joined.find):g}")
    if joined.minimum_effect == joined.minimum_effect:
        least = rounded_up(joined.minimum_effect)
        note(f"To paste into knickpoint.toml, for checks across machines:\n[check]\nminimum_effect = {least:g}")


def _read_machine(path: Path) -> Mapping[str, CalibratedBenchmark]:
    """Read what ``knick calibrate --format json`` printed.

    Raises:
        InputError: the file cannot be read, or is something else.
    """
    from knickpoint.bisect.comparison import BenchmarkState, CalibratedBenchmark

    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return {
            row["trace"]: CalibratedBenchmark(
                row["trace"],
                BenchmarkState(row["state"]),
                found_80=_number(row["found_80"]),
                between=_number(row["between"]),
                builds=_number(row["builds"]),
                level=_number(row["level"]),
                unit=str(row["unit"]),
            )
            for row in rows
        }
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", where=str(path), remedy="Name a file.") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            "not the answer of knick calibrate",
            where=str(path),
            remedy="Write it by knick calibrate HEAD --format json … > MACHINE.json, with this version.",
        ) from error


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
