"""Decisions about changes and what they alter in the list at hand, and the history boundary."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from pydantic import Field

from knickpoint.answers.base import Answer, ChangeId, ChangePointId, Id, Text
from knickpoint.answers.changes import ChangeAnswer, DecisionAnswer, count_changes, decision_answer, list_changes_of
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.filters import ListFilter, members_on_list
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.model.access import Permission
from knickpoint.model.change_point import Status
from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.store import Store
from knickpoint.watch.triage import decisions
from knickpoint.watch.triage.decisions import Targets, TriageResult
from knickpoint.watch.triage.history_boundary import read_extent

# Triage: what a decision is about, and what it changed on the list that it was made on.


class TargetsRequest(Answer):
    """What a decision is about: single findings, and those of whole changes that are on a list."""

    ids: list[ChangePointId] = Field(default_factory=list, max_length=100_000, description="Ids of change points.")
    changes: list[ChangeId] = Field(
        default_factory=list,
        max_length=10_000,
        description="Ids of changes: all their members that are on the list.",
    )
    without: list[ChangePointId] = Field(
        default_factory=list, max_length=100_000, description="Ids of members of these changes to leave out."
    )
    filter: ListFilter = Field(
        default_factory=ListFilter, description="The list that the decision is made on, and that the answer is about."
    )


class TriageRequest(TargetsRequest):
    """A decision about one or many findings."""

    status: Status | None = Field(
        default=None, description="`new` makes them unprocessed again; null keeps the status of each."
    )
    note: Text | None = Field(default=None, max_length=10_000, description="null keeps the note there is.")
    ticket: Text | None = Field(
        default=None, max_length=500, description="Required with status `ticket`, unless `create` makes one."
    )
    create: Text = Field(
        default="", max_length=200, description="Name of a tracker in which to make the ticket; see `/api/v1/trackers`."
    )
    assignee: Text | None = Field(default=None, max_length=200)


class RegroupRequest(TargetsRequest):
    """Findings to split from their change, or changes to merge; a merge takes whole changes."""

    note: Text | None = Field(default=None, max_length=10_000, description="null keeps the note there is.")


class Entries(Answer):
    """Consecutive entries of the triage log, as one decision makes them."""

    first: Id
    last: Id


class UndoRequest(Answer):
    """Undo the last decision about each of some findings, or one decision as a whole."""

    ids: list[ChangePointId] = Field(default_factory=list, max_length=100_000, description="Ids of change points.")
    entries: Entries | None = Field(
        default=None,
        description="The decision to undo, as its answer names it. Findings with a later decision keep that.",
    )
    filter: ListFilter = Field(default_factory=ListFilter, description="The list that the answer is about.")


class TriageAnswer(Answer):
    """A list of changes after a decision, as far as the decision concerns it."""

    changed: int = Field(description="Number of findings that the decision changed.")
    entries: Entries | None = Field(description="The entries to undo; null where nothing changed.")
    changes: list[ChangeAnswer] = Field(description="Changes that the decision concerns and that are on the list.")
    left: list[ChangeId] = Field(description="Ids of changes that the decision concerns and that are not on the list.")
    unprocessed: int = Field(
        description="Number of changes with unprocessed findings that match the filter, without history."
    )
    history: int = Field(description="Number of changes in history with unprocessed findings that match the filter.")
    processed: int = Field(description="Number of changes with processed findings that match the filter.")
    all: int = Field(description="Number of changes that match the filter, but those that are gone.")
    gone: int = Field(description="Number of changes with findings that later data no longer show.")


class LastEntryAnswer(Answer):
    """How far the triage log goes: a page that remembers the number sees when somebody decided."""

    entry: int = Field(description="Number of the newest entry; 0 for an empty log.")


# Record decisions about findings, and build the answer how they change the list that people see.


def decide(visible: VisibleRepositories, request: TriageRequest) -> TriageAnswer:
    """Decide about all the findings of a request, or none.

    Raises:
        UnknownError: an id is unknown.
        ForbiddenError: the caller may not decide in one of the repositories.
        InputError: none is left on the list, or the status ``ticket`` comes without a ticket.
    """
    return _apply(
        visible,
        request.filter,
        lambda: request_targets(visible, request),
        lambda targets: decisions.decide(
            visible.store,
            targets,
            who=visible.caller.name,
            status=request.status,
            note=request.note,
            ticket=request.ticket,
            assignee=request.assignee,
        ),
    )


def undo(visible: VisibleRepositories, request: UndoRequest) -> TriageAnswer:
    """Undo the last decision about each finding, or one decision where it is still the last.

    Raises:
        UnknownError: an id is unknown.
        ForbiddenError: the caller may not decide in one of the repositories.
        InputError: neither ids nor entries are given.
    """

    def targets() -> Targets:
        entries = request.entries
        decided = visible.store.findings.triage.decided_by(entries.first, entries.last) if entries else []
        since = visible.existing_findings(decided)
        if entries and not since:
            raise InputError(
                "nothing of this decision is left to undo", remedy="It was undone, or there are later decisions."
            )
        return Targets(points=(*request.ids, *since))

    return _apply(
        visible,
        request.filter,
        targets,
        lambda found: decisions.undo(visible.store, found, who=visible.caller.name),
    )


def split(visible: VisibleRepositories, request: RegroupRequest) -> TriageAnswer:
    """Split findings from their changes; they form a new one.

    Raises:
        UnknownError: an id is unknown.
        ForbiddenError: the caller may not decide in one of the repositories.
        InputError: none is given.
    """
    return _apply(
        visible,
        request.filter,
        lambda: request_targets(visible, request),
        lambda targets: decisions.split(visible.store, targets, who=visible.caller.name, note=request.note),
    )


def merge(visible: VisibleRepositories, request: RegroupRequest) -> TriageAnswer:
    """Merge several changes, each with all its members.

    Raises:
        UnknownError: an id is unknown.
        ForbiddenError: the caller may not decide in one of the repositories.
        InputError: none is given, or they belong to several repositories.
    """
    return _apply(
        visible,
        request.filter,
        lambda: Targets(changes=tuple(request.changes), points=tuple(request.ids)),
        lambda targets: decisions.merge(visible.store, targets, who=visible.caller.name, note=request.note),
    )


def request_targets(visible: VisibleRepositories, request: TargetsRequest) -> Targets:
    """Return the findings of a request by id.

    Raises:
        UnknownError: one of the changes is unknown.
        InputError: none is left on the list.
    """
    if not request.changes:
        return Targets(points=tuple(request.ids))
    visible.of_changes(request.changes)
    selection = members_on_list(request.filter)
    found = {
        point
        for repository in visible.some(request.filter.repository)
        for point in visible.store.findings.matching(repository, selection, request.changes)
    }
    points = found.difference(request.without).union(request.ids)
    if not points:
        raise InputError("none of these changes is still on the list", remedy="Read the list again; it has changed.")
    return Targets(points=tuple(points))


def _apply(
    visible: VisibleRepositories,
    wanted: ListFilter,
    read: Callable[[], Targets],
    decide: Callable[[Targets], TriageResult],
) -> TriageAnswer:
    """Decide in one transaction, and answer how the list ``wanted`` changed.

    The caller needs the permission to decide in the repository of each target; without one of them, nothing is decided.

    The answer covers every change that has or had one of the findings: those before the decision, those named in
    the request, those after it, and those that a split or merge made.
    """
    store = visible.store
    with store.transaction():
        targets = read()
        concerned_repositories = [
            *visible.of_changes(targets.changes).values(),
            *visible.of_findings(targets.points).values(),
        ]
        visible.require(Permission.DECIDE, concerned_repositories)
        before = store.findings.changes_of(targets.points)
        done = decide(targets)
        points = [decision.change_point_id for decision in done.decisions]
        concerned = {*before, *targets.changes, *store.findings.changes_of(points), *done.changes.ids} - {0}
    return _answer(visible, wanted, done, concerned)


def _answer(
    visible: VisibleRepositories, wanted: ListFilter, done: TriageResult, concerned: Iterable[int]
) -> TriageAnswer:
    ids = [decision.id for decision in done.decisions]
    changes = list_changes_of(visible, wanted, set(concerned))
    tally = count_changes(visible, wanted)
    return TriageAnswer.of(
        tally,
        changed=len(ids),
        entries=Entries(first=min(ids), last=max(ids)) if ids else None,
        changes=changes,
        left=sorted(set(concerned) - {change.id for change in changes}),
    )


def list_decisions(visible: VisibleRepositories, finding: int) -> list[DecisionAnswer]:
    """List the decisions about a finding, oldest first.

    Raises:
        UnknownError: there is no such finding.
    """
    visible.of_findings([finding])
    entries = visible.store.findings.triage.entries([finding])
    return [decision_answer(entry) for entry in entries]


# The history boundary of a repository.


class HistoryAnswer(Answer):
    """The last commit whose findings are history, and the number of findings on either side of it."""

    repository: str
    line: str = Field(description="The default line; on other lines the boundary may lie elsewhere.")
    commit: CommitAnswer | None = Field(description="The last commit that is history; null where nothing is.")
    changed: datetime | None = Field(description="When the boundary was set; null before the first run.")
    who: str = Field(description="Who moved it; empty where the first run set it.")
    history: int = Field(description="Number of findings that are history.")
    work: int = Field(description="Number of findings after the boundary, which are to be triaged.")
    history_changes: int
    work_changes: int


# Build the answer about the history boundary of a repository.


def history_answer(store: Store, repository: Repository) -> HistoryAnswer:
    """Return the last commit that is history, and the number of findings on either side of the boundary."""
    extent = read_extent(store, repository)
    boundary = extent.boundary
    return HistoryAnswer.of(
        extent.sides,
        repository=repository.name,
        line=extent.line,
        commit=commit_answer(extent.commit, extent.position) if extent.commit else None,
        changed=boundary.changed if boundary else None,
        who=boundary.who if boundary else "",
    )
