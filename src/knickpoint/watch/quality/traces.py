"""Traces by their noise: those whose findings people hid most, and the smallest change that each could show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.change_point import Condition
from knickpoint.model.commit import Repository
from knickpoint.model.distribution import MAD
from knickpoint.model.quality import FindingRecord, Label
from knickpoint.store import Store

# The noisiest traces: those whose findings people hid, or later data took back, most often.


@dataclass(frozen=True, slots=True)
class NoisyTrace:
    """What became of the findings of one trace.

    ``hidden`` and ``real`` count labels. ``gone`` counts the undecided ones that later data took back. ``share`` is its
    part of all hidden findings, ``cumulated`` that of this trace and the noisier ones before it.
    """

    repository_id: int
    trace_id: int
    trace_key: str
    findings: int
    hidden: int
    real: int
    gone: int
    share: float
    cumulated: float


def noisiest_traces(records: Iterable[FindingRecord], repositories: dict[int, int]) -> list[NoisyTrace]:
    """Return the traces with hidden or vanished findings, the noisiest first: by hidden, by gone, then by key.

    ``repositories`` is finding → id of its repository.
    """
    listed = list(records)
    total = sum(record.label is Label.NOISE for record in listed)
    # Most traces have neither: theirs are not counted.
    by_trace: dict[int, list[FindingRecord]] = {record.trace_id: [] for record in listed if _is_noisy(record)}
    for record in listed:
        if record.trace_id in by_trace:
            by_trace[record.trace_id].append(record)
    noisy = [(key, several, _hidden(several), _gone(several)) for key, several in by_trace.items()]
    noisy.sort(key=lambda each: (-each[2], -each[3], each[1][0].trace_key, each[0]))
    found: list[NoisyTrace] = []
    before = 0
    for key, several, hidden, gone in noisy:
        before += hidden
        found.append(
            NoisyTrace(
                repository_id=repositories[several[0].id],
                trace_id=key,
                trace_key=several[0].trace_key,
                findings=len(several),
                hidden=hidden,
                real=sum(record.label is Label.REAL for record in several),
                gone=gone,
                share=hidden / total if total else 0.0,
                cumulated=before / total if total else 0.0,
            )
        )
    return found


def traces_for_share(traces: Sequence[NoisyTrace], share: float) -> list[NoisyTrace]:
    """Return the fewest of ``traces``, the noisiest first, that made at least ``share`` of what was hidden."""
    found: list[NoisyTrace] = []
    for trace in traces:
        if not trace.hidden:
            break
        found.append(trace)
        if trace.cumulated >= share:
            break
    return found


def _is_noisy(record: FindingRecord) -> bool:
    return record.label is Label.NOISE or _is_taken_back(record)


def _is_taken_back(record: FindingRecord) -> bool:
    return record.condition is Condition.GONE and record.label is Label.UNDECIDED


def _hidden(records: Iterable[FindingRecord]) -> int:
    return sum(record.label is Label.NOISE for record in records)


def _gone(records: Iterable[FindingRecord]) -> int:
    return sum(map(_is_taken_back, records))


# The smallest change that a trace could show: how large a step must be for the default method to find most of them.
#
# For a step between ``before`` and ``after`` values with independent noise of the standard deviation s, the default
# method finds four of five steps of the size :data:`FACTOR` · s · √(1/before + 1/after). The root is the standard error
# of the difference between the means of both sides. A test of one known place would need 2.8 of them for that power at
# 5 %; the rest is the price of not knowing the place. The factor is measured by simulation, and a test repeats it.


FACTOR: Final = 5.75
AFTER: Final = 20
"""Values after a change at which it should be found."""


@dataclass(frozen=True, slots=True)
class DetectableChange:
    """The smallest change that ``after`` values could show behind the ``before`` values of the newest stable region.

    ``size`` is in the unit of the trace, ``relative_size`` that over the |median| of the region, inf where that is 0.
    """

    before: int
    after: int
    deviation: float
    size: float
    relative_size: float


def detectable_size(deviation: float, before: int, after: int) -> float:
    """Return the size of a step that the default method finds in four of five cases."""
    return FACTOR * deviation * math.sqrt(1 / before + 1 / after)


def detectable_change(values: NDArray[np.float64], *, after: int = AFTER) -> DetectableChange | None:
    """Return the smallest change behind ``values``, the newest stable region without gaps; None below four values.

    The deviation is the robust one of the median absolute deviation.
    """
    if values.size < 4:
        return None
    centre = float(np.median(values))
    deviation = MAD * float(np.median(np.abs(values - centre)))
    size = detectable_size(deviation, values.size, after)
    return DetectableChange(values.size, after, deviation, size, size / abs(centre) if centre else math.inf)


# Read the smallest change that each of some traces could show with its next values.


def smallest_changes(
    store: Store, repositories: Sequence[Repository], traces: Sequence[NoisyTrace]
) -> dict[int, DetectableChange]:
    """Return the smallest change that each of ``traces`` could show behind its newest finding, by id.

    Traces with fewer than four values there are left out.
    """
    found: dict[int, DetectableChange] = {}
    for repository in repositories:
        ids = sorted(each.trace_id for each in traces if each.repository_id == repository.id)
        if ids:
            found |= _in_repository(store, repository, ids)
    return found


def _in_repository(store: Store, repository: Repository, trace_ids: Sequence[int]) -> dict[int, DetectableChange]:
    line = store.commits.line(repository)
    points = store.findings.of_traces(trace_ids)
    found: dict[int, DetectableChange] = {}
    for key, row in zip(trace_ids, store.frames.values(line, trace_ids), strict=True):
        places = [
            line.positions.get(point.suspect_range.slot, 0)
            for point in points.get(key, ())
            if point.condition is not Condition.GONE
        ]
        values = np.asarray(row[max(places, default=0) :], dtype=np.float64)
        change = detectable_change(values[~np.isnan(values)])
        if change is not None:
            found[key] = change
    return found
