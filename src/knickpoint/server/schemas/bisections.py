"""Bisections: the searches for the commits that made changes, and how each stands."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.bisection import BisectionState, ProbeOutcome, ProbePurpose
from knickpoint.server.schemas.base import Answer, BisectionId, ChangeId, FiniteOrNull, Text
from knickpoint.server.schemas.commits import CommitAnswer

__all__ = [
    "BisectionAnswer",
    "BisectionDetailAnswer",
    "BisectionRequest",
    "BisectionStandingAnswer",
    "CandidateAnswer",
    "LogLineAnswer",
    "ProbeAnswer",
    "RemeasuredAnswer",
]


class BisectionStandingAnswer(Answer):
    """How the newest bisection of a change stands, for lists."""

    id: BisectionId
    state: BisectionState
    stopping: bool = Field(description="Whether a person stopped it, and its worker has not ended it yet.")
    culprits: list[CommitAnswer] = Field(description="As in a bisection.")
    probability: float = Field(description="Of what is stated; 0 while it is not known.")


class RemeasuredAnswer(Answer):
    """A value of a trace that a probe of a bisection measured."""

    position: int
    value: float = Field(description="In the unit of the trace.")
    bisections: list[BisectionId] = Field(description="The bisections that the probe served.")
    device: str
    time: datetime | None
    counts: bool = Field(
        description="Whether it is one of the values of its commit, whose point is the median of them all. Values of a "
        "device that measures unlike the machine of the trace do not count."
    )


class BisectionAnswer(Answer):
    """A bisection, as lists show it."""

    id: BisectionId
    repository: str
    change: ChangeId | None = Field(description="null where it is about none.")
    trace: str = Field(description="Key of the trace that is measured again; empty where probes pass or fail.")
    recipe: str
    state: BisectionState
    reason: str = Field(description="What is not decided, or why there is no culprit, in one line.")
    culprits: list[CommitAnswer] = Field(
        description="The commits that made the change: one in the state `culprit`; several, each of its own change, in the "
        "state `range`; empty where none was found."
    )
    probability: float = Field(description="Of what is stated; 0 while it is not known.")
    commits: int = Field(description="Number of commits of which one is searched.")
    probes: int = Field(description="Probes that ended.")
    who: str = Field(description="Who asked for it.")
    by_rule: bool = Field(description="Whether the configuration asked for it, and no person.")
    asked: datetime
    started: datetime | None
    ended: datetime | None
    stopping: bool = Field(description="Whether a person stopped it, and its worker has not ended it yet.")


class CandidateAnswer(Answer):
    """A place of the range that is searched; the first one is the good end."""

    commit: CommitAnswer
    probability: FiniteOrNull = Field(
        description="Probability that this commit made a change, alone or with others; null for the good end, and before "
        "the first probe."
    )


class ProbeAnswer(Answer):
    """One measurement of one commit."""

    number: int
    place: int = Field(description="Counts in `candidates`.")
    device: str = Field(description="The machine that made it, or that should; empty for any.")
    purpose: ProbePurpose
    outcome: ProbeOutcome | None = Field(description="Null while it waits or runs.")
    value: FiniteOrNull = Field(description="Median of its samples; null without one.")
    samples: list[FiniteOrNull]
    seconds: float | None
    started: datetime
    reason: str = Field(description="Why there is no value, in one line.")
    output: str = Field(description="End of what the commands printed, where there is no value.")


class LogLineAnswer(Answer):
    """One line of the log."""

    time: datetime
    text: str


class BisectionDetailAnswer(BisectionAnswer):
    """Everything about one bisection."""

    edition: int = Field(description="Grows with each change.")
    unit: str
    candidates: list[CandidateAnswer]
    none: FiniteOrNull = Field(description="Probability that none of the commits made the change.")
    several: FiniteOrNull = Field(description="Probability that several of them did.")
    probe_list: list[ProbeAnswer]
    log: list[LogLineAnswer] = Field(description="The newest 200 lines.")
    devices: list[str] = Field(description="The machines that take its probes now.")
    queue: int = Field(description="Bisections that run or wait before this one.")
    seconds_left: float | None = Field(description="An estimate; null where there is none.")


class BisectionRequest(Answer):
    """Which recipe of the configuration is to be used; nothing else of a request is ever run."""

    recipe: Text = Field(
        default="", max_length=200, description="Name of the recipe; empty for the only one that fits."
    )
