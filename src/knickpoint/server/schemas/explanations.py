"""The explanation of a trace: every candidate of the method, with its checks."""

from __future__ import annotations

from pydantic import Field

from knickpoint.server.schemas.base import Answer, ChangePointId, FiniteOrNull
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.traces import TraceAnswer

__all__ = [
    "CandidateAnswer",
    "CheckAnswer",
    "ExplanationAnswer",
    "FlippingAnswer",
    "ModeCauseAnswer",
]


class CheckAnswer(Answer):
    """One number that the method compared with a bound."""

    name: str
    value: FiniteOrNull
    relation: str
    bound: FiniteOrNull
    passed: bool


class CandidateAnswer(Answer):
    """A position at which the method considered a step."""

    position: int
    commit: CommitAnswer
    accepted: bool = Field(description="Whether the method found a step there and the alert reports it.")
    reason: str = Field(description="Why it was rejected; empty when it was accepted.")
    note: str = Field(
        description="What the trace is to the cluster that steps there, and since which run; empty where the method judges each "
        "trace alone."
    )
    finding: ChangePointId | None = Field(description="Id of its change point.")
    checks: list[CheckAnswer]


class ModeCauseAnswer(Answer):
    """The values measured where a fact of the runs had one text, and the level that most of them are at."""

    text: str
    level: int = Field(description="Index into `levels`.")
    count: int = Field(description="Number of these values.")
    share: float = Field(description="The share of them at this level.")


class FlippingAnswer(Answer):
    """A stretch of the trace that flips between levels: its jumps are no changes."""

    first: int = Field(description="Position of its first commit.")
    last: int = Field(description="Position of its last commit.")
    levels: list[float] = Field(description="The levels, ascending, in the unit of the trace.")
    shares: list[float] = Field(description="The share of the values at each level.")
    fact: str = Field(
        description="The fact of the runs that explains the levels, such as `runner`; empty where none does."
    )
    explained: FiniteOrNull = Field(
        description="The share of the values at the level that the fact says; null without one."
    )
    causes: list[ModeCauseAnswer] = Field(description="The level that each text of the fact goes with.")


class ExplanationAnswer(Answer):
    """Why there is, or is not, a finding."""

    trace: TraceAnswer
    line: str
    method: str
    alert: str
    reason: str = Field(description="Why the alert does not judge the trace; empty where it does.")
    parameters: dict[str, float | int | str | bool | None]
    facts: dict[str, FiniteOrNull]
    flipping: list[FlippingAnswer]
    candidates: list[CandidateAnswer]
    omitted: int = Field(
        description="Number of candidates that are left out: too many, or not near the commit of the request."
    )
