"""Bring siblings to one scale, seen as they are and around their common centre.

What all traces of a machine share, such as its temperature, moves them together without any change of the code. Around
the centre of the siblings it is gone, and so is a change that most of them made; as they are, both are there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NORMAL: Final = 0.6744897501960817
"""The median distance of a normal value from its mean, in standard deviations."""

_MOST: Final = 4.0
"""Standard deviations beyond which a value counts as if it were there: an outlier is not evidence of a level."""

_MOST_DEPENDENT: Final = 0.9
_BLOCK: Final = 4.0
"""Length of a block of commits, in lengths of the memory of the noise."""

_LEAST_BLOCK: Final = 5


@dataclass(frozen=True, slots=True)
class View:
    """Siblings on one scale: ``values`` is traces x commits, 0 where ``held`` says that nothing was measured.

    The unit is the deviation of a value from what the one before lets expect; ``dependence`` is the autocorrelation.
    """

    values: NDArray[np.float64]
    held: NDArray[np.bool_]
    dependence: float

    @property
    def memory(self) -> float:
        """The variance of the mean of n values, times n: 1 for independent ones."""
        return memory_of(self.dependence)

    @property
    def block(self) -> int:
        """Neighbouring commits that stay together when a history is reordered."""
        return max(_LEAST_BLOCK, math.ceil(_BLOCK * (1 + self.dependence) / (1 - self.dependence)))

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean of the traces that are measured, for each commit; ``nan`` where none is."""
        counts = self.held.sum(axis=0)
        return np.where(counts > 0, self.values.sum(axis=0) / np.maximum(counts, 1), np.nan)


def memory_of(dependence: float) -> float:
    """Return the variance of the mean of n values, times n: 1 for independent ones.

    Neighbours resemble each other, so their changes show less than the variance of a value, and their mean keeps more.
    """
    return (1 + dependence) / (1 - dependence) ** 2


def deviations_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation of each row around its levels, 0 where most neighbours are equal.

    ``values`` is traces x commits, ``nan`` for missing. The changes between neighbours say it, so that steps hardly
    count.
    """
    return np.array([_spread(np.diff(row[~np.isnan(row)])) / math.sqrt(2) for row in values])


def _spread(changes: NDArray[np.float64]) -> float:
    if not changes.size:
        return 0.0
    return float(np.median(np.abs(changes - np.median(changes)))) / _NORMAL


def common_scale(values: NDArray[np.float64], deviations: NDArray[np.float64]) -> View:
    """Return the rows of ``values`` around their medians, in their ``deviations``, which are positive."""
    levels = np.nanmedian(values, axis=1, keepdims=True)
    return _view((values - levels) / deviations[:, None])


def around_centre(view: View) -> View:
    """Return ``view`` without what most of its traces share, on the scale of what is left.

    The centre of a commit is the median of its traces. A row that is its own centre too often to have noise stays out:
    all its values are 0.
    """
    values = np.where(view.held, view.values, np.nan)
    rest = values - np.nanmedian(np.where(view.held.any(axis=0), values, 0.0), axis=0)
    deviations = deviations_of(rest)
    usable = deviations > 0
    scaled = np.where(usable[:, None], rest / np.where(usable, deviations, 1.0)[:, None], 0.0)
    scaled[~view.held] = np.nan
    return _view(scaled - np.nanmedian(scaled, axis=1, keepdims=True))


def _view(scaled: NDArray[np.float64]) -> View:
    held = ~np.isnan(scaled)
    values = np.where(held, np.clip(scaled, -_MOST, _MOST), 0.0)
    dependence = np.median([dependence_of(row[present]) for row, present in zip(values, held, strict=True)])
    return View(values, held, float(dependence))


def dependence_of(values: NDArray[np.float64]) -> float:
    """Return the autocorrelation at lag 1 as that of a process of first order, from 0 to :data:`_MOST_DEPENDENT`.

    Neighbours differ by a variance of ``2 (1 - phi)``, values three apart by ``2 (1 - phi^3)``; their ratio is
    ``1 + phi + phi^2``, and steps hardly touch the medians.
    """
    near = float(np.median(np.abs(np.diff(values)))) if values.size > 1 else 0.0
    if values.size <= 3 or near <= 0:
        return 0.0
    ratio = (float(np.median(np.abs(values[3:] - values[:-3]))) / near) ** 2
    phi = (math.sqrt(max(4 * ratio - 3, 0.0)) - 1) / 2
    return min(max(phi, 0.0), _MOST_DEPENDENT)
