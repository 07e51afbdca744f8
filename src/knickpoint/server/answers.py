"""Give the answers of the API their shapes: what a script, and the dashboard, can rely on."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from knickpoint.ingest.outcome import ImportState
from knickpoint.model.regression import Condition, Direction, Status
from knickpoint.model.report import Outcome
from knickpoint.model.step import Movement
from knickpoint.model.unit import Better

__all__ = [
    "Answer",
    "ArrivalsAnswer",
    "CandidateAnswer",
    "ChangesAnswer",
    "CheckAnswer",
    "CommitAnswer",
    "CommitsAnswer",
    "EnvironmentAnswer",
    "ErrorAnswer",
    "ExplanationAnswer",
    "FacetAnswer",
    "FacetsAnswer",
    "FactAnswer",
    "FormulaAnswer",
    "FormulaTraceAnswer",
    "GroupAnswer",
    "HistoryAnswer",
    "Id",
    "LevelAnswer",
    "LineAnswer",
    "MemberAnswer",
    "NeverMeasuredAnswer",
    "PlaceAnswer",
    "RegionAnswer",
    "RegressionsAnswer",
    "RepositoryAnswer",
    "RunAnswer",
    "ShortcutAnswer",
    "ShortcutIdAnswer",
    "ShortcutRequest",
    "SparklineAnswer",
    "TraceAnswer",
    "TracesAnswer",
    "UploadAnswer",
    "ValueCountAnswer",
    "VersionAnswer",
    "WithoutValueAnswer",
]


Id = Annotated[int, Field(ge=0, le=2**53)]


class Answer(BaseModel):
    """Be the root of all shapes; what is not named in a request is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ErrorAnswer(Answer):
    """Every error of the API: what was wrong, where, and what to do."""

    error: str
    where: str = ""
    remedy: str = ""


class VersionAnswer(Answer):
    """Name and version of the program, and the version of this API."""

    name: str
    version: str
    api: str


class RepositoryAnswer(Answer):
    """A repository of the instance."""

    name: str
    location: str = Field(description="Path or URL of the git repository, empty where commits come from results only.")
    lines: list[str] = Field(description="Names of its lines, the default line first.")
    commits: int = Field(description="Number of commits on the default line.")
    traces: int


class LineAnswer(Answer):
    """One branch by first parent."""

    name: str
    base: str = Field(description="The line it left, empty for a base line.")
    commits: int


class CommitAnswer(Answer):
    """A commit, and its place on the line that was asked for."""

    hash: str
    short: str
    author: str
    email: str
    time: datetime | None = Field(description="null where the source does not say.")
    subject: str
    url: str
    position: int | None = Field(description="0-based position on the line, null where the line does not have it.")


class CommitsAnswer(Answer):
    """Consecutive commits of a line, oldest first."""

    repository: str
    line: str
    total: int = Field(description="Number of commits on the line.")
    first: int = Field(description="Position of the first commit of this answer.")
    commits: list[CommitAnswer]


class TraceAnswer(Answer):
    """A trace: what names a series, and its unit."""

    id: int
    repository: str
    key: str
    params: dict[str, str]
    unit: str
    dimension: str
    better: Better


class TracesAnswer(Answer):
    """One page of the traces that match a query."""

    total: int
    offset: int
    traces: list[TraceAnswer]


class ValueCountAnswer(Answer):
    """A value of a param, and how many of the matching traces have it."""

    value: str
    count: int


class FacetAnswer(Answer):
    """A param, with the values that occur among the matching traces, most frequent first."""

    name: str
    distinct: int = Field(description="How many values there are; `values` may be cut.")
    values: list[ValueCountAnswer]


class FacetsAnswer(Answer):
    """What the matching traces are made of."""

    total: int = Field(description="Number of matching traces.")
    facets: list[FacetAnswer]


class LevelAnswer(Answer):
    """The values of one level, in the unit of the trace."""

    count: int
    minimum: float
    maximum: float
    median: float
    mean: float
    variance: float


class PlaceAnswer(Answer):
    """A suspect range: the change lies in (previous, position]."""

    line: str
    previous: int | None = Field(description="Position of the last measured commit before the change.")
    position: int | None = Field(description="Position of the first measured commit at the new level.")
    suspects: int = Field(description="Number of commits in the range; 1 when the commit before was measured too.")
    previous_hash: str


class SparklineAnswer(Answer):
    """Measured values around a change, for a small drawing."""

    values: list[float]
    begin: int = Field(description="Index of the first value of the level before the change.")
    split: int = Field(description="Index of the first value at the new level.")
    end: int = Field(description="Index of the first value after the new level, where a later change ends it.")


class MemberAnswer(Answer):
    """A change point: a step of one trace, with what was decided about it."""

    id: int
    regression: int
    trace: TraceAnswer
    place: PlaceAnswer
    commit: CommitAnswer
    movement: Movement
    direction: Direction
    before_level: float = Field(description="Median of the at most 20 values before the change.")
    after_level: float = Field(description="Median of the at most 20 values from the change on.")
    deviation: float | None = Field(description="Robust standard deviation of single values around these levels.")
    size: float = Field(description="Level after minus level before, in the unit of the trace.")
    relative_size: float | None = Field(description="size / |level before|; null where the level before is 0.")
    hazard: float | None = Field(description="log(mean before / mean after); null where a mean is not positive.")
    before: LevelAnswer
    after: LevelAnswer
    score: float | None
    p_value: float | None
    method: str
    alerts: list[str]
    condition: Condition
    history: bool = Field(description="Whether its regression lies at or before the history boundary: no work.")
    status: Status = Field(description="What was decided; `ticket` where nothing was and a matching ticket covers it.")
    note: str
    ticket: str
    matched_ticket: str = Field(description="A ticket that covers this place without anybody having said so.")
    assignee: str
    sparkline: SparklineAnswer | None = None


class GroupAnswer(Answer):
    """A regression: the findings at one commit."""

    id: int
    repository: str
    place: PlaceAnswer = Field(description="The suspect range that the members share.")
    commit: CommitAnswer
    history: bool = Field(description="Whether it lies at or before the history boundary of its repository: no work.")
    hazard: float | None = Field(description="The hazard level of largest magnitude among the members.")
    lead: int = Field(
        description="Id of the member that speaks for all, the first: the unprocessed one that got worse most; where "
        "none got worse, the largest change of unknown direction, else the largest improvement."
    )
    traces: int = Field(description="How many of its traces match the filter.")
    directions: dict[Direction, int] = Field(description="How many of those that match, by direction.")
    statuses: dict[Status, int] = Field(
        description="How many of all its traces, by status; what is gone counts only where it was asked for."
    )
    members: list[MemberAnswer] = Field(
        description="The lead first; at most as many as `members` in the request. `/api/v1/members` has the others."
    )


class RegressionsAnswer(Answer):
    """One page of findings, grouped by commit."""

    page: int
    pages: int
    gone: int = Field(description="Number of groups with findings that later data no longer show.")
    groups_total: int = Field(description="Number of groups that match the filter.")
    unprocessed: int = Field(
        description="Number of groups with unprocessed findings that match the filter, those that are history apart."
    )
    history: int = Field(description="Number of groups with unprocessed findings of history that match the filter.")
    processed: int = Field(description="Number of groups with processed findings that match the filter.")
    groups: list[GroupAnswer]


class HistoryAnswer(Answer):
    """Up to which commit the findings of a repository are history, and how many lie on either side."""

    repository: str
    line: str = Field(description="The default line; on other lines the boundary may lie elsewhere.")
    commit: CommitAnswer | None = Field(description="The last commit that is history; null where nothing is.")
    changed: datetime | None = Field(description="When the boundary was set; null before the first run.")
    who: str = Field(description="Who moved it; empty where the first run set it.")
    history: int = Field(description="Number of findings, traces at places, that are history.")
    work: int = Field(description="Number of findings that are work.")
    history_regressions: int
    work_regressions: int


class RegionAnswer(LevelAnswer):
    """A stable region: a level between two changes, by the positions where it begins and ends."""

    first: int
    last: int


class ChangesAnswer(Answer):
    """The levels of a trace and the changes between them, by positions on a line."""

    trace: TraceAnswer
    line: str
    commits: int = Field(description="Number of commits on the line.")
    measured: int = Field(description="Number of commits with a value.")
    first: int | None = Field(description="Position of the first value.")
    last: int | None = Field(description="Position of the last value.")
    regions: list[RegionAnswer]
    changes: list[MemberAnswer]
    gone: list[MemberAnswer] = Field(description="Changes that later data no longer show; they part no levels.")


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


class FactAnswer(Answer):
    """A fact of an environment that is not what it was."""

    name: str
    before: str
    after: str


class EnvironmentAnswer(Answer):
    """A change of environment between two measured commits next to each other."""

    previous: int = Field(description="Position of the last commit measured in the old environment.")
    position: int = Field(description="Position of the first commit measured in the new one.")
    commit: CommitAnswer
    facts: list[FactAnswer]


class FormulaTraceAnswer(Answer):
    """A calculated trace."""

    id: str = Field(description="A trace key, or a formula behind an @.")
    trace: int | None = Field(description="Id of the one trace that it was calculated from, null where several.")
    unit: str = Field(description="Empty where the formula makes a number of another kind.")
    measured: int = Field(description="Number of values; more than are told where they were thinned out.")
    positions: list[int]
    values: list[float]


class FormulaAnswer(Answer):
    """What a formula gives."""

    line: str
    commits: int = Field(description="Number of commits on the line.")
    total: int = Field(description="Number of traces; more than are told where there are many.")
    traces: list[FormulaTraceAnswer]


class ShortcutRequest(Answer):
    """A set of traces and formulas to keep under a short id."""

    keys: list[str] = Field(default_factory=list, max_length=10_000, description="Trace keys.")
    formulas: list[str] = Field(default_factory=list, max_length=100)


class ShortcutIdAnswer(Answer):
    """A short id."""

    id: str


class ShortcutAnswer(Answer):
    """What a short id stands for."""

    id: str
    keys: list[str]
    formulas: list[str]
    traces: list[TraceAnswer] = Field(description="Those of the keys that the repository has.")


class RunAnswer(Answer):
    """One run that has a value for a trace at a commit."""

    identity: str
    source: str
    time: datetime | None
    outcome: Outcome
    value: float | None = Field(description="Median of the samples in the unit of the trace; null unless measured.")
    unit: str = Field(description="The unit of the samples, as they came.")
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
    """A benchmark without a trace: it only failed or was skipped."""

    params: dict[str, str]
    outcome: Outcome
    message: str
    commit: str = Field(description="Hash of the commit of the newest run that says so.")
    time: datetime
    source: str
    runs: int = Field(description="How many of the newest runs say so.")


class UploadAnswer(Answer):
    """What became of an uploaded results file."""

    outcome: ImportState
    repository: str
    format: str
    new: int = Field(description="Runs that were new.")
    same: int = Field(description="Runs that were in already.")
    corrected: int
    rerun: int
    waiting: int = Field(description="Runs whose commits nobody knows yet; they come in once somebody does.")
    points: int
    new_traces: int
    lines: list[str] = Field(description="The same in words, one line for each fact.")


class ArrivalsAnswer(Answer):
    """What became of the files that a notification named."""

    files: list[UploadAnswer] = Field(description="Those that belong to a source and are still there.")
