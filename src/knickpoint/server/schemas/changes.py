"""Lists of changes."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.alert import AlertSeverity
from knickpoint.model.change_point import Direction, Status
from knickpoint.model.settlement import Certainty, FindingKind
from knickpoint.model.statement import Basis, ChangeCondition, ChangeDirection
from knickpoint.server.schemas.base import Answer, ChangeId, ChangePointId
from knickpoint.server.schemas.bisections import BisectionStandingAnswer
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.decisions import DecisionAnswer
from knickpoint.server.schemas.members import ChangePointAnswer, SuspectRangeAnswer

__all__ = ["ChangeAnswer", "ChangesAnswer", "LikelyCommitAnswer", "StatementAnswer"]


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
    lead: ChangePointId = Field(description="Id of the change point that stands for the side that weighs most.")
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
        description="The hazard level of largest magnitude among the members, by which `hazard` sorts. It may be that of "
        "another one than the lead, which has its own in `members`."
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
