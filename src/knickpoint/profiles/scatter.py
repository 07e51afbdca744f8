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

    def half_width(self, before: Floats, after: Floats, doubt: float) -> float:
        """Return half of the width of the interval of the difference."""
        count = len(before) + len(after)
        level = max(float(before.mean()), float(after.mean()), 0.0)
        freedom = count - 2.0
        if min(len(before), len(after)) > 1:
            squares = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
            counted = level * self.counting
            together = (squares + self.weight * self.shared * counted) / (freedom + self.weight)
            variance, freedom = max(together, counted), freedom + self.weight
        else:
            variance, freedom = (level * self.assumed) ** 2 + level * self.counting, _NORMAL
        spread = variance * (1 / len(before) + 1 / len(after))
        return student_quantile(1 - doubt / 2, freedom) * math.sqrt(spread) if spread > 0 else 0.0


def cost_change(before: Floats, after: Floats, scatter: Scatter, doubt: float) -> CostChange:
    """Return the change of the mean cost, whose interval is wrong with the chance ``doubt``."""
    half = scatter.half_width(before, after, doubt)
    first, second = float(before.mean()), float(after.mean())
    return CostChange(first, second, second - first - half, second - first + half)


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
