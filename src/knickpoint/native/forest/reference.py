"""Judge candidates by trees in NumPy: the log-odds of a candidate, and what each feature adds to them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.forest.forest import Forest

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


def take_parts(forest: Forest, features: Array) -> Array:
    """Return the contribution of each feature to the log-odds, from the start of all trees to their leaves."""
    parts = np.zeros(features.size)
    for path in _paths(forest, features):
        for at, after in pairwise(path):
            parts[forest.feature[at]] += forest.value[after] - forest.value[at]
    return parts
