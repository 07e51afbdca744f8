"""Find the levels of the histories: where each begins, and which of them new values are compared with."""

from __future__ import annotations

import math
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

EXACT: Final = 5e-4
"""Relative difference of successive values, in the middle of a history, up to which it is exact, as counts are."""

_STEP: Final = 20.0
_LEAST_STEP: Final = 1e-3
"""Each difference of so many times the middle one, and of such a share, is a step of an exact history."""

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
    commits, steps are the noise of the suite, and each history is a single level. In an exact history each difference
    that stands out is the doing of its commit, however often that happens.
    """
    exact = exact_rows(histories)
    found = dict(zip(np.flatnonzero(~exact).tolist(), find_steps_many(histories[~exact]), strict=True))
    places = {step.index for steps in found.values() for step in steps}
    commits = int(np.count_nonzero((~np.isnan(histories)).any(axis=0)))
    restless = len(places) >= FEWEST_PLACES and len(places) > COMES_AND_GOES * commits
    levels = []
    for number, row in enumerate(histories):
        columns = np.flatnonzero(~np.isnan(row))
        steps = [] if restless else [int(np.searchsorted(columns, step.index)) for step in found.get(number, ())]
        starts = _exact_steps(row[columns]) if exact[number] else sorted(set(steps))
        bounds = (0, *(start for start in starts if 0 < start < columns.size), int(columns.size))
        levels.append(Levels(row[columns], columns, _joined(row[columns], bounds)))
    return levels


def exact_rows(histories: Array) -> NDArray[np.bool_]:
    """Mask of the rows that are exact: their successive values hardly differ in the middle."""
    return np.array([_usual_difference(row[~np.isnan(row)]) <= EXACT for row in histories], dtype=np.bool_)


def _differences(values: Array) -> Array:
    """Return the differences of successive values, relative to the smaller one."""
    sizes = np.abs(values)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        relative = np.abs(np.diff(values)) / np.minimum(sizes[1:], sizes[:-1])
    return np.nan_to_num(relative, nan=0.0, posinf=math.inf)


def _usual_difference(values: Array) -> float:
    return float(np.median(_differences(values))) if values.size > 1 else math.inf


def _exact_steps(values: Array) -> list[int]:
    """Find the first values of the levels of exact ``values``, but for the very first."""
    least = max(_LEAST_STEP, _STEP * _usual_difference(values))
    return [int(place) + 1 for place in np.flatnonzero(_differences(values) > least)]


def _joined(values: Array, bounds: Sequence[int]) -> tuple[int, ...]:
    """Return the bounds with the current level joined to the first earlier one that is the same level."""
    parts = [values[first:end] for first, end in pairwise(bounds)]
    last = parts[-1]
    for index, part in enumerate(parts[:-2]):
        near = SAME_LEVEL * max(float(part.std()), float(last.std()))
        if abs(float(np.median(part)) - float(np.median(last))) <= near:
            return (*bounds[: index + 1], bounds[-1])
    return tuple(bounds)
