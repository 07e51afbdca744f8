"""``knick changes`` and ``regressions``: list regressions and improvements, one row a change or a change point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, percent, show, show_answers
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.instance import Instance
    from knickpoint.model.change_point import ChangePoint
    from knickpoint.model.commit import Commit, Repository
    from knickpoint.model.statement import Change
    from knickpoint.store import Store
    from knickpoint.store.findings.selection import Selection
    from knickpoint.watch.lines import RangeReader


_MOST_AUTHORS: Final = 3
"""Authors of a suspect range that text names."""
_LONGEST_SUBJECT: Final = 44


_COLUMNS: Final = (
    Column("change"),
    Column("id"),
    Column("what", "change or trace"),
    Column("size", right=True),
    Column("direction"),
    Column("commit"),
    Column("author"),
    Column("subject"),
    Column("hazard", right=True, detail=True),
    Column("status"),
    Column("condition"),
    Column("kind"),
    Column("certainty"),
    Column("history"),
    Column("joined"),
    Column("bisection"),
)


def text_columns(*, several: bool) -> tuple[Column, ...]:
    """Return the columns for people; the repository is one where the rows are of ``several``."""
    change, *others = _COLUMNS
    return (change, *([Column("repository")] if several else []), *others)


def _commit_cells(reader: RangeReader, change: Change) -> Row:
    """Return the likely commit and why it is named; else the first and the last one of the range, with its authors."""
    likely = change.statement and change.statement.likely
    commits = [reader.commit(slot) for slot in ((likely.slot,) if likely else reader.slots(change.suspect_range))]
    if len(commits) == 1:
        return _cells_of(commits[0], likely.why if likely else "")
    authors = list(dict.fromkeys(each.author for each in commits if each.author))
    named = ", ".join(authors[:_MOST_AUTHORS]) + (", …" if len(authors) > _MOST_AUTHORS else "")
    # The subject of one of them would make it look guilty.
    return {
        "commit": f"{commits[0].short}…{commits[-1].short}",
        "author": ": ".join(filter(None, (counted(len(commits), "suspect"), named))),
        "subject": "–",
    }


def _cells_of(commit: Commit, why: str) -> Row:
    subject = (
        commit.subject if len(commit.subject) <= _LONGEST_SUBJECT else f"{commit.subject[: _LONGEST_SUBJECT - 1]}…"
    )
    return {"commit": f"{commit.short} ({why})" if why else commit.short, "author": commit.author, "subject": subject}


def change_rows(store: Store, found: Sequence[tuple[Repository, Change]]) -> Iterator[Row]:
    """Yield a row for each change, followed by those of its members, in their order."""
    from knickpoint.watch.bisections import bisection_text
    from knickpoint.watch.lines import RangeReader

    readers = {each.id: RangeReader(store, each) for each, _ in found}
    for key, reader in readers.items():
        changes = [change for owner, change in found if owner.id == key]
        stated = [change.statement for change in changes if change.statement]
        ranges = [change.suspect_range for change in changes if not (change.statement and change.statement.likely)]
        reader.load(ranges, [slot for each in stated for slot in each.named_slots], whole=True)
    bisections = store.bisections.of_changes([change.id for _, change in found])
    blank: Row = {column.name: "" for column in _COLUMNS}
    for repository, change in found:
        shared: Row = {**blank, "change": f"R{change.id}", "repository": repository.name}
        bisection = bisection_text(store, repository, bisections.get(change.id))
        yield {**shared, **_of_change(change, readers[repository.id]), "bisection": bisection}
        for point in change.members:
            yield {**shared, **_of_point(change, point)}


def _of_change(change: Change, reader: RangeReader) -> Row:
    stated = change.statement
    if stated is None:
        return _commit_cells(reader, change)
    names = {slot: reader.commit(slot).short for slot in stated.named_slots}
    return {
        **_commit_cells(reader, change),
        "what": stated.headline,
        "size": counted(stated.traces, "trace"),
        "direction": stated.direction.value,
        "status": stated.decision.value,
        "condition": stated.standing(names) or stated.condition.value,
        "kind": _unless(stated.kind.value, "step"),
        "certainty": _unless(stated.certainty.value, "settled"),
        "history": "history" if change.history else "",
    }


def _of_point(change: Change, point: ChangePoint) -> Row:
    hazard = point.numbers.hazard
    return {
        "id": f"P{point.id}",
        "what": point.key,
        "size": percent(point.numbers.relative_size),
        "direction": point.direction.value,
        "hazard": "–" if math.isnan(hazard) else figure_text(hazard, "+.3f"),
        "status": point.effective_status.value,
        "condition": point.condition.value,
        "kind": _unless(point.kind.value, "step"),
        "certainty": _unless(point.certainty.value, "settled"),
        "joined": "joined later" if point.found and change.found and point.found > change.found else "",
    }


def _unless(word: str, usual: str) -> str:
    return "" if word == usual else word


# Select and order the changes of all repositories, for ``knick changes``.


_DESCENDING: Final = ("change", "hazard", "date", "found", "traces")
"""Orders that begin with the largest or newest; authors and subjects are sorted alphabetically."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What to list: traces by ``query``, change points by the rest.

    ``history`` has False for change points after the history boundary, True for those before it. ``order`` is the value
    of ``--sort``, ``limit`` the largest number of changes.
    """

    selection: Selection
    processed: bool | None
    history: tuple[bool, ...]
    repository: str
    query: str
    order: str
    limit: int | None


def _selections(opened: Instance, listing: Listing) -> list[tuple[Repository, Selection]]:
    """Return the selection of each repository that is listed.

    Raises:
        InputError: there is no such repository, or no such alert.
        QueryError: the query cannot be read.
    """
    from knickpoint.model.query import parse_query

    store = opened.store
    alerts = sorted({alert.name for alert in opened.alerts} | set(store.findings.sightings.alerts()))
    if listing.selection.alert and listing.selection.alert not in alerts:
        raise InputError(
            f"there is no alert {listing.selection.alert!r}", remedy=f"The alerts are: {', '.join(alerts) or 'none'}."
        )
    repositories = store.commits.repositories()
    chosen = [repository for repository in repositories if listing.repository in {"", repository.name}]
    if not chosen and listing.repository:
        names = ", ".join(repository.name for repository in repositories) or "none"
        raise InputError(f"there is no repository {listing.repository!r}", remedy=f"The repositories are: {names}.")
    if not listing.query:
        return [(repository, listing.selection) for repository in chosen]
    query = parse_query(listing.query)
    return [
        (repository, replace(listing.selection, traces=frozenset(store.traces.select(repository, query).tolist())))
        for repository in chosen
    ]


def list_changes(opened: Instance, listing: Listing) -> tuple[list[tuple[Repository, Change]], int]:
    """Return at most ``limit`` changes in one order over all repositories, and the number of all change points.

    Changes to triage come first, those of all repositories, then history.
    """
    from knickpoint.store.findings.change_list import Sort
    from knickpoint.watch.changes import merge_changes

    sort = Sort("commit" if listing.order == "date" else listing.order)
    descending = listing.order in _DESCENDING
    findings = opened.store.findings
    ordered: list[tuple[Repository, Change]] = []
    total = 0
    selections = _selections(opened, listing)
    for history in listing.history:
        found: list[tuple[Repository, Change]] = []
        for repository, selection in selections:
            chosen = replace(selection, processed=listing.processed, history=history)
            changes = findings.changes(
                repository, selection=chosen, sort=sort, descending=descending, limit=listing.limit
            )
            found += [(repository, change) for change in changes]
            total += findings.count_findings(repository, selection=chosen)
        ordered += merge_changes(opened.store, found, sort, descending=descending)
    return ordered[: listing.limit], total


def empty_message(opened: Instance, listing: Listing) -> str:
    """Return the message for an empty list, with the number of change points that filters or the history leave out."""
    from knickpoint.store.findings.selection import Selection

    plain = Selection(conditions=listing.selection.conditions, alert_kinds=listing.selection.alert_kinds)
    if listing.query or listing.repository or listing.selection != plain:
        everything = replace(listing, selection=plain, query="", repository="")
        _, others = list_changes(opened, replace(everything, limit=1))
        if others:
            return f"No change point matches. Without these filters, there {_are(others)}."
    left_out = 0
    if True not in listing.history:
        for repository, selection in _selections(opened, listing):
            chosen = replace(selection, processed=listing.processed, history=True)
            left_out += opened.store.findings.count_findings(repository, selection=chosen)
    if not left_out:
        return "Nothing to triage. New results are judged by `knick run`."
    are = "1 change point is" if left_out == 1 else f"{left_out:,} change points are"
    return f"Nothing to triage. {are} history: `knick changes --history`; `knick history take` moves it to triage."


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count:,}"


class _Day(click.DateTime):
    """A day, whose error shows how one is written."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not a day; write it as 2026-03-14.", param, ctx)


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
    "--condition",
    type=click.Choice(["present", "recovered", "fixed", "gone"]),
    default=None,
    help="Only changes in this condition, by the current data.",
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
def changes(
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
    condition: str | None,
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

    Text has a row for each change, with its change points below it; CSV has a row a change point, and JSON an object a
    change, as the API has them. `knick triage` takes both ids: R for a whole change, P for the change point in one of
    its traces.
    """
    from knickpoint.model.alert import AlertKind
    from knickpoint.model.change_point import Condition
    from knickpoint.model.settlement import Certainty, FindingKind
    from knickpoint.model.statement import ChangeCondition, ChangeDirection
    from knickpoint.store.findings.selection import Selection

    chosen_kind = alert_kind or ("any" if alert else "work")
    conditions = (
        frozenset(Condition) if gone or condition == "gone" else frozenset({Condition.PRESENT, Condition.RECOVERED})
    )
    selection = Selection(
        conditions=conditions,
        directions=frozenset(map(ChangeDirection, directions)),
        stated_conditions=frozenset() if condition is None else frozenset({ChangeCondition(condition)}),
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
            from knickpoint.answers.changes import ChangeAnswer, change_answers

            show_answers(ChangeAnswer, change_answers(opened.store, found), output, rows_of="members")
    shown = sum(len(change.members) for _, change in found)
    if total > shown:
        note(f"{total - shown:,} more of {total:,} change points: raise --limit, or filter.", err=True)


regressions = click.Command(
    "regressions",
    callback=partial(changes.callback, directions=("regression", "mixed")) if changes.callback else None,
    params=[option for option in changes.params if option.name != "directions"],
    help="List regressions and mixed changes: `knick changes --direction regression --direction mixed`.",
)
