"""The stable regions of one trace, and the changes between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from knickpoint.answers.base import Answer, ChangeId, ChangePointId, FiniteOrNull
from knickpoint.answers.changes import StatementAnswer, statement_answers
from knickpoint.answers.members import ChangePointAnswer, LevelAnswer, member_answers
from knickpoint.answers.traces import TraceAnswer, trace_answer
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.detect.steps import stable_region
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint, Condition
from knickpoint.model.commit import Line
from knickpoint.model.step import Verdict
from knickpoint.model.summary import MEDIAN, read_summary
from knickpoint.store import Store
from knickpoint.watch.detection.commit_values import read_summaries
from knickpoint.watch.trend import finding_note, summary_name


class RegionAnswer(LevelAnswer):
    """A stable region: a level between two changes, with the positions of its first and last value."""

    first: int
    last: int
    low: float = Field(description="Quantile 0.1 of its values.")
    high: float = Field(description="Quantile 0.9 of its values.")


class SummaryAnswer(Answer):
    """What of the samples of each run some changes of a trace were found in, and the stable regions of that."""

    summary: str = Field(description="As `p99`; `GET /values` with it has the values.")
    change_points: list[ChangePointId] = Field(description="Ids of these changes, those that are gone included.")
    regions: list[RegionAnswer]


class NewestAnswer(Answer):
    """The newest value of a trace, which does not belong to the level before it: a first, provisional sign."""

    position: int | None = Field(description="Position of its commit.")
    verdict: Verdict = Field(description="`regressed` or `improved`; it rests on one value.")
    value: float
    centre: float = Field(description="The level before.")
    low: float = Field(description="Values from here to `high` are within the noise of that level.")
    high: float
    relative_size: FiniteOrNull = Field(description="(value - centre) / |centre|; null where that is 0.")
    p_value: FiniteOrNull


class ChangePointsAnswer(Answer):
    """The stable regions of a trace and the changes between them, by positions on a line."""

    trace: TraceAnswer
    line: str
    commits: int = Field(description="Number of commits on the line.")
    measured: int = Field(description="Number of commits with a value.")
    first: int | None = Field(description="Position of the first value.")
    last: int | None = Field(description="Position of the last value.")
    regions: list[RegionAnswer] = Field(description="The stable regions of the values, which are medians.")
    summaries: list[SummaryAnswer] = Field(description="Where changes were found in something else than medians.")
    change_points: list[ChangePointAnswer]
    notes: dict[ChangePointId, str] = Field(
        description="By the id of a change point: which number of the samples its levels are, or how the distribution "
        "changed; only where the levels do not say it."
    )
    newest: NewestAnswer | None = Field(description="null where the newest value belongs to the level before it.")
    gone: list[ChangePointAnswer] = Field(description="Changes that later data no longer show; no region ends there.")
    statements: dict[ChangeId, StatementAnswer] = Field(
        description="By `change` of the findings: what the change that they belong to is."
    )


# Build the answer about one trace: its stable regions, and the changes between them.


def split_regions(values: NDArray[np.float64], starts: Sequence[int]) -> list[RegionAnswer]:
    """Describe the regions of ``values`` that begin at the positions ``starts``; those without a value are left out."""
    bounds = [0, *sorted({start for start in starts if 0 < start < len(values)}), len(values)]
    return [_region(values, begin, end) for begin, end in pairwise(bounds) if not np.isnan(values[begin:end]).all()]


def _region(values: NDArray[np.float64], begin: int, end: int) -> RegionAnswer:
    part = values[begin:end]
    # "closest_observation" adds no values, so that those near the largest double do not overflow.
    low, high = np.quantile(part[~np.isnan(part)], [0.1, 0.9], method="closest_observation")
    return RegionAnswer.of(stable_region(values, begin, end - 1), low=float(low), high=float(high))


def _starts(point: ChangePoint, line: Line) -> list[int]:
    """Return the indices where regions begin at a change: at its commit, and behind the last one of a drift."""
    behind = [] if point.until is None else [line.positions.get(point.until, -1) + 1]
    return [line.positions[point.suspect_range.slot], *behind]


_Alerts = Mapping[int, Sequence[Alert]]
"""Change → the alerts that are about it."""


def _notes(points: Sequence[ChangePoint], alerts: _Alerts, line: Line, values: NDArray[np.float64]) -> dict[int, str]:
    """Return notes on the levels of ``points``, by id."""
    notes = {point.id: finding_note(point, alerts.get(point.change_id, ()), line, values) for point in points}
    return {key: note for key, note in notes.items() if note}


def _by_summary(points: Sequence[ChangePoint], alerts: _Alerts) -> dict[str, list[ChangePoint]]:
    """Return the points by what of the samples they were found in, "" for the median."""
    found: dict[str, list[ChangePoint]] = {"": []}
    for point in points:
        judged = [alert for alert in alerts.get(point.change_id, ()) if alert.name in point.alerts]
        name = summary_name(judged)
        found.setdefault("" if name == MEDIAN.name else name, []).append(point)
    return found


def _summary_answer(store: Store, line: Line, key: int, name: str, points: Sequence[ChangePoint]) -> SummaryAnswer:
    """Return the changes that were found in one number of the samples, and the stable regions of that number."""
    values = read_summaries(store, store.frames.read(line, [key]), read_summary(name))[0]
    return SummaryAnswer(
        summary=name,
        change_points=[point.id for point in points],
        regions=split_regions(values, _all_starts(points, line)),
    )


def _all_starts(points: Sequence[ChangePoint], line: Line) -> list[int]:
    return [start for point in points if point.condition is not Condition.GONE for start in _starts(point, line)]


def _newest(store: Store, line: Line, key: int) -> NewestAnswer | None:
    """Return the verdict on the newest value of the trace ``key``; it is about the default line."""
    verdict = store.findings.newest.get([key]).get(key)
    if verdict is None or verdict.slot not in line.positions:
        return None
    return NewestAnswer.of(verdict, position=line.positions[verdict.slot])


def read_change_points(visible: VisibleRepositories, key: int, line_name: str) -> ChangePointsAnswer:
    """Return the stable regions of the trace ``key`` on a line, and the changes between them.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line.
    """
    store = visible.store
    repository, trace = visible.trace(key)
    line = store.commits.line(repository, line_name)
    values = np.asarray(store.frames.values(line, [key])[0], dtype=np.float64)
    measured = np.flatnonzero(~np.isnan(values))
    known = [
        point for point in store.findings.change_points(key, gone=True) if point.suspect_range.slot in line.positions
    ]
    points = [point for point in known if point.condition is not Condition.GONE]
    gone = [point for point in known if point.condition is Condition.GONE]
    alerts = store.findings.alerts_of_changes({point.change_id for point in known if point.change_id})
    lines = {point.change_id: point.suspect_range.line for point in known if point.change_id}
    medians, *summaries = _by_summary(known, alerts).items()
    return ChangePointsAnswer(
        trace=trace_answer(trace, repository.name),
        line=line.name,
        commits=len(line.slots),
        measured=len(measured),
        first=int(measured[0]) if len(measured) else None,
        last=int(measured[-1]) if len(measured) else None,
        regions=split_regions(values, _all_starts(medians[1], line)),
        summaries=[_summary_answer(store, line, key, name, found) for name, found in summaries],
        change_points=member_answers(store, repository, points),
        notes=_notes(points, alerts, line, values),
        newest=_newest(store, line, key),
        gone=member_answers(store, repository, gone),
        statements=statement_answers(store, repository, lines),
    )
