"""The evidence of one change, or of none, under a mixture of shapes of noise.

Real noise has heavy tails, bursts to one side that are as large as a change, a second mode, or another deviation after
the change. Each shape is weighed by how well it explains the values. The levels and the deviation of the noise are
integrated over a grid: values are counted by cell, so that the log likelihood of every level is a product of a table
and these counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.linear_model import Knowledge, log_sum

Array = NDArray[np.float64]


class _Shape(NamedTuple):
    """A shape of noise, in units of its deviation: a bulk, and bursts of unknown size.

    Attributes:
        probability: its prior probability.
        heavy: whether the bulk is Student's t with 3 degrees of freedom; else it is normal.
        up: share of the values in a burst upwards.
        down: share of those in a burst downwards.
        mode: how far a second mode of the bulk is above the first one.
        second: share of the values in it.
        wide: the deviation is twice as large "before" or "after" the change; "" on neither side.
    """

    probability: float
    heavy: bool = False
    up: float = 0.005
    down: float = 0.005
    mode: float = 0.0
    second: float = 0.0
    wide: str = ""


_MODES: Final = tuple(2 * 1.4**number for number in range(9))
_SECONDS: Final = (0.15, 0.4, 0.75)
_SHAPES: Final = (
    _Shape(0.30),
    _Shape(0.20, heavy=True),
    *(_Shape(0.04, wide=side) for side in ("before", "after")),
    *(_Shape(0.06, up=share) for share in (0.08, 0.2)),
    *(_Shape(0.06, down=share) for share in (0.08, 0.2)),
    *(_Shape(0.01, mode=mode, second=second) for mode, second in product(_MODES, _SECONDS)),
)
_LOG_SHARES: Final = np.log([shape.probability for shape in _SHAPES])

_BURST_SCALES: Final = 6.0
"""A burst of any scale, from 1 to about 400 deviations, is equally likely: its density is 1 / (6 (1 + size))."""

_RATIO: Final = 1.5
"""Ratio of neighbouring deviations of the grid."""

_RANGE: Final = 400.0
"""The largest deviation of the grid relative to the least one, at most."""

_NEAR: Final = 2.5
"""A level is within so many deviations of a value."""

_FAR: Final = 600.0
"""Values that are further from a level than so many deviations count as if they were so far."""

_STEPS: Final = (0.5, 0.35, 0.25)
"""Widths of a cell in deviations: narrower ones for more values, whose mean is known better."""

_LEFT_OUT: Final = 16.0
"""Shapes and deviations that explain the values worse than the best ones by so many nats are left out."""

_ROOT: Final = float(np.sqrt(2 * np.pi))


@dataclass(frozen=True, slots=True)
class Change:
    """Which changes are in question: their direction (+1, -1, or 0 for either), and the size from which on they count.

    ``least`` is relative to the level before, whose zero is at ``zero``; or in the unit of the values, where ``zero``
    is not a number; 0 is the deviation of the noise.
    """

    movement: int
    least: float
    zero: float = float("nan")

    def limits(self, levels: Array, deviation: float) -> Array:
        """Return the size from which on a change counts, for each level before it."""
        if not self.least:
            return np.full(len(levels), deviation)
        return self.least * (np.ones(len(levels)) if np.isnan(self.zero) else np.abs(levels - self.zero))


@dataclass(frozen=True, slots=True)
class MixtureFit:
    """What the values say of one change in each of g gaps, and of none; logarithms of marginal likelihoods.

    Attributes:
        single: one change in each gap, in the direction in question; shape (g,).
        reversed: one change in the other direction; shape (g,).
        small: the part of ``single`` whose change is below the least size; shape (g,).
        none_before: no change, at the level of the good end.
        none_after: no change, at the level of the bad end.
    """

    single: Array
    reversed: Array
    small: Array
    none_before: float
    none_after: float


def fit_mixture(values: Array, before: NDArray[np.int64], known: Knowledge, change: Change) -> MixtureFit:
    """Integrate over shapes, deviations and levels.

    ``values`` (v,) are in the order of places, and free of offsets of devices.

    ``before`` (g,) says how many of them are before the change of each gap.
    """
    grids = [_Grid.of(values, before, deviation) for deviation in _deviations(values, known)]
    least = max(float(grid.bound.max()) for grid in grids) - _LEFT_OUT
    parts = [grid.integrate(grid.bound > least, known, change) for grid in grids if grid.bound.max() > least]
    found = mix(parts, [0.0] * len(parts))
    # A level without a value may be anywhere, and not only near one.
    for unseen, level in ((before == 0, found.none_after), (before == len(values), found.none_before)):
        found.single[unseen] = found.reversed[unseen] = level
        found.small[unseen] = -np.inf
    return found


def _deviations(values: Array, known: Knowledge) -> Sequence[float]:
    """Return the deviations of the grid, from a fraction of the distance of neighbours to that of all values.

    A history says more: its deviation is the unit.
    """
    high = 3 * (float(np.std(values)) or 1.0)
    gaps = np.diff(np.sort(values))
    low = float(np.clip(np.median(gaps) / 5 if len(gaps) else high, high / _RANGE, high))
    if known.moves.min() == 0:
        low, high = float(np.clip(low, 0.2, 0.5)), max(high, 2.0)
    count = int(np.ceil(np.log(high / low) / np.log(_RATIO))) + 1
    return [low * _RATIO**number for number in range(count)]


def mix(fits: Sequence[MixtureFit], logs: Sequence[float]) -> MixtureFit:
    """Return the fit under several accounts of the values with the log priors ``logs``."""
    fields = ([np.asarray(getattr(each, name)) + log for each, log in zip(fits, logs, strict=True)] for name in _FIELDS)
    single, back, small, first, last = (log_sum(np.stack(each), axis=0) for each in fields)
    return MixtureFit(single, back, small, float(first), float(last))


_FIELDS: Final = ("single", "reversed", "small", "none_before", "none_after")


@dataclass(frozen=True)
class _Grid:
    """The log likelihood of n levels under s shapes of one deviation, for the values on both sides of each of g gaps.

    Attributes:
        levels: the levels; shape (n,).
        deviation: the deviation of the noise.
        step: the distance of neighbouring levels.
        low: the values before each gap; shape (s, g, n).
        high: the values after it; shape (s, g, n).
        constant: what all levels and gaps share; shape (s,).
    """

    levels: Array
    deviation: float
    step: float
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    constant: Array

    @classmethod
    def of(cls, values: Array, before: NDArray[np.int64], deviation: float) -> _Grid:
        """Count the values by cell, and weigh the levels near them."""
        width = next((step for step in _STEPS if step <= 2 / np.sqrt(len(values) / 2)), _STEPS[-1])
        step = width * deviation
        cells, index = np.unique(np.rint(values / step).astype(np.int64), return_inverse=True)
        reach = round(_NEAR / width)
        nodes = np.unique(cells[:, None] + np.arange(-reach, reach + 1))
        first = np.zeros((len(cells), len(before)), np.float32)
        np.add.at(first, (index[:, None], np.arange(len(before))), np.arange(len(values))[:, None] < before)
        last = np.bincount(index, minlength=len(cells)).astype(np.float32)[:, None] - first
        of_before, of_after = _tables(width)
        middle = of_before.shape[1] // 2
        at = np.clip(cells - nodes[:, None], -middle, middle) + middle
        low = (of_before[:, at] @ first).transpose(0, 2, 1)
        high = (of_after[:, at] @ last).transpose(0, 2, 1)
        return cls(nodes * step, deviation, step, low, high, _LOG_SHARES - len(values) * np.log(deviation))

    @cached_property
    def bound(self) -> Array:
        """The best that a shape can explain the values; shape (s,)."""
        best = (self.low.max(axis=2) + self.high.max(axis=2)).max(axis=1)
        return np.asarray(best + self.constant, dtype=np.float64)

    def integrate(self, kept: NDArray[np.bool_], known: Knowledge, change: Change) -> MixtureFit:
        """Integrate over the levels, under some of the shapes."""
        joint, first, last, top = self._priors(known)
        moved = self.levels - self.levels[:, None]
        forward = joint * (moved * change.movement > 0) if change.movement else joint
        back = joint.T * (moved * change.movement < 0) if change.movement else np.zeros_like(joint)
        small = forward * (np.abs(moved) < change.limits(self.levels, self.deviation)[:, None])
        low, high, constant = self.low[kept], self.high[kept], self.constant[kept] + top
        tops = low.max(axis=2), high.max(axis=2)
        low, high = np.exp(low - tops[0][..., None]), np.exp(high - tops[1][..., None])

        def summed(prior: Array) -> Array:
            most = float(prior.max()) or 1.0
            likelihood = ((low @ (prior / most).astype(np.float32)) * high).sum(axis=2)
            with np.errstate(divide="ignore"):
                logs = np.log(likelihood) + tops[0] + tops[1] + constant[:, None] + np.log(most)
            return log_sum(logs, axis=0)

        with np.errstate(divide="ignore"):
            none = [
                float(log_sum(np.log(side @ prior) + best + constant))
                for side, prior, best in ((low[:, -1], first, tops[0][:, -1]), (high[:, 0], last, tops[1][:, 0]))
            ]
        return MixtureFit(summed(forward), summed(back), summed(small), *none)

    def _priors(self, known: Knowledge) -> tuple[Array, Array, Array, float]:
        """Return the prior of both levels (n, n), that of each end's level alone (n,), and the logarithm of their unit.

        A vague account says nothing of the deviation either, and weighs a movement by its square, as for normal noise.
        """
        prior, moves = known.single, known.moves[:, 0]
        covariance = np.linalg.inv(prior.precision)
        wide = covariance + 1 / prior.offset_precision
        sizes = [np.linalg.slogdet(each)[1] / 2 for each in (covariance, wide)]
        of_deviation = -2 * prior.shape[:, 0] * np.log(self.deviation) - prior.scale[:, 0] / self.deviation**2
        weight = prior.constant[:, 0] + sizes[0] + np.where(moves > 0, 0.0, of_deviation)
        top = float(weight.max())
        weight = weight - top
        off = (self.levels - prior.mean[:, :, None]) / self.deviation  # (a, 2, n)
        cell = self.step / self.deviation / _ROOT
        precise = np.linalg.inv(wide)
        lower, upper = off[:, 0, :, None], off[:, 1, None, :]
        cross = 2 * precise[:, 0, 1, None, None] * lower * upper
        square = precise[:, 0, 0, None, None] * lower**2 + precise[:, 1, 1, None, None] * upper**2 + cross
        moved = ((self.levels - self.levels[:, None]) / self.deviation) ** 2
        moment = np.where(moves > 0, moved[..., None] / np.maximum(moves, 1e-300), 1.0)  # (n, n, a)
        density = np.exp((weight - sizes[1])[:, None, None] - square / 2) * moment.transpose(2, 0, 1)
        variance = np.diagonal(wide, axis1=1, axis2=2)[..., None]  # (a, 2, 1)
        ends = np.exp(weight[:, None, None] - np.log(variance) / 2 - off**2 / variance / 2).sum(axis=0) * cell
        return density.sum(axis=0) * cell**2, ends[0], ends[1], top


@lru_cache(maxsize=len(_STEPS))
def _tables(width: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the log density of each shape at all distances of a cell from a level, before and after the change."""
    reach = round(_FAR / width)
    standard = np.arange(-reach, reach + 1, dtype=np.float64) * width
    before, after = (
        np.log([_density(shape, standard, 2.0 if shape.wide == side else 1.0) for shape in _SHAPES])
        for side in ("before", "after")
    )
    return before.astype(np.float32), after.astype(np.float32)


def _density(shape: _Shape, standard: Array, deviation: float) -> Array:
    """Return the density of a shape at a distance from the level, in units of the common deviation."""
    if shape.heavy:
        bulk = 2 / (np.pi * np.sqrt(3)) / (1 + standard**2 / 3) ** 2
    else:
        bulk = (1 - shape.second) * _normal(standard / deviation) / deviation
        bulk += shape.second * _normal(standard - shape.mode)
    burst = 1 / (_BURST_SCALES * (1 + np.abs(standard)))
    bursts = np.where(standard > 0, shape.up, shape.down) * burst
    return np.asarray((1 - shape.up - shape.down) * bulk + bursts)


def _normal(standard: Array) -> Array:
    return np.asarray(np.exp(-(standard**2) / 2) / _ROOT)
