"""Compare what an alert finds now with what it found at its last run, trace by trace.

Only traces in which something differs go on to :mod:`knickpoint.watch.alert_run.persistence`. Of the others, the digest
is kept, so that the next run leaves them out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line
from knickpoint.model.frame import Trace
from knickpoint.model.regression import Sighting
from knickpoint.model.settlement import SETTLED
from knickpoint.store import Store
from knickpoint.store.findings.rows import stored_step
from knickpoint.watch.alert_run.alert_job import AlertJob, failure_of
from knickpoint.watch.detection.filters import reported_detections
from knickpoint.watch.detection.trace_detection import TraceDetection, detect_traces
from knickpoint.watch.identity.point_matching import Ruler, match_points
from knickpoint.watch.lines import Lines
from knickpoint.work import Runner

__all__ = ["AlertComparison", "TraceComparison", "compare_alert", "compare_retired", "compare_unwatched"]

_BLOCK: Final = 4096
"""Traces whose known sightings are read at a time."""


@dataclass(frozen=True, slots=True)
class TraceComparison:
    """What one alert finds in one trace now, where that differs from what it found at its last run.

    ``measured`` are the positions on ``line``, the line of the alert, at which the trace has a value, ascending.
    """

    alert: str
    trace: Trace
    line: Line
    measured: NDArray[np.int64]
    sightings: tuple[Sighting, ...]


@dataclass(frozen=True, slots=True)
class AlertComparison:
    """What one alert finds in some traces, compared with its last run.

    ``changed`` are the traces in which something differs. ``digests`` has, by trace, those of all traces in which the
    alert detected. ``kept``, ``added`` and ``lost`` count sightings. ``unwatched`` are traces that the alert no longer
    matches. ``failure`` says what ended the alert before all traces were compared, "" for nothing.
    """

    changed: tuple[TraceComparison, ...] = ()
    digests: Mapping[int, int] = field(default_factory=dict)
    kept: int = 0
    added: int = 0
    lost: int = 0
    unwatched: tuple[int, ...] = ()
    failure: str = ""

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
        )


def compare_alert(
    store: Store, job: AlertJob, lines: Lines, runner: Runner, *, among: Collection[int] | None = None
) -> Iterator[AlertComparison]:
    """Detect in the traces that are due and yield what differs, block by block; nothing is written.

    After a complete run the last block has the traces that the alert no longer matches. When the alert fails, the
    last block says so. ``among`` compares only these of the traces that are due.
    """
    if job.failure:
        return
    try:
        # Detect in all traces that are due, and apply the filters of the alert.
        found = detect_traces(store, job.alert, job.line, job.due, lines=lines, runner=runner)
        reported = reported_detections(job.alert, found, lines)
        if among is not None:
            reported = (detection for detection in reported if detection.trace.id in among)

        # Compare with what is stored.
        for block in _blocks(reported):
            yield _compare_block(store, job, block, lines)

        # Take back the sightings in traces that the query no longer matches.
        if job.complete:
            yield compare_unwatched(store, job, lines)
    except Exception as error:  # noqa: BLE001  # a defect of one alert must not stop the others
        yield AlertComparison(failure=failure_of(job.alert, error))


def _blocks(detections: Iterable[TraceDetection]) -> Iterator[list[TraceDetection]]:
    rest = iter(detections)
    while block := list(islice(rest, _BLOCK)):
        yield block


def _compare_block(store: Store, job: AlertJob, detections: Sequence[TraceDetection], lines: Lines) -> AlertComparison:
    stored = store.findings.sightings.of_traces([detection.trace.id for detection in detections])
    return AlertComparison.joined(
        [
            _compare_trace(job, detection, _of_alert(job.alert.name, stored.get(detection.trace.id, ())), lines)
            for detection in detections
        ]
    )


def _of_alert(name: str, sightings: Iterable[Sighting]) -> list[Sighting]:
    return _in_order([sighting for sighting in sightings if sighting.alert == name])


def _in_order(sightings: Iterable[Sighting]) -> list[Sighting]:
    return sorted(sightings, key=lambda found: (found.suspect_range.line, found.suspect_range.slot, found.movement))


def _compare_trace(job: AlertJob, detection: TraceDetection, old: Sequence[Sighting], lines: Lines) -> AlertComparison:
    new = _in_order(_with_known(old, detection, lines))
    places = {(sighting.suspect_range, sighting.movement) for sighting in old}
    kept = sum((sighting.suspect_range, sighting.movement) in places for sighting in new)
    changed = TraceComparison(job.alert.name, detection.trace, job.line, detection.measured, tuple(new))
    return AlertComparison(
        changed=() if [stored_step(each) for each in old] == [stored_step(each) for each in new] else (changed,),
        digests={detection.trace.id: detection.digest},
        kept=kept,
        added=len(new) - kept,
        lost=len(old) - kept,
    )


def _position(sighting: Sighting, lines: Lines) -> int | None:
    return lines.line(sighting.suspect_range.line).positions.get(sighting.suspect_range.slot)


def _with_known(old: Sequence[Sighting], detection: TraceDetection, lines: Lines) -> list[Sighting]:
    """Return the sightings of a trace: those found in the window, and known ones that stay as they are.

    Known sightings before the window stay. So does a known sighting in the window whose step is found before the window
    now: the step is still there, and the alert reports nothing of places before its window. Whatever has left the window
    is settled: the alert found it with every value that came since.
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
            (each, spot) for each in before if (spot := ruler.spot(each.suspect_range, each.movement, each.interval))
        ]
        new = [(each, spot) for each in now if (spot := ruler.spot(each.suspect_range, each.movement, each.interval))]
        pairs = match_points([spot for _, spot in old], [spot for _, spot in new])
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
            changed.append(TraceComparison(name, trace, line, measured, ()))
            lost += len(_of_alert(name, stored.get(trace.id, ())))
    return AlertComparison(changed=tuple(changed), lost=lost, unwatched=tuple(ids.tolist()))
