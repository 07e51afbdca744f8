"""Build the lists of changes, page by page, and the pages of the members of one change."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from knickpoint.model.change import Change
from knickpoint.model.change_point import Decision
from knickpoint.model.commit import Repository
from knickpoint.model.statement import Statement
from knickpoint.server.answers.bisection_standings import read_standings
from knickpoint.server.answers.filters import matching_members, members_on_list, tab_of
from knickpoint.server.answers.members import commit_at, member_answers, read_members, suspect_range_answer
from knickpoint.server.schemas.bisections import BisectionStandingAnswer
from knickpoint.server.schemas.changes import ChangeAnswer, ChangesAnswer, LikelyCommitAnswer, StatementAnswer
from knickpoint.server.schemas.decisions import DecisionAnswer
from knickpoint.server.schemas.filters import ListFilter
from knickpoint.server.schemas.members import ChangePointAnswer, MembersAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store
from knickpoint.store.findings.change_list import Sort, Tally
from knickpoint.watch.changes.merged_list import merge_changes
from knickpoint.watch.suspect_ranges import RangeReader

__all__ = [
    "FEW_MEMBERS",
    "Listing",
    "Ordering",
    "change_answers",
    "count_changes",
    "decision_answer",
    "list_changes",
    "list_changes_of",
    "list_members",
    "statement_answers",
]

FEW_MEMBERS: Final = 5
"""Members of each change that a list shows by default."""


class Ordering(Enum):
    """What a list is sorted by; a request reverses it with a minus."""

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
    """One page of one list: its filter and order, changes on a page, and members shown of each."""

    wanted: ListFilter
    ordering: Ordering
    descending: bool
    page: int
    size: int
    members: int


def list_changes(visible: VisibleRepositories, listing: Listing) -> ChangesAnswer:
    """List one page of changes, with a sparkline for each member.

    Raises:
        HistoryError: there is no such repository.
    """
    store, wanted = visible.store, listing.wanted
    repositories = visible.some(wanted.repository)
    tally = count_changes(visible, wanted)
    total = getattr(tally, tab_of(wanted).value)
    pages = max(1, -(-total // listing.size))
    page = min(listing.page, pages)
    begin = (page - 1) * listing.size
    if len(repositories) == 1:
        rows = [(repositories[0], each) for each in _read(store, repositories[0], listing, begin, listing.size)]
    else:
        # The store sorts within a repository. The first rows of each hold all that can be on the page.
        candidates = [
            (repository, each)
            for repository in repositories
            for each in _read(store, repository, listing, 0, begin + listing.size)
        ]
        merged = merge_changes(store, candidates, _SORTS[listing.ordering], descending=listing.descending)
        rows = merged[begin : begin + listing.size]
    return ChangesAnswer.of(tally, page=page, pages=pages, total=total, changes=change_answers(store, rows))


def count_changes(visible: VisibleRepositories, wanted: ListFilter) -> Tally:
    """Count the changes on each of the lists that ``wanted`` filters."""
    selection = matching_members(wanted)
    tallies = (visible.store.findings.tally(each, selection) for each in visible.some(wanted.repository))
    return sum(tallies, Tally())


def list_changes_of(visible: VisibleRepositories, wanted: ListFilter, ids: Collection[int]) -> list[ChangeAnswer]:
    """Return the changes ``ids`` that are on a list, each with its first members."""
    selection = members_on_list(wanted)
    rows = [
        (repository, each)
        for repository in visible.some(wanted.repository)
        for each in visible.store.findings.changes(repository, selection=selection, members=FEW_MEMBERS, only=ids)
    ]
    return change_answers(visible.store, rows)


def list_members(
    visible: VisibleRepositories, change: int, wanted: ListFilter, *, after: int | None, size: int
) -> MembersAnswer:
    """List one page of the members of a change that are on a list, the worst first.

    Raises:
        UnknownError: there is no such change.
        InputError: there is no member ``after``.
    """
    repository = visible.of_change(change)
    selection = members_on_list(wanted)
    points = visible.store.findings.members_page(repository, selection, change, after=after, limit=size + 1)
    return MembersAnswer(
        change=change,
        members=member_answers(visible.store, repository, points[:size]),
        after=points[size - 1].id if len(points) > size else None,
    )


def _read(store: Store, repository: Repository, listing: Listing, offset: int, limit: int) -> list[Change]:
    return store.findings.changes(
        repository,
        selection=members_on_list(listing.wanted),
        sort=_SORTS[listing.ordering],
        descending=listing.descending,
        offset=offset,
        limit=limit,
        members=listing.members,
    )


def change_answers(store: Store, rows: Sequence[tuple[Repository, Change]]) -> list[ChangeAnswer]:
    """Build the answers in the order of ``rows``; what they need is read once a repository."""
    readers: dict[int, RangeReader] = {}
    members: dict[int, ChangePointAnswer] = {}
    standings: dict[int, BisectionStandingAnswer] = {}
    decided = store.findings.triage.newest_of([change.id for _, change in rows])
    for repository in {each.id: each for each, _ in rows}.values():
        changes = [change for owner, change in rows if owner.id == repository.id]
        points = [point for change in changes for point in change.members]
        reader = readers[repository.id] = RangeReader(store, repository)
        named = [slot for each in changes if each.statement for slot in each.statement.named_slots]
        reader.load([*(each.suspect_range for each in changes), *(each.suspect_range for each in points)], named)
        members |= {member.id: member for member in read_members(store, reader, points)}
        ids = [change.id for change in changes]
        standings |= read_standings(store, repository, reader.lines.default, ids)
    return [
        _change_answer(readers[repository.id], change, members, standings.get(change.id), decided.get(change.id))
        for repository, change in rows
    ]


def _change_answer(
    reader: RangeReader,
    change: Change,
    members: Mapping[int, ChangePointAnswer],
    bisection: BisectionStandingAnswer | None,
    decided: Decision | None,
) -> ChangeAnswer:
    points = change.members
    return ChangeAnswer.of(
        change,
        statement=_statement_answer(reader, change.suspect_range.line, change.statement),
        suspect_range=suspect_range_answer(reader, change.suspect_range),
        commit=commit_at(reader, change.suspect_range.line, change.suspect_range.slot),
        certainty=change.certainty,
        hazard=change.extreme,
        lead=points[0].id,
        traces=sum(change.matching.values()),
        directions=change.matching,
        statuses=change.counts or change.gone,
        decided=decision_answer(decided) if decided else None,
        bisection=bisection,
        members=[members[point.id] for point in points],
    )


def statement_answers(store: Store, repository: Repository, lines: Mapping[int, str]) -> dict[int, StatementAnswer]:
    """Return change → its statement, for changes of one repository; ``lines`` has the line of each."""
    stated = store.findings.statements.of_changes(lines)
    reader = RangeReader(store, repository)
    reader.load(slots=[slot for each in stated.values() for slot in each.named_slots])
    answers = {key: _statement_answer(reader, lines[key], each) for key, each in stated.items()}
    return {key: answer for key, answer in answers.items() if answer is not None}


def _statement_answer(reader: RangeReader, line: str, stated: Statement | None) -> StatementAnswer | None:
    if stated is None:
        return None
    likely = stated.likely and LikelyCommitAnswer.of(stated.likely, commit=commit_at(reader, line, stated.likely.slot))
    undone = commit_at(reader, line, stated.undone_at) if stated.undone_at >= 0 else None
    return StatementAnswer.of(stated, likely=likely, undone_at=undone)


def decision_answer(entry: Decision) -> DecisionAnswer:
    """Build the answer about an entry of the triage log."""
    return DecisionAnswer.of(entry, finding=entry.change_point_id)
