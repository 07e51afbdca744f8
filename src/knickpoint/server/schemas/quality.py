"""Alert quality: what people decided about the findings of each alert, and what the alerts missed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, Field

from knickpoint.model.alert import AlertDirection
from knickpoint.model.change_point import Condition, Direction
from knickpoint.model.proposal import ProposalKind
from knickpoint.model.step import Movement
from knickpoint.server.schemas.base import Answer, ChangeId, ChangePointId, FiniteOrNull, Id, MissedId, Text
from knickpoint.watch.quality.label_audit import LabelDoubt

__all__ = [
    "AlertQualityAnswer",
    "AlertRowAnswer",
    "DelayAnswer",
    "DoubtAnswer",
    "DoubtfulAnswer",
    "MissedAnswer",
    "MissedRequest",
    "NoisyTraceAnswer",
    "ProposalAnswer",
    "ProposalDecisionAnswer",
    "ProposalRequest",
    "RateAnswer",
    "ReplayedCountsAnswer",
]


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
        description="The smallest change, relative to its level, that 20 new values could show; null where it is unknown."
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
