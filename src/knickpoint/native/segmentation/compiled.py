"""Find and prune candidates in C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib
from knickpoint.native.forest.compiled import pack_forest
from knickpoint.native.forest.forest import Forest
from knickpoint.native.segmentation.constants import SHORTEST
from knickpoint.native.segmentation.result import Segmentation, Segmentations

_PROOFS = int(lib.kp_segment_proofs())


_FEW = 48
"""Rows that there is room for on average; they lie one after another, so that what stays empty takes no memory."""

_ROW = 1 + _PROOFS + int(lib.kp_segment_features())


def segment(
    values: NDArray[np.float64],
    forest: Forest,
    threshold: float,
    whole_path: bool,  # noqa: FBT001
    begun: Segmentation | None = None,
) -> Segmentation:
    """Find and prune the candidates of ``values``; see the reference."""
    capacity = 1 + values.size // SHORTEST  # candidates at most; the whole path has more rows
    packed, facts = pack_forest(forest), np.zeros(4)
    stay = 0 if begun is None else int(np.count_nonzero(begun.rounds < 0))
    dropped = 0 if begun is None else begun.rounds.size - stay
    studied = begun.room if begun is not None and stay else None
    room = np.empty(lib.kp_segment_room(values.size), np.uint8) if studied is None else studied
    while True:
        places, rows = np.empty((capacity, 2), np.int32), np.empty((capacity, _ROW))
        if begun is not None and stay:
            places[:stay, 1] = begun.indices[dropped:]
            rows[:stay, 0] = begun.scores[dropped:]
            rows[:stay, 1 : 1 + _PROOFS] = begun.proofs[dropped:]
            rows[:stay, 1 + _PROOFS :] = begun.features[dropped:]
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
    scale, phi, square, tail = facts.tolist()
    proofs, features = rows[:, 1 : 1 + _PROOFS], rows[:, 1 + _PROOFS :]
    return Segmentation(rounds, indices, rows[:, 0], features, proofs, (scale, phi, square, tail), room)


def segment_many(
    values: NDArray[np.float64], ends: NDArray[np.int64], forest: Forest, thresholds: NDArray[np.float64]
) -> Segmentations:
    """Find and prune the candidates of series that lie end to end, in one call of C; see the reference."""
    packed, count = pack_forest(forest), ends.size
    capacity = _FEW * count
    places, rows = np.empty((capacity, 2), np.int32), np.empty((capacity, _ROW))
    facts, used, stay = np.empty((count, 4)), np.empty(count, np.int64), np.empty(count, np.int64)
    if lib.kp_segment_many(values, ends, count, packed, thresholds, capacity, places, rows, facts, used, stay):
        raise MemoryError
    stops = np.cumsum(np.maximum(used, 0))

    def of(series: int) -> Segmentation:
        filled, stop = int(used[series]), int(stops[series])
        if filled >= 0:
            return _unpacked(places[stop - filled : stop], rows[stop - filled : stop], facts[series])
        begin = int(ends[series - 1]) if series else 0
        return segment(values[begin : ends[series]], forest, float(thresholds[series]), whole_path=False)

    return Segmentations(stay, facts, of)
