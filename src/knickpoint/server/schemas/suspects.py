"""The suspects of a change."""

from __future__ import annotations

from pydantic import Field

from knickpoint.model.suspects import SuspectFacts
from knickpoint.server.schemas.base import Answer, ChangeId
from knickpoint.server.schemas.commits import CommitAnswer

__all__ = ["SuspectAnswer", "SuspectsAnswer"]


class SuspectAnswer(Answer):
    """A commit that may have caused a change."""

    rank: int = Field(description="Place in the list, 1 for the most likely.")
    commit: CommitAnswer
    probability: float = Field(description="Probability that it is the cause, before any commit is measured again.")
    reasons: list[str] = Field(description="What speaks for or against it, in words, the most important first.")


class SuspectsAnswer(Answer):
    """The commits that may have caused a change, the most likely first."""

    change: ChangeId
    ranked: bool = Field(
        description="False before the worker ranks them: the change is new, or its suspect range moved."
    )
    none: float | None = Field(description="Probability that no commit of the list is the cause; null if not ranked.")
    facts: SuspectFacts | None = Field(
        description="`git`: the ranking knows the touched files; `results`: it does not, and places alone decide."
    )
    note: str = Field(description="What limits the ranking, empty if nothing does.")
    machine: str = Field(description="What changed about the machine at the step, empty if nothing did.")
    suspects: list[SuspectAnswer]
