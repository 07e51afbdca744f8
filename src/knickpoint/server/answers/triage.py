"""Record decisions about findings, and build the answer how they change the list that people see."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from knickpoint.model.errors import InputError
from knickpoint.server.answers.filters import filtered_repositories, members_on_list
from knickpoint.server.answers.regressions import count_groups, list_groups
from knickpoint.server.schemas.filters import ListFilter
from knickpoint.server.schemas.triage import (
    DecisionAnswer,
    Entries,
    RegroupRequest,
    TargetsRequest,
    TriageAnswer,
    TriageRequest,
    UndoRequest,
)
from knickpoint.store import Store
from knickpoint.watch.triage import decisions
from knickpoint.watch.triage.decisions import Targets, TriageResult

__all__ = ["decide", "list_decisions", "merge", "split", "undo"]


def decide(store: Store, request: TriageRequest) -> TriageAnswer:
    """Decide about all the findings of a request, or none.

    Raises:
        InputError: an id is unknown, none is left on the list, or the status ``ticket`` comes without a ticket.
    """
    return _apply(
        store,
        request.filter,
        lambda: _targets(store, request),
        lambda targets: decisions.decide(
            store,
            targets,
            who=request.who,
            status=request.status,
            note=request.note,
            ticket=request.ticket,
            assignee=request.assignee,
        ),
    )


def undo(store: Store, request: UndoRequest) -> TriageAnswer:
    """Undo the last decision about each finding, or one decision where it is still the last.

    Raises:
        InputError: an id is unknown, or neither ids nor entries are given.
    """

    def targets() -> Targets:
        entries = request.entries
        since = store.findings.triage.decided_by(entries.first, entries.last) if entries else []
        if entries and not since:
            raise InputError(
                "nothing of this decision is left to undo", remedy="It was undone, or there are later decisions."
            )
        return Targets(points=(*request.ids, *since))

    return _apply(store, request.filter, targets, lambda found: decisions.undo(store, found, who=request.who))


def split(store: Store, request: RegroupRequest) -> TriageAnswer:
    """Split findings from their regressions; they form a new one.

    Raises:
        InputError: an id is unknown, or none is given.
    """
    return _apply(
        store,
        request.filter,
        lambda: _targets(store, request),
        lambda targets: decisions.split(store, targets, who=request.who, note=request.note),
    )


def merge(store: Store, request: RegroupRequest) -> TriageAnswer:
    """Merge several regressions, each with all its members.

    Raises:
        InputError: an id is unknown, none is given, or they belong to several repositories.
    """
    return _apply(
        store,
        request.filter,
        lambda: Targets(regressions=tuple(request.regressions), points=tuple(request.ids)),
        lambda targets: decisions.merge(store, targets, who=request.who, note=request.note),
    )


def _targets(store: Store, request: TargetsRequest) -> Targets:
    """Return the findings of a request by id."""
    if not request.regressions:
        return Targets(points=tuple(request.ids))
    for key in request.regressions:
        store.findings.repository_of(key)
    selection = members_on_list(request.filter)
    found = {
        point
        for repository in filtered_repositories(store, request.filter)
        for point in store.findings.matching(repository, selection, request.regressions)
    }
    points = found.difference(request.without).union(request.ids)
    if not points:
        raise InputError(
            "none of these regressions is on the list any more", remedy="Read the list again; it has changed."
        )
    return Targets(points=tuple(points))


def _apply(
    store: Store, wanted: ListFilter, read: Callable[[], Targets], decide: Callable[[Targets], TriageResult]
) -> TriageAnswer:
    """Decide in one transaction, and answer how the list ``wanted`` changed.

    The answer covers every regression that has or had one of the findings: those before the decision, those named in
    the request, those after it, and those that a split or merge made.
    """
    with store.transaction():
        targets = read()
        before = store.findings.regressions_of(targets.points)
        done = decide(targets)
        points = [decision.change_point_id for decision in done.decisions]
        concerned = {*before, *targets.regressions, *store.findings.regressions_of(points), *done.regressions.ids} - {0}
    return _answer(store, wanted, done, concerned)


def _answer(store: Store, wanted: ListFilter, done: TriageResult, concerned: Iterable[int]) -> TriageAnswer:
    ids = [decision.id for decision in done.decisions]
    groups = list_groups(store, wanted, set(concerned))
    tally = count_groups(store, wanted)
    return TriageAnswer.of(
        tally,
        changed=len(ids),
        entries=Entries(first=min(ids), last=max(ids)) if ids else None,
        groups=groups,
        left=sorted(set(concerned) - {group.id for group in groups}),
    )


def list_decisions(store: Store, finding: int) -> list[DecisionAnswer]:
    """List the decisions about a finding, oldest first."""
    entries = store.findings.triage.entries([finding])
    return [DecisionAnswer.of(entry, finding=entry.change_point_id) for entry in entries]
