"""Record what people decide about findings, and take it back."""

from __future__ import annotations

from collections.abc import Sequence

from knickpoint.server.answers import DecisionAnswer, RegroupRequest, TriageAnswer, TriageRequest, UndoRequest
from knickpoint.store import Store
from knickpoint.watch import triage as watch
from knickpoint.watch.triage import Targets, Triaged

__all__ = ["list_decisions", "merge", "split", "triage", "undo"]


def _answer(store: Store, ids: Sequence[int], changed: int) -> TriageAnswer:
    points = store.findings.points(ids)
    return TriageAnswer(
        changed=changed,
        statuses={point.id: point.effective_status for point in points},
        regressions={point.id: point.regression_id for point in points},
    )


def triage(store: Store, request: TriageRequest) -> TriageAnswer:
    """Decide about findings, all of them or none.

    Raises:
        InputError: an id is unknown, or the status ticket comes without a ticket.
    """
    done = watch.decide(
        store,
        Targets(points=tuple(request.ids)),
        who=request.who,
        status=request.status,
        note=request.note,
        ticket=request.ticket,
        assignee=request.assignee,
    )
    return _answer(store, request.ids, len(done.decisions))


def undo(store: Store, request: UndoRequest) -> TriageAnswer:
    """Take back the last decision about each finding.

    Raises:
        InputError: an id is unknown.
    """
    done = watch.undo(store, Targets(points=tuple(request.ids)), who=request.who)
    return _answer(store, request.ids, len(done.decisions))


def split(store: Store, request: RegroupRequest) -> TriageAnswer:
    """Set findings apart: they make a group of their own.

    Raises:
        InputError: an id is unknown, or none is given.
    """
    return _regrouped(store, watch.split(store, _targets(request), who=request.who, note=request.note))


def merge(store: Store, request: RegroupRequest) -> TriageAnswer:
    """Make one group of several.

    Raises:
        InputError: an id is unknown, none is given, or they belong to several repositories.
    """
    return _regrouped(store, watch.merge(store, _targets(request), who=request.who, note=request.note))


def _targets(request: RegroupRequest) -> Targets:
    return Targets(regressions=tuple(request.regressions), points=tuple(request.ids))


def _regrouped(store: Store, done: Triaged) -> TriageAnswer:
    ids = [own.change_point_id for own in done.decisions]
    return _answer(store, ids, len(ids))


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
