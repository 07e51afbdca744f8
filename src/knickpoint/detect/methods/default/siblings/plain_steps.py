"""Set apart the steps that a trace shows so plainly that it needs no siblings, and look at what is left.

A reordered history that holds large levels looks as if it stepped anywhere, and hides a weak change at another commit.
Without the plain steps, the levels of each trace are alike, but for what only its siblings can show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knickpoint.detect.methods.default.siblings.scan import CERTAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from knickpoint.model.step import Step


@dataclass(frozen=True, slots=True)
class PlainStep:
    """A step of the trace ``row`` whose levels lie ``apart``, in standard errors, more than any shared change needs."""

    row: int
    column: int
    apart: float


def plain_steps(steps: Sequence[Step], row: int, spread: float) -> list[PlainStep]:
    """Return the plain ones of the ``steps`` of one trace.

    ``spread`` over the root of a count is the error of its mean.
    """
    found = []
    for step in steps:
        change = step.after.mean - step.before.mean
        error = spread * math.sqrt(1 / step.before.count + 1 / step.after.count)
        apart = change / error if error > 0 else 0.0
        if abs(apart) >= math.sqrt(CERTAIN):
            found.append(PlainStep(row, step.index, apart))
    return found


def without_steps(values: NDArray[np.float64], steps: Sequence[PlainStep]) -> NDArray[np.float64]:
    """Return ``values`` (traces x commits) with the levels between ``steps`` brought to the median of each trace."""
    left = values.copy()
    for row in sorted({step.row for step in steps}):
        columns = [step.column for step in steps if step.row == row]
        median = np.nanmedian(values[row])
        for first, stop in zip([0, *columns], [*columns, values.shape[1]], strict=True):
            part = values[row, first:stop]
            left[row, first:stop] = part - np.nanmedian(part) + median
    return left
