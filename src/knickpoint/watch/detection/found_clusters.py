"""Describe the traces that moved together at one place: their centroid, their order, and what they have in common."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.methods.cluster.normalisation import normalise
from knickpoint.model.cluster import ClusterMember, FoundCluster, MemberVerdict, count_pairs, shared_params
from knickpoint.model.frame import Trace
from knickpoint.watch.detection.member_checks import RowStep

__all__ = ["GroupFrame", "JudgedTrace", "build_cluster"]

_NOISELESS: Final = 1e-3
"""Errors of fit below this share of a standard deviation are rounding of single precision."""

_MOST_LEFT_OUT: Final = 1_000
"""Traces that were left out of a cluster that are kept with it, the nearest ones."""


@dataclass(frozen=True)
class GroupFrame:
    """The values of one group, traces x commits.

    ``slots`` are those of all columns, ``columns`` the columns at which any trace is measured.
    """

    key: tuple[str, ...]
    traces: Sequence[Trace]
    values: NDArray[np.floating[Any]]
    slots: NDArray[np.int64]
    columns: NDArray[np.int64]

    @cached_property
    def pairs(self) -> Mapping[str, int]:
        """How many traces have each name=value."""
        return count_pairs(trace.key for trace in self.traces)


@dataclass(frozen=True, slots=True)
class JudgedTrace:
    """A trace in which the method found a step, and the verdict on it there."""

    at: RowStep
    verdict: MemberVerdict


def build_cluster(frame: GroupFrame, column: int, movement: int, judged: Sequence[JudgedTrace]) -> FoundCluster:
    """Build the cluster of the ``judged`` traces at ``column``, of which at least one belongs.

    The centroid is the mean of the normalised members, over the columns by which most of them were judged.
    """
    members = [each for each in judged if each.verdict.belongs]
    others = [each for each in judged if not each.verdict.belongs]
    first, stop = _usual_range(members)
    columns = frame.columns[(frame.columns >= first) & (frame.columns < stop)]
    shapes = _shapes(frame, members, columns)
    centroid = shapes.mean(axis=0, dtype=np.float64).astype(np.float32)
    keys = [frame.traces[each.at.row].key for each in members]
    return FoundCluster(
        group=frame.key,
        slot=int(frame.slots[column]),
        previous=int(frame.slots[frame.columns[np.searchsorted(frame.columns, column) - 1]]),
        movement=movement,
        regression=_regression(centroid.astype(np.float64), int(np.searchsorted(columns, column))),
        centroid=centroid,
        slots=frame.slots[columns],
        members=_ordered(frame, members, shapes, centroid),
        left_out=_ordered(frame, others, _shapes(frame, others, columns), centroid)[:_MOST_LEFT_OUT],
        shared=shared_params(keys, frame.pairs, len(frame.traces)),
        others=len(frame.traces) - len(members),
    )


def _usual_range(members: Sequence[JudgedTrace]) -> tuple[int, int]:
    """Return the columns by which most members were judged, the widest and then the earliest of equals."""
    counts = Counter((each.at.first, each.at.stop) for each in members)
    return max(counts, key=lambda bounds: (counts[bounds], bounds[1] - bounds[0], -bounds[0]))


def _shapes(frame: GroupFrame, judged: Sequence[JudgedTrace], columns: NDArray[np.int64]) -> NDArray[np.float32]:
    if not judged:
        return np.empty((0, columns.size), np.float32)
    rows = np.array([each.at.row for each in judged], dtype=np.int64)
    return normalise(frame.values[np.ix_(rows, columns)])


def _ordered(
    frame: GroupFrame, judged: Sequence[JudgedTrace], shapes: NDArray[np.float32], centroid: NDArray[np.float32]
) -> tuple[ClusterMember, ...]:
    """Return the traces nearest to the centroid first; equally near ones by trace id."""
    distances = np.sqrt(np.square(shapes - centroid, dtype=np.float64).sum(axis=1)).tolist()
    found = []
    for each, distance in zip(judged, distances, strict=True):
        trace = frame.traces[each.at.row]
        held = ~np.isnan(frame.values[each.at.row, each.at.column :])
        slot = int(frame.slots[each.at.column + int(np.argmax(held))])
        found.append(ClusterMember(trace.id, trace.key, slot, distance, each.verdict))
    return tuple(sorted(found, key=lambda member: (member.distance, member.trace_id)))


def _regression(centroid: NDArray[np.float64], index: int) -> float:
    """Return step size / error of the fit at ``index``, with the sign of the step."""
    before, after = centroid[:index], centroid[index:]
    squares = float(np.square(before - before.mean()).sum() + np.square(after - after.mean()).sum())
    error = math.sqrt(squares / centroid.size)
    return float(after.mean() - before.mean()) / max(error, _NOISELESS)
