"""Judge candidates by trees in C."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import ffi, lib, pointer
from knickpoint.native.forest.forest import Forest

__all__ = ["PackedForest", "pack_forest", "take_parts"]


@dataclass(frozen=True, slots=True)
class PackedForest:
    """Hold a forest as the kernel reads it, and the arrays that it points to."""

    pointer: Any
    arrays: tuple[Any, ...]


@lru_cache(maxsize=16)
def pack_forest(forest: Forest) -> PackedForest:
    """Fill all trees up to one depth: below a leaf that ends early come leaves like it."""
    together = int(lib.kp_trees_together())
    count = -(-forest.root.size // together) * together

    # Level by level, all trees side by side; a tree begins at node 1
    level = forest.root[:, np.newaxis]
    feature, bound, mean = (np.zeros((forest.root.size, 1)) for _ in range(3))
    while (inner := forest.feature[level] >= 0).any():
        feature = np.hstack([feature, np.where(inner, forest.feature[level], 0)])
        bound = np.hstack([bound, np.where(inner, forest.bound[level], np.inf)])
        mean = np.hstack([mean, forest.value[level]])
        sides = [np.where(inner, side[level], level) for side in (forest.below, forest.above)]
        level = np.stack(sides, axis=2).reshape(len(level), -1)
    mean = np.hstack([mean, forest.value[level]])

    # Trees of zeros up to a multiple of those that are followed together
    full = [
        np.zeros((count, part.shape[1]), kind) for part, kind in ((feature, np.uint8), (bound, float), (mean, float))
    ]
    for whole, part in zip(full, (feature, bound, mean), strict=True):
        whole[: len(part)] = part
    arrays = tuple(
        pointer(kind, whole) for kind, whole in zip(("uint8_t[]", "double[]", "double[]"), full, strict=True)
    )
    return PackedForest(ffi.new("KpForest *", [count, level.shape[1].bit_length() - 1, forest.base, *arrays]), arrays)


def take_parts(forest: Forest, features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each of the features of a candidate adds to its log-odds; see the reference."""
    parts = np.zeros(features.size)
    numbers = np.ascontiguousarray(features)
    lib.kp_take_parts(pack_forest(forest).pointer, pointer("double[]", numbers), pointer("double[]", parts))
    return parts
