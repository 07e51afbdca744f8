"""Find the levels of the histories: where each begins, and which of them new values are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.batch import find_steps_many

COMES_AND_GOES: Final = 0.2
"""Share of the commits at which any benchmark steps, from which on steps are noise of the whole suite."""

FEWEST_PLACES: Final = 3
"""Commits with steps below which the share says nothing."""

SAME_LEVEL: Final = 2.0
"""Standard deviations within which the medians of two levels are the same level, visited again."""

ESTABLISHED: Final = 5
"""Values that a level must have lasted for: until then, it may be an excursion that ends with the next value."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Levels:
    """The measured values of one history, level by level.

    ``values`` (1-D, finite) are in the order of the commits, and ``columns`` are their commits in the frame. ``bounds``
    has the first value of each level and the number of values at the end; the last level is the current one.
    """

    values: Array
    columns: NDArray[np.intp]
    bounds: tuple[int, ...]

    @property
    def current(self) -> Array:
        """The values of the current level."""
        return self.values[self.bounds[-2] :]

    @property
    def established(self) -> Array:
        """The values of the level that is believed: the newest one that lasted for :data:`ESTABLISHED` values.

        Without any such level, the current one.
        """
        lasting = [part for part, _ in self.parts if part.size >= ESTABLISHED]
        return lasting[-1] if lasting else self.current

    @property
    def parts(self) -> list[tuple[Array, NDArray[np.intp]]]:
        """Values and columns of each level."""
        return [(self.values[first:end], self.columns[first:end]) for first, end in pairwise(self.bounds)]


def find_levels(histories: Array) -> list[Levels]:
    """Return the levels of each row of ``histories`` (traces x commits, nan for missing).

    A level that the history left and came back to is not a change but a mode: the current level reaches back to where
    it was first visited, and what lies between is part of its noise. Where benchmarks step at more than a fifth of all
    commits, steps are the noise of the suite, and each history is a single level.
    """
    found = find_steps_many(histories)
    places = {step.index for steps in found for step in steps}
    commits = int(np.count_nonzero((~np.isnan(histories)).any(axis=0)))
    restless = len(places) >= FEWEST_PLACES and len(places) > COMES_AND_GOES * commits
    levels = []
    for row, steps in zip(histories, found, strict=True):
        columns = np.flatnonzero(~np.isnan(row))
        starts = [] if restless else sorted({int(np.searchsorted(columns, step.index)) for step in steps})
        bounds = (0, *(start for start in starts if 0 < start < columns.size), int(columns.size))
        levels.append(Levels(row[columns], columns, _joined(row[columns], bounds)))
    return levels


def _joined(values: Array, bounds: Sequence[int]) -> tuple[int, ...]:
    """Return the bounds with the current level joined to the first earlier one that is the same level."""
    parts = [values[first:end] for first, end in pairwise(bounds)]
    last = parts[-1]
    for index, part in enumerate(parts[:-2]):
        near = SAME_LEVEL * max(float(part.std()), float(last.std()))
        if abs(float(np.median(part)) - float(np.median(last))) <= near:
            return (*bounds[: index + 1], bounds[-1])
    return tuple(bounds)
