"""Shapes of the explanation of a trace: every candidate with its checks."""

from __future__ import annotations

from pydantic import Field

from knickpoint.server.schemas.base import Answer
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.traces import TraceAnswer

__all__ = [
    "CandidateAnswer",
    "CheckAnswer",
    "ExplanationAnswer",
]


class CheckAnswer(Answer):
    """One number that the method compared with a bound."""

    name: str
    value: float | None
    relation: str
    bound: float | None
    passed: bool


class CandidateAnswer(Answer):
    """A place that the method looked at."""

    position: int
    commit: CommitAnswer
    accepted: bool = Field(description="Whether the method saw a change and the alert reports it.")
    reason: str = Field(description="What rejected it, in words; empty when it was accepted.")
    finding: int | None = Field(description="Id of the change point that it is known as.")
    checks: list[CheckAnswer]


class ExplanationAnswer(Answer):
    """Why there is, or is not, a finding."""

    trace: TraceAnswer
    line: str
    method: str
    alert: str
    reason: str = Field(description="Why the alert does not look at the trace; empty where it does.")
    parameters: dict[str, float | int | str | bool | None]
    facts: dict[str, float | None]
    candidates: list[CandidateAnswer]
    omitted: int = Field(description="Places that are not told: too many, or not near the commit asked for.")
