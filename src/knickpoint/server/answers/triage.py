"""Record what people decide about findings, and take it back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from knickpoint.model.errors import InputError
from knickpoint.server.answers.regressions import count_groups, list_groups, listed, repositories_of
from knickpoint.server.schemas import triage as triage_answers
from knickpoint.server.schemas.triage import (
    DecisionAnswer,
    Entries,
    ListFilter,
    RegroupRequest,
    TriageAnswer,
    TriageRequest,
    UndoRequest,
)
from knickpoint.store import Store
from knickpoint.watch.triage import decisions as watch
from knickpoint.watch.triage.decisions import Targets, Triaged

__all__ = ["list_decisions", "merge", "split", "triage", "undo"]


def triage(store: Store, request: TriageRequest) -> TriageAnswer:
    """Decide about findings, all of them or none.

    Raises:
        InputError: an id is unknown, nothing is left to decide about, or the status ticket comes without a ticket.
    """
    return _decided(
        store,
        request.filter,
        lambda: _targets(store, request),
        lambda targets: watch.decide(
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
    """Take back the last decision about each finding, or one decision where it is still the last.

    Raises:
        InputError: an id is unknown, or neither ids nor entries are given.
    """

    def targets() -> Targets:
        entries = request.entries
        since = store.findings.decided_by(entries.first, entries.last) if entries else []
        if entries and not since:
            raise InputError(
                "nothing of this decision is left to undo", remedy="It was taken back, or others have decided since."
            )
        return Targets(points=(*request.ids, *since))

    return _decided(store, request.filter, targets, lambda found: watch.undo(store, found, who=request.who))


def split(store: Store, request: RegroupRequest) -> TriageAnswer:
    """Set findings apart: they make a group of their own.

    Raises:
        InputError: an id is unknown, or none is given.
    """
    return _decided(
        store,
        request.filter,
        lambda: _targets(store, request),
        lambda targets: watch.split(store, targets, who=request.who, note=request.note),
    )


def merge(store: Store, request: RegroupRequest) -> TriageAnswer:
    """Make one group of several, each with all its members.

    Raises:
        InputError: an id is unknown, none is given, or they belong to several repositories.
    """
    return _decided(
        store,
        request.filter,
        lambda: Targets(regressions=tuple(request.regressions), points=tuple(request.ids)),
        lambda targets: watch.merge(store, targets, who=request.who, note=request.note),
    )


def _targets(store: Store, request: triage_answers.Targets) -> Targets:
    """Return the findings that a request is about, by id."""
    if not request.regressions:
        return Targets(points=tuple(request.ids))
    for key in request.regressions:
        store.findings.repository_of(key)
    selection = listed(request.filter)
    found = {
        point
        for repository in repositories_of(store, request.filter)
        for point in store.findings.matching(repository, selection, request.regressions)
    }
    points = found.difference(request.without).union(request.ids)
    if not points:
        raise InputError(
            "nothing of these groups is on the list any more", remedy="Read the list again; others have decided."
        )
    return Targets(points=tuple(points))


def _decided(
    store: Store, wanted: ListFilter, read: Callable[[], Targets], decide: Callable[[Targets], Triaged]
) -> TriageAnswer:
    """Decide, and describe what that did to the list ``wanted``."""
    with store.transaction():
        targets = read()
        before = store.findings.regressions_of(targets.points)
        done = decide(targets)
        points = [own.change_point_id for own in done.decisions]
        concerned = {*before, *targets.regressions, *store.findings.regressions_of(points), *done.regrouped.ids} - {0}
    return _answer(store, wanted, done, concerned)


def _answer(store: Store, wanted: ListFilter, done: Triaged, concerned: Iterable[int]) -> TriageAnswer:
    ids = [own.id for own in done.decisions]
    groups = list_groups(store, wanted, set(concerned))
    tally = count_groups(store, wanted)
    return TriageAnswer(
        changed=len(ids),
        entries=Entries(first=min(ids), last=max(ids)) if ids else None,
        groups=groups,
        left=sorted(set(concerned) - {group.id for group in groups}),
        unprocessed=tally.unprocessed,
        history=tally.history,
        processed=tally.processed,
        gone=tally.gone,
    )


def list_decisions(store: Store, finding: int) -> list[DecisionAnswer]:
    """List what was decided about a finding, oldest first."""
    return [
        DecisionAnswer(
            id=own.id,
            finding=own.change_point_id,
            action=own.action,
            status=own.status,
            who=own.who,
            time=own.time,
            note=own.note,
            ticket=own.ticket,
            assignee=own.assignee,
        )
        for own in store.findings.log([finding])
    ]
