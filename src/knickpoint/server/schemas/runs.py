"""The runs behind a point: their samples, failures and environments."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.report import Outcome
from knickpoint.server.schemas.base import Answer, FiniteOrNull
from knickpoint.server.schemas.commits import CommitAnswer

__all__ = [
    "EnvironmentAnswer",
    "FactAnswer",
    "NeverMeasuredAnswer",
    "RunAnswer",
    "WithoutValueAnswer",
]


class FactAnswer(Answer):
    """A fact of an environment that changed."""

    name: str
    before: str
    after: str


class EnvironmentAnswer(Answer):
    """A change of environment between two measured commits next to each other."""

    previous: int = Field(description="Position of the last commit measured in the old environment.")
    position: int = Field(description="Position of the first commit measured in the new one.")
    commit: CommitAnswer
    facts: list[FactAnswer]


class RunAnswer(Answer):
    """One run that has a value for a trace at a commit."""

    identity: str
    source: str
    time: datetime | None
    outcome: Outcome
    value: FiniteOrNull = Field(description="Median of the samples in the unit of the trace; null unless measured.")
    unit: str = Field(description="The unit of the samples in the results file.")
    samples: list[float]
    message: str
    environment: dict[str, str]
    links: dict[str, str]


class WithoutValueAnswer(Answer):
    """A run that gave a trace no value at a commit: the benchmark failed or was skipped."""

    commit: CommitAnswer
    outcome: Outcome
    message: str
    time: datetime | None
    source: str
    links: dict[str, str]


class NeverMeasuredAnswer(Answer):
    """A benchmark without a trace: every run of it failed or was skipped. The newest run describes it."""

    params: dict[str, str]
    outcome: Outcome
    message: str
    commit: str = Field(description="Hash of the commit of the newest run.")
    time: datetime
    source: str
    runs: int = Field(description="How many of the newest runs failed or skipped it.")
