"""Build the answer about the patterns of a trace: its drifts, and the stretches in which it flips between levels."""

from __future__ import annotations

from dataclasses import replace

from knickpoint.instance import Instance
from knickpoint.model.change_point import ChangePoint, Condition
from knickpoint.model.commit import Line
from knickpoint.model.params import decode_key
from knickpoint.model.query import parse_query
from knickpoint.server.answers.alerts import visible_alerts
from knickpoint.server.answers.explanations import flipping_answer
from knickpoint.server.schemas.patterns import DriftAnswer, PatternsAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.watch.explanation import explain_trace
from knickpoint.watch.lines import Lines

__all__ = ["read_patterns"]


def read_patterns(instance: Instance, visible: VisibleRepositories, key: int, line_name: str) -> PatternsAnswer:
    """Return the patterns of the trace ``key`` on a line, as the first alert sees them that watches it.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line.
    """
    store = instance.store
    repository, trace = visible.trace(key)
    line = store.commits.line(repository, line_name)
    lines = Lines(store, repository)
    points = [
        replace(point, suspect_range=lines.current(point.suspect_range)) for point in store.findings.change_points(key)
    ]
    drifts = [drift for point in points if (drift := _drift(point, line)) is not None]
    params = decode_key(trace.key)
    # One alert after the other: each detects by itself, and the first one that does is enough.
    explained = next(
        (
            each
            for alert in sorted(visible_alerts(instance, visible), key=lambda alert: alert.name)
            if parse_query(alert.query).matches(params)
            for each in explain_trace(store, key, [replace(alert, line=line_name or alert.line)]).alerts
            if not each.reason
        ),
        None,
    )
    return PatternsAnswer(
        drifts=sorted(drifts, key=lambda drift: drift.first),
        flipping=[flipping_answer(each, line) for each in explained.flipping] if explained else [],
    )


def _drift(point: ChangePoint, line: Line) -> DriftAnswer | None:
    """Return a change point as a drift on ``line``, None where it is none, or is gone or elsewhere."""
    suspects = point.suspect_range.on(line)
    last = None if point.until is None else line.positions.get(point.until)
    if point.condition is Condition.GONE or suspects is None or last is None:
        return None
    numbers = point.numbers
    return DriftAnswer(
        finding=point.id,
        first=suspects.previous,
        last=last,
        before=numbers.before_level,
        after=numbers.after_level,
        low=numbers.low,
        high=numbers.high,
    )
