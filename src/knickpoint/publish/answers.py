"""Read what the published pages ask for: the API's answers to a caller who may read the chosen repositories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Final

from knickpoint.answers import (
    access,
    bisections,
    change_pages,
    change_points,
    changes,
    commit_reports,
    commits,
    explanations,
    flame_graphs,
    health,
    overview,
    plots,
    quarantines,
    runs,
    tickets,
    traces,
    trends,
    values,
)
from knickpoint.answers import alerts as alert_records
from knickpoint.answers import runs as environments
from knickpoint.answers import runs as marks
from knickpoint.answers.base import Answer
from knickpoint.answers.changes import FEW_MEMBERS, ChangeAnswer, Listing, Ordering
from knickpoint.answers.filters import AlertKindFilter, ListFilter
from knickpoint.answers.members import list_suspects
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.instance import Instance
from knickpoint.model.access import Caller, CallerKind, Grants, Permission
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Trace
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import trace_name
from knickpoint.model.summary import MEDIAN, Summary, read_summary
from knickpoint.plots import Theme, png, svg
from knickpoint.version import __version__

_EVERY_KIND: Final = AlertKindFilter.ANY
_TABS: Final[Mapping[str, ListFilter]] = {
    "unprocessed": ListFilter(alert_kind=_EVERY_KIND),
    "processed": ListFilter(alert_kind=_EVERY_KIND, processed=True),
    "history": ListFilter(alert_kind=_EVERY_KIND, history=True),
    "gone": ListFilter(alert_kind=_EVERY_KIND, gone=True),
}
TRACES_OF_A_FILE: Final = 10
"""Traces whose values and details are in one file."""

_PAGE: Final = 500
_MOST_CARDS: Final = 100
"""Changes that have a page for chats, the worst; others are reached from the pages."""

_CARD_SIZE: Final = (900, 470)
"""Pixels, in the proportions that chats show without cutting."""

_MOST_COMMITS: Final = 1000
_MOST_TRACES: Final = 10_000
_TREND_COMMITS: Final = 250
"""The range of the sums that the overview shows first."""

_NEWS: Final = timedelta(days=30)
"""The published overview counts what happened in this time before it was written."""

_NEWEST_REPORTS: Final = 20
"""Newest commits that have a page, beside those with findings."""

_WITHHELD: Final = frozenset({"email", "note", "assignee", "who", "location", "error", "troubles"})
"""Fields that are published empty: they are for the people of the instance."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is published: repositories by name, at a time, whether each trace has a badge, and where the pages will be.

    ``address`` begins the addresses of pictures, which chats load from elsewhere; "" for addresses beside the page.
    """

    repositories: Sequence[str]
    now: datetime
    badges: bool = True
    address: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """What a chat shows of a link: a title, a sentence, and a picture, b"" for none."""

    title: str
    text: str
    picture: bytes


@dataclass(frozen=True, slots=True)
class SiteAnswers:
    """The answers by the path of their file below the directory of the data: JSON, binary numbers, and badges.

    ``cards`` are those of changes by their name, and that of the whole site under "".
    """

    json: Mapping[str, Any]
    values: Mapping[str, bytes]
    badges: Mapping[str, bytes]
    cards: Mapping[str, Card]
    traces: int
    commits: int


def read_answers(instance: Instance, chosen: Chosen) -> SiteAnswers:
    """Read all answers, as they are at one moment.

    Raises:
        HistoryError: there is no such repository.
        InputError: a repository has more traces than can be published.
    """
    with instance.store.database.reading():
        return _read_all(instance, chosen)


def _read_all(instance: Instance, chosen: Chosen) -> SiteAnswers:
    reader = _Reader(instance, chosen)
    json: dict[str, Any] = {}
    packed: dict[str, bytes] = {}
    badges: dict[str, bytes] = {}
    fixed = dict(reader.fixed())
    trace_count = commit_count = 0
    for index, repository in enumerate(reader.repositories):
        line = instance.store.commits.line(repository)
        listed = traces.list_traces(instance.store, repository, "", 0, _MOST_TRACES)
        if listed.total > _MOST_TRACES:
            raise InputError(
                f"{listed.total} traces are too many to publish",
                where=repository.name,
                remedy=f"Up to {_MOST_TRACES} traces fit into files. Serve more with knick serve.",
            )
        ids = [trace.id for trace in listed.traces]
        failing = instance.store.runs.traces_without_value(repository, line.slots)
        json[f"{index}/traces"] = _plain(listed)
        json[f"{index}/commits"] = list(reader.commits(line))
        for part, begin in enumerate(range(0, len(ids), TRACES_OF_A_FILE)):
            some = ids[begin : begin + TRACES_OF_A_FILE]
            details = {key: reader.details(key, failing=key in failing) for key in some}
            json[f"{index}/details-{part}"] = {str(key): each for key, each in details.items()}
            packed[f"{index}/values-{part}"] = reader.values(line, some)
            for key, each in details.items():
                for name in (found["summary"] for found in each["change-points"]["summaries"]):
                    packed[f"{index}/values-{key}-{name}"] = reader.values(line, [key], read_summary(name))
        json[f"{index}/reports"] = dict(reader.reports(line))
        badges |= {str(key): svg(plots.draw_badge_of(reader.visible, key, line_name="")) for key in ids}
        fixed |= dict(reader.of_repository(repository, line))
        trace_count, commit_count = trace_count + len(ids), commit_count + len(line.slots)
    lists = {name: reader.changes(wanted) for name, wanted in _TABS.items()}
    # Their members are those of the other lists: the order is enough.
    json["lists"] = lists | {"all": reader.order(ListFilter(alert_kind=_EVERY_KIND, all=True))}
    for change in dict.fromkeys(change["id"] for listed in lists.values() for change in listed):
        fixed |= dict(reader.of_change(change))
    json["fixed"] = fixed
    cards = dict(reader.cards(lists))
    return SiteAnswers(json, packed, badges if chosen.badges else {}, cards, trace_count, commit_count)


class _KnownRepositories(VisibleRepositories):
    """What the caller may read, at one moment: each repository and trace is looked up once, and asked for often."""

    @cached_property
    def _repositories(self) -> list[Repository]:
        return super().all()

    @cached_property
    def _traces(self) -> dict[int, tuple[Repository, Trace]]:
        return {}

    def all(self) -> list[Repository]:
        return list(self._repositories)

    def traces(self, keys: Sequence[int]) -> tuple[Repository, list[Trace]]:
        if len(keys) != 1:
            return super().traces(keys)
        (key,) = keys
        if key not in self._traces:
            repository, (trace,) = super().traces(keys)
            self._traces[key] = repository, trace
        repository, trace = self._traces[key]
        return repository, [trace]


class _Reader:
    """The answers to a caller who may read the chosen repositories, and nothing else."""

    def __init__(self, instance: Instance, chosen: Chosen) -> None:
        grants = Grants.of([Permission.READ], chosen.repositories)
        self.caller = Caller(CallerKind.ANYONE, "anyone", grants)
        self.visible = _KnownRepositories(instance.store, self.caller, instance.config.access.public_profiles)
        self.repositories = [self.visible.choose(name) for name in chosen.repositories]
        self._instance, self._now = instance, chosen.now

    def fixed(self) -> Iterator[tuple[str, Any]]:
        """Yield the answers without parameters by path."""
        known = access.describe_caller(self._instance.config, self.caller, open_port=False, ended=False)
        day = self._now.strftime("%Y-%m-%d %H:%M UTC")
        yield (
            "me",
            _plain(known)
            | {"sign_in": [], "sign_out": "", "open": False, "notice": f"Read-only copy, published on {day}."},
        )
        yield "me/settings", {"kept": False, "values": {}}
        yield "version", {"name": "knickpoint", "version": __version__, "api": "v1"}
        yield "repositories", [_plain(each) for each in commits.list_repositories(self.visible)]
        alerts = health.list_alerts(self._instance, self.visible)
        yield "alerts", [_plain(alert) for alert in alerts]
        for alert in alerts:
            yield (
                f"alerts/{alert.name}/record",
                _plain(alert_records.read_alert_record(self._instance, self.visible, alert.name)),
            )
        yield "health", _plain(health.read_health(self._instance, self.visible))
        yield "notices", [_plain(each) for each in health.list_notices(self._instance, self.visible, 1000)]
        yield from ((name, []) for name in ("schedules", "trackers", "missed"))
        for name in ("", *(each.name for each in self.repositories)):
            shared = overview.read_shared_overview(self._instance, self.visible, name)
            assigned = overview.read_assigned(self.visible, name)
            found = overview.read_overview(self.visible, self._now - _NEWS, name, shared, assigned)
            yield f"overview {name}", _plain(found)

    def of_repository(self, repository: Repository, line: Line) -> Iterator[tuple[str, Any]]:
        """Yield what pages ask of one repository."""
        wanted = trends.TrendRange(line, "", "", _TREND_COMMITS)
        yield f"trends {repository.name}", _plain(trends.read_trends(self._instance.store, wanted))
        missing = runs.list_never_measured_answers(self._instance.store, repository)
        yield f"never-measured {repository.name}", [_plain(each) for each in missing]

    def of_change(self, name: str) -> Iterator[tuple[str, Any]]:
        """Yield what pages ask of one change, named as in ``R12``."""
        change = int(name.removeprefix("R"))
        page = change_pages.read_change_page(self.visible, change)
        yield f"changes/{name}", _plain(page)
        if page.cause is not None:
            yield f"changes/{name}/flame", _plain(flame_graphs.read_flame_graph(self.visible, self._instance, change))
        yield f"changes/{name}/suspects", _plain(list_suspects(self.visible, change))
        yield f"changes/{name}/recipes", []
        found = bisections.list_bisections(self.visible, "", (), change, 1)
        yield f"bisections {name}", [_plain(each) for each in found]
        for each in found:
            detail = bisections.find_bisection(self.visible, each.id)
            yield f"bisections/B{each.id}", _plain(detail)
            for benchmark in detail.profiled:
                graph = bisections.read_found_flame_graph(self.visible, self._instance, each.id, benchmark)
                yield f"bisections/B{each.id}/flame {benchmark}", _plain(graph)

    def commits(self, line: Line) -> Iterator[Any]:
        """Yield all commits of a line in its order."""
        for first in range(0, len(line.slots), _MOST_COMMITS):
            page = commits.list_commits(self._instance.store, line, first, _MOST_COMMITS)
            yield from _plain(page)["commits"]

    def values(self, line: Line, keys: Sequence[int], summary: Summary = MEDIAN) -> bytes:
        """Return all values of traces on a line, packed as the API does: medians, or another ``summary`` of samples."""
        last = len(line.slots) - 1
        wanted = values.WantedValues(line, keys, first=0, last=last, points=max(2, last + 1), summary=summary)
        return values.pack_values(self._instance.store, wanted)

    def details(self, key: int, *, failing: bool) -> dict[str, Any]:
        """Return the answers that the page of a trace needs, by the end of the path.

        ``failing``: a run gave it no value.
        """
        without = runs.list_without_value(self.visible, key, "") if failing else []
        changed = environments.list_environments(self.visible, key, "")
        found = marks.list_marks(self.visible, [key], "", environments=False)
        found += (marks.mark_environment(key, change) for change in changed)
        return {
            "change-points": _plain(change_points.read_change_points(self.visible, key, "")),
            "environments": [_plain(each) for each in changed],
            "patterns": _plain(explanations.read_patterns(self._instance, self.visible, key, "")),
            "without-value": [_plain(each) for each in without],
            "quarantined": [_plain(each) for each in quarantines.list_quarantined_values(self.visible, key, "")],
            "remeasured": [_plain(each) for each in bisections.list_remeasured(self.visible, key, "")],
            "marks": [_plain(each) for each in sorted(found, key=lambda mark: mark.position)],
            "ticket-marks": [_plain(each) for each in tickets.list_ticket_marks(self.visible, [key], "")],
        }

    def reports(self, line: Line) -> Iterator[tuple[str, Any]]:
        """Yield the reports of the newest commits and of those that changes and their statements name, by hash."""
        store = self._instance.store
        members = store.findings.groups.members(line.repository)
        named = {member.suspect_range.slot for member in members}
        named |= {place.slot for place in store.findings.groups.suspect_ranges(line.repository).values()}
        stated = store.findings.statements.of_changes({member.change_id for member in members} - {0})
        named |= {slot for each in stated.values() for slot in each.named_slots}
        slots = dict.fromkeys([*line.slots[-_NEWEST_REPORTS:], *sorted(named & line.positions.keys())])
        for found in store.commits.get(line.repository, list(slots)):
            report = commit_reports.report_commit(self.visible, line, found.commit.hash)
            yield found.commit.hash, _plain(report)

    def changes(self, wanted: ListFilter) -> list[dict[str, Any]]:
        """Return all changes of a list with all members, the worst first."""
        return [
            _plain(change) | {"members": list(self._members(change.id, wanted))} for change in self._all_changes(wanted)
        ]

    def order(self, wanted: ListFilter) -> list[str]:
        """Return the ids of all changes of a list, the worst first."""
        return [f"R{change.id}" for change in self._all_changes(wanted)]

    def cards(self, lists: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[tuple[str, Card]]:
        """Yield the card of each of the worst changes that the data show, then that of the site under ""."""
        names = ", ".join(repository.name for repository in self.repositories)
        shown = [change for name in ("unprocessed", "processed", "history") for change in lists[name]]
        stated = [change for change in shown if change["statement"] and change["members"]][:_MOST_CARDS]
        for change in stated:
            title = f"{change['id']}: {change['statement']['headline']}"
            yield change["id"], Card(title, _sentence(change), self._picture(change))
        waiting = len(lists["unprocessed"])
        text = f"{counted(waiting, 'change')} to triage." if waiting else f"{counted(len(shown), 'known change')}."
        first = next(iter(stated), None)
        worst = f" The worst: {first['statement']['headline']}, {_sentence(first)}" if first else ""
        yield "", Card(f"Performance of {names}", text + worst, self._picture(first) if first else b"")

    def _picture(self, change: Mapping[str, Any]) -> bytes:
        """Draw the trace that leads a change, near the change."""
        lead = next((member for member in change["members"] if member["id"] == change["lead"]), change["members"][0])
        at = change["commit"]["hash"]
        trace = lead["trace"]["id"]
        return png(plots.draw_plot(self.visible, trace, line_name="", at=at, size=_CARD_SIZE, theme=Theme.LIGHT))

    def _all_changes(self, wanted: ListFilter) -> Iterator[ChangeAnswer]:
        page, pages = 1, 1
        while page <= pages:
            listing = Listing(wanted, Ordering.CHANGE, descending=True, page=page, size=_PAGE, members=FEW_MEMBERS)
            answer = changes.list_changes(self.visible, listing)
            yield from answer.changes
            page, pages = page + 1, answer.pages

    def _members(self, change: int, wanted: ListFilter) -> Iterator[Any]:
        after: int | None = None
        while True:
            page = changes.list_members(self.visible, change, wanted, after=after, size=_PAGE)
            yield from (_plain(member) for member in page.members)
            after = page.after
            if after is None:
                return


def _sentence(change: Mapping[str, Any]) -> str:
    """Say in words where a change is, and which commit likely made it."""
    lead = next((member for member in change["members"] if member["id"] == change["lead"]), change["members"][0])
    name, _ = trace_name(lead["trace"]["params"])
    others = f" and {counted(change['traces'] - 1, 'other')}" if change["traces"] > 1 else ""
    likely = change["statement"]["likely"]
    commit = likely["commit"] if likely else change["commit"]
    subject = f" “{commit['subject']}”" if commit["subject"] else ""
    return f"{name}{others}, {'likely by' if likely else 'first seen at'} {commit['short']}{subject}"


def _plain(answer: Answer) -> Any:
    """Return an answer as JSON values, without what is for the people of the instance."""
    return _published(answer.model_dump(mode="json"))


def _published(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _emptied(each) if key in _WITHHELD else _published(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_published(each) for each in value]
    return value


def _emptied(value: Any) -> Any:
    """Return the empty value of the type of ``value``; null stays."""
    return None if value is None else type(value)()
