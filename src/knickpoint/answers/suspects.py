"""The suspects of a change as the store has them; nothing is ranked while a request waits."""

from __future__ import annotations

from pydantic import Field

from knickpoint.answers.base import Answer, ChangeId
from knickpoint.answers.commits import CommitAnswer
from knickpoint.answers.members import commit_at
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.model.suspects import SuspectFacts
from knickpoint.watch.lines import RangeReader

# The suspects of a change.


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


# Build the answer about the suspects of a change, as they are stored: nothing is ranked while someone reads.


def list_suspects(visible: VisibleRepositories, change: int) -> SuspectsAnswer:
    """List the suspects of a change, the most likely first.

    Raises:
        UnknownError: there is no such change.
    """
    repository = visible.of_change(change)
    found = visible.store.findings.suspects.get(change)
    if found is None:
        return SuspectsAnswer(change=change, ranked=False, none=None, facts=None, note="", machine="", suspects=[])
    reader = RangeReader(visible.store, repository)
    reader.load(slots=[suspect.slot for suspect in found.suspects])
    suspects = [
        SuspectAnswer.of(each, rank=rank, commit=commit_at(reader, found.suspect_range.line, each.slot))
        for rank, each in enumerate(found.suspects, 1)
    ]
    return SuspectsAnswer.of(found, change=change, ranked=True, suspects=suspects)
