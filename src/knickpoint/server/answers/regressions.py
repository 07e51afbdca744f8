"""Answer what is asked about regressions: which there are, page by page, and what was decided."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from knickpoint.model.commit import Commit, Repository
from knickpoint.model.frame import Trace
from knickpoint.model.regression import ChangePoint, Condition, Regression, SuspectRange
from knickpoint.model.step import Movement, StableRegion
from knickpoint.server.answers.commits import choose_repository, commit_answer
from knickpoint.server.answers.sparklines import sparklines
from knickpoint.server.answers.traces import trace_answer
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.finite import finite
from knickpoint.server.schemas.regressions import (
    GroupAnswer,
    HistoryAnswer,
    LevelAnswer,
    MemberAnswer,
    PlaceAnswer,
    RegressionsAnswer,
    SparklineAnswer,
)
from knickpoint.server.schemas.triage import ListFilter, MembersAnswer
from knickpoint.store import Store
from knickpoint.store.findings.regression_list import Sort, Tally
from knickpoint.store.findings.selection import Selection
from knickpoint.watch.lines import Lines
from knickpoint.watch.regressions.merged_list import in_one_order
from knickpoint.watch.triage.history_boundary import read_extent

__all__ = [
    "FEW_MEMBERS",
    "Listing",
    "Ordering",
    "Tab",
    "count_groups",
    "history_answer",
    "list_groups",
    "list_members",
    "list_regressions",
    "listed",
    "matching",
    "member_answers",
    "repositories_of",
    "tab_of",
]

FEW_MEMBERS: Final = 5
"""Members of a group that a list shows unasked."""

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

    wanted: ListFilter
    ordering: Ordering
    descending: bool
    page: int
    size: int
    members: int


def tab_of(wanted: ListFilter) -> Tab:
    """Return the list that is meant: what is gone goes before history, history before what is processed."""
    if wanted.gone:
        return Tab.GONE
    if wanted.history:
        return Tab.HISTORY
    return Tab.PROCESSED if wanted.processed else Tab.UNPROCESSED


def matching(wanted: ListFilter) -> Selection:
    """Return what ``wanted`` asks of members, whichever of the lists they are on."""
    return Selection(
        text=wanted.filter,
        directions=frozenset({wanted.direction} if wanted.direction else ()),
        statuses=frozenset({wanted.status} if wanted.status else ()),
        alert=wanted.alert,
        assignee=wanted.assignee,
        ticket=wanted.ticket,
        minimum_hazard=wanted.minimum_hazard,
        minimum_effect=wanted.minimum_effect,
    )


def listed(wanted: ListFilter) -> Selection:
    """Return the members of the list ``wanted``; what is gone is listed whatever was decided about it."""
    tab = tab_of(wanted)
    if tab is Tab.GONE:
        return replace(matching(wanted), conditions=frozenset({Condition.GONE}))
    if tab is Tab.PROCESSED:
        return replace(matching(wanted), processed=True)
    return replace(matching(wanted), processed=False, history=tab is Tab.HISTORY)


def repositories_of(store: Store, wanted: ListFilter) -> list[Repository]:
    """Return the repositories that a list is of.

    Raises:
        HistoryError: there is none of that name.
    """
    return [choose_repository(store, wanted.repository)] if wanted.repository else store.commits.repositories()


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

    def commit(self, place: SuspectRange) -> CommitAnswer:
        """Return the first commit at the new level."""
        position = self.lines.line(place.line).positions.get(place.slot)
        commit = self._commits.get(place.slot)
        if commit is None:
            name = str(place.slot)
            return CommitAnswer(
                hash=name, short=name, author="", email="", time=None, subject=_UNKNOWN, url="", position=position
            )
        return commit_answer(commit, position)

    def place(self, place: SuspectRange) -> PlaceAnswer:
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


def list_regressions(store: Store, listing: Listing) -> RegressionsAnswer:
    """List one page of regressions, with values to draw.

    Raises:
        HistoryError: there is no such repository.
    """
    wanted = listing.wanted
    repositories = repositories_of(store, wanted)
    tally = count_groups(store, wanted)
    total = getattr(tally, tab_of(wanted).value)
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
        unprocessed=tally.unprocessed,
        history=tally.history,
        processed=tally.processed,
        gone=tally.gone,
        groups=_groups(store, found),
    )


def count_groups(store: Store, wanted: ListFilter) -> Tally:
    """Count the groups on each of the lists that ``wanted`` filters."""
    selection = matching(wanted)
    return sum((store.findings.tally(own, selection) for own in repositories_of(store, wanted)), Tally())


def list_groups(store: Store, wanted: ListFilter, ids: Collection[int]) -> list[GroupAnswer]:
    """Return the groups ``ids`` that are on a list, each with its first members."""
    found = [
        (repository, own)
        for repository in repositories_of(store, wanted)
        for own in store.findings.regressions(repository, selection=listed(wanted), members=FEW_MEMBERS, only=ids)
    ]
    return _groups(store, found)


def list_members(store: Store, regression: int, wanted: ListFilter, *, after: int | None, size: int) -> MembersAnswer:
    """List one page of the members of a regression that are on a list, the worst first.

    Raises:
        InputError: there is no such regression, or no member ``after``.
    """
    repository = store.findings.repository_of(regression)
    points = store.findings.members_page(repository, listed(wanted), regression, after=after, limit=size + 1)
    return MembersAnswer(
        regression=regression,
        members=member_answers(store, repository, points[:size]),
        after=points[size - 1].id if len(points) > size else None,
    )


def _read(store: Store, repository: Repository, listing: Listing, offset: int, limit: int) -> list[Regression]:
    return store.findings.regressions(
        repository,
        selection=listed(listing.wanted),
        sort=_SORTS[listing.ordering],
        descending=listing.descending,
        offset=offset,
        limit=limit,
        members=listing.members,
    )


def _groups(store: Store, found: Sequence[tuple[Repository, Regression]]) -> list[GroupAnswer]:
    """Shape regressions; what they need is read once for each repository, not once for each of them."""
    places: dict[int, _Places] = {}
    answers: dict[int, MemberAnswer] = {}
    for repository in {own.id: own for own, _ in found}.values():
        own = [regression for other, regression in found if other.id == repository.id]
        points = [point for regression in own for point in regression.members]
        places[repository.id] = _Places(store, repository)
        places[repository.id].load(
            _slots([*(each.suspect_range for each in own), *(each.suspect_range for each in points)])
        )
        answers |= {member.id: member for member in _members(store, places[repository.id], points)}
    return [_group(places[repository.id], regression, answers) for repository, regression in found]


def _slots(places: Iterable[SuspectRange]) -> list[int]:
    return [slot for place in places for slot in (place.slot, place.previous)]


def _group(places: _Places, regression: Regression, answers: Mapping[int, MemberAnswer]) -> GroupAnswer:
    points = regression.members
    return GroupAnswer(
        id=regression.id,
        repository=regression.repository,
        place=places.place(regression.suspect_range),
        commit=places.commit(regression.suspect_range),
        history=regression.history,
        hazard=regression.extreme,
        lead=points[0].id,
        traces=sum(regression.matching.values()),
        directions=dict(regression.matching),
        statuses=dict(regression.counts or regression.gone),
        members=[answers[point.id] for point in points],
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
    places.load(_slots(point.suspect_range for point in points))
    return _members(store, places, points)


def _members(store: Store, places: _Places, points: Sequence[ChangePoint]) -> list[MemberAnswer]:
    traces = {trace.id: trace for trace in store.traces.get([point.trace_id for point in points])}
    drawn: dict[int, SparklineAnswer] = {}
    for name in {point.suspect_range.line for point in points}:
        own = [point for point in points if point.suspect_range.line == name]
        drawn |= sparklines(store, places.lines.line(name), own)
    return [_member(places, point, traces[point.trace_id], drawn.get(point.id)) for point in points]


def _member(places: _Places, point: ChangePoint, trace: Trace, sparkline: SparklineAnswer | None) -> MemberAnswer:
    numbers = point.numbers
    return MemberAnswer(
        id=point.id,
        regression=point.regression_id,
        trace=trace_answer(trace, places.repository.name),
        place=places.place(point.suspect_range),
        commit=places.commit(point.suspect_range),
        movement=Movement.UP if (numbers.size or point.movement) > 0 else Movement.DOWN,
        direction=point.direction,
        before_level=numbers.before_level,
        after_level=numbers.after_level,
        deviation=finite(numbers.deviation),
        size=numbers.size,
        relative_size=finite(numbers.relative_size),
        hazard=finite(numbers.hazard),
        before=_level_answer(numbers.before),
        after=_level_answer(numbers.after),
        score=finite(numbers.score),
        p_value=finite(numbers.p_value),
        method=numbers.method,
        alerts=list(point.alerts),
        condition=point.condition,
        history=point.history,
        status=point.effective_status,
        note=point.note,
        ticket=point.ticket,
        matched_ticket=point.matched_ticket,
        assignee=point.assignee,
        sparkline=sparkline,
    )


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
