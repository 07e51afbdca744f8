"""Build the answer about one trace: its stable regions, and the changes between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.steps import stable_region
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint, Condition
from knickpoint.model.commit import Line
from knickpoint.model.summary import MEDIAN, read_summary
from knickpoint.server.answers.changes import statement_answers
from knickpoint.server.answers.members import member_answers
from knickpoint.server.answers.traces import trace_answer
from knickpoint.server.schemas.change_points import ChangePointsAnswer, NewestAnswer, RegionAnswer, SummaryAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store
from knickpoint.watch.detection.commit_values import read_summaries
from knickpoint.watch.finding_notes import finding_note, summary_name

__all__ = ["read_change_points", "split_regions"]


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
    """Return where regions begin at a change: at its commit, and behind the last one of a drift."""
    behind = [] if point.until is None else [line.positions.get(point.until, -1) + 1]
    return [line.positions[point.suspect_range.slot], *behind]


_Alerts = Mapping[int, Sequence[Alert]]
"""Change → the alerts that are about it."""


def _notes(points: Sequence[ChangePoint], alerts: _Alerts, line: Line, values: NDArray[np.float64]) -> dict[int, str]:
    """Return what the levels of ``points`` do not say, by id."""
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
