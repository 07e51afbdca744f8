"""Judge one trace as a run of an alert does, and keep what the method rejected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import explain, explain_jointly, find_steps_many, judges_groups
from knickpoint.detect.samples import CommitValues, with_sample_facts
from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.settlement import Settlement
from knickpoint.model.step import Detection, Step
from knickpoint.store import Store
from knickpoint.watch.detection.alert_groups import watched_traces, whole_groups
from knickpoint.watch.detection.alert_window import blank_before_window, known_columns, window_columns
from knickpoint.watch.detection.clusters import prepare_group
from knickpoint.watch.detection.commit_values import read_commit_values, with_commit_values
from knickpoint.watch.detection.method_parameters import method_parameters
from knickpoint.watch.detection.settlement import settle_by_count, settle_steps

__all__ = ["JudgedTrace", "judge_trace"]


@dataclass(frozen=True, slots=True)
class JudgedTrace:
    """A trace as an alert judged it: its ``frame`` of one row, and the ``values`` of it that the method got.

    ``points`` are the stored values, which differ from those of the frame where ``commits`` has values made of samples.
    The alert reports what lies after the column ``reported``. ``settlements`` says which of the steps are settled.
    """

    frame: Frame
    points: NDArray[np.floating[Any]]
    values: NDArray[np.float64]
    reported: int
    detection: Detection
    settlements: Sequence[Settlement]
    commits: CommitValues | None = None


def judge_trace(store: Store, alert: Alert, line: Line, trace: Trace) -> JudgedTrace:
    """Judge ``trace`` with ``alert``, by itself or with the other traces of its group, as the method does.

    The method makes no clusters: what those say of a trace is what the last run kept.
    """
    return (_judge_in_group if judges_groups(alert.method) else _judge_alone)(store, alert, line, trace)


def _judge_alone(store: Store, alert: Alert, line: Line, trace: Trace) -> JudgedTrace:
    frame = store.frames.read(line, [trace.id])
    known = known_columns(store, alert, line, [trace.id], first=frame.first)
    window = window_columns(~np.isnan(frame.values), alert.window, [known.get(trace.id, ())])
    commits = read_commit_values(store, alert, frame)
    judged = replace(frame, values=with_commit_values(frame, commits))
    values = np.asarray(blank_before_window(judged.values, window)[0], dtype=np.float64)
    detection = explain(values, method=alert.method, **method_parameters(alert))
    if commits:
        detection = with_sample_facts(detection, commits[0])

    def detect(views: NDArray[np.floating[Any]]) -> list[list[Step]]:
        return find_steps_many(views, method=alert.method, threads=1, **method_parameters(alert))

    (settlements,) = settle_steps(values[None, :], [detection.steps], detect, alert.settle_rule)
    return JudgedTrace(judged, frame.values[0], values, int(window.reported[0]), detection, settlements, commits.get(0))


def _judge_in_group(store: Store, alert: Alert, line: Line, trace: Trace) -> JudgedTrace:
    watched = watched_traces(store, alert, line.repository)
    continued = [rename.old for rename in store.traces.renames.all(line.repository)]
    together = whole_groups(store, alert, np.setdiff1d(watched, continued), np.array([trace.id], dtype=np.int64))
    group = prepare_group(store, alert, line, together.tolist() or [trace.id])
    row = [each.id for each in group.frame.traces].index(trace.id)
    detection = explain_jointly(group.values, group.keys, method=alert.method, **method_parameters(alert))[row]
    values = np.asarray(group.values[row], dtype=np.float64)
    settlements = settle_by_count(values, detection.steps, alert.settle_rule)
    frame = replace(group.frame, traces=[trace], values=group.frame.values[row : row + 1])
    return JudgedTrace(frame, frame.values[0], values, int(group.window.reported[row]), detection, settlements)
