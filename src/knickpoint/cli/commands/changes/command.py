"""The command ``knick changes``: its options, and the listing that they choose."""

from __future__ import annotations

from datetime import UTC, datetime, time
from typing import Any

import click

from knickpoint.cli.commands.changes.listing import Listing, empty_message, list_changes
from knickpoint.cli.commands.changes.rows import change_rows, text_columns
from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import OutputFormat, format_option, show, show_answers
from knickpoint.cli.verbosity import note

__all__ = ["command"]


class _Day(click.DateTime):
    """A day, whose error shows how one is written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is no day; write it as 2026-03-14.", param, ctx)


@click.command("changes")
@click.option(
    "--status",
    type=click.Choice(["unprocessed", "processed", "all"]),
    default="unprocessed",
    show_default=True,
    help="Unprocessed: without a status and without a matching ticket.",
)
@click.option("--work", is_flag=True, help="Only changes after the history boundary.")
@click.option("--history", is_flag=True, help="Only history: changes up to the history boundary.")
@click.option("--repository", default="", metavar="NAME", help="Only this repository.")
@click.option("--alert", default="", metavar="NAME", help="Only change points of this alert.")
@click.option("--query", default="", metavar="QUERY", help="Only traces that match, such as os=linux.")
@click.option(
    "--match",
    default="",
    metavar="WORDS",
    help="Only change points with these words in trace, commit, author or subject.",
)
@click.option(
    "--direction",
    "directions",
    type=click.Choice(["regression", "improvement", "mixed", "unknown"]),
    multiple=True,
    help="Only changes of this direction; may be repeated.",
)
@click.option(
    "--kind",
    type=click.Choice(["step", "drift", "mode", "noise"]),
    default=None,
    help="Only change points of this kind.",
)
@click.option(
    "--certainty",
    type=click.Choice(["provisional", "settled"]),
    default=None,
    help="Provisional: later values may still move the change or take it away.",
)
@click.option(
    "--minimum-effect", type=click.FloatRange(0), default=0.0, help="Only changes of at least this size: 0.02 is 2 %."
)
@click.option(
    "--minimum-sigma",
    type=click.FloatRange(0),
    default=0.0,
    help="Only changes of at least this many standard deviations of single values.",
)
@click.option(
    "--since",
    type=_Day(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    default=None,
    metavar="DATE",
    help="Only changes at commits of this day (UTC) and later: 2026-03-14.",
)
@click.option(
    "--until",
    type=_Day(["%Y-%m-%d"]),
    default=None,
    metavar="DATE",
    help="Only changes at commits of this day (UTC) and earlier.",
)
@click.option(
    "--alert-kind",
    type=click.Choice(["work", "informational", "canary", "any"]),
    default=None,
    help="Change points of alerts of this kind. Default: work, and any with --alert.",
)
@click.option("--assignee", default="", metavar="WHO", help="Only change points assigned to this person.")
@click.option("--ticket", default="", metavar="KEY", help="Only change points that belong to this ticket.")
@click.option("--gone", is_flag=True, help="Include change points that later data no longer show.")
@click.option(
    "--sort",
    "order",
    type=click.Choice(["change", "hazard", "date", "found", "traces", "author", "subject"]),
    default="change",
    show_default=True,
    help="The order. change: the worst first; author, subject: alphabetical; others: the largest or newest first.",
)
@click.option("--limit", type=click.IntRange(1), default=None, metavar="N", help="At most N changes.")
@instance_option
@format_option
def command(
    *,
    status: str,
    work: bool,
    history: bool,
    repository: str,
    alert: str,
    query: str,
    match: str,
    directions: tuple[str, ...],
    kind: str | None,
    certainty: str | None,
    alert_kind: str | None,
    minimum_effect: float,
    minimum_sigma: float,
    since: datetime | None,
    until: datetime | None,
    assignee: str,
    ticket: str,
    gone: bool,
    order: str,
    limit: int | None,
    instance: str | None,
    output: OutputFormat,
) -> None:
    """List the changes of all repositories, the worst first, history last.

    Text has a row for each change, with its change points below it; CSV has a row a change point, and JSON an object a change, as
    the API has them. `knick triage` takes both ids: R for a whole change, P for the change point in one of its traces.
    """
    from knickpoint.model.alert import AlertKind
    from knickpoint.model.change_point import Condition
    from knickpoint.model.settlement import Certainty, FindingKind
    from knickpoint.model.statement import ChangeDirection
    from knickpoint.store.findings.selection import Selection

    chosen_kind = alert_kind or ("any" if alert else "work")
    conditions = frozenset(Condition) if gone else frozenset({Condition.PRESENT, Condition.RECOVERED})
    selection = Selection(
        conditions=conditions,
        directions=frozenset(map(ChangeDirection, directions)),
        kinds=frozenset() if kind is None else frozenset({FindingKind(kind)}),
        certainty=None if certainty is None else Certainty(certainty),
        text=match,
        alert=alert,
        alert_kinds=None if chosen_kind == "any" else frozenset({AlertKind(chosen_kind)}),
        assignee=assignee,
        ticket=ticket,
        minimum_effect=minimum_effect,
        minimum_sigma=minimum_sigma,
        since=None if since is None else since.replace(tzinfo=UTC),
        before=None if until is None else datetime.combine(until, time.max, UTC),
    )
    processed = {"unprocessed": False, "processed": True, "all": None}[status]
    sides = tuple(side for side, listed in ((False, work or not history), (True, history or not work)) if listed)
    with open_chosen_instance(instance) as opened:
        listing = Listing(selection, processed, sides, repository, query, order, limit)
        found, total = list_changes(opened, listing)
        if output is OutputFormat.TEXT:
            empty = "" if found else empty_message(opened, listing)
            several = len({repository.id for repository, _ in found}) > 1
            show(text_columns(several=several), list(change_rows(opened.store, found)), output, empty=empty)
        else:
            from knickpoint.server.answers.changes import change_answers
            from knickpoint.server.schemas.changes import ChangeAnswer

            show_answers(ChangeAnswer, change_answers(opened.store, found), output, rows_of="members")
    shown = sum(len(change.members) for _, change in found)
    if total > shown:
        note(f"{total - shown:,} more of {total:,} change points: raise --limit, or filter.", err=True)
