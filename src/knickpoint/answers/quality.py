"""Alert quality: what people decided about the findings of each alert, what it missed, and proposals."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Annotated, Final

from pydantic import AwareDatetime, Field

from knickpoint.answers.base import Answer, ChangeId, ChangePointId, FiniteOrNull, Id, MissedId, Text
from knickpoint.answers.visible_repositories import UnknownError, VisibleRepositories, require, require_everywhere
from knickpoint.instance import Instance
from knickpoint.instance.alert_proposals import (
    accept_proposal,
    find_proposal,
    open_proposals,
    proposal_decision,
    reject_proposal,
    undo_proposal_decision,
)
from knickpoint.model.access import Permission
from knickpoint.model.alert import Alert, AlertDirection
from knickpoint.model.change_point import Condition, Direction
from knickpoint.model.commit import Repository
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.quality import FindingRecord, ListedMissedChange, ProposalDecision, ProposalKind
from knickpoint.model.step import Movement
from knickpoint.store import Store
from knickpoint.watch.missed_changes import list_missed, mark_missed, unmark_missed
from knickpoint.watch.quality.report import (
    AlertRow,
    AuditedList,
    DetectableChange,
    LabelDoubt,
    NoisyTrace,
    Period,
    Rate,
    list_records,
    measure_quality,
    smallest_changes,
)

# Alert quality: what people decided about the findings of each alert, and what the alerts missed.


class RateAnswer(Answer):
    """A share of counts with its 95 % interval of Wilson."""

    part: int
    whole: int
    share: FiniteOrNull = Field(description="Null where there is nothing.")
    low: float
    high: float


class DelayAnswer(Answer):
    """Times in hours."""

    count: int
    median: FiniteOrNull
    p90: FiniteOrNull


class AlertRowAnswer(Answer):
    """What became of the findings of one alert by one method."""

    alert: str = Field(description="Empty in the total, which counts each finding once.")
    method: str
    findings: int
    acknowledged: int
    ticketed: int
    hidden: int
    undecided: int
    gone: int = Field(description="Findings of any status that later data no longer show.")
    changes: int
    tickets: int
    missed: int = Field(description="Changes marked as missed that it still does not find.")
    precision: RateAnswer
    recall: RateAnswer
    to_finding: DelayAnswer = Field(description="From the commit to the finding.")
    to_decision: DelayAnswer = Field(description="From the finding to the first decision.")


class DoubtfulAnswer(Answer):
    """A finding whose label is in doubt."""

    finding: ChangePointId
    change: ChangeId | None
    trace: int
    trace_key: str
    status: str
    ticket: str
    condition: Condition
    relative_size: FiniteOrNull


class DoubtAnswer(Answer):
    """The findings whose label is in doubt for one reason: their number, and the newest of them."""

    doubt: LabelDoubt
    meaning: str
    count: int
    newest: list[DoubtfulAnswer]


class NoisyTraceAnswer(Answer):
    """What became of the findings of one trace."""

    trace_id: int
    trace_key: str
    findings: int
    hidden: int
    real: int
    gone: int = Field(description="Findings without a decision that later data took back.")
    share: float = Field(description="Its part of all hidden findings.")
    cumulated: float = Field(description="The part of this trace and the noisier ones.")
    smallest_change: FiniteOrNull = Field(
        description="The smallest change, relative to its level, that 20 new values could show; null where it is "
        "unknown."
    )


class ReplayedCountsAnswer(Answer):
    """What people would have seen in the past, in the traces with findings of an alert."""

    found: int = Field(description="Real changes that would have been announced.")
    noise: int = Field(description="Announced changes that people hid.")
    messages: int


class ProposalAnswer(Answer):
    """A change of an alert, and the counts behind it."""

    name: str
    kind: ProposalKind
    change: str
    reason: str
    traces: int = Field(description="Number of traces with findings that it would leave out.")
    hidden: int = Field(description="Hidden findings that it would leave out.")
    all_hidden: int = Field(description="All hidden findings of the alert.")
    real: int = Field(description="Real changes that it would leave out.")
    all_real: int = Field(description="All real changes of the alert.")
    before: ReplayedCountsAnswer | None = Field(
        default=None,
        description="The past without it; null but from `knick quality proposals --backtest`, which replays the past.",
    )
    after: ReplayedCountsAnswer | None = Field(default=None, description="The past with it.")


class ProposalDecisionAnswer(Answer):
    """A proposal that a person accepted or rejected."""

    id: int
    name: str
    kind: ProposalKind
    accepted: bool
    change: str
    who: str
    time: datetime


class ProposalRequest(Answer):
    """A decision about a proposal."""

    name: Annotated[Text, Field(max_length=300)] = Field(description="The name of the proposal, as in `all:raise`.")
    accept: bool = Field(description="Whether to change the alerts as it says; false rejects it.")
    since: AwareDatetime | None = Field(default=None, description="As in the request that listed the proposal.")
    until: AwareDatetime | None = Field(default=None, description="As in the request that listed the proposal.")


class AlertQualityAnswer(Answer):
    """The measures of the alerts in a period."""

    alerts: list[AlertRowAnswer]
    total: AlertRowAnswer
    doubts: list[DoubtAnswer]
    noisiest: list[NoisyTraceAnswer]
    proposals: list[ProposalAnswer] = Field(description="Without those that a person rejected.")
    decisions: list[ProposalDecisionAnswer] = Field(description="About proposals, the newest first.")


class MissedRequest(Answer):
    """A change that no alert found."""

    trace: Id
    commit: Annotated[Text, Field(max_length=2100)] = Field(
        description="A hash, its beginning or a number; a..b for a change after a, with b at the latest."
    )
    direction: AlertDirection = Field(
        default=AlertDirection.BOTH, description="Where the values moved; both leaves that to the values."
    )
    note: Annotated[Text, Field(max_length=2000)] = ""


class MissedAnswer(Answer):
    """A change that a person marked as missed."""

    id: MissedId
    repository: str
    trace: int
    trace_key: str
    previous: str = Field(description="Hash of the last commit before the change.")
    commit: str = Field(description="Hash of the first measured commit after the change.")
    movement: Movement
    direction: Direction
    note: str
    who: str
    time: datetime
    finding: ChangePointId | None = Field(
        description="The finding that is the same change by now; null while there is none."
    )
    alerts: list[str] = Field(description="The alerts that find it by now.")
    previous_position: int | None = Field(description="Position of `previous` on the line; null where it is not there.")
    position: int | None = Field(description="Position of `commit` on the line; null where it is not there.")


# Accept and reject proposals to change alerts for a caller, and take such decisions back.


def list_proposal_decisions(instance: Instance, alerts: Collection[str]) -> list[ProposalDecisionAnswer]:
    """List what people decided about proposals for ``alerts``, the newest first."""
    decisions = reversed(instance.store.findings.proposals.all())
    return [_answer(each) for each in decisions if each.alert in alerts]


def decide_proposal(
    instance: Instance, visible: VisibleRepositories, request: ProposalRequest
) -> ProposalDecisionAnswer:
    """Accept or reject a proposal.

    Raises:
        ForbiddenError: the caller is not an admin of all that its alert watches.
        InputError: there is no such proposal, or it cannot be accepted.
    """
    alerts = [alert for alert in instance.alerts if alert.name == request.name.rpartition(":")[0]]
    _require_admin(visible, alerts)
    records = list_records(visible.store, visible.all(), Period(request.since, request.until))
    proposals = open_proposals(instance, alerts, records)
    proposal = find_proposal(proposals, request.name)
    decide = accept_proposal if request.accept else reject_proposal
    try:
        return _answer(decide(instance, proposal, who=visible.caller.name))
    except ConfigError as error:
        raise InputError(error.message, where=error.where, remedy=error.remedy) from error


def undo_proposal(instance: Instance, visible: VisibleRepositories, key: int) -> ProposalDecisionAnswer:
    """Take a decision about a proposal back, and return what it was.

    Raises:
        ForbiddenError: the caller is not an admin of all that its alerts watch.
        UnknownError: there is no such decision.
        InputError: an alert was changed since.
    """
    try:
        decision = proposal_decision(instance, key)
    except InputError as error:
        visible.require(Permission.ADMIN, visible.all())
        raise UnknownError(error.message, where=f"decision {key}", remedy="GET /api/v1/alert-quality.") from None
    concerned = [*decision.after.values(), *(alert for alert in decision.before.values() if alert)]
    _require_admin(visible, concerned or [alert for alert in instance.alerts if alert.name == decision.alert])
    try:
        return _answer(undo_proposal_decision(instance, key, who=visible.caller.name))
    except ConfigError as error:
        raise InputError(error.message, where=error.where, remedy=error.remedy) from error


def _require_admin(visible: VisibleRepositories, alerts: Iterable[Alert]) -> None:
    """Check that the caller administers what ``alerts`` watch; without any, everything."""
    repositories = {alert.repository for alert in alerts} or {""}
    for repository in sorted(repositories):
        if repository:
            require(visible.caller, Permission.ADMIN, repository=repository)
        else:
            require_everywhere(visible.caller, Permission.ADMIN)


def _answer(decision: ProposalDecision) -> ProposalDecisionAnswer:
    return ProposalDecisionAnswer.of(decision)


# Measure the alerts for a caller, and keep the changes that people mark as missed.


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
        remedy="GET /api/v1/missed lists them.",
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
