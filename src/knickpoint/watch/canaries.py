"""Warn when a machine changed: canaries are benchmarks that no commit should change.

When a canary changes, the test system changed, and findings of other benchmarks at the same commits are in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from knickpoint.detect import judge
from knickpoint.model.change import Change
from knickpoint.model.change_point import ChangePoint
from knickpoint.model.commit import Repository
from knickpoint.model.frame import Trace
from knickpoint.model.judgement import Judgement
from knickpoint.model.query import parse_query
from knickpoint.model.step import Verdict
from knickpoint.store import Store
from knickpoint.watch.lines import Lines

__all__ = ["CanaryWarning", "canary_warnings", "in_doubt"]

_CALM = frozenset({Verdict.UNCHANGED, Verdict.NO_DATA})


@dataclass(frozen=True, slots=True)
class CanaryWarning:
    """A canary that changed at ``slot``: by a step that an alert found, or by its newest value.

    Exactly one of ``point`` and ``judgement`` is given.
    """

    trace: Trace
    line: str
    slot: int
    point: ChangePoint | None = None
    judgement: Judgement | None = None


def canary_warnings(store: Store, repository: Repository, query: str, *, line: str = "") -> list[CanaryWarning]:
    """Return where the traces that ``query`` matches changed, by trace and commit.

    Steps are those that the alerts found. The newest value of each trace is judged against the values
    before it, since no method can find a step there yet.

    Raises:
        QueryError: the query cannot be read.
        HistoryError: there is no such line.
    """
    chosen = store.commits.line(repository, line)
    ids = store.traces.select(repository, parse_query(query))
    points = store.findings.of_traces(ids.tolist())
    warnings: list[CanaryWarning] = []
    for frame in store.frames.blocks(chosen, ids):
        for row, trace in enumerate(frame.traces):
            warnings += [
                CanaryWarning(trace, chosen.name, point.suspect_range.slot, point=point)
                for point in points.get(trace.id, [])
            ]
            values = np.asarray(frame.values[row], dtype=np.float64)
            measured = np.flatnonzero(~np.isnan(values))
            if not measured.size:
                continue
            last = int(measured[-1])
            slot = int(frame.slots[last])
            judgement = judge(values[:last], values[last], better=trace.better)
            known = any(point.suspect_range.slot == slot for point in points.get(trace.id, []))
            if judgement.verdict not in _CALM and not known:
                warnings.append(CanaryWarning(trace, chosen.name, slot, judgement=judgement))
    return warnings


def in_doubt(
    store: Store, repository: Repository, changes: Sequence[Change], warnings: Sequence[CanaryWarning]
) -> dict[int, list[CanaryWarning]]:
    """Return the changes in whose suspect range a canary moved, by id, with the warnings about it.

    A change of canaries alone is not in doubt.
    """
    lines = Lines(store, repository)
    canaries = {warning.trace.id for warning in warnings}
    found: dict[int, list[CanaryWarning]] = {}
    for change in changes:
        interval, positions = lines.interval(change.suspect_range), lines.line(change.suspect_range.line).positions
        nearby = [warning for warning in warnings if interval and positions.get(warning.slot, -1) in interval]
        if nearby and any(member.trace_id not in canaries for member in change.members):
            found[change.id] = nearby
    return found
