"""Compare what an alert finds now with what it found at its last run, trace by trace.

Only traces in which something differs go on to :mod:`knickpoint.watch.alert_run.persistence`. Of the others, the digest
is kept, so that the next run leaves them out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.methods.default.siblings.found_places import ASKED, NEAR
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Sighting
from knickpoint.model.commit import Line
from knickpoint.model.errors import ServiceError
from knickpoint.model.frame import Trace
from knickpoint.model.settlement import SETTLED
from knickpoint.store import Store
from knickpoint.store.findings.rows import stored_step
from knickpoint.watch.alert_run.alert_job import AlertJob, failure_of
from knickpoint.watch.detection.alert_settings import Filter, asks_family
from knickpoint.watch.detection.clusters import GroupClusters
from knickpoint.watch.detection.filters import reported_detections
from knickpoint.watch.detection.judged_rows import JudgedRows, TraceDetection
from knickpoint.watch.detection.trace_detection import detect_traces, detection_key
from knickpoint.watch.identity import Ruler, match_points
from knickpoint.watch.lines import Lines
from knickpoint.work import Runner

# Choose rows among those that were judged together, without an object for each of them.


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some of the rows that were judged together, by number, and the ids of their traces."""

    judged: JudgedRows
    rows: NDArray[np.int64]
    ids: NDArray[np.int64]

    def only(self, chosen: NDArray[np.bool_]) -> RowBlock:
        """Return the rows that are ``chosen``, a mask of them."""
        return replace(self, rows=self.rows[chosen], ids=self.ids[chosen])

    def among(self, ids: NDArray[np.int64]) -> RowBlock:
        """Return the rows whose traces are among ``ids``, ascending."""
        if not ids.size:
            return self.only(np.zeros(self.ids.size, dtype=np.bool_))
        nearest = ids[np.minimum(np.searchsorted(ids, self.ids), ids.size - 1)]
        return self.only(nearest == self.ids)

    def without_steps(self, stored: Collection[int]) -> NDArray[np.bool_]:
        """Return a mask of the rows in which nothing was found, and whose traces are not among ``stored``.

        The first row of a group that was judged together is none of them: it has the clusters of the group.
        """
        found = self.judged.sightings
        pairs = zip(self.rows.tolist(), self.ids.tolist(), strict=True)
        still = np.fromiter((row not in found and key not in stored for row, key in pairs), np.bool_, self.ids.size)
        return still & (self.rows > 0) if self.judged.group else still


def row_blocks(found: Iterable[JudgedRows], most: int) -> Iterator[list[RowBlock]]:
    """Yield all rows of ``found`` in their order, ``most`` at a time, however many were judged together."""
    block: list[RowBlock] = []
    room = most
    for judged in found:
        ids = np.fromiter((trace.id for trace in judged.traces), np.int64, len(judged.traces))
        first = 0
        while first < ids.size:
            rows = np.arange(first, min(first + room, ids.size))
            block.append(RowBlock(judged, rows, ids[rows]))
            first += rows.size
            room -= rows.size
            if not room:
                yield block
                block, room = [], most
    if block:
        yield block


_BLOCK: Final = 4096
"""Traces whose known sightings are read at a time."""

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class TraceComparison:
    """What one alert finds in one trace now, where that differs from what it found at its last run.

    ``measured`` are the positions on ``line``, the line of the alert, at which the trace has a value, ascending. An
    alert that no longer watches the trace, or no longer exists, is not ``watching``.
    """

    alert: str
    trace: Trace
    line: Line
    measured: NDArray[np.int64]
    sightings: tuple[Sighting, ...]
    watching: bool = True


@dataclass(frozen=True, slots=True)
class AlertComparison:
    """What one alert finds in some traces, compared with its last run.

    ``changed`` are the traces in which something differs. ``digests`` has, by trace, those of all traces in which the
    alert detected. ``kept``, ``added`` and ``lost`` count sightings. ``unwatched`` are traces that the alert no longer
    matches. ``failure`` says what ended the alert before all traces were compared, "" for nothing. ``groups`` has the
    clusters of the groups that the alert judged. ``left_out`` counts the steps that its filters refused.
    """

    changed: tuple[TraceComparison, ...] = ()
    digests: Mapping[int, int] = field(default_factory=dict)
    kept: int = 0
    added: int = 0
    lost: int = 0
    unwatched: tuple[int, ...] = ()
    failure: str = ""
    groups: tuple[GroupClusters, ...] = ()
    left_out: Mapping[Filter, int] = field(default_factory=dict)

    @classmethod
    def joined(cls, parts: Sequence[AlertComparison]) -> AlertComparison:
        """Join what one alert finds in several blocks of traces."""
        return cls(
            changed=tuple(found for part in parts for found in part.changed),
            digests={trace: digest for part in parts for trace, digest in part.digests.items()},
            kept=sum(part.kept for part in parts),
            added=sum(part.added for part in parts),
            lost=sum(part.lost for part in parts),
            unwatched=tuple(trace for part in parts for trace in part.unwatched),
            failure=next((part.failure for part in parts if part.failure), ""),
            groups=tuple(group for part in parts for group in part.groups),
            left_out=sum((Counter(part.left_out) for part in parts), Counter()),
        )


def compare_alert(
    store: Store, job: AlertJob, lines: Lines, runner: Runner, *, among: Collection[int] | None = None
) -> Iterator[AlertComparison]:
    """Detect in the traces that are due for one job; see :func:`compare_alerts`."""
    return (found for _, found in compare_alerts(store, [job], lines, runner, among=among))


def compare_alerts(
    store: Store, jobs: Sequence[AlertJob], lines: Lines, runner: Runner, *, among: Collection[int] | None = None
) -> Iterator[tuple[AlertJob, AlertComparison]]:
    """Detect in the traces that are due and yield what differs for each job, block by block; nothing is written.

    The jobs share one detection (see :func:`shared_detections`). After a complete run the last block of a job has the
    traces that its alert no longer matches. When an alert fails, its last block says so. ``among`` compares only these
    of the traces that are due.
    """
    jobs = [job for job in jobs if not job.failure]
    able = [_Comparing(store, job, place, lines, among) for place, job in enumerate(jobs)]
    if not able:
        return
    alerts = [each.job.alert for each in able]
    due = np.unique(np.concatenate([each.job.due for each in able]))
    try:
        found = detect_traces(store, alerts, able[0].job.line, due, lines=lines, runner=runner)
        for block in row_blocks(found, _BLOCK):
            for comparing in able:
                yield from comparing.take(block)
    except ServiceError:  # where they detect is gone, which is not a fault of an alert
        raise
    except Exception as error:  # noqa: BLE001  # a defect of one method must not stop the others
        for comparing in able:
            yield from comparing.fail(error)
    for comparing in able:
        yield from comparing.end()


def shared_detections(jobs: Sequence[AlertJob]) -> list[list[AlertJob]]:
    """Group ``jobs`` by what they detect: those of a group find the same steps, so one detection serves all."""
    groups: dict[Hashable, list[AlertJob]] = defaultdict(list)
    for job in jobs:
        groups[job.line.name, detection_key(job.alert)].append(job)
    return list(groups.values())


_Compared = Iterator[tuple[AlertJob, AlertComparison]]


class _Comparing:
    """One job, at a ``place`` among those that share a detection.

    It takes what was detected, block by block, and compares it with what is stored.
    """

    def __init__(self, store: Store, job: AlertJob, place: int, lines: Lines, among: Collection[int] | None) -> None:
        self.job = job
        self._place = place
        self._store = store
        self._lines = lines
        self._due = np.unique(job.due)
        self._among = among
        self._held: list[TraceDetection] = []
        self._failed = False

    def take(self, block: Sequence[RowBlock]) -> _Compared:
        """Compare a block; an alert that counts traces needs all of them, so it keeps them until the end."""
        due = [part for rows in block if (part := rows.among(self._due)).rows.size]
        if not due:
            return
        if self.job.alert.minimum_traces > 1:
            self._held += [found for part in due for found in self._detections(part)]
        else:
            yield from self._guarded(lambda: self._compare_rows(due))

    def end(self) -> _Compared:
        """Compare what was kept, and take back the sightings in traces that the query no longer matches."""
        if self._held:
            yield from self._guarded(lambda: self._compare(self._held))
        self._held = []
        if self.job.complete:
            yield from self._guarded(lambda: compare_unwatched(self._store, self.job, self._lines))

    def fail(self, error: Exception) -> _Compared:
        """Say that the alert failed, once, and compare nothing more."""
        if not self._failed:
            self._failed = True
            yield self.job, AlertComparison(failure=failure_of(self.job.alert, error))

    def _guarded(self, compare: Callable[[], AlertComparison]) -> _Compared:
        if self._failed:
            return
        try:
            found = compare()
        except Exception as error:  # noqa: BLE001  # a defect of one alert must not stop the others
            yield from self.fail(error)
        else:
            yield self.job, found

    def _detections(self, part: RowBlock) -> list[TraceDetection]:
        name = self.job.alert.name
        return [found.of_alert(name, self._place) for found in part.judged.detections(part.rows.tolist())]

    def _compare_rows(self, parts: Sequence[RowBlock]) -> AlertComparison:
        """Compare rows.

        Most traces have no step, now or before: their digests are kept, and no object is made of them.
        """
        if self._among is not None:
            among = np.array(sorted(self._among), dtype=np.int64)
            parts = [part.among(among) for part in parts]
        stored = self._store.findings.sightings.of_traces([key for part in parts for key in part.ids.tolist()])
        compared: list[AlertComparison] = []
        for part in parts:
            still = part.without_steps(stored)
            digests = part.judged.digests[part.rows[still], self._place].tolist()
            compared.append(AlertComparison(digests=dict(zip(part.ids[still].tolist(), digests, strict=True))))
            found = reported_detections(self.job.alert, self._detections(part.only(~still)), self._lines)
            compared.append(self._compare_traces(list(found), stored))
        return AlertComparison.joined(compared)

    def _compare(self, detections: Sequence[TraceDetection]) -> AlertComparison:
        """Apply the filters of the alert, and compare what it reports."""
        reported = reported_detections(self.job.alert, detections, self._lines)
        if self._among is not None:
            reported = (each for each in reported if each.trace.id in self._among)
        return AlertComparison.joined([self._compare_block(block) for block in _blocks(reported)])

    def _compare_block(self, detections: Sequence[TraceDetection]) -> AlertComparison:
        stored = self._store.findings.sightings.of_traces([each.trace.id for each in detections])
        return self._compare_traces(detections, stored)

    def _compare_traces(
        self, detections: Sequence[TraceDetection], stored: Mapping[int, Sequence[Sighting]]
    ) -> AlertComparison:
        name = self.job.alert.name
        # Most traces have no step, now or before: nothing to compare.
        still = {each.trace.id: each.digest for each in detections if _is_still(each, stored)}
        left_out = Counter(each for found in detections for each in found.left_out)
        return AlertComparison.joined(
            [
                AlertComparison(digests=still, left_out=left_out),
                *(
                    _compare_trace(self.job, each, _of_alert(name, stored.get(each.trace.id, ())), self._lines)
                    for each in detections
                    if each.trace.id not in still
                ),
            ]
        )


def _blocks(detections: Iterable[_Item]) -> Iterator[list[_Item]]:
    rest = iter(detections)
    while block := list(islice(rest, _BLOCK)):
        yield block


def _is_still(detection: TraceDetection, stored: Mapping[int, Sequence[Sighting]]) -> bool:
    """Return True if a trace, judged by itself, has no sightings, neither found nor stored."""
    return not detection.sightings and not detection.group and not stored.get(detection.trace.id)


def _of_alert(name: str, sightings: Iterable[Sighting]) -> list[Sighting]:
    return _in_order([sighting for sighting in sightings if sighting.alert == name])


def _in_order(sightings: Iterable[Sighting]) -> list[Sighting]:
    return sorted(sightings, key=lambda found: (found.suspect_range.line, found.suspect_range.slot, found.movement))


def _compare_trace(job: AlertJob, detection: TraceDetection, old: Sequence[Sighting], lines: Lines) -> AlertComparison:
    found = _with_known(old, detection, lines)
    new = _in_order([*found, *_still_members(job.alert, old, found, Ruler(job.line.positions, detection.measured))])
    places = {(sighting.suspect_range, sighting.movement) for sighting in old}
    kept = sum((sighting.suspect_range, sighting.movement) in places for sighting in new)
    changed = TraceComparison(job.alert.name, detection.trace, job.line, detection.measured, tuple(new))
    return AlertComparison(
        changed=() if [stored_step(each) for each in old] == [stored_step(each) for each in new] else (changed,),
        digests={detection.trace.id: detection.digest},
        groups=(detection.group,) if detection.group else (),
        kept=kept,
        added=len(new) - kept,
        lost=len(old) - kept,
    )


def _still_members(alert: Alert, old: Sequence[Sighting], found: Sequence[Sighting], ruler: Ruler) -> list[Sighting]:
    """Keep the sightings of the trace at the places of its family, until it is asked again later in the run.

    What the trace shows by itself now is left out: it is the same change point.
    """
    if not asks_family(alert):
        return []
    ranks = [(step.rank, each.movement) for each in found if (step := ruler.locate(each.suspect_range, each.movement))]
    return [
        each
        for each in old
        if each.numbers.method == ASKED
        and (step := ruler.locate(each.suspect_range, each.movement))
        and not any(way == each.movement and abs(rank - step.rank) <= NEAR for rank, way in ranks)
    ]


def _position(sighting: Sighting, lines: Lines) -> int | None:
    return lines.line(sighting.suspect_range.line).positions.get(sighting.suspect_range.slot)


def _with_known(old: Sequence[Sighting], detection: TraceDetection, lines: Lines) -> list[Sighting]:
    """Return the sightings of a trace: those found in the window, and known ones that stay as they are.

    Known sightings before the window stay. So does a known sighting in the window whose step is found before the window
    now: the step is still there, and the alert reports nothing of places before its window. Whatever has left the
    window is settled: the alert found it with every value that came since.
    """

    def in_window(sighting: Sighting) -> bool:
        position = _position(sighting, lines)
        return position is None or position > detection.reported_after

    if not detection.measured.size or detection.reported_after <= detection.measured[0]:
        return list(detection.sightings)
    found = [sighting for sighting in detection.sightings if in_window(sighting)]
    staying = [known for known in old if _position(known, lines) is not None and not in_window(known)]
    staying = [replace(known, settlement=SETTLED) for known in staying]
    if len(found) < len(detection.sightings):
        staying += _found_before([known for known in old if in_window(known)], detection, found, lines)
    return [*found, *staying]


def _found_before(
    known: Sequence[Sighting], detection: TraceDetection, found: Sequence[Sighting], lines: Lines
) -> list[Sighting]:
    """Return those of ``known``, all in the window, that are the same points as steps found before it."""
    staying = []
    for name in sorted({sighting.suspect_range.line for sighting in detection.sightings}):
        ruler = Ruler(lines.line(name).positions, detection.measured)
        before = [sighting for sighting in known if sighting.suspect_range.line == name]
        now = [sighting for sighting in detection.sightings if sighting.suspect_range.line == name]
        old = [
            (each, step) for each in before if (step := ruler.locate(each.suspect_range, each.movement, each.interval))
        ]
        new = [(each, step) for each in now if (step := ruler.locate(each.suspect_range, each.movement, each.interval))]
        pairs = match_points([step for _, step in old], [step for _, step in new])
        staying += [replace(old[i][0], settlement=new[j][0].settlement) for i, j in pairs if new[j][0] not in found]
    return staying


def compare_unwatched(store: Store, job: AlertJob, lines: Lines) -> AlertComparison:
    """Return that the alert finds nothing any more in the traces that it no longer matches."""
    known = store.findings.sightings.traces(job.alert.name, lines.repository)
    return _without_sightings(store, job.alert.name, job.line, np.setdiff1d(known, job.trace_ids))


def compare_retired(store: Store, name: str, lines: Lines) -> AlertComparison:
    """Return that the alert ``name``, which no longer exists, finds nothing any more in the repository of ``lines``."""
    known = np.array(store.findings.sightings.traces(name, lines.repository), dtype=np.int64)
    return _without_sightings(store, name, lines.default, known)


def _without_sightings(store: Store, name: str, line: Line, ids: NDArray[np.int64]) -> AlertComparison:
    if not ids.size:
        return AlertComparison()
    changed: list[TraceComparison] = []
    lost = 0
    for frame in store.frames.blocks(line, ids):
        stored = store.findings.sightings.of_traces([trace.id for trace in frame.traces])
        for row, trace in enumerate(frame.traces):
            measured = np.flatnonzero(~np.isnan(frame.values[row])) + frame.first
            changed.append(TraceComparison(name, trace, line, measured, (), watching=False))
            lost += len(_of_alert(name, stored.get(trace.id, ())))
    return AlertComparison(changed=tuple(changed), lost=lost, unwatched=tuple(ids.tolist()))
