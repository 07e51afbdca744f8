"""Answer what is asked about regressions: which there are, page by page, and what was decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from knickpoint.model.commit import Commit, Repository
from knickpoint.model.regression import ChangePoint, Condition, Place, Regression
from knickpoint.model.step import Movement, StableRegion
from knickpoint.server.answers import (
    CommitAnswer,
    GroupAnswer,
    HistoryAnswer,
    LevelAnswer,
    MemberAnswer,
    PlaceAnswer,
    RegressionsAnswer,
    SparklineAnswer,
)
from knickpoint.server.commits import commit_answer
from knickpoint.server.finite import finite
from knickpoint.server.sparklines import sparklines
from knickpoint.server.traces import trace_answer
from knickpoint.store import Store
from knickpoint.store.findings import Selection, Sort
from knickpoint.watch.boundary import read_extent
from knickpoint.watch.lines import Lines
from knickpoint.watch.one_order import in_one_order

__all__ = ["Listing", "Ordering", "Tab", "history_answer", "list_regressions", "member_answers"]

_UNKNOWN: Final = "(unknown commit)"


class Tab(Enum):
    """One of the lists that each regression's members are divided among."""

    UNPROCESSED = "unprocessed"
    HISTORY = "history"
    PROCESSED = "processed"
    GONE = "gone"


class Ordering(Enum):
    """What a list is sorted by; a minus before it turns it round."""

    CHANGE = "change"
    HAZARD = "hazard"
    DATE = "date"
    TRACES = "traces"
    AUTHOR = "author"
    SUBJECT = "subject"
    FOUND = "found"


_SORTS: Final[Mapping[Ordering, Sort]] = {
    Ordering.CHANGE: Sort.CHANGE,
    Ordering.HAZARD: Sort.HAZARD,
    Ordering.DATE: Sort.COMMIT,
    Ordering.TRACES: Sort.TRACES,
    Ordering.AUTHOR: Sort.AUTHOR,
    Ordering.SUBJECT: Sort.SUBJECT,
    Ordering.FOUND: Sort.FOUND,
}


@dataclass(frozen=True, slots=True)
class Listing:
    """Which page of which list: what is wanted, in which order, how many groups, how many members of each."""

    selection: Selection
    tab: Tab
    ordering: Ordering
    descending: bool
    page: int
    size: int
    members: int


def _selected(selection: Selection, tab: Tab) -> Selection:
    """Restrict ``selection`` to a list; what is gone is on that one, whatever was decided about it."""
    if tab is Tab.GONE:
        return replace(selection, processed=None, conditions=frozenset({Condition.GONE}))
    if tab is Tab.PROCESSED:
        return replace(selection, processed=True)
    return replace(selection, processed=False, history=tab is Tab.HISTORY)


class _Places:
    """Look up lines and commits of one repository, each once."""

    def __init__(self, store: Store, repository: Repository) -> None:
        self._store = store
        self.repository = repository
        self.lines = Lines(store, repository)
        self._commits: dict[int, Commit] = {}

    def load(self, slots: Iterable[int]) -> None:
        """Read the commits at ``slots`` at once."""
        wanted = [slot for slot in dict.fromkeys(slots) if slot not in self._commits]
        self._commits |= {own.slot: own.commit for own in self._store.commits.get(self.repository, wanted)}

    def commit(self, place: Place) -> CommitAnswer:
        """Return the first commit at the new level."""
        position = self.lines.line(place.line).positions.get(place.slot)
        commit = self._commits.get(place.slot)
        if commit is None:
            name = str(place.slot)
            return CommitAnswer(
                hash=name, short=name, author="", email="", time=None, subject=_UNKNOWN, url="", position=position
            )
        return commit_answer(commit, position)

    def place(self, place: Place) -> PlaceAnswer:
        """Shape a suspect range."""
        positions = self.lines.line(place.line).positions
        previous, position = positions.get(place.previous), positions.get(place.slot)
        before = self._commits.get(place.previous)
        return PlaceAnswer(
            line=place.line,
            previous=previous,
            position=position,
            suspects=1 if previous is None or position is None else max(1, position - previous),
            previous_hash=before.hash if before else "",
        )


def list_regressions(store: Store, repositories: Sequence[Repository], listing: Listing) -> RegressionsAnswer:
    """List one page of the regressions of ``repositories``, with values to draw."""
    counts = {
        tab: sum(
            store.findings.count(repository, selection=_selected(listing.selection, tab)) for repository in repositories
        )
        for tab in Tab
    }
    total = counts[listing.tab]
    pages = max(1, -(-total // listing.size))
    page = min(listing.page, pages)
    begin = (page - 1) * listing.size
    if len(repositories) == 1:
        found = [(repositories[0], own) for own in _read(store, repositories[0], listing, begin, listing.size)]
    else:
        everything = [
            (repository, own)
            for repository in repositories
            for own in _read(store, repository, listing, 0, begin + listing.size)
        ]
        ordered = in_one_order(store, everything, _SORTS[listing.ordering], descending=listing.descending)
        found = ordered[begin : begin + listing.size]
    return RegressionsAnswer(
        page=page,
        pages=pages,
        groups_total=total,
        unprocessed=counts[Tab.UNPROCESSED],
        history=counts[Tab.HISTORY],
        processed=counts[Tab.PROCESSED],
        gone=counts[Tab.GONE],
        groups=_groups(store, found, listing.members),
    )


def _read(store: Store, repository: Repository, listing: Listing, offset: int, limit: int) -> list[Regression]:
    return store.findings.regressions(
        repository,
        selection=_selected(listing.selection, listing.tab),
        sort=_SORTS[listing.ordering],
        descending=listing.descending,
        offset=offset,
        limit=limit,
    )


def _groups(store: Store, found: Sequence[tuple[Repository, Regression]], members: int) -> list[GroupAnswer]:
    """Shape regressions; what they need is read once for each repository, not once for each of them."""
    places: dict[int, _Places] = {}
    told: dict[int, MemberAnswer] = {}
    for repository in {own.id: own for own, _ in found}.values():
        own = [regression for other, regression in found if other.id == repository.id]
        points = [point for regression in own for point in regression.members[:members]]
        places[repository.id] = _Places(store, repository)
        places[repository.id].load(_slots([*(each.place for each in own), *(each.place for each in points)]))
        told |= {member.id: member for member in _members(store, places[repository.id], points)}
    return [_group(places[repository.id], regression, members, told) for repository, regression in found]


def _slots(places: Iterable[Place]) -> list[int]:
    return [slot for place in places for slot in (place.slot, place.previous)]


def _group(places: _Places, regression: Regression, members: int, told: Mapping[int, MemberAnswer]) -> GroupAnswer:
    points = regression.members
    return GroupAnswer(
        id=regression.id,
        repository=regression.repository,
        place=places.place(regression.place),
        commit=places.commit(regression.place),
        history=regression.history,
        hazard=finite(regression.hazard),
        lead=points[0].id,
        traces=len(points),
        directions=dict(Counter(point.direction for point in points)),
        statuses=dict(regression.counts or Regression.count(points)),
        members=[told[point.id] for point in points[:members]],
        ids=[point.id for point in points],
    )


def history_answer(store: Store, repository: Repository) -> HistoryAnswer:
    """Say where the history of a repository ends, and what lies on either side."""
    extent = read_extent(store, repository)
    boundary, sides = extent.boundary, extent.sides
    return HistoryAnswer(
        repository=repository.name,
        line=extent.line,
        commit=commit_answer(extent.commit, extent.position) if extent.commit else None,
        changed=boundary.changed if boundary else None,
        who=boundary.who if boundary else "",
        history=sides.history,
        work=sides.work,
        history_regressions=sides.history_regressions,
        work_regressions=sides.work_regressions,
    )


def member_answers(store: Store, repository: Repository, points: Sequence[ChangePoint]) -> list[MemberAnswer]:
    """Shape change points of one repository, with values to draw."""
    places = _Places(store, repository)
    places.load(_slots(point.place for point in points))
    return _members(store, places, points)


def _members(store: Store, places: _Places, points: Sequence[ChangePoint]) -> list[MemberAnswer]:
    traces = {trace.id: trace for trace in store.traces.get([point.trace_id for point in points])}
    drawn: dict[int, SparklineAnswer] = {}
    for name in {point.place.line for point in points}:
        own = [point for point in points if point.place.line == name]
        drawn |= sparklines(store, places.lines.line(name), own)
    return [
        MemberAnswer(
            id=point.id,
            regression=point.regression_id,
            trace=trace_answer(traces[point.trace_id], places.repository.name),
            place=places.place(point.place),
            commit=places.commit(point.place),
            movement=Movement.UP if (point.size or point.movement) > 0 else Movement.DOWN,
            direction=point.direction,
            before_level=point.before_level,
            after_level=point.after_level,
            deviation=finite(point.deviation),
            size=point.size,
            relative_size=finite(point.relative_size),
            hazard=finite(point.hazard),
            before=_level_answer(point.before),
            after=_level_answer(point.after),
            score=finite(point.score),
            p_value=finite(point.p_value),
            method=point.method,
            alerts=list(point.alerts),
            condition=point.condition,
            history=point.history,
            status=point.effective_status,
            note=point.note,
            ticket=point.ticket,
            matched_ticket=point.matched_ticket,
            assignee=point.assignee,
            sparkline=drawn.get(point.id),
        )
        for point in points
    ]


def _level_answer(region: StableRegion) -> LevelAnswer:
    """Shape a level without its bounds."""
    return LevelAnswer(
        count=region.count,
        minimum=region.minimum,
        maximum=region.maximum,
        median=region.median,
        mean=region.mean,
        variance=region.variance,
    )
