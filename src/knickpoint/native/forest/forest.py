"""Hold boosted decision trees as flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
