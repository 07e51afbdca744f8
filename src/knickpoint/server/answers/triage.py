"""Record decisions about findings, and build the answer how they change the list that people see."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from knickpoint.model.access import Permission
from knickpoint.model.errors import InputError
from knickpoint.server.answers.changes import count_changes, decision_answer, list_changes_of
from knickpoint.server.answers.filters import members_on_list
from knickpoint.server.schemas.decisions import DecisionAnswer
from knickpoint.server.schemas.filters import ListFilter
from knickpoint.server.schemas.triage import (
    Entries,
    RegroupRequest,
    TargetsRequest,
    TriageAnswer,
    TriageRequest,
    UndoRequest,
)
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.watch.triage import decisions
from knickpoint.watch.triage.decisions import Targets, TriageResult

__all__ = ["decide", "list_decisions", "merge", "request_targets", "split", "undo"]


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
        raise InputError("none of these changes is on the list any more", remedy="Read the list again; it has changed.")
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
