"""What a forest of decision trees says of a candidate, and what each feature added, in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.forest import Forest

__all__ = ["judge"]


def judge(forest: Forest, features: NDArray[np.float64], parts: NDArray[np.float64] | None = None) -> float:
    """Return the log-odds that a candidate is a change; ``parts`` gets what each feature added to it."""
    if not forest.root.size:
        return float(min(features[1], features[3] / 0.75))
    total = forest.base
    for root in forest.root.tolist():
        at = root
        while (by := int(forest.feature[at])) >= 0:
            after = int(forest.below[at] if features[by] <= forest.bound[at] else forest.above[at])
            if parts is not None:
                parts[by] += forest.value[after] - forest.value[at]
            at = after
        total += float(forest.value[at])
    return total
