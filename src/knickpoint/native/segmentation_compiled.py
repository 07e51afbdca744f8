"""The compiled twin of :mod:`knickpoint.native.segmentation_reference`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.native._kernels import ffi, lib  # type: ignore[import-not-found]
from knickpoint.native.forest import Forest, Segmentation

__all__ = ["segment", "take_parts"]

_PROOFS = int(lib.kp_segment_proofs())
_ROW = 1 + _PROOFS + int(lib.kp_segment_features())
_buffer: Any = ffi.from_buffer


@dataclass(frozen=True, slots=True)
class _Packed:
    """Hold a forest as the kernel reads it, and the arrays that it points to."""

    pointer: Any
    arrays: tuple[Any, ...]


@lru_cache(maxsize=16)
def _packed(forest: Forest) -> _Packed:
    """Give all trees one depth: below a leaf that ends early come leaves like it."""
    together = int(lib.kp_trees_together())
    count = -(-forest.root.size // together) * together
    level = forest.root[:, np.newaxis]
    feature, bound, mean = (np.zeros((forest.root.size, 1)) for _ in range(3))  # a tree begins at node 1
    while (inner := forest.feature[level] >= 0).any():
        feature = np.hstack([feature, np.where(inner, forest.feature[level], 0)])
        bound = np.hstack([bound, np.where(inner, forest.bound[level], np.inf)])
        mean = np.hstack([mean, forest.value[level]])
        sides = [np.where(inner, side[level], level) for side in (forest.below, forest.above)]
        level = np.stack(sides, axis=2).reshape(len(level), -1)
    mean = np.hstack([mean, forest.value[level]])
    full = [
        np.zeros((count, part.shape[1]), kind) for part, kind in ((feature, np.uint8), (bound, float), (mean, float))
    ]
    for whole, part in zip(full, (feature, bound, mean), strict=True):
        whole[: len(part)] = part
    arrays = tuple(
        _buffer(kind, whole) for kind, whole in zip(("uint8_t[]", "double[]", "double[]"), full, strict=True)
    )
    return _Packed(ffi.new("KpForest *", [count, level.shape[1].bit_length() - 1, forest.base, *arrays]), arrays)


def segment(values: NDArray[np.float64], forest: Forest, threshold: float, whole_path: bool) -> Segmentation:  # noqa: FBT001
    """Find and prune the candidates of ``values``; see the reference."""
    capacity = 24 + values.size // 40
    packed, series, facts = _packed(forest), _buffer("double[]", values), np.zeros(4)
    while True:
        places, rows = np.empty((capacity, 2), np.int32), np.empty((capacity, _ROW))
        used = lib.kp_segment(
            series,
            values.size,
            packed.pointer,
            threshold,
            whole_path,
            capacity,
            _buffer("int32_t[]", places),
            _buffer("double[]", rows),
            _buffer("double[]", facts),
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


def take_parts(forest: Forest, features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each of the features of a candidate adds to its log-odds; see the reference."""
    parts = np.zeros(features.size)
    numbers = np.ascontiguousarray(features)
    lib.kp_take_parts(_packed(forest).pointer, _buffer("double[]", numbers), _buffer("double[]", parts))
    return parts
