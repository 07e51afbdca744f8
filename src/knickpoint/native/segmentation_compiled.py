"""The compiled twin of :mod:`knickpoint.native.segmentation_reference`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.native._kernels import ffi, lib  # type: ignore[import-not-found]
from knickpoint.native.forest import Forest, Segmentation

__all__ = ["segment"]

_FEATURES = int(lib.kp_segment_features())
_PROOFS = int(lib.kp_segment_proofs())
_buffer: Any = ffi.from_buffer


@lru_cache(maxsize=16)
def _packed(forest: Forest) -> NDArray[np.void]:
    """Lay out the nodes so that one line of the cache holds four of them, and a leaf leads to itself."""
    inner = forest.feature >= 0
    if not np.array_equal(forest.below[inner], np.flatnonzero(inner) + 1):
        raise ValueError("a branch below is not the next node")
    nodes = np.zeros(forest.feature.size, np.dtype([("bound", "f8"), ("feature", "i4"), ("above", "i4")]))
    nodes["bound"] = np.where(inner, forest.bound, -np.inf)
    nodes["feature"] = np.where(inner, forest.feature, 0)
    nodes["above"] = np.where(inner, forest.above, np.arange(inner.size))
    return nodes


def segment(values: NDArray[np.float64], forest: Forest, threshold: float, whole_path: bool) -> Segmentation:  # noqa: FBT001
    """Find and prune the candidates of ``values``; see the reference."""
    capacity = 24 + values.size // 40
    while True:
        found = _segment(values, forest, threshold, whole_path, capacity)
        if found is not None:
            return found
        capacity *= 16


def _segment(
    values: NDArray[np.float64],
    forest: Forest,
    threshold: float,
    whole_path: bool,  # noqa: FBT001
    capacity: int,
) -> Segmentation | None:
    places = np.empty((2, capacity), np.int32)
    numbers = np.empty((2 * _FEATURES + _PROOFS + 1, capacity))
    facts = np.zeros(4)
    start = _buffer("double[]", numbers)
    rows = lib.kp_segment(
        _buffer("double[]", values),
        values.size,
        forest.root.size,
        forest.base,
        _buffer("int32_t[]", forest.root),
        _buffer("KpNode[]", _packed(forest)),
        _buffer("double[]", forest.value),
        threshold,
        whole_path,
        capacity,
        _buffer("int32_t[]", places),
        _buffer("int32_t[]", places) + capacity,
        start,
        start + capacity,
        start + capacity * (_FEATURES + 1),
        start + capacity * (2 * _FEATURES + 1),
        _buffer("double[]", facts),
    )
    if rows == -1:
        raise MemoryError
    if rows < 0:
        return None
    flat = numbers.reshape(-1)
    bounds = np.cumsum([capacity, capacity * _FEATURES, capacity * _FEATURES])
    score, features, parts, proofs = (part.reshape(capacity, -1)[:rows] for part in np.split(flat, bounds))
    scale, phi, square, tail = facts.tolist()
    return Segmentation(
        places[0, :rows], places[1, :rows], score[:, 0], features, parts, proofs, (scale, phi, square, tail)
    )
