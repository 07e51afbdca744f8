"""Measure whether the 95 % interval of a size holds the true size, on generated steps whose place the method finds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Final

from accuracy_noise import DEVIATION, Known, step
from knickpoint.detect import estimate_sizes, find_steps_many
from table import Row

__all__ = ["coverage", "size_rows"]

_SERIES: Final = 200
_NEAR: Final = 5
"""Values that a found step may be off and still be the generated one."""

_FAMILIES: Final = ("normal", "heavy-tailed", "AR(1) 0.5")
_SIZES: Final = (1.0, 2.0, 4.0)


def coverage(series: Sequence[Known], size: float) -> tuple[int, float]:
    """Return how many steps were found, and the share whose interval holds ``size``, in deviations of the noise."""
    found = held = 0
    for known in series:
        (steps,) = find_steps_many(known.values[None, :], threads=1)
        for each, estimate in zip(steps, estimate_sizes(known.values, steps), strict=True):
            if abs(each.index - known.places[0]) > _NEAR:
                continue
            found += 1
            true = math.copysign(size * DEVIATION, estimate.after - estimate.before)
            held += estimate.low <= true <= estimate.high
    return found, held / max(found, 1)


def size_rows() -> list[Row]:
    """Measure each family of noise and each size; heavy tails are Student's t with 3 degrees of freedom."""
    rows = []
    for family, size in product(_FAMILIES, _SIZES):
        found, held = coverage([step(family, size, seed) for seed in range(_SERIES)], size)
        name = f"{family}, step of {size:g} sigma"
        rows.append(Row(f"{name}: steps found", "of 200", found))
        rows.append(Row(f"{name}: 95 % interval holds the size", "%", 100 * held))
    return rows
