"""The comparison of two commits, or of results files that are sent."""

from __future__ import annotations

from pydantic import Field

from knickpoint.model.step import Verdict
from knickpoint.model.unit import Better
from knickpoint.server.schemas.base import Answer, FiniteOrNull
from knickpoint.server.schemas.commits import CommitAnswer

__all__ = ["ComparedSuiteAnswer", "ComparisonAnswer", "ComparisonSideAnswer", "JudgedBenchmarkAnswer"]


class ComparisonSideAnswer(Answer):
    """One of the two sides: a commit of a line, or a results file that was sent."""

    line: str = ""
    commit: CommitAnswer | None = None
    file: str = Field(default="", description="Name of the results file.")
    runs: int = Field(default=0, description="Runs that the results file has.")


class JudgedBenchmarkAnswer(Answer):
    """The verdict on one benchmark, with the names that `knick check --format json` has. Numbers that are not known are null."""

    trace_id: int | None = Field(description="Null where the history does not know the trace.")
    trace: str = Field(description="Key of the trace.")
    benchmark: str
    params: dict[str, str]
    suite: str = Field(description="Its value of `by`, empty without one.")
    unit: str
    better: Better
    verdict: Verdict
    conditional: bool = Field(description="Whether the verdict rests on too little: measure again to confirm.")
    reason: str
    decides: bool = Field(description="False for a statistic beside the main value of its benchmark, and for a canary.")
    canary: bool = Field(description="Whether no commit should change it.")
    accepted: str | None = Field(description="The reason for which a commit accepts that it is worse.")
    fails: bool = Field(description="Whether it regressed, and nothing accepts it.")
    before: FiniteOrNull = Field(description="The level up to the base.")
    after: FiniteOrNull = Field(description="The median of the new values.")
    relative_size: FiniteOrNull = Field(description="Relative change: 0.02 is 2 %.")
    low: FiniteOrNull = Field(description="Lower end of the 95 % interval of the change.")
    high: FiniteOrNull
    detectable: FiniteOrNull = Field(
        description="The smallest relative change that four of five comparisons would show."
    )
    p_value: FiniteOrNull
    samples: int = Field(description="New values that the verdict rests on.")
    past: list[float] = Field(description="The newest values up to the base, oldest first.")
    new: list[float] = Field(description="The values that stand for the head.")


class ComparedSuiteAnswer(Answer):
    """The sum of one suite: traces with one value of a param."""

    name: str
    counts: dict[Verdict, int] = Field(description="Verdicts on the traces that decide, listed or not.")


class ComparisonAnswer(Answer):
    """Two sides, and the verdicts on the traces of a query, worst first."""

    repository: str
    base: ComparisonSideAnswer
    head: ComparisonSideAnswer
    query: str
    summary: str = Field(description="What of the samples of a run is compared.")
    by_samples: bool = Field(
        default=False,
        description="Whether samples of a base file stand for its runs, which are too few: changes are conditional.",
    )
    warnings: list[str] = Field(
        default=[],
        description="What to know beside the verdicts: canaries that moved, and what is odd in results files.",
    )
    selected: int = Field(description="Traces of the query.")
    compared: int = Field(description="Those with a value on either side.")
    counts: dict[Verdict, int] = Field(description="Verdicts on the traces that decide.")
    false_positives: float = Field(
        description="Share of unchanged commits at which any of the traces regresses by its values."
    )
    replayed: int = Field(description="Past commits that the bars come from.")
    total: int = Field(description="Traces that the list has in all.")
    by: str = Field(description="The param that parts the list into suites, empty for one list.")
    suites: list[ComparedSuiteAnswer] = Field(description="The suites, that with the worst trace first.")
    traces: list[JudgedBenchmarkAnswer]
