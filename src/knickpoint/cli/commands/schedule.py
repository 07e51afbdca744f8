"""``knick schedule``: show which commits schedules measure, run them once, and request a commit."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.commands.serve import until_signal
from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.cli.terminal import note
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    import threading

    from knickpoint.instance import Instance
    from knickpoint.instance.schedules import ScheduleRounds

_PROBES_SHOWN: Final = 20
_ADD_SCHEDULE: Final = "Add a section [schedule.NAME] and a recipe [bisect.NAME] to knickpoint.toml."
_NO_SCHEDULE: Final = f"No schedule is configured. {_ADD_SCHEDULE}"

_STATUS: Final = (
    Column("schedule"),
    Column("repository"),
    Column("branch"),
    Column("measures"),
    Column("new", "new commits"),
    Column("due", "next by", text=lambda text: text or "–"),
    Column("waiting"),
    Column("running"),
    Column("measured"),
    Column("skipped"),
    Column("failed"),
    Column("last", text=lambda name: name[:10] or "–"),
    Column("problem", text=lambda text: text or "–"),
)
_PROBES: Final = (
    Column("schedule"),
    Column("commit", text=lambda name: name[:10]),
    Column("purpose"),
    Column("change", text=lambda name: name or "–"),
    Column("pins", "with", text=lambda text: text or "–"),
    Column("state"),
    Column("attempts"),
    Column("device", text=lambda name: name or "–"),
    Column("seconds", text=lambda value: f"{value:,.0f}"),
    Column("chosen"),
    Column("reason", text=lambda text: text or "–"),
)
_DUE: Final = (
    Column("schedule"),
    Column("commit", text=lambda name: name[:10]),
    Column("purpose"),
    Column("change", text=lambda name: name or "–"),
)


@click.group("schedule", invoke_without_command=True)
@instance_option
@format_option
@click.pass_context
def command(context: click.Context, *, instance: str | None, output: OutputFormat) -> None:
    """Show the commits that schedules measure, and their outcome.

    A schedule is a section `[schedule.NAME]` of knickpoint.toml. `knick worker` and `knick serve` run the schedules.
    """
    if not context.invoked_subcommand:
        _show_status(instance, output)


@command.command("status")
@instance_option
@format_option
def status(*, instance: str | None, output: OutputFormat) -> None:
    """List the schedules with their waiting, due and measured commits."""
    _show_status(instance, output)


@command.command("probes")
@click.option("--schedule", "name", default="", metavar="NAME", help="Only probes of this schedule.")
@click.option(
    "--last", default=_PROBES_SHOWN, show_default=True, metavar="N", help="Maximum number to list, the newest first."
)
@instance_option
@format_option
def probes(*, name: str, last: int, instance: str | None, output: OutputFormat) -> None:
    """List the probes of schedules, the newest first: commit, reason, device and outcome."""
    with open_chosen_instance(instance) as opened:
        found = [
            probe
            for repository in opened.store.commits.repositories()
            for schedule in _schedules(opened, name)
            for probe in opened.store.schedules.of_schedule(repository, schedule)
        ]
    found.sort(key=lambda probe: -probe.id)
    if output is not OutputFormat.TEXT:
        from knickpoint.answers.schedules import ScheduledProbeAnswer, probe_answer

        show_answers(ScheduledProbeAnswer, [probe_answer(probe) for probe in found[:last]], output)
        return
    rows: list[Row] = [
        {
            "schedule": probe.schedule,
            "commit": probe.choice.commit,
            "purpose": probe.choice.purpose.value,
            "change": f"R{probe.choice.change}" if probe.choice.change else "",
            "pins": " ".join(f"{other}@{commit[:10]}" for other, commit in probe.choice.pins),
            "state": probe.state.value,
            "attempts": probe.attempts,
            "device": probe.device,
            "seconds": probe.seconds,
            "chosen": probe.chosen.isoformat(timespec="seconds"),
            "reason": probe.reason,
        }
        for probe in found[:last]
    ]
    show(_PROBES, rows, output, empty="No schedule has measured anything yet.")


@command.command("run")
@click.option("--once", is_flag=True, help="Measure what is due now and what narrows findings, then exit.")
@click.option("--dry-run", is_flag=True, help="Only list the commits that would be measured now.")
@instance_option
def run(*, once: bool, dry_run: bool, instance: str | None) -> None:
    """Run the schedules, without the other tasks of a worker.

    Ctrl-C ends it; probes that are under way are made again later.
    """
    with open_chosen_instance(instance) as opened, until_signal() as stop:
        if not opened.config.schedule:
            raise InputError("no schedule is configured", where="knick schedule run", remedy=_ADD_SCHEDULE)
        if dry_run:
            _show_due(opened)
            return
        _run(opened, stop, once=once)


@command.command("request")
@click.argument("name")
@click.argument("commits", nargs=-1, required=True, metavar="COMMIT...")
@instance_option
def request(name: str, commits: tuple[str, ...], *, instance: str | None) -> None:
    """Let the schedule NAME measure further commits; a COMMIT is a hash or the beginning of one."""
    from knickpoint.instance.schedules import read_scheduled_line
    from knickpoint.instance.schedules.planning import pins_for
    from knickpoint.store.schedules import ChosenCommit, SchedulePurpose

    with open_chosen_instance(instance) as opened:
        _schedules(opened, name)
        _rounds(opened).follow()
        scheduled = read_scheduled_line(opened, name)
        choices = []
        for text in commits:
            found = opened.store.commits.find(scheduled.repository, text)
            if found is None or found.slot not in scheduled.line.positions:
                raise InputError(
                    f"there is no commit {text!r} on {scheduled.line.name}",
                    where=f"schedule {name}",
                    remedy="Name a commit of its branch by its hash.",
                )
            pins = pins_for(opened, scheduled.recipe)
            choices.append(ChosenCommit(found.commit.hash, pins, SchedulePurpose.REQUESTED))
        new = [choice for choice in choices if choice.commit not in scheduled.chosen]
        opened.store.schedules.add(scheduled.repository, name, new, datetime.now(UTC))
    known = f"; {counted(len(choices) - len(new), 'commit')} had been chosen before" if len(new) < len(choices) else ""
    note(f"schedule {name}: {counted(len(new), 'commit')} to measure{known}")


def _schedules(instance: Instance, name: str) -> list[str]:
    """Return the schedules that ``name`` asks for: one, or all for ""."""
    if name and name not in instance.config.schedule:
        known = ", ".join(instance.config.schedule) or "none"
        raise ConfigError(
            f"there is no schedule {name!r}", where="knickpoint.toml", remedy=f"The schedules are {known}."
        )
    return [name] if name else list(instance.config.schedule)


def _rounds(instance: Instance) -> ScheduleRounds:
    from knickpoint.bisect.pool import machine_name
    from knickpoint.instance.schedules import ScheduleRounds

    return ScheduleRounds(instance, f"{machine_name()}/{os.getpid()}/schedule", click.echo)


def _run(instance: Instance, stop: threading.Event, *, once: bool) -> None:
    """Run steps until ``stop`` is set, or with ``once`` until nothing is left to do."""
    rounds = _rounds(instance)
    try:
        while not stop.is_set():
            active = rounds.step() or rounds.busy
            if once and not active:
                break
            if not active:
                stop.wait(instance.config.worker.poll_seconds)
    finally:
        rounds.close()
    if once and not stop.is_set():
        _show_status(str(instance.directory), OutputFormat.TEXT)


def _show_due(instance: Instance) -> None:
    from knickpoint.instance.schedules import plan_fills, plan_new, read_scheduled_line

    _rounds(instance).follow()
    now, rows = datetime.now(UTC), list[Row]()
    for name in instance.config.schedule:
        scheduled = read_scheduled_line(instance, name)
        waiting = [probe.choice for probe in scheduled.probes if not probe.state.ended]
        for choice in [*waiting, *plan_new(scheduled, now), *plan_fills(instance, scheduled, now, 1)]:
            rows.append(
                {
                    "schedule": name,
                    "commit": choice.commit,
                    "purpose": choice.purpose.value,
                    "change": f"R{choice.change}" if choice.change else "",
                }
            )
    show(_DUE, rows, OutputFormat.TEXT, empty="Nothing is due now.")


def _show_status(instance: str | None, output: OutputFormat) -> None:
    from knickpoint.instance.schedules import describe_policy, schedule_status
    from knickpoint.store.schedules import ScheduledProbeState

    rows: list[Row] = []
    with open_chosen_instance(instance) as opened:
        if output is not OutputFormat.TEXT:
            from knickpoint.answers.schedules import ScheduleAnswer, list_schedules
            from knickpoint.answers.visible_repositories import VisibleRepositories

            found = list_schedules(opened, VisibleRepositories.to_local_user(opened.store))
            show_answers(ScheduleAnswer, found, output)
            return
        for name in opened.config.schedule:
            status = schedule_status(opened, name, datetime.now(UTC))
            rows.append(
                {
                    "schedule": name,
                    "repository": status.repository,
                    "branch": status.branch,
                    "measures": describe_policy(status.settings),
                    "new": len(status.new.commits),
                    "due": status.new.due.isoformat(timespec="seconds") if status.new.due else "",
                    **{state.value: status.counts.get(state, 0) for state in ScheduledProbeState},
                    "last": status.last.choice.commit if status.last else "",
                    "problem": status.problem,
                }
            )
    show(_STATUS, rows, output, empty=_NO_SCHEDULE)
