"""Find and prune the candidate changes of a series, whatever its magnitude.

The search in NumPy and ``segmentation.c`` do the same in the same order of operations; ``features`` and ``candidates``
have its stages. In all of them a *place* is the first point of a new level, and *noise* is a standard deviation.

Both square values, so a series that is extremely large or small is scaled by a power of two before it is searched: that
changes no bit of any ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib
from knickpoint.native.forest import Forest, judge, pack_forest
from knickpoint.native.segmentation.candidates import (
    Array,
    Series,
    certainty,
    find_candidates,
    place_candidates,
    prove,
    relocate,
    study_values,
)
from knickpoint.native.segmentation.constants import SHORTEST, TIE
from knickpoint.native.segmentation.feature_names import FEATURE_NAMES
from knickpoint.native.segmentation.features import describe


@dataclass(frozen=True, slots=True)
class Segmentation:
    """Hold the candidates in the order in which they were dropped, those that stay last.

    ``rounds`` is -1 for what stays, ``indices`` the first point of the new level, ``scores`` the log-odds.
    ``features`` are candidates x features. ``proofs`` are candidates x 4: the jump in noise, the values of the
    shorter level that agree, how many such runs per 1,000 values chance would make, and the half width of the interval
    of location in values. A candidate whose proofs reach one of the ``BARS`` has ``CERTAIN`` added to its score.
    ``facts``: scale of the noise, lag-one autocorrelation, mean square and share beyond 4 of the residuals, the share
    of the squares of the values that two levels explain, and how often the values go from one to the other. ``room`` is
    what the kernel knows of the series, for a search that goes on; None where it would have to study the series anew.
    """

    rounds: NDArray[np.int32]
    indices: NDArray[np.int32]
    scores: NDArray[np.float64]
    features: NDArray[np.float64]
    proofs: NDArray[np.float64]
    facts: tuple[float, float, float, float, float, float]
    room: NDArray[np.uint8] | None = None


@dataclass(frozen=True, slots=True)
class Segmentations:
    """Findings of the search in many series: nearly all have no change, so each is unpacked when asked for.

    ``stay`` is the number of candidates that stay in each series, -2 where so many were dropped that it is not known
    yet. ``facts`` are series x 6, those of :class:`Segmentation`. ``of`` returns what was found in one series, by its
    number.
    """

    stay: NDArray[np.int64]
    facts: NDArray[np.float64]
    of: Callable[[int], Segmentation]


_T, _RANK = (FEATURE_NAMES.index(f"{name} less chance and autocorrelation") for name in ("t", "rank z"))


@dataclass(frozen=True, slots=True)
class _Row:
    """Hold what an examined candidate is judged by, and its log-odds."""

    features: Array
    proof: Array
    score: float


def _judge(forest: Forest, features: Array) -> float:
    """Return the log-odds that a candidate is a change.

    Without trees a rule judges, on which the first forest is learnt.
    """
    if forest.root.size:
        return judge(forest, features)
    return float(min(features[_T], features[_RANK] / 0.75))


def _examine(series: Series, forest: Forest, places: Sequence[int], i: int) -> _Row:
    """Describe and judge candidate ``i``."""
    features, proof = describe(series, places, i), prove(series, places, i)
    return _Row(features, proof, _judge(forest, features) + certainty(proof))


def _weakest(scores: Sequence[float]) -> int:
    """Return the row with the least score, the first of equal ones."""
    least = min(scores)
    return next(row for row, score in enumerate(scores) if score <= least + TIE)


def segment_in_numpy(
    values: Array,
    forest: Forest,
    threshold: float,
    whole_path: bool,  # noqa: FBT001
    begun: Segmentation | None = None,
) -> Segmentation:
    """Find candidates and drop the weakest until all reach ``threshold``.

    See :func:`knickpoint.native.segmentation.segment`. What has ``begun`` is only searched again here.
    """
    del begun
    written: list[tuple[int, int, _Row]] = []
    n = values.size
    ordered = np.sort(values)
    scale = study_values(values, ordered) if n >= 2 * SHORTEST else 0.0
    series = None
    if scale > 0:
        series, candidates = find_candidates(values, ordered, scale)
        places = place_candidates(series, candidates)
        held = [_examine(series, forest, places, k) for k in range(len(places))]
        rounds = 0
        while places and held[weakest := _weakest([row.score for row in held])].score < threshold:
            shown = range(len(places)) if whole_path else [weakest]
            written.extend((rounds, places[k], held[k]) for k in shown)
            rounds += 1
            del places[weakest], held[weakest]
            # The neighbours have new levels beside them: one on each side moves, two on each side change their features
            for k in range(max(weakest - 1, 0), min(weakest + 1, len(places))):
                relocate(series, places, k)
            for k in range(max(weakest - 2, 0), min(weakest + 2, len(places))):
                held[k] = _examine(series, forest, places, k)
        written.extend((-1, place, row) for place, row in zip(places, held, strict=True))
    rows = [row for _, _, row in written]
    features, proofs = (np.array([getattr(row, name) for row in rows]) for name in ("features", "proof"))
    return Segmentation(
        rounds=np.array([number for number, _, _ in written], np.int32),
        indices=np.array([place for _, place, _ in written], np.int32),
        scores=np.array([row.score for row in rows]),
        features=features.reshape(len(rows), -1) if rows else np.zeros((0, 0)),
        proofs=proofs.reshape(len(rows), 4),
        facts=(series.scale, series.phi, series.square, series.tail, *series.two) if series else (0.0,) * 6,
    )


def segment_many_in_numpy(values: Array, ends: NDArray[np.int64], forest: Forest, thresholds: Array) -> Segmentations:
    """Segment series that lie end to end; ``ends`` has where each ends, and ``thresholds`` one for each."""
    begins = [0, *ends[:-1].tolist()]
    found = [
        segment_in_numpy(values[begin:end], forest, threshold, whole_path=False)
        for begin, end, threshold in zip(begins, ends.tolist(), thresholds.tolist(), strict=False)
    ]
    stay = np.array([np.count_nonzero(each.rounds < 0) for each in found], np.int64)
    return Segmentations(stay, np.array([each.facts for each in found]).reshape(-1, FACTS), found.__getitem__)


PROOFS: Final = 4
"""Numbers that prove a candidate."""

FACTS: Final = 6
"""Numbers that describe a series."""

_FEW = 48
"""Rows that there is room for on average; they lie one after another, so that what stays empty takes no memory."""

_ROW = 1 + PROOFS + len(FEATURE_NAMES)


def segment_in_c(
    values: NDArray[np.float64],
    forest: Forest,
    threshold: float,
    whole_path: bool,  # noqa: FBT001
    begun: Segmentation | None = None,
) -> Segmentation:
    """Find and prune the candidates of ``values``; see the reference."""
    capacity = 1 + values.size // SHORTEST  # candidates at most; the whole path has more rows
    packed, facts = pack_forest(forest), np.zeros(FACTS)
    stay = 0 if begun is None else int(np.count_nonzero(begun.rounds < 0))
    dropped = 0 if begun is None else begun.rounds.size - stay
    studied = begun.room if begun is not None and stay else None
    room = np.empty(lib.kp_segment_room(values.size), np.uint8) if studied is None else studied
    while True:
        places, rows = np.empty((capacity, 2), np.int32), np.empty((capacity, _ROW))
        if begun is not None and stay:
            places[:stay, 1] = begun.indices[dropped:]
            rows[:stay, 0] = begun.scores[dropped:]
            rows[:stay, 1 : 1 + PROOFS] = begun.proofs[dropped:]
            rows[:stay, 1 + PROOFS :] = begun.features[dropped:]
        used = lib.kp_segment(
            values,
            values.size,
            packed,
            threshold,
            whole_path,
            dropped,
            stay,
            studied is not None,
            room,
            capacity,
            places,
            rows,
            facts,
        )
        if used == -1:
            raise MemoryError
        if used >= 0:
            break
        capacity *= 16
    found = _unpacked(places[:used], rows[:used], facts, room)
    return _joined(begun, dropped, found) if begun is not None and stay else found


def _joined(begun: Segmentation, dropped: int, found: Segmentation) -> Segmentation:
    """Join the candidates that an earlier search ``dropped``, its first ones, with those that it went on to find."""
    return Segmentation(
        np.concatenate([begun.rounds[:dropped], found.rounds]),
        np.concatenate([begun.indices[:dropped], found.indices]),
        np.concatenate([begun.scores[:dropped], found.scores]),
        np.concatenate([begun.features[:dropped], found.features]),
        np.concatenate([begun.proofs[:dropped], found.proofs]),
        found.facts,
        found.room,
    )


def _unpacked(
    places: NDArray[np.int32],
    rows: NDArray[np.float64],
    facts: NDArray[np.float64],
    room: NDArray[np.uint8] | None = None,
) -> Segmentation:
    rounds, indices = places.T
    scale, phi, square, tail, explained, crossings = facts.tolist()
    proofs, features = rows[:, 1 : 1 + PROOFS], rows[:, 1 + PROOFS :]
    return Segmentation(
        rounds, indices, rows[:, 0], features, proofs, (scale, phi, square, tail, explained, crossings), room
    )


def segment_many_in_c(
    values: NDArray[np.float64], ends: NDArray[np.int64], forest: Forest, thresholds: NDArray[np.float64]
) -> Segmentations:
    """Find and prune the candidates of series that lie end to end, in one call of C; see the reference."""
    packed, count = pack_forest(forest), ends.size
    capacity = _FEW * count
    places, rows = np.empty((capacity, 2), np.int32), np.empty((capacity, _ROW))
    facts, used, stay = np.empty((count, FACTS)), np.empty(count, np.int64), np.empty(count, np.int64)
    if lib.kp_segment_many(values, ends, count, packed, thresholds, capacity, places, rows, facts, used, stay):
        raise MemoryError
    stops = np.cumsum(np.maximum(used, 0))

    def of(series: int) -> Segmentation:
        filled, stop = int(used[series]), int(stops[series])
        if filled >= 0:
            return _unpacked(places[stop - filled : stop], rows[stop - filled : stop], facts[series])
        begin = int(ends[series - 1]) if series else 0
        return segment_in_c(values[begin : ends[series]], forest, float(thresholds[series]), whole_path=False)

    return Segmentations(stay, facts, of)


_segment = choose(segment_in_numpy, segment_in_c)
_segment_many = choose(segment_many_in_numpy, segment_many_in_c)

SMALLEST: Final = 1e-100
LARGEST: Final = 1e100
"""Series whose largest value lies outside are scaled by a power of two before they are judged."""


def segment(
    values: NDArray[np.float64],
    forest: Forest,
    threshold: float,
    *,
    whole_path: bool = False,
    begun: Segmentation | None = None,
) -> Segmentation:
    """Find the candidates of ``values`` (finite, contiguous) and drop the weakest until all reach ``threshold``.

    ``whole_path`` gives every candidate of every round instead of only the one that was dropped; the
    model is learnt on that. Without trees a rule scores. A search of the same values that has ``begun`` with a lower
    threshold goes on where it stopped.
    """
    exponent = _exponent(values)
    if not exponent:
        return _segment(values, forest, threshold, whole_path, begun)
    return _scaled_back(_segment(np.ldexp(values, -exponent), forest, threshold, whole_path, begun), exponent)


def segment_many(
    values: NDArray[np.float64], ends: NDArray[np.int64], forest: Forest, thresholds: NDArray[np.float64]
) -> Segmentations:
    """Find the candidates of series that lie end to end as :func:`segment` does, in one call of the kernel.

    ``ends`` says where each series ends, ``thresholds`` has one for each.
    """
    exponents = _exponents(values, ends)
    if not exponents.any():
        return _segment_many(values, ends, forest, thresholds)
    counts = np.diff(ends, prepend=0)
    found = _segment_many(np.ldexp(values, np.repeat(-exponents, counts)), ends, forest, thresholds)
    scales = map(_scale_back, found.facts[:, 0].tolist(), exponents.tolist())
    return replace(
        found,
        facts=np.column_stack([list(scales), found.facts[:, 1:]]),
        of=lambda series: _scaled_back(found.of(series), int(exponents[series])),
    )


def _exponent(values: NDArray[np.float64]) -> int:
    """Return the power of two to divide by where squares would leave the range of float64, 0 where they do not."""
    largest = float(np.abs(values).max(initial=0.0))
    return 0 if largest == 0 or SMALLEST < largest < LARGEST else math.frexp(largest)[1]


def _exponents(values: NDArray[np.float64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the exponent of each series of those that lie end to end."""
    begins = np.append(0, ends[:-1])
    largest = np.zeros(ends.size)
    some = begins < ends
    if some.any():
        largest[some] = np.maximum.reduceat(np.abs(values), begins[some])
    extreme = (largest != 0) & ~((largest > SMALLEST) & (largest < LARGEST))
    return np.where(extreme, np.frexp(largest)[1], 0).astype(np.int64)


def _scaled_back(found: Segmentation, exponent: int) -> Segmentation:
    return replace(found, facts=(_scale_back(found.facts[0], exponent), *found.facts[1:]))


def _scale_back(scale: float, exponent: int) -> float:
    half = exponent // 2  # twice half the way: the scale itself may be infinite
    return scale * 2.0**half * 2.0 ** (exponent - half)
