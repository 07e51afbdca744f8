"""Everything that is known about one commit: what changed there, verdicts, runs."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.model.step import Verdict
from knickpoint.server.schemas.base import Answer, FiniteOrNull
from knickpoint.server.schemas.changes import ChangeAnswer
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.quarantines import QuarantineAnswer
from knickpoint.server.schemas.traces import TraceAnswer

__all__ = ["CommitReportAnswer", "CommitRunAnswer", "CommitVerdictAnswer"]


class CommitRunAnswer(Answer):
    """One run that measured a commit."""

    identity: str
    source: str
    branch: str
    time: datetime | None = Field(description="When it ran; null where its results do not state it.")
    created: datetime = Field(description="When it was imported.")
    corrections: int = Field(description="How often other content replaced its results.")
    environment: dict[str, str]
    links: dict[str, str]
    revisions: dict[str, str] = Field(description="Commits of other repositories that took part.")
    without_value: int = Field(
        description="Number of its benchmarks that failed or were skipped and were never measured."
    )


class CommitVerdictAnswer(Answer):
    """A newest value of a trace that stands out, measured at the commit: provisional, until later values decide."""

    trace: TraceAnswer
    verdict: Verdict
    value: float
    centre: FiniteOrNull = Field(description="Level of the region before it.")
    low: FiniteOrNull
    high: FiniteOrNull
    relative_size: FiniteOrNull


class CommitReportAnswer(Answer):
    """A commit, and all that is known of it. Lists are cut, each change has its lead alone; the counts are of all."""

    repository: str
    line: str
    commit: CommitAnswer
    previous: CommitAnswer | None = Field(description="The measured commit before it on the line; null without one.")
    next: CommitAnswer | None
    compare: str = Field(
        description="Page of the repository that compares `previous` with the commit; empty if unknown."
    )
    points: int = Field(description="Number of values that its runs gave.")
    runs_total: int
    runs: list[CommitRunAnswer]
    changes_total: int
    changes: list[ChangeAnswer] = Field(description="Changes that begin here, decided about or not.")
    around_total: int
    around: list[ChangeAnswer] = Field(description="Those that may have begun here, as not every commit was measured.")
    verdicts_total: int
    verdicts: list[CommitVerdictAnswer] = Field(description="Newest values that stand out, the largest first.")
    quarantines: list[QuarantineAnswer]
