"""``knick bisect --simulate``: simulate bisections in virtual time, to find how many devices a pool needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import click

from knickpoint.bisect.settings import ScheduleMode
from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.bisect.simulation import Forecast, Scenario


_FLAG: Final = "--simulate"


class WithSimulation(click.Command):
    """``knick bisect``, which hands its arguments to the simulation where ``--simulate`` is among them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(
                [_FLAG],
                is_flag=True,
                expose_value=False,
                help="Simulate bisections in virtual time instead, to find how many devices a pool needs: see "
                "knick bisect --simulate --help.",
            )
        )

    @property
    def modes(self) -> dict[str, click.Command]:
        """Commands with options of their own that take over where their flag is given, by flag."""
        return {_FLAG: command}

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments, as those of the simulation where its flag stands before ``--``."""
        own = args[: args.index("--")] if "--" in args else args
        if _FLAG not in own:
            return super().make_context(info_name, args, parent, **extra)
        rest = [argument for argument in args if argument != _FLAG]
        return command.make_context(f"{info_name} {_FLAG}", rest, parent, **extra)


def _cell(value: float | None) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:,d}" if isinstance(value, int) else f"{value:.2f}"


_COLUMNS: Final = (
    Column("figure"),
    Column("value", "median or mean", text=_cell, right=True),
    Column("p90", "90 % within", text=_cell, right=True),
    Column("unit"),
)


@click.command("bisect --simulate")
@click.option("--devices", type=int, default=3, show_default=True, help="Devices of the pool.")
@click.option("--reserved", type=int, default=0, show_default=True, help="Devices reserved for bisections.")
@click.option("--probe-minutes", type=float, default=10.0, show_default=True, help="Time to measure a commit.")
@click.option("--build-minutes", type=float, default=0.0, help="Time to build one, for its first probe.")
@click.option("--failure-rate", type=float, default=0.0, help="Share of probes that are lost, and made again.")
@click.option("--unbuildable", type=float, default=0.0, help="Share of commits that cannot be measured.")
@click.option("--delta", type=float, help="Size of a change in standard deviations of single values. Default: 3.")
@click.option("--bursts", type=float, default=0.0, help="Share of probes slowed down 1.3 to 2 times by other work.")
@click.option("--second-mode", type=float, default=0.0, help="Share of probes in a second mode, 8 deviations higher.")
@click.option("--sticky", type=float, default=0.0, help="Share of probes that stay in the mode of the one before.")
@click.option("--error", type=float, help="Pass or fail instead of values: share of wrong answers; 0 is exact.")
@click.option(
    "--trace", default="", metavar="TRACE", help="Take size and history from the newest change of this trace."
)
@click.option("--history", type=int, help="Values of the history at each level. Default: 20.")
@click.option("--commits-per-hour", type=float, default=0.0, help="Without it, bisections are simulated one by one.")
@click.option(
    "--regressions-per-commit",
    type=float,
    default=0.01,
    show_default=True,
    help="Share of commits that change something.",
)
@click.option(
    "--schedule",
    type=click.Choice([ScheduleMode.EACH.value, ScheduleMode.EVERY.value]),
    default="every",
    show_default=True,
    help="Measure each commit, or one commit of every batch.",
)
@click.option(
    "--schedule-commits",
    type=int,
    default=16,
    show_default=True,
    help="With every: new commits after which the newest is measured.",
)
@click.option(
    "--schedule-minutes", type=float, default=60.0, show_default=True, help="With every: longest wait of a new commit."
)
@click.option("--other-probes-per-hour", type=float, default=0.0, help="Other measurements that the pool makes first.")
@click.option(
    "--candidates", type=int, default=16, show_default=True, help="Commits of a range, where no commits arrive."
)
@click.option("--probability", type=float, default=0.95, show_default=True, help="Required probability of a culprit.")
@click.option(
    "--most-probes", type=int, default=1_000, show_default=True, help="Probes after which a bisection gives up."
)
@click.option("--bisections", type=int, default=100, show_default=True, help="Number of findings to simulate.")
@click.option(
    "--target-hours", type=float, help="Find the smallest pool that names 90 % of the culprits within this time."
)
@click.option("--seed", type=int, default=1, show_default=True, help="Random seed; equal seeds give equal figures.")
@instance_option
@format_option
def command(
    *, schedule: str, trace: str, target_hours: float | None, instance: str | None, output: OutputFormat, **stated: Any
) -> None:
    """Simulate bisections on a pool in virtual time, with the real planner.

    It prints how long culprits take, how busy the devices are, and whether the pool keeps up. With --target-hours it
    searches the smallest pool; --devices is not used then. No command is run, and nothing is measured.
    """
    from knickpoint.bisect.simulation import forecast, smallest_pool

    scenario = _scenario(stated | {"mode": ScheduleMode(schedule)}, trace, instance)
    if target_hours is None:
        found = forecast(scenario)
    else:
        if not target_hours > 0:
            raise InputError(f"{target_hours} is not a time", where="--target-hours", remedy="State more than 0.")
        reached = smallest_pool(scenario, target_hours)
        if reached is None:
            raise InputError(
                f"no pool names 90 % of the culprits within {target_hours:g} hours",
                where="--target-hours",
                remedy="State a longer time, shorter probes, or a schedule that waits less.",
            )
        found = reached
    show(_COLUMNS, _rows(found), output)


def _scenario(stated: dict[str, Any], trace: str, instance: str | None) -> Scenario:
    """Return the scenario that the options state; refusals name the option."""
    from knickpoint.bisect.simulation import Scenario

    values = trace or any(stated[name] for name in ("bursts", "second_mode", "sticky"))
    if stated["error"] is not None and (stated["delta"] is not None or values):
        raise InputError(
            "probes measure values, or they pass or fail", where="--error", remedy="Give --error or --delta."
        )
    if trace:
        if stated["delta"] is not None:
            raise InputError("the trace states the size", where="--delta", remedy="Give --trace or --delta.")
        stated = _levels(trace, instance) | {name: value for name, value in stated.items() if value is not None}
    try:
        return Scenario(**{name: value for name, value in stated.items() if value is not None})
    except InputError as refused:
        option = "--schedule" if refused.where == "mode" else f"--{refused.where.replace('_', '-')}"
        raise InputError(refused.message, where=option, remedy=refused.remedy) from None


def _levels(trace: str, instance: str | None) -> dict[str, float | int]:
    """Return the size of the newest change of a trace in its own noise, and how many values are at each level."""
    from knickpoint.cli.options import find_trace
    from knickpoint.watch.trend import focus_at

    with open_chosen_instance(instance) as opened:
        store = opened.store
        named = find_trace(store, trace)
        for repository in store.commits.repositories():
            ids = [each.id for each in store.traces.find(repository, named)] if isinstance(named, str) else [named]
            if not ids or store.traces.owners(ids).get(ids[0]) != repository.id:
                continue
            change = focus_at(store.findings.change_points(ids[0]), store.commits.line(repository, ""), None)
            if change is None or not change.numbers.deviation > 0:
                raise InputError("has no change to take a size from", where=f"trace {trace!r}", remedy="State --delta.")
            numbers = change.numbers
            return {
                "delta": abs(numbers.after_level - numbers.before_level) / numbers.deviation,
                "history": max(2, min(numbers.before.count, numbers.after.count)),
            }
    raise InputError(f"there is no trace {trace!r}", where="--trace", remedy="List the traces with knick export.")


def _rows(found: Forecast) -> list[Row]:
    """Return the figures of a forecast, each with its unit; None where there is nothing to count."""
    pairs = (
        ("time from the commit to its name", found.culprit, "h"),
        ("time from the finding to its name", found.bisection, "h"),
        ("wait of a finding for a device", found.bisection_wait, "h"),
        ("wait of a new commit for a device", found.commit_wait, "h"),
        ("probes of a bisection", found.probes, "probes"),
    )
    single: tuple[tuple[str, float, str], ...] = (
        ("a bisection alone on the free devices", found.alone, "h"),
        ("use of the devices", found.utilisation, "share"),
        ("load of measuring new commits", found.schedule_load, "devices"),
        ("load of bisections (rate x time alone)", found.bisection_load, "below 1"),
        ("the pool keeps up", found.stable, ""),
        ("findings", found.findings, ""),
        ("bisections", found.bisections, ""),
        ("bisections that name a wrong commit", found.wrong, ""),
        ("bisections that name no commit", found.unnamed, ""),
    )
    return [
        {"figure": "devices", "value": found.scenario.devices, "p90": None, "unit": ""},
        *(
            {"figure": name, "value": _known(low), "p90": _known(high), "unit": unit}
            for name, (low, high), unit in pairs
        ),
        *({"figure": name, "value": _known(value), "p90": None, "unit": unit} for name, value, unit in single),
    ]


def _known(value: float) -> float | None:
    """Return a figure rounded for every format; None for one that is not known."""
    if isinstance(value, int):
        return value
    return round(value, 4) if math.isfinite(value) else None
