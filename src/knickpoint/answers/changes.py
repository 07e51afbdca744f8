"""Lists of changes, page by page, and the pages of the members of one change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from enum import Enum
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer, ChangeId, ChangePointId
from knickpoint.answers.bisections import BisectionStandingAnswer
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.filters import ListFilter, matching_members, members_on_list, tab_of
from knickpoint.answers.members import (
    ChangePointAnswer,
    MembersAnswer,
    SuspectRangeAnswer,
    commit_at,
    member_answers,
    read_members,
    suspect_range_answer,
)
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.model.alert import AlertSeverity
from knickpoint.model.change_point import Action, Decision, Direction, Status
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import InputError
from knickpoint.model.settlement import Certainty, FindingKind
from knickpoint.model.statement import Basis, Change, ChangeCondition, ChangeDirection, Statement
from knickpoint.store import Store
from knickpoint.store.findings.change_list import Sort, Tally
from knickpoint.watch.changes import merge_changes
from knickpoint.watch.lines import RangeReader

# Say in lists of changes how their newest bisections stand.


def read_standings(
    store: Store, repository: Repository, line: Line, changes: Collection[int]
) -> dict[int, BisectionStandingAnswer]:
    """Return change → how its newest bisection stands; positions are those on ``line``."""
    newest = store.bisections.of_changes(changes)
    slots = sorted({slot for found in newest.values() for slot in found.answer.culprits})
    commits = {
        each.slot: commit_answer(each.commit, line.positions.get(each.slot))
        for each in store.commits.get(repository, slots)
    }
    return {
        change: BisectionStandingAnswer(
            id=found.id,
            state=found.state,
            stopping=found.stopping,
            culprits=[commits[slot] for slot in found.answer.culprits if slot in commits],
            probability=found.answer.probability,
        )
        for change, found in newest.items()
    }


# Entries of the triage log.


class DecisionAnswer(Answer):
    """One entry of the triage log: the whole state after it."""

    id: int
    finding: ChangePointId
    action: Action
    status: Status
    who: str
    time: datetime
    note: str
    ticket: str
    assignee: str


# Lists of changes.


class LikelyCommitAnswer(Answer):
    """The commit that most likely made a change."""

    commit: CommitAnswer
    basis: Basis = Field(
        description="`bisected`: measured by a bisection; `only`: no other commit is in the range; `suspect`: it stands out "
        "among the suspects."
    )
    probability: float


class StatementAnswer(Answer):
    """What a change is, decided once: everything that shows the change says this."""

    direction: ChangeDirection = Field(description="`mixed`: some traces got worse and some better.")
    side: Direction = Field(description="The side of the change that weighs most, of which the headline speaks first.")
    kind: FindingKind = Field(description="The kind of the lead.")
    headline: str = Field(
        examples=["24 faster by up to 46 %; 1 larger by 0.5 %"],
        description="The sizes in words, as `24 faster by up to 46 %; 1 larger by 0.5 %`.",
    )
    lead: ChangePointId = Field(description="Id of the largest change point of the leading side.")
    size: str = Field(examples=["46 % faster"], description="The size of the lead in words, as `46 % faster`.")
    worse: int = Field(description="Traces that got worse.")
    better: int = Field(description="Traces that got better.")
    undirected: int = Field(description="Traces that changed and of which no direction is better.")
    certainty: Certainty
    condition: ChangeCondition = Field(description="Whether the data of today show it.")
    undone_at: CommitAnswer | None = Field(description="The commit that brought the earlier level back.")
    likely: LikelyCommitAnswer | None = Field(description="null where only the suspect range is known.")
    machine: str = Field(description="What changed about the machine at the step, empty if nothing did.")
    held: str = Field(description="Why it is held back; empty if it is not.")
    cause: str = Field(
        description="What the profiles before and after it say: the function that costs most of it, and which commit "
        "touched its file. Empty without any."
    )
    decision: Status = Field(description="`new` while a trace waits for a decision, else the decision about the lead.")
    ticket: str = Field(description="The ticket that is about it: linked by a decision, or matched. Empty without one.")
    severity: float = Field(description="The number by which lists are sorted, the larger the worse.")


class ChangeAnswer(Answer):
    """A change: change points of several traces with a common suspect range."""

    id: ChangeId
    repository: str
    statement: StatementAnswer | None = Field(description="null only before the store has stated it.")
    suspect_range: SuspectRangeAnswer = Field(description="What the members share.")
    commit: CommitAnswer = Field(description="The first measured commit at the new level.")
    found: datetime | None = Field(description="When a run found the first of its members.")
    history: bool = Field(description="Whether it lies at or before the history boundary of its repository.")
    certainty: Certainty = Field(description="`provisional` where all of its live members are, whatever the filter.")
    held: str = Field(
        description="Why it is held back, and not announced: results at the place of all its live members are "
        "quarantined. Empty where one is not held."
    )
    alert_severity: AlertSeverity = Field(description="The highest severity of the alerts of the members that match.")
    hazard: float | None = Field(
        description="The hazard level of largest magnitude among the members, by which `hazard` sorts. It may be that "
        "of another one than the lead, which has its own in `members`."
    )
    lead: ChangePointId = Field(
        description="Id of the member listed first: the lead of the statement, unless the filter leaves that one out."
    )
    traces: int = Field(description="Number of its traces that match the filter.")
    directions: dict[Direction, int] = Field(description="Number of traces that match the filter, by direction.")
    statuses: dict[Status, int] = Field(
        description="Number of all its traces, by status. Traces that no longer show the change count only in the "
        "list `gone`."
    )
    decided: DecisionAnswer | None = Field(
        description="The newest decision about one of its members that has a status, a note, a ticket or an assignee; "
        "null where none has."
    )
    bisection: BisectionStandingAnswer | None = Field(description="Its newest bisection; null without one.")
    members: list[ChangePointAnswer] = Field(
        description="The lead first; at most as many as `members` in the request. `/api/v1/members` has the others."
    )


class ChangesAnswer(Answer):
    """One page of changes."""

    page: int
    pages: int
    all: int = Field(description="Number of changes that match the filter, but those that are gone.")
    gone: int = Field(description="Number of changes with change points that later data no longer show.")
    total: int = Field(description="Number of changes that match the filter.")
    unprocessed: int = Field(
        description="Number of changes with unprocessed change points that match the filter, without history."
    )
    history: int = Field(
        description="Number of changes in history with unprocessed change points that match the filter."
    )
    processed: int = Field(description="Number of changes with processed change points that match the filter.")
    changes: list[ChangeAnswer]


# Build the lists of changes, page by page, and the pages of the members of one change.


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


_NEAR: Final = 0.5
"""How alike a name is that was meant, as difflib counts it."""

_FEW_NAMES: Final = 8


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


def refuse_unknown_names(visible: VisibleRepositories, wanted: ListFilter, alerts: Iterable[str]) -> None:
    """Refuse a filter by an alert, a person or a ticket that no change point has; ``alerts`` are the configured ones.

    The caller's own name is known, whatever is assigned.

    Raises:
        InputError: it names the nearest name that there is.
    """
    known = visible.store.findings.filter_names(visible.some(wanted.repository))
    known["alert"].update(alerts)
    known["assignee"].add(visible.caller.name)
    for word, texts in (("alert", wanted.alert), ("assignee", wanted.assignee), ("ticket", wanted.ticket)):
        if texts and texts not in known[word]:
            near = get_close_matches(texts, sorted(known[word]), 1, _NEAR)
            listed = ", ".join(sorted(known[word])[:_FEW_NAMES])
            raise InputError(
                f"no change has the {word} {texts!r}",
                where=word,
                remedy=f"Did you mean {near[0]!r}?"
                if near
                else f"There are: {listed}."
                if listed
                else "There is none yet.",
            )


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
