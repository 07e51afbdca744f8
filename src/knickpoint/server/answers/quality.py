"""Measure the alerts for a caller, and keep the changes that people mark as missed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from knickpoint.instance import Instance
from knickpoint.instance.alert_proposals import open_proposals
from knickpoint.model.access import Permission
from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.model.missed import ListedMissedChange
from knickpoint.model.quality import FindingRecord
from knickpoint.model.step import Movement
from knickpoint.server.answers.proposals import list_proposal_decisions
from knickpoint.server.errors import UnknownError
from knickpoint.server.schemas.quality import (
    AlertQualityAnswer,
    AlertRowAnswer,
    DelayAnswer,
    DoubtAnswer,
    DoubtfulAnswer,
    MissedAnswer,
    MissedRequest,
    NoisyTraceAnswer,
    ProposalAnswer,
    RateAnswer,
)
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store
from knickpoint.watch.missed_changes import list_missed, mark_missed, unmark_missed
from knickpoint.watch.quality.alert_table import AlertRow
from knickpoint.watch.quality.detectable_change import DetectableChange
from knickpoint.watch.quality.label_audit import AuditedList
from knickpoint.watch.quality.noisy_traces import NoisyTrace
from knickpoint.watch.quality.rates import Rate
from knickpoint.watch.quality.report import Period, measure_quality
from knickpoint.watch.quality.smallest_changes import smallest_changes

__all__ = [
    "alert_answer",
    "doubt_answer",
    "doubtful_answer",
    "list_marks",
    "mark",
    "measure",
    "missed_answers",
    "noisy_answer",
    "unmark",
]

_MOST_LISTED: Final = 50


def measure(instance: Instance, visible: VisibleRepositories, period: Period) -> AlertQualityAnswer:
    """Measure the alerts over the repositories that the caller may read."""
    store, repositories = visible.store, visible.all()
    alerts = [alert for alert in instance.alerts if not alert.repository or visible.shows(alert.repository)]
    report = measure_quality(store, alerts, repositories, period)
    noisiest = report.noisiest[:_MOST_LISTED]
    smallest = smallest_changes(store, repositories, noisiest)
    return AlertQualityAnswer(
        alerts=[alert_answer(row) for row in report.rows],
        total=alert_answer(report.total),
        doubts=[doubt_answer(each) for each in report.audit],
        noisiest=[noisy_answer(each, smallest.get(each.trace_id)) for each in noisiest],
        proposals=[ProposalAnswer.of(each) for each in open_proposals(instance, alerts, report.records)],
        decisions=list_proposal_decisions(instance, {alert.name for alert in alerts}),
    )


def noisy_answer(trace: NoisyTrace, smallest: DetectableChange | None) -> NoisyTraceAnswer:
    """Return a noisy trace with the ``smallest`` change that new values could show."""
    return NoisyTraceAnswer.of(trace, smallest_change=smallest.relative_size if smallest else math.nan)


def alert_answer(row: AlertRow) -> AlertRowAnswer:
    """Return a row of the table of alerts."""
    return AlertRowAnswer.of(
        row,
        precision=_rate(row.precision),
        recall=_rate(row.recall),
        to_finding=DelayAnswer.of(row.to_finding),
        to_decision=DelayAnswer.of(row.to_decision),
    )


def _rate(rate: Rate) -> RateAnswer:
    low, high = rate.interval
    return RateAnswer.of(rate, low=low, high=high)


def doubt_answer(audited: AuditedList) -> DoubtAnswer:
    """Return the findings whose label is in doubt for one reason."""
    return DoubtAnswer(
        doubt=audited.doubt,
        meaning=audited.doubt.meaning,
        count=len(audited.records),
        newest=[doubtful_answer(record) for record in audited.records[:_MOST_LISTED]],
    )


def doubtful_answer(record: FindingRecord) -> DoubtfulAnswer:
    """Return a finding whose label is in doubt."""
    return DoubtfulAnswer.of(
        record,
        finding=record.id,
        change=record.change_id or None,
        trace=record.trace_id,
        status=record.status.value,
    )


# Missed changes


def list_marks(visible: VisibleRepositories, repository: str, trace: int | None, line_name: str) -> list[MissedAnswer]:
    """List the missed changes of the repositories that the caller may read, those of one trace if it is given.

    Positions are those on the line ``line_name``, "" for the default line of each repository.

    Raises:
        HistoryError: a repository with missed changes has no such line.
    """
    found: list[MissedAnswer] = []
    for each in visible.some(repository):
        changes = visible.store.findings.missed.all(each)
        chosen = [change for change in changes if trace in {None, change.trace_id}]
        found += missed_answers(visible.store, each, list_missed(visible.store, each, chosen), line_name)
    return found


def mark(visible: VisibleRepositories, request: MissedRequest) -> MissedAnswer:
    """Mark a missed change; it takes the permission to decide in the repository of the trace."""
    repository, trace = visible.trace(request.trace)
    visible.require(Permission.DECIDE, [repository])
    who, note = visible.caller.name, request.note
    added = mark_missed(visible.store, repository, trace, request.commit, request.direction, who=who, note=note)
    (answer,) = missed_answers(visible.store, repository, list_missed(visible.store, repository, [added]))
    return answer


def unmark(visible: VisibleRepositories, key: int) -> MissedAnswer:
    """Take a mark back, and return what it was.

    Raises:
        UnknownError: there is none of this id in a repository that the caller may read.
    """
    try:
        change = visible.store.findings.missed.get(key)
    except InputError:
        raise _unknown(key) from None
    known = {each.id: each for each in visible.all()}
    if change.repository_id not in known:
        raise _unknown(key)
    repository = known[change.repository_id]
    visible.require(Permission.DECIDE, [repository])
    (answer,) = missed_answers(visible.store, repository, list_missed(visible.store, repository, [change]))
    unmark_missed(visible.store, key, who=visible.caller.name)
    return answer


def _unknown(key: int) -> UnknownError:
    return UnknownError(
        f"there is no missed change {key}",
        where=f"missed change {key}",
        remedy="List what there is with /api/v1/missed.",
    )


def missed_answers(
    store: Store, repository: Repository, listed: Sequence[ListedMissedChange], line_name: str = ""
) -> list[MissedAnswer]:
    """Build the answers about missed changes of ``repository``, with the positions on one of its lines.

    Raises:
        HistoryError: there is no such line.
    """
    if not listed:
        return []
    positions = store.commits.line(repository, line_name).positions
    ranges = [each.change.suspect_range for each in listed]
    slots = {slot for suspects in ranges for slot in (suspects.previous, suspects.slot)}
    hashes = {each.slot: each.commit.hash for each in store.commits.get(repository, sorted(slots))}
    return [
        MissedAnswer.of(
            each.change,
            repository=repository.name,
            trace=each.change.trace_id,
            previous=hashes.get(each.change.suspect_range.previous, ""),
            commit=hashes.get(each.change.suspect_range.slot, ""),
            movement=Movement.of(each.change.movement),
            direction=each.direction,
            finding=each.point.id if each.point else None,
            alerts=each.point.alerts if each.point else (),
            previous_position=positions.get(each.change.suspect_range.previous),
            position=positions.get(each.change.suspect_range.slot),
        )
        for each in listed
    ]
