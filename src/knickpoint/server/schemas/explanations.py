"""The explanation of a trace: every candidate of the method, with its checks."""

from __future__ import annotations

from pydantic import Field

from knickpoint.server.schemas.base import Answer, FiniteOrNull
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.traces import TraceAnswer

__all__ = [
    "CandidateAnswer",
    "CheckAnswer",
    "ExplanationAnswer",
    "FlippingAnswer",
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
    finding: int | None = Field(description="Id of its change point.")
    checks: list[CheckAnswer]


class FlippingAnswer(Answer):
    """A stretch of the trace that flips between levels: its jumps are no changes."""

    first: int = Field(description="Position of its first commit.")
    last: int = Field(description="Position of its last commit.")
    levels: list[float] = Field(description="The levels, ascending, in the unit of the trace.")
    shares: list[float] = Field(description="The share of the values at each level.")


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
