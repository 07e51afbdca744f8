"""Find and prune candidates in C."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib
from knickpoint.native.forest.compiled import pack_forest
from knickpoint.native.forest.forest import Forest
from knickpoint.native.segmentation.result import Segmentation

__all__ = ["segment"]

_PROOFS = int(lib.kp_segment_proofs())


_ROW = 1 + _PROOFS + int(lib.kp_segment_features())


def segment(values: NDArray[np.float64], forest: Forest, threshold: float, whole_path: bool) -> Segmentation:  # noqa: FBT001
    """Find and prune the candidates of ``values``; see the reference."""
    capacity = 24 + values.size // 40
    packed, facts = pack_forest(forest), np.zeros(4)
    while True:
        places, rows = np.empty((capacity, 2), np.int32), np.empty((capacity, _ROW))
        used = lib.kp_segment(
            values,
            values.size,
            packed.pointer,
            threshold,
            whole_path,
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
    rounds, indices = places[:used].T
    found, (scale, phi, square, tail) = rows[:used], facts.tolist()
    proofs, features = found[:, 1 : 1 + _PROOFS], found[:, 1 + _PROOFS :]
    return Segmentation(rounds, indices, found[:, 0], features, proofs, (scale, phi, square, tail))
