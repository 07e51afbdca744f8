"""``knick run``: run alerts once over the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knickpoint.cli.exit_codes import FAILED
from knickpoint.cli.options import instance_option, open_chosen_instance, require_results
from knickpoint.cli.output import Column, OutputFormat, format_option, show
from knickpoint.cli.terminal import Progress, note
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from knickpoint.watch.alert_run.persistence import RunSummary

_COUNTS = ("traces", "new", "moved", "gone", "returned", "recovered", "turned", "unturned")


def summary_lines(summary: RunSummary) -> list[str]:
    """Return the result of a run as lines for people."""
    from knickpoint.watch.alert_run.persistence import REWATCH, unwatched_text

    lines = _result_lines(summary)
    if summary.turned:
        lines.append(
            f"{counted(summary.turned, 'finding')} turned with the direction of the trace; nothing is announced."
        )
    if summary.unwatched:
        lines.append(f"{unwatched_text(summary.unwatched)}. {REWATCH}")
    if summary.unturned:
        lines.append(
            f"{counted(summary.unturned, 'finding')} would turn, because another direction of the trace is better now:"
            " `knick run --turn-findings` turns them without an announcement."
        )
    return lines


def _result_lines(summary: RunSummary) -> list[str]:
    checked = f"Checked {counted(summary.traces, 'trace')}"
    if not summary.traces and summary.nothing_new:
        return ["No alert watches any trace that has results: see `knick alerts list` and `knick traces`."]
    if summary.nothing_new:
        return [f"{checked}: nothing new."]
    transitions = {
        "new": summary.new,
        "moved": summary.moved,
        "gone": summary.gone,
        "back again": summary.returned,
        "recovered": summary.recovered,
    }
    counts = ", ".join(f"{count:,} {what}" for what, count in transitions.items() if count)
    lines = [f"{checked}. Change points: {counts}." if counts else f"{checked}."]
    if summary.new_changes:
        found = len(summary.new_changes)
        lines.append(f"{counted(found, 'new change')} to triage: `knick changes` or `knick serve`.")
    if summary.history_changes:
        found = summary.history_changes
        are = "is" if found == 1 else "are"
        lines.append(
            f"{counted(found, 'new change')} {are} history, found up to the first run:"
            " `knick changes --history`, or `knick history take` to triage it."
        )
    return lines


@click.command("run")
@click.option("--alert", "names", multiple=True, metavar="NAME", help="Only this alert; repeatable.")
@click.option("--afresh", is_flag=True, help="Judge all traces, including those without a change since the last run.")
@click.option(
    "--turn-findings",
    "turn",
    is_flag=True,
    help="Turn findings of traces whose better direction changed, without announcements.",
)
@instance_option
@format_option
def command(*, names: tuple[str, ...], afresh: bool, turn: bool, instance: str | None, output: OutputFormat) -> None:
    """Run the alerts once over all traces that they watch.

    The exit code is 0, with or without findings, and 2 when there are no results or an alert could not run; the other
    alerts run in any case.
    """
    from knickpoint.instance.alert_round import run_alert_round
    from knickpoint.watch.alert_config.alert_health import missing_params

    if turn and names:
        raise click.UsageError("--turn-findings applies to all alerts; leave out --alert")
    with open_chosen_instance(instance) as opened, Progress("Checking traces") as progress:
        require_results(opened)
        summary = run_alert_round(opened, names=names, afresh=afresh, turn=turn, progress=progress)
        ran = (
            each for each in opened.alerts if each.name not in summary.failures and (not names or each.name in names)
        )
        problems = {each.name: missing_params(opened.store, each) for each in ran}
    for name, reason in summary.failures.items():
        click.echo(f"knick: alert {name!r} could not run: {reason}", err=True)
    for name, problem in problems.items():
        if problem:
            click.echo(f"knick: alert {name!r}: {problem}", err=True)
    if output is OutputFormat.TEXT:
        for line in summary_lines(summary):
            note(line)
        raise click.exceptions.Exit(FAILED if summary.failures else 0)
    row = {name: getattr(summary, name) for name in _COUNTS} | {
        "new_changes": len(summary.new_changes),
        "history_changes": summary.history_changes,
    }
    show([Column(name) for name in row], [row], output)
    raise click.exceptions.Exit(FAILED if summary.failures else 0)
