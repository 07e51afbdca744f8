"""The change of a cost with its interval, from the scatter of several profiles."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from knickpoint.detect.outliers import student_quantile
from knickpoint.profiles.profile import Floats

_SCATTER: Final = {True: 1e-3, False: 0.05}
"""The scatter of a cost from run to run that is assumed where a side has one profile: of exact values, of others."""
_NORMAL: Final = 1e6
"""Degrees of freedom of a scatter that is assumed."""
_SHARED_FREEDOM: Final = 12.0
"""Degrees of freedom of the scatter that functions share, where samples were counted."""
_LEAST_ALIKE: Final = 4
"""Functions of equal cost (the inverse of their squared shares) below which the speed of a run is not taken out."""
_APART: Final = 3
"""A function takes part in the speed of the runs if it changed by at most so many of its deviations."""
WORTH: Final = 1e-3
"""The share of the whole cost below which a change is not called a cause."""

Sides = tuple[Floats, Floats]
"""Costs before and after: a row a function, a column a profile."""


@dataclass(frozen=True, slots=True)
class CostChange:
    """A mean cost before and after, and the interval in which their difference lies."""

    before: float
    after: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """After less before."""
        return self.after - self.before

    @property
    def is_certain(self) -> bool:
        """Whether the difference exceeds its scatter."""
        return self.low > 0 or self.high < 0

    @property
    def half(self) -> float:
        """Half of the width of the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True)
class Scatter:
    """What is known of the scatter besides the profiles: of counting samples, and what is assumed from run to run."""

    counting: float
    assumed: float
    shared: float = 1.0
    """The variance in terms of that of counting samples, from all functions."""
    weight: float = 0.0
    """Degrees of freedom that ``shared`` counts for, beside those of a function's own scatter."""

    def learned(self, costs: Sides) -> Scatter:
        """Return the scatter with what all functions have in common, where samples were counted."""
        freedom = sum(side.shape[1] for side in costs) - 2
        if not self.counting or min(side.shape[1] for side in costs) < 2:
            return self
        squares = sum(((side - side.mean(axis=1, keepdims=True)) ** 2).sum() for side in costs)
        counted = self.counting * sum(side.mean(axis=1).sum() for side in costs) / 2
        return replace(self, shared=max(float(squares / freedom / counted), 1.0), weight=_SHARED_FREEDOM)

    @classmethod
    def of(cls, counting: float, *, exact: bool) -> Scatter:
        """Return the scatter of samples that stand for a cost each (0: not sampled), and of exact values or others."""
        return cls(counting, _SCATTER[exact])

    def half_widths(self, costs: Sides, doubt: float) -> Floats:
        """Half of the width of the interval of each function's difference."""
        sizes = [side.shape[1] for side in costs]
        level = np.maximum(np.maximum(*(side.mean(axis=1) for side in costs)), 0.0)
        counted = level * self.counting
        if min(sizes) > 1:
            freedom = sum(sizes) - 2 + self.weight
            squares = sum(((side - side.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for side in costs)
            variance = np.maximum((squares + self.weight * self.shared * counted) / freedom, counted)
        else:
            variance, freedom = (level * self.assumed) ** 2 + counted, _NORMAL
        spread: Floats = np.sqrt(variance * sum(1 / size for size in sizes))
        return spread * student_quantile(1 - doubt / 2, freedom)


def cost_changes(costs: Sides, scatter: Scatter, doubt: float) -> list[CostChange]:
    """Changes of the mean costs of functions; the interval of each is wrong with the chance ``doubt``."""
    before, after = (side.mean(axis=1) for side in costs)
    change, half = after - before, scatter.half_widths(costs, doubt)
    columns = (before, after, change - half, change + half)
    return [CostChange(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def cost_change(before: Floats, after: Floats, scatter: Scatter, doubt: float) -> CostChange:
    """Change of one mean cost, as :func:`cost_changes` has it."""
    return cost_changes((before[None, :], after[None, :]), scatter, doubt)[0]


def run_speeds(costs: Sides) -> Sides:
    """Return the slowness of each run as a factor around 1, which most functions share.

    A first estimate is the median over the functions, the last one the sum of those that did not change by it.
    """
    joined = np.concatenate(costs, axis=1)
    base = costs[0].shape[1]
    level = (costs[0].mean(axis=1) + costs[1].mean(axis=1)) / 2
    kept = np.minimum(costs[0].mean(axis=1), costs[1].mean(axis=1)) > level.sum() * WORTH
    none = np.ones(base), np.ones(joined.shape[1] - base)
    if not kept.any() or level[kept].sum() ** 2 < _LEAST_ALIKE * float((level[kept] ** 2).sum()):
        return none
    ratios = joined[kept] / level[kept, None]
    speeds = np.array([_weighted_median(column, level[kept]) for column in ratios.T])
    if not (speeds > 0).all():
        return none
    even = ratios / speeds
    change = np.abs(even[:, base:].mean(axis=1) - even[:, :base].mean(axis=1))
    spread = np.hypot(even[:, base:].std(axis=1), even[:, :base].std(axis=1))
    calm = change <= np.maximum(_APART * spread / math.sqrt(base), float(np.median(change)))
    speeds = joined[kept][calm].sum(axis=0) / level[kept][calm].sum()
    return (speeds[:base], speeds[base:]) if (speeds > 0).all() else none


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])
