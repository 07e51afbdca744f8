"""What should have results and has none, and renames that may explain it."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.server.schemas.base import Answer, Id
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.traces import TraceAnswer
from knickpoint.watch.absence.missing_data import MissingKind

__all__ = ["MissingAnswer", "MissingEntryAnswer", "RenameAnswer", "RenameRequest"]


class MissingEntryAnswer(Answer):
    """A job, some series or some commits without results."""

    repository: str
    kind: MissingKind = Field(
        description="`job`: all series with some params, or of the repository; `series`: some that stopped together; "
        "`commits`: commits between measured ones."
    )
    params: list[str] = Field(description="What its series have in common, as `name=value`.")
    count: int = Field(description="Number of its series; 0 where all of the repository stopped, and for commits.")
    traces: list[TraceAnswer] = Field(description="The first 20 of them; on the command line all.")
    last: CommitAnswer = Field(description="The last commit that had results.")
    silent: int = Field(description="Number of commits without results since; of measured commits for series.")
    usual: int = Field(description="The longest recent gap between results.")
    until: CommitAnswer | None = Field(description="Of commits: the next one with results.")


class RenameAnswer(Answer):
    """A rename that may explain why a series stopped, or that a person accepted."""

    old: TraceAnswer
    new: TraceAnswer
    name_likeness: float | None = Field(description="0 to 1; null where a person accepted it.")
    value_likeness: float | None = Field(description="0 to 1, of level and noise; null where a person accepted it.")
    probability: float | None = Field(
        description="Probability of the rename, never above 0.95; null where a person accepted it."
    )
    who: str = Field(description="Who accepted it; empty where nobody did.")
    time: datetime | None = Field(description="When it was accepted; null where nobody did.")


class MissingAnswer(Answer):
    """What is missing in one repository."""

    repository: str
    entries: list[MissingEntryAnswer]
    proposed: list[RenameAnswer]
    accepted: list[RenameAnswer]


class RenameRequest(Answer):
    """A rename: the trace `new` continues `old`."""

    old: Id = Field(description="Id of the trace that stopped.")
    new: Id = Field(description="Id of the trace that continues it.")
