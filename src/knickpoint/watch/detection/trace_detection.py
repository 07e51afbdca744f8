"""Detect with one alert: read values in blocks, run the method on each trace, and describe what it found.

Blocks of values go to the runner in shards, which other processes or machines may work on. Methods that judge groups
get whole groups instead (:mod:`knickpoint.watch.detection.clusters`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_steps_many, judges_groups
from knickpoint.detect.samples import CommitValues
from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.regression import Sighting
from knickpoint.model.settlement import Settlement, SettleRule
from knickpoint.model.step import Step
from knickpoint.store import Store
from knickpoint.watch.detection.alert_filter import Filter
from knickpoint.watch.detection.alert_window import (
    WindowColumns,
    blank_before_window,
    known_columns,
    window_columns,
)
from knickpoint.watch.detection.clusters import GroupClusters, GroupDetection, detect_groups
from knickpoint.watch.detection.commit_values import (
    block_bytes,
    read_commit_values,
    sample_digests,
    with_commit_values,
)
from knickpoint.watch.detection.digests import Digester, content_digests, group_digest
from knickpoint.watch.detection.method_parameters import method_parameters
from knickpoint.watch.detection.settlement import settle_by_count, settle_steps
from knickpoint.watch.detection.sightings import sightings_of
from knickpoint.watch.lines import Lines
from knickpoint.work import Runner

__all__ = [
    "SettledSteps",
    "Shard",
    "SharedDetection",
    "TraceDetection",
    "detect_shard",
    "detect_traces",
    "detection_key",
]

_BLOCK_BYTES: Final = 256 * 2**20

_SHARD: Final = 256
"""Traces sent to another process or machine at a time."""


@dataclass(frozen=True, slots=True)
class TraceDetection:
    """What one alert found in one trace.

    ``measured`` are the positions on the line at which the trace has a value, ascending. The alert reports sightings
    after the position ``reported_after``; those up to there only show which known ones are still found (see
    :mod:`knickpoint.watch.detection.alert_window`). ``digest`` stands for everything that the result depends on (see
    :mod:`knickpoint.watch.detection.digests`). ``group`` has the clusters of the whole group, in its first trace, where the
    method judges traces together. ``left_out`` has the filter of the alert for each step that it does not report.
    """

    trace: Trace
    measured: NDArray[np.int64]
    reported_after: int
    sightings: tuple[Sighting, ...]
    digest: int
    group: GroupClusters | None = None
    left_out: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class SharedDetection:
    """What alerts that detect alike find in one trace.

    ``detection`` is that of the first alert, ``digests`` has one number for each alert.
    """

    detection: TraceDetection
    digests: tuple[int, ...]

    def of_alert(self, name: str, place: int) -> TraceDetection:
        """Return what the alert ``name``, the one at ``place`` among them, finds."""
        if not place:
            return self.detection
        found = tuple(replace(sighting, alert=name) for sighting in self.detection.sightings)
        return replace(self.detection, sightings=found, digest=self.digests[place])


@dataclass(frozen=True, slots=True)
class Shard:
    """Values of some traces, and how to judge them; it can be sent to another process."""

    values: NDArray[np.floating[Any]]
    method: str
    parameters: Mapping[str, float | int | str | bool]
    threads: int | None
    rule: SettleRule


@dataclass(frozen=True, slots=True)
class SettledSteps:
    """The steps of one trace, and for each of them whether it is settled."""

    steps: Sequence[Step]
    settlements: Sequence[Settlement]


def detect_shard(shard: Shard) -> list[SettledSteps]:
    """Return the steps of each trace of ``shard``, and which of them are settled."""
    if not shard.values.shape[1]:
        return [SettledSteps((), ()) for _ in shard.values]

    def detect(values: NDArray[np.floating[Any]]) -> list[list[Step]]:
        return find_steps_many(values, method=shard.method, threads=shard.threads, **shard.parameters)

    steps = detect(shard.values)
    settlements = settle_steps(shard.values, steps, detect, shard.rule)
    return [SettledSteps(*pair) for pair in zip(steps, settlements, strict=True)]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of a frame, from ``first`` on, with the window of the alert in them.

    The values of ``frame`` are those that the alert judges; ``points`` are the stored ones of these rows, and ``commits`` has
    what the samples of rows say, by their number from ``first``.
    """

    frame: Frame
    first: int
    points: NDArray[np.floating[Any]]
    window: WindowColumns
    commits: Mapping[int, CommitValues]

    @property
    def values(self) -> NDArray[np.floating[Any]]:
        return self.frame.values[self.first : self.first + len(self.points)]

    @property
    def traces(self) -> Sequence[Trace]:
        return self.frame.traces[self.first : self.first + len(self.points)]


@dataclass(frozen=True, slots=True)
class _Context:
    """The alerts that share a detection, and the line that they detect on; the first alert says how."""

    store: Store
    alerts: Sequence[Alert]
    line: Line
    lines: Lines
    digesters: Sequence[Digester]

    @property
    def alert(self) -> Alert:
        return self.alerts[0]


def detection_key(alert: Alert) -> Hashable:
    """Return what says how ``alert`` detects: alerts on one line with equal keys find the same steps in a trace.

    Alerts that judge groups, and alerts with a window, which depends on what they know, share with no other.
    """
    if judges_groups(alert.method) or alert.window:
        return alert.name
    return (alert.method, tuple(sorted(method_parameters(alert).items())), alert.settle_rule, alert.samples)


def detect_traces(
    store: Store, alerts: Sequence[Alert], line: Line, trace_ids: NDArray[np.int64], *, lines: Lines, runner: Runner
) -> Iterator[SharedDetection]:
    """Yield what each of ``alerts`` finds in each of ``trace_ids``, before its filters; nothing is written.

    The alerts have one :func:`detection_key`, so that one detection serves all of them. Traces come in their order, those
    of methods that judge groups in the order of the groups. Errors are those of
    :func:`knickpoint.detect.find_steps_many`.
    """
    context = _Context(store, alerts, line, lines, [Digester(alert, line, lines) for alert in alerts])
    alert = context.alert
    if judges_groups(alert.method):
        for group in detect_groups(store, alert, line, trace_ids):
            rows = _Rows(group.frame, 0, group.frame.values, group.window, {})
            settled = [
                SettledSteps(steps, settle_by_count(values, steps, alert.settle_rule) if steps else ())
                for values, steps in zip(group.frame.values, group.steps, strict=True)
            ]
            described = _described(context, rows, settled, [_digests_of_group(context, group)])
            first = next(described)
            yield replace(first, detection=replace(first.detection, group=group.found))
            yield from described
        return
    under_way: deque[_Rows] = deque()

    def shards() -> Iterator[Shard]:
        for frame in store.frames.blocks(line, trace_ids, memory=block_bytes(alert, _BLOCK_BYTES)):
            for rows in _cut(context, frame, runner):
                under_way.append(rows)
                values = blank_before_window(rows.values, rows.window)
                yield Shard(
                    values, alert.method, dict(method_parameters(alert)), runner.cores or None, alert.settle_rule
                )

    # The runner takes shards ahead of the results that it gives back, and keeps their order.
    for detected in runner.map(detect_shard, shards()):
        rows = under_way.popleft()
        contents = sample_digests(content_digests(rows.traces, rows.frame.slots, rows.points), rows.commits)
        digests = [each.digests(contents, rows.frame.slots, rows.window.anchor) for each in context.digesters]
        yield from _described(context, rows, detected, digests)


def _cut(context: _Context, frame: Frame, runner: Runner) -> Iterator[_Rows]:
    """Cut ``frame`` into what is sent to the runner at a time: everything, where it works in this process."""
    alert = context.alert
    commits = read_commit_values(context.store, alert, frame)
    judged = replace(frame, values=with_commit_values(frame, commits))
    count = max(1, len(frame.traces) if runner.cores == 0 else _SHARD)
    for first in range(0, len(frame.traces), count):
        points = frame.values[first : first + count]
        ids = [trace.id for trace in frame.traces[first : first + len(points)]]
        known = known_columns(context.store, alert, context.line, ids, first=frame.first)
        window = window_columns(~np.isnan(points), alert.window, [known.get(key, ()) for key in ids])
        of_rows = {row - first: found for row, found in commits.items() if first <= row < first + len(points)}
        yield _Rows(judged, first, points, window, of_rows)


def _digests_of_group(context: _Context, group: GroupDetection) -> NDArray[np.uint64]:
    frame = group.frame
    digests = context.digesters[0].digests(content_digests(frame.traces, frame.slots, frame.values), frame.slots)
    ids = np.fromiter((trace.id for trace in frame.traces), np.int64, len(frame.traces))
    return np.full(len(ids), group_digest(ids, digests, group.anchor))


def _described(
    context: _Context, rows: _Rows, detected: Sequence[SettledSteps], digests: Sequence[NDArray[np.uint64]]
) -> Iterator[SharedDetection]:
    """Yield what the steps ``detected`` in each row mean on the line, for each alert with its ``digests``."""
    frame = rows.frame
    held = ~np.isnan(rows.points)
    everywhere = np.arange(frame.first, frame.first + held.shape[1])
    complete = held.all(axis=1).tolist()
    reported = (rows.window.reported + frame.first).tolist()
    by_row = np.array(digests, dtype=np.uint64).T.tolist()
    for row, (trace, found, of_alerts) in enumerate(zip(rows.traces, detected, by_row, strict=True)):
        place = rows.first + row
        sightings = (
            sightings_of(context.alert.name, frame, place, found.steps, context.lines, settlements=found.settlements)
            if found.steps
            else ()
        )
        detection = TraceDetection(
            trace=trace,
            measured=everywhere if complete[row] else np.flatnonzero(held[row]) + frame.first,
            reported_after=reported[row],
            sightings=tuple(sightings),
            digest=of_alerts[0],
        )
        yield SharedDetection(detection, tuple(of_alerts))
