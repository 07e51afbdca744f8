"""Judge which traces of a cluster belong to it: those whose own values moved at the place of its step.

k-means gives every trace to some cluster, so a cluster whose centroid steps holds traces as well that only resemble it
by chance. Each trace is judged by its own values on both sides of the step. See ``docs/decisions/traces-together.md``.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.methods.cluster.kmeans import normalise
from knickpoint.detect.window_fits.mann_whitney import mann_whitney_rows
from knickpoint.model.cluster import ClusterMember, FoundCluster, MemberVerdict, count_pairs, shared_params
from knickpoint.model.frame import Trace
from knickpoint.model.quantity_text import figure_text
from knickpoint.model.step import Check
from knickpoint.watch.identity import REACH

_LEAST_VALUES: Final = 3
"""Values that a trace has at least on either side of the step."""

_LARGEST_P: Final = 0.001
"""Largest p of the rank test. k-means chose the traces as they resemble a step, so the usual 0.05 is too lenient."""

_LEAST_SHAPE: Final = 0.3
"""Least size in the trace's standard deviations, over the median of those that moved."""

_LEAST_RELATIVE: Final = 0.1
"""Least relative size, over the median of those that moved: a cause rarely slows one benchmark by 10 % and another by
0.3 %.
"""

_MOST_MISPLACED: Final = 15.0
"""Largest loss of log likelihood, doubled, by a step here instead of at the trace's best place.

For the true place of a step, the loss is larger than 7.4 in one of twenty traces; see Yao, "Approximating the
distribution of the maximum likelihood estimate of the change-point", Annals of Statistics 15 (1987).
"""

_BATCH: Final = 4096
"""Traces measured at a time, so that temporary arrays stay small."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RowStep:
    """A step in a ``row`` of a frame, at ``column``, judged by the columns from ``first`` to before ``stop``."""

    row: int
    column: int
    first: int
    stop: int


@dataclass(frozen=True, slots=True)
class OwnSteps:
    """What the values of traces show at steps, one entry for each; ``nan`` where nothing can be said.

    ``fewest`` counts the values on the side that has fewer. ``size`` and ``relative_size`` are those of
    :class:`~knickpoint.model.cluster.MemberVerdict`; ``shape_size`` is the size in standard deviations of the values.
    ``misplaced`` is the doubled loss of log likelihood by a step there, 0 where the best place of the trace
    is within :data:`~knickpoint.watch.identity.REACH` values of it.
    """

    fewest: NDArray[np.int64]
    p_value: Floats
    size: Floats
    relative_size: Floats
    shape_size: Floats
    misplaced: Floats

    def take(self, rows: Sequence[int]) -> OwnSteps:
        """Return the entries at ``rows``."""
        chosen = np.asarray(rows, dtype=np.int64)
        return OwnSteps(*(getattr(self, name)[chosen] for name in self.__slots__))


def measure_own_steps(values: NDArray[np.floating[Any]], steps: Sequence[RowStep]) -> OwnSteps:
    """Measure ``steps`` in ``values`` (traces x commits, nan for missing).

    Traces that are measured at the same commits are measured together. O(values log values) time.
    """
    # Traces with the same commits on both sides make one batch.
    batches: dict[tuple[int, int, int, bytes], list[int]] = defaultdict(list)
    for number, step in enumerate(steps):
        held = ~np.isnan(values[step.row, step.first : step.stop])
        batches[step.first, step.column, step.stop, np.packbits(held).tobytes()].append(number)

    found = OwnSteps(np.zeros(len(steps), np.int64), *(np.full(len(steps), np.nan) for _ in range(5)))
    for (first, column, stop, _), numbers in batches.items():
        for begin in range(0, len(numbers), _BATCH):
            part = numbers[begin : begin + _BATCH]
            block = np.asarray(values[[steps[number].row for number in part], first:stop], dtype=np.float64)
            held = ~np.isnan(block[0])
            _measure_batch(found, part, block[:, held], int(held[: column - first].sum()))
    return found


def _measure_batch(found: OwnSteps, numbers: Sequence[int], block: Floats, at: int) -> None:
    """Write what the rows of ``block``, without gaps, show before and from ``at`` into the entries ``numbers``."""
    fewest = min(at, block.shape[1] - at)
    found.fewest[numbers] = fewest
    if fewest < _LEAST_VALUES:
        return
    before, after = np.median(block[:, :at], axis=1), np.median(block[:, at:], axis=1)
    size = after - before
    deviation = block.std(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found.relative_size[numbers] = np.where(before != 0, size / np.abs(before), np.nan)
        found.shape_size[numbers] = np.where(deviation > 0, size / deviation, np.nan)
    found.size[numbers] = size
    found.p_value[numbers] = mann_whitney_rows(block[:, :at], block[:, at:])[1]
    found.misplaced[numbers] = _misplaced(_ranks(block), at)


def _ranks(block: Floats) -> Floats:
    """Return the rank of each value in its row, equal values with their mean rank: outliers count little."""
    rows, count = block.shape
    order = np.argsort(block, axis=1, kind="stable")
    ordered = np.take_along_axis(block, order, axis=1)
    starts = np.ones((rows, count), dtype=bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    group = np.cumsum(starts.ravel()) - 1
    places = np.tile(np.arange(count, dtype=np.float64), rows)
    means = np.bincount(group, weights=places) / np.bincount(group)
    ranks = np.empty((rows, count))
    np.put_along_axis(ranks, order, means[group].reshape(rows, count), axis=1)
    return ranks


def _misplaced(ranks: Floats, at: int) -> Floats:
    """Return the doubled loss of log likelihood of a step before ``at``, 0 where the best place is near."""
    count = ranks.shape[1]
    splits = np.arange(1, count)
    sums = np.cumsum(ranks, axis=1)[:, :-1]
    total = ranks.sum(axis=1, keepdims=True)
    squares = np.square(ranks - total / count).sum(axis=1, keepdims=True)
    explained = np.square(sums - splits * total / count) * count / (splits * (count - splits))
    # One more square, so that values without noise have a likelihood.
    left = np.maximum(squares - explained, 0.0) + 1.0
    best = left.argmin(axis=1)
    loss = count * np.log(left[:, at - 1] / left.min(axis=1))
    return np.where(np.abs(best + 1 - at) <= REACH, 0.0, loss)


def judge_members(own: OwnSteps, movement: int) -> list[MemberVerdict]:
    """Judge traces that were found together at one place, where the level moves by ``movement`` (+1 or -1).

    Sizes are compared with the medians of those that moved by their own values: enough of them, significant, at this
    place, and the same way.
    """
    forward = movement * own.size > 0
    moved = (own.fewest >= _LEAST_VALUES) & (own.p_value <= _LARGEST_P) & forward & (own.misplaced <= _MOST_MISPLACED)
    shape = float(np.median(np.abs(own.shape_size[moved]))) if moved.any() else math.nan
    relative = np.abs(own.relative_size[moved & np.isfinite(own.relative_size)])
    typical = float(np.median(relative)) if relative.size else math.nan
    return [_verdict(own, row, movement, shape, typical) for row in range(own.size.size)]


def _verdict(own: OwnSteps, row: int, movement: int, shape: float, typical: float) -> MemberVerdict:
    fewest, p_value = int(own.fewest[row]), float(own.p_value[row])
    size, relative = float(own.size[row]), float(own.relative_size[row])
    checks = [_at_least("values on the side with fewer", fewest, _LEAST_VALUES)]
    reasons = [f"it has {fewest} values on one side of the step, fewer than {_LEAST_VALUES}"]
    if fewest >= _LEAST_VALUES:
        checks += [
            _at_most("p of its own step", 1.0 if math.isnan(p_value) else p_value, _LARGEST_P),
            Check("size the way of the cluster", movement * size, ">", 0.0, passed=movement * size > 0),
            _at_most("2 log likelihood lost to its best place", float(own.misplaced[row]), _MOST_MISPLACED),
        ]
        reasons += [
            f"its own values did not move here: p is {checks[1].value:.2g}, above {_LARGEST_P:g}",
            f"its own values moved the other way, or not at all: by {size:.4g}",
            "its own values moved at another place",
        ]
        if not math.isnan(shape):
            checks.append(
                _at_least("size in its noise, of the typical", abs(float(own.shape_size[row])) / shape, _LEAST_SHAPE)
            )
            reasons.append(f"its step is small in its own noise: {checks[-1].value:.2g} of what is typical here")
        if typical > 0 and not math.isnan(relative):
            checks.append(_at_least("relative size, of the typical", abs(relative) / typical, _LEAST_RELATIVE))
            reasons.append(
                f"it moved by {figure_text(relative, '+.2%')} only, where the others moved by about "
                f"{figure_text(movement * typical, '+.1%')}"
            )
    reason = next((reason for check, reason in zip(checks, reasons, strict=True) if not check.passed), "")
    return MemberVerdict(tuple(checks), reason, size, relative, p_value)


def _at_least(name: str, value: float, bound: float) -> Check:
    return Check(name, float(value), ">=", float(bound), passed=bool(value >= bound))


def _at_most(name: str, value: float, bound: float) -> Check:
    return Check(name, value, "<=", bound, passed=bool(value <= bound))


# Describe the traces that moved together at one place: their centroid, their order, and what they have in common.


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
