"""``knick regressions``: list what was found, one row a change point."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, format_option, percent, show
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.instance import Instance
    from knickpoint.model.commit import Repository
    from knickpoint.model.regression import ChangePoint, Regression, SuspectRange
    from knickpoint.store import Store
    from knickpoint.store.findings.selection import Selection

__all__ = ["command"]

_NAMED: Final = 3
"""Authors of a suspect range that text names."""

_FALLING: Final = ("change", "hazard", "date", "found", "traces")
"""What is listed with the largest, or the newest, first; authors and subjects go by the alphabet."""


def _suspects(suspects: Sequence[Mapping[str, str]]) -> str:
    authors = list(dict.fromkeys(one["author"] for one in suspects if one["author"]))
    named = ", ".join(authors[:_NAMED]) + (", …" if len(authors) > _NAMED else "")
    return named if len(suspects) == 1 else ": ".join([f"{len(suspects)} suspects", *([named] if named else [])])


def _commits(suspects: Sequence[Mapping[str, str]]) -> str:
    """Return the commit, or the first and the last of several: none of them alone is to blame."""
    ends = (suspects[0], suspects[-1])[-min(len(suspects), 2) :]
    return "…".join(one["commit"][:10] for one in ends)


def _subject(suspects: Sequence[Mapping[str, str]]) -> str:
    """Return the subject of the commit, shortened; a dash for several: that of the last would look like the cause."""
    if len(suspects) > 1:
        return "–"
    subject = suspects[0]["subject"]
    return subject if len(subject) <= 44 else f"{subject[:43]}…"


_COLUMNS = (
    Column("regression"),
    Column("id"),
    Column("commit"),
    Column("suspects", text=_suspects, listed="commit"),
    Column("subject"),
    Column("trace"),
    Column("direction"),
    Column("relative_size", "change", percent, right=True),
    Column("hazard", text=lambda hazard: "–" if math.isnan(hazard) else f"{hazard:+.3f}", right=True),
    Column("status"),
    Column("condition"),
    Column("history", text=lambda history: "history" if history else ""),
)

_IN_TEXT: Final = {"commit": Column("suspects", "commit", _commits), "subject": Column("suspects", "subject", _subject)}
"""Columns that show all suspects to people; data name the first commit measured at the new level."""

_DETAILS = (
    *(Column(name) for name in ("author", "repository", "line", "previous_commit", "date", "unit")),
    *(Column(name) for name in ("before_level", "after_level", "deviation")),
    *(Column(f"{side}_{name}") for side in ("before", "after") for name in ("mean", "median", "count")),
    *(Column(name) for name in ("score", "p_value", "method", "alerts", "ticket", "note", "assignee")),
)


class _Commits:
    """Hold the commits of one repository that its regressions are about, read at once."""

    def __init__(self, store: Store, repository: Repository, places: Collection[SuspectRange]) -> None:
        from knickpoint.watch.lines import Lines

        self._lines = Lines(store, repository)
        self._ranges = {place: self._range(place) for place in set(places)}
        slots = {slot for place, within in self._ranges.items() for slot in (place.previous, *within)}
        self._known = {
            own.slot: {
                "commit": own.commit.hash,
                "author": own.commit.author,
                "date": own.commit.time.date().isoformat() if own.commit.has_time else "",
                "subject": own.commit.subject,
            }
            for own in store.commits.get(repository, sorted(slots))
        }

    def _range(self, place: SuspectRange) -> Sequence[int]:
        line = self._lines.line(place.line)
        position = line.positions.get(place.slot)
        if position is None:
            return [place.slot]
        first = line.positions.get(place.previous, position - 1) + 1
        return line.slots[min(first, position) : position + 1]

    def suspects(self, place: SuspectRange) -> list[Mapping[str, str]]:
        """Return the commits that the change may have come with, oldest first."""
        return [self._known[slot] for slot in self._ranges[place] if slot in self._known]

    def hash(self, slot: int) -> str:
        """Return the hash of the commit at ``slot``, "" where there is none."""
        return self._known[slot]["commit"] if slot in self._known else ""


def _rows(store: Store, found: Sequence[tuple[Repository, Regression]]) -> Iterator[dict[str, Any]]:
    commits = {
        repository.id: _Commits(
            store,
            repository,
            [point.suspect_range for own, regression in found if own == repository for point in regression.members],
        )
        for repository in {own.id: own for own, _ in found}.values()
    }
    for repository, regression in found:
        for point in regression.members:
            yield _row(repository, regression, point, commits[repository.id])


def _row(repository: Repository, regression: Regression, point: ChangePoint, known: _Commits) -> dict[str, Any]:
    suspects = known.suspects(point.suspect_range)
    at = suspects[-1]
    numbers = point.numbers
    return {
        "id": f"P{point.id}",
        "regression": f"R{regression.id}",
        "repository": repository.name,
        "line": point.suspect_range.line,
        "commit": at["commit"],
        "previous_commit": known.hash(point.suspect_range.previous),
        "suspects": suspects,
        "author": at["author"],
        "date": at["date"],
        "subject": at["subject"],
        "trace": point.key,
        "unit": point.unit,
        "direction": point.direction.value,
        "before_level": numbers.before_level,
        "after_level": numbers.after_level,
        "deviation": numbers.deviation,
        "relative_size": numbers.relative_size,
        "hazard": numbers.hazard,
        "score": numbers.score,
        "p_value": numbers.p_value,
        "method": numbers.method,
        "alerts": point.alerts,
        "status": point.effective_status.value,
        "condition": point.condition.value,
        "history": point.history,
        "ticket": point.ticket or point.matched_ticket,
        "note": point.note,
        "assignee": point.assignee,
        **{
            f"{side}_{name}": getattr(region, name)
            for side, region in (("before", numbers.before), ("after", numbers.after))
            for name in ("mean", "median", "count")
        },
    }


@dataclass(frozen=True, slots=True)
class _Wish:
    """What to list: ``query`` chooses traces, ``selection`` has the rest. ``sides`` are work (False) and history."""

    selection: Selection
    processed: bool | None
    sides: tuple[bool, ...]
    repository: str
    query: str


def _selections(opened: Instance, wish: _Wish) -> list[tuple[Repository, Selection]]:
    """Return what to list of which repository.

    Raises:
        InputError: there is no such repository, or no such alert.
        QueryError: the query cannot be read.
    """
    from dataclasses import replace

    from knickpoint.model.query import parse_query

    store = opened.store
    alerts = sorted({alert.name for alert in opened.alerts} | set(store.findings.sightings.alerts()))
    if wish.selection.alert and wish.selection.alert not in alerts:
        raise InputError(
            f"there is no alert {wish.selection.alert!r}", remedy=f"The alerts are: {', '.join(alerts) or 'none'}."
        )
    repositories = store.commits.repositories()
    chosen = [repository for repository in repositories if wish.repository in {"", repository.name}]
    if not chosen and wish.repository:
        names = ", ".join(repository.name for repository in repositories) or "none"
        raise InputError(f"there is no repository {wish.repository!r}", remedy=f"The repositories are: {names}.")
    if not wish.query:
        return [(repository, wish.selection) for repository in chosen]
    query = parse_query(wish.query)
    return [
        (repository, replace(wish.selection, traces=frozenset(store.traces.select(repository, query).tolist())))
        for repository in chosen
    ]


def _list(opened: Instance, wish: _Wish, order: str, limit: int | None) -> tuple[list[dict[str, Any]], int]:
    """Return at most ``limit`` rows in one order over all repositories, and how many findings there are in all.

    Work comes first, of all repositories, then their history.
    """
    from dataclasses import replace

    from knickpoint.store.findings.regression_list import Sort
    from knickpoint.watch.regressions.merged_list import in_one_order

    sort, descending = Sort("commit" if order == "date" else order), order in _FALLING
    findings = opened.store.findings
    ordered: list[tuple[Repository, Regression]] = []
    total = 0
    selections = _selections(opened, wish)
    for side in wish.sides:
        found: list[tuple[Repository, Regression]] = []
        for repository, selection in selections:
            chosen = replace(selection, processed=wish.processed, history=side)
            listed = findings.regressions(repository, selection=chosen, sort=sort, descending=descending, limit=limit)
            found += [(repository, regression) for regression in listed]
            total += findings.count_findings(repository, selection=chosen)
        ordered += in_one_order(opened.store, found, sort, descending=descending)
    return list(islice(_rows(opened.store, ordered[:limit]), limit)), total


def _nothing(opened: Instance, wish: _Wish) -> str:
    """Say that the list is empty, and how much history it leaves out."""
    from dataclasses import replace

    left_out = 0
    if True not in wish.sides:
        for repository, selection in _selections(opened, wish):
            chosen = replace(selection, processed=wish.processed, history=True)
            left_out += opened.store.findings.count_findings(repository, selection=chosen)
    if not left_out:
        return "Nothing to triage. New results are judged by `knick run`."
    are = "1 finding is" if left_out == 1 else f"{left_out:,} findings are"
    return f"Nothing to triage. {are} history: `knick regressions --history`; `knick history take` makes work of it."


@click.command("regressions")
@click.option(
    "--status",
    type=click.Choice(["unprocessed", "processed", "all"]),
    default="unprocessed",
    show_default=True,
    help="Unprocessed: neither decided about nor covered by a ticket.",
)
@click.option("--work", is_flag=True, help="Only what is work.")
@click.option("--history", is_flag=True, help="Only what is history: found up to the first run over the repository.")
@click.option("--repository", default="", metavar="NAME", help="Only this repository.")
@click.option("--alert", default="", metavar="NAME", help="Only what this alert found.")
@click.option("--query", default="", metavar="QUERY", help="Only traces that match, as in os=linux.")
@click.option("--match", default="", metavar="WORDS", help="Words that trace, commit, author or subject contain.")
@click.option(
    "--direction",
    type=click.Choice(["regression", "improvement", "unknown"]),
    default=None,
    help="Only bad news, or only good news.",
)
@click.option("--minimum-effect", type=click.FloatRange(0), default=0.0, help="Smallest change to list: 0.02 is 2 %.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"]),
    default=None,
    metavar="DATE",
    help="Only changes at commits from this day on, in UTC: 2026-03-14.",
)
@click.option("--assignee", default="", metavar="WHO", help="Only what this person looks after.")
@click.option("--ticket", default="", metavar="KEY", help="Only what belongs to this ticket.")
@click.option("--gone", is_flag=True, help="Include findings that later data no longer show.")
@click.option(
    "--sort",
    "order",
    type=click.Choice(["change", "hazard", "date", "found", "traces", "author", "subject"]),
    default="change",
    show_default=True,
    help="Change: the worst first. Others: the largest or newest first; names by the alphabet.",
)
@click.option("--limit", type=click.IntRange(1), default=None, metavar="N", help="At most so many rows.")
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
    direction: str | None,
    minimum_effect: float,
    since: datetime | None,
    assignee: str,
    ticket: str,
    gone: bool,
    order: str,
    limit: int | None,
    instance: str | None,
    output: OutputFormat,
) -> None:
    """List what was found in all repositories, work before history, the worst first; one row a change point.

    `knick triage` takes both ids: R for a whole regression, P for the finding in one of its traces.
    """
    from knickpoint.model.regression import Condition, Direction
    from knickpoint.store.findings.selection import Selection

    conditions = frozenset(Condition) if gone else frozenset({Condition.PRESENT, Condition.RECOVERED})
    selection = Selection(
        conditions=conditions,
        directions=frozenset() if direction is None else frozenset({Direction(direction)}),
        text=match,
        alert=alert,
        assignee=assignee,
        ticket=ticket,
        minimum_effect=minimum_effect,
        since=None if since is None else since.replace(tzinfo=UTC),
    )
    processed = {"unprocessed": False, "processed": True, "all": None}[status]
    sides = tuple(side for side, wanted in ((False, work or not history), (True, history or not work)) if wanted)
    with open_chosen_instance(instance) as opened:
        wish = _Wish(selection, processed, sides, repository, query)
        rows, total = _list(opened, wish, order, limit)
        empty = "" if rows else _nothing(opened, wish)
    for_people = tuple(_IN_TEXT.get(column.name, column) for column in _COLUMNS)
    columns = for_people if output is OutputFormat.TEXT else _COLUMNS + _DETAILS
    show(columns, rows, output, empty=empty)
    if total > len(rows):
        click.echo(f"{total - len(rows):,} more of {total:,} findings: raise --limit, or filter.", err=True)
