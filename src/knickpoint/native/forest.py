"""Judge candidates by boosted decision trees."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Hold boosted decision trees as flat arrays, one entry a node.

    ``root`` has the first node of each tree. A node asks ``x[feature] <= bound`` and goes ``below``, which is
    always the next node, or ``above``; a leaf has ``feature`` -1. ``value`` is the log-odds at a leaf, and at an
    inner node what its branch gives on average, so that a path shows what each feature added. ``base`` is the
    log-odds before any tree. Integers are int32, the rest float64.
    """

    base: float
    root: NDArray[np.int32]
    feature: NDArray[np.int32]
    below: NDArray[np.int32]
    above: NDArray[np.int32]
    bound: NDArray[np.float64]
    value: NDArray[np.float64]


Array = NDArray[np.float64]


def _paths(forest: Forest, features: Array) -> Iterator[list[int]]:
    """Yield the nodes that a candidate comes through, tree by tree, from the first to the leaf."""
    for root in forest.root.tolist():
        path = [root]
        while (by := int(forest.feature[at := path[-1]])) >= 0:
            path.append(int(forest.below[at] if features[by] <= forest.bound[at] else forest.above[at]))
        yield path


def judge(forest: Forest, features: Array) -> float:
    """Return the log-odds that a candidate is a change."""
    total = forest.base
    for path in _paths(forest, features):
        total += float(forest.value[path[-1]])
    return total


def take_parts_in_numpy(forest: Forest, features: Array) -> Array:
    """Return the part of each feature in the log-odds of each candidate, from the start of all trees to their leaves.

    ``features`` and the answer are candidates x features.
    """
    parts = np.zeros(features.shape)
    for row, numbers in zip(parts, features, strict=True):
        for path in _paths(forest, numbers):
            for at, after in pairwise(path):
                row[forest.feature[at]] += forest.value[after] - forest.value[at]
    return parts


class PackedForest(ctypes.Structure):
    """The struct ``KpForest`` of ``exports.h``, a forest as the kernel reads it.

    It keeps the arrays that it points to: threads that pack one forest at a time each make one, of which the cache
    keeps one, and a call may have another.
    """

    arrays: tuple[NDArray[Any], ...]

    _fields_: ClassVar = [
        ("trees", ctypes.c_int64),
        ("depth", ctypes.c_int64),
        ("base", ctypes.c_double),
        ("feature", ctypes.c_void_p),
        ("bound", ctypes.c_void_p),
        ("mean", ctypes.c_void_p),
        ("features", ctypes.c_int64),
        ("cuts", ctypes.c_void_p),
        ("first", ctypes.c_void_p),
        ("coded", ctypes.c_void_p),
        ("leaf", ctypes.c_void_p),
    ]


@lru_cache(maxsize=16)
def pack_forest(forest: Forest) -> PackedForest:
    """Fill all trees up to one depth: below a leaf that ends early come leaves like it."""
    together = int(lib.kp_trees_together())
    count = -(-forest.root.size // together) * together

    # Level by level, all trees side by side; a tree begins at node 1
    level = forest.root[:, np.newaxis]
    feature, bound, mean = (np.zeros((forest.root.size, 1)) for _ in range(3))
    least = 1 << int(lib.KP_LEAST_DEPTH)
    while (inner := forest.feature[level] >= 0).any() or level.shape[1] < least:
        feature = np.hstack([feature, np.where(inner, forest.feature[level], 0)])
        bound = np.hstack([bound, np.where(inner, forest.bound[level], np.inf)])
        mean = np.hstack([mean, forest.value[level]])
        sides = [np.where(inner, side[level], level) for side in (forest.below, forest.above)]
        level = np.stack(sides, axis=2).reshape(len(level), 2 * level.shape[1])
    mean = np.hstack([mean, forest.value[level]])

    # Trees of zeros up to a multiple of those that are followed together
    full = [
        np.zeros((count, part.shape[1]), kind) for part, kind in ((feature, np.uint8), (bound, float), (mean, float))
    ]
    for whole, part in zip(full, (feature, bound, mean), strict=True):
        whole[: len(part)] = part
    depth = level.shape[1].bit_length() - 1
    features, bounds, means = full
    cuts, first, places = _cut(features, bounds)
    coded = np.stack(
        [part.reshape(count // 2, 2 * part.shape[1]) for part in (features.astype(np.uint16), places)], axis=1
    )
    leaf = np.ascontiguousarray(means[:, 1 << depth :])
    arrays = (features, bounds, means, cuts, first, np.ascontiguousarray(coded), leaf)
    pointers = [part.ctypes.data for part in arrays]
    packed = PackedForest(count, depth, forest.base, *pointers[:3], first.size - 1, *pointers[3:])
    packed.arrays = arrays
    return packed


def _cut(
    feature: NDArray[np.uint8], bound: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.uint16]]:
    """Return the distinct bounds of all features in one array, where those of each begin, and their places."""
    places = np.zeros(bound.shape, np.uint16)
    cuts = []
    for number in range(int(feature.max(initial=0)) + 1):
        asks = feature == number
        found, among = np.unique(bound[asks], return_inverse=True)
        assert found.size < np.iinfo(np.uint16).max
        places[asks] = among
        cuts.append(found)
    return np.concatenate(cuts), np.cumsum([0, *map(len, cuts)], dtype=np.int32), places


def take_parts_in_c(forest: Forest, features: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the part of each feature of each candidate in its log-odds; see the reference."""
    parts = np.zeros(features.shape)
    lib.kp_take_parts(pack_forest(forest), np.ascontiguousarray(features), *features.shape, parts)
    return parts


take_parts = choose(take_parts_in_numpy, take_parts_in_c)
