"""Judge rows of a frame for alerts that detect alike, as shards that other processes can take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_steps_without_evidence
from knickpoint.detect.samples import CommitValues
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Sighting
from knickpoint.model.commit import Line
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.settlement import Settlement, SettleRule
from knickpoint.model.step import Step
from knickpoint.store import Store
from knickpoint.watch.detection.alert_settings import (
    DriftReference,
    Filter,
    WindowColumns,
    blank_before_window,
    known_columns,
    method_parameters,
    window_columns,
)
from knickpoint.watch.detection.clusters import GroupClusters, GroupDetection
from knickpoint.watch.detection.commit_values import read_commit_values, sample_digests, with_commit_values
from knickpoint.watch.detection.digests import Digester, content_digests, group_digest
from knickpoint.watch.detection.sightings import ViewCache, settle_by_count, settle_steps, sightings_of
from knickpoint.watch.lines import Lines
from knickpoint.work import Serial

# Detect in a shard: the values of some traces, and how to judge them. It can be sent to another process or machine.


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


def detect_shard(shard: Shard, cache: ViewCache | None = None) -> list[SettledSteps]:
    """Return the steps of each trace of ``shard``, and which of them are settled.

    A ``cache`` saves repeated detections.
    """
    if not shard.values.shape[1]:
        return [SettledSteps((), ()) for _ in shard.values]

    def detect(values: NDArray[np.floating[Any]]) -> list[list[Step]]:
        return find_steps_without_evidence(values, shard.method, shard.parameters, threads=shard.threads)

    steps = detect(shard.values)
    views = cache.of(shard.method, shard.parameters) if cache is not None else None
    settlements = settle_steps(shard.values, steps, detect, shard.rule, views)
    return [SettledSteps(*pair) for pair in zip(steps, settlements, strict=True)]


# Judge rows of a frame for alerts that detect alike, and describe what they find, as small as it can be sent.
#
# Most traces have no step. What is brought back of these is their name, their digests and where they have values; the
# values stay where they were read.


@dataclass(frozen=True, slots=True)
class TraceDetection:
    """What one alert found in one trace.

    ``measured`` are the positions on the line at which the trace has a value, ascending. The alert reports sightings
    after the position ``reported_after``; those up to there only show which known ones are still found (see
    :mod:`knickpoint.watch.detection.alert_settings`). ``digest`` stands for everything that the result depends on (see
    :mod:`knickpoint.watch.detection.digests`). ``group`` has the clusters of the whole group, in its first trace, where
    the method judges traces together. ``left_out`` has the filter of the alert for each step that it does not report.
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
        """Return the detection of the alert ``name``, the one at ``place`` among them."""
        if not place:
            return self.detection
        first = self.detection
        found = tuple(replace(sighting, alert=name) for sighting in first.sightings)
        # As replace() would, which takes ten times as long, once for each trace.
        return TraceDetection(
            first.trace, first.measured, first.reported_after, found, self.digests[place], first.group, first.left_out
        )


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a frame, from ``first`` on, with the window of the alert in them.

    The values of ``frame`` are those that the alert judges; ``points`` are the stored ones of these rows, and
    ``commits`` has what the samples of rows say, by their number from ``first``.
    """

    frame: Frame
    first: int
    points: NDArray[np.floating[Any]]
    window: WindowColumns
    commits: Mapping[int, CommitValues]

    @property
    def values(self) -> NDArray[np.floating[Any]]:
        """The values that the alert judges."""
        return self.frame.values[self.first : self.first + len(self.points)]

    @property
    def traces(self) -> Sequence[Trace]:
        """The trace of each row."""
        return self.frame.traces[self.first : self.first + len(self.points)]


@dataclass(frozen=True, slots=True)
class JudgedRows:
    """What was found in rows of a frame, without their values.

    ``held`` has a bit for each row and column from ``first`` on, which says whether a value is there, packed in bytes.
    ``reported`` has the position after which the alert reports, ``digests`` a row for each trace with one number for
    each alert. ``sightings`` has those of the rows that step, as the first alert reports them. ``group`` has the
    clusters, where the rows are a group that was judged together; they belong to its first row.
    """

    traces: Sequence[Trace]
    first: int
    columns: int
    held: NDArray[np.uint8]
    reported: NDArray[np.int64]
    digests: NDArray[np.uint64]
    sightings: Mapping[int, tuple[Sighting, ...]]
    group: GroupClusters | None = None

    def detections(self, rows: Sequence[int] | None = None) -> Iterator[SharedDetection]:
        """Yield what is found in each trace, or in those of ``rows``, in their order."""
        # Traces of one machine are measured at the same commits: thousands of rows share their positions.
        measured: dict[bytes, NDArray[np.int64]] = {}
        for row in range(len(self.traces)) if rows is None else rows:
            packed = self.held[row].tobytes()
            if packed not in measured:
                held = np.unpackbits(self.held[row], count=self.columns)
                measured[packed] = np.flatnonzero(held) + self.first
            digests = self.digests[row].tolist()
            detection = TraceDetection(
                trace=self.traces[row],
                measured=measured[packed],
                reported_after=int(self.reported[row]),
                sightings=self.sightings.get(row, ()),
                digest=digests[0],
                group=None if row else self.group,
            )
            yield SharedDetection(detection, tuple(digests))


@dataclass(frozen=True, slots=True)
class AlertsOnLine:
    """Alerts that share a detection, and the line that they detect on; the first alert says how.

    They compare drifts with ``reference``, None for their start.
    """

    alerts: Sequence[Alert]
    line: Line
    lines: Lines
    digesters: Sequence[Digester]
    reference: DriftReference | None

    @property
    def alert(self) -> Alert:
        """The alert that says how to detect."""
        return self.alerts[0]

    def shard(self, rows: Rows, threads: int | None) -> Shard:
        """Return the values of ``rows`` that detection reads, and how to judge them."""
        values = blank_before_window(rows.values, rows.window)
        return Shard(values, self.alert.method, dict(method_parameters(self.alert)), threads, self.alert.settle_rule)

    def judged(self, rows: Rows, detected: Sequence[SettledSteps]) -> JudgedRows:
        """Place the steps ``detected`` in each row on the line."""
        contents = sample_digests(content_digests(rows.traces, rows.frame.slots, rows.points), rows.commits)
        digests = [each.digests(contents, rows.frame.slots, rows.window.anchor) for each in self.digesters]
        return self._described(rows, detected, digests)

    def judged_group(self, group: GroupDetection) -> JudgedRows:
        """Place the steps of a group on the line. Each of its traces has the digest of the whole group."""
        frame, rule = group.frame, self.alert.settle_rule
        settled = [
            SettledSteps(steps, settle_by_count(values, steps, rule) if steps else ())
            for values, steps in zip(frame.values, group.steps, strict=True)
        ]
        contents = content_digests(frame.traces, frame.slots, frame.values)
        ids = np.fromiter((trace.id for trace in frame.traces), np.int64, len(frame.traces))
        digest = group_digest(ids, self.digesters[0].digests(contents, frame.slots), group.anchor)
        rows = Rows(frame, 0, frame.values, group.window, {})
        described = self._described(rows, settled, [np.full(len(ids), digest, dtype=np.uint64)])
        return replace(described, group=group.found)

    def _described(
        self, rows: Rows, detected: Sequence[SettledSteps], digests: Sequence[NDArray[np.uint64]]
    ) -> JudgedRows:
        frame = rows.frame
        held = ~np.isnan(rows.points)
        sightings = {
            row: tuple(
                sightings_of(
                    self.alert.name,
                    frame,
                    rows.first + row,
                    found.steps,
                    self.lines,
                    settlements=found.settlements,
                    reference=self.reference,
                )
            )
            for row, found in enumerate(detected)
            if found.steps
        }
        return JudgedRows(
            traces=rows.traces,
            first=frame.first,
            columns=frame.columns,
            held=np.packbits(held, axis=1),
            reported=rows.window.reported + frame.first,
            digests=np.array(digests, dtype=np.uint64).T,
            sightings=sightings,
        )


def cut_rows(store: Store, alert: Alert, frame: Frame, most: int) -> Iterator[Rows]:
    """Cut ``frame`` into ``most`` rows at a time, with what ``alert`` judges in them."""
    commits = read_commit_values(store, alert, frame)
    judged = replace(frame, values=with_commit_values(frame, commits))
    for first in range(0, len(frame.traces), max(1, most)):
        points = frame.values[first : first + max(1, most)]
        ids = [trace.id for trace in frame.traces[first : first + len(points)]]
        known = known_columns(store, alert, frame.line, ids, first=frame.first)
        window = window_columns(~np.isnan(points), alert.window, [known.get(key, ()) for key in ids])
        of_rows = {row - first: found for row, found in commits.items() if first <= row < first + len(points)}
        yield Rows(judged, first, points, window, of_rows)


# A runner of this process that caches where series had steps, so that it detects in each of them once.


Item = TypeVar("Item")
Result = TypeVar("Result")


class CachingRunner(Serial):
    """Work in this process, one item after the other, with a cache of the steps of earlier shards."""

    def __init__(self) -> None:
        self._cache = ViewCache()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order."""
        cached: object = partial(detect_shard, cache=self._cache)
        same = function is detect_shard
        return map(cast("Callable[[Item], Result]", cached) if same else function, items)
