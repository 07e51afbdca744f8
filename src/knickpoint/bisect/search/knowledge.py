"""What is known of levels, devices and noise before a search measures: the priors of the linear model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.linear_model import LevelPrior
from knickpoint.bisect.search.problem import Level, Problem

__all__ = ["Knowledge", "Scale", "knowledge_of", "scale_of"]

_HISTORY_COUNTS: Final = 20
"""The history of a level counts at most as much as so many values, and that of the noise as so many degrees of freedom."""

_LEAST_NOISE: Final = 1e-3
"""A history without noise has this deviation, relative to the movement: counters repeat exactly, other things do not."""

_VAGUE_LEVEL: Final = 100.0
"""Standard deviation of a level of which nothing is known, in units of the noise."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit in which values are treated: ``(value - centre) / unit``."""

    centre: float
    unit: float


@dataclass(frozen=True, slots=True)
class Knowledge:
    """One account of what is known before the first value; several of them, weighted, make the prior.

    Attributes:
        before: expected level of the good end.
        after: expected level of the bad end.
        before_variance: variance of the level before, in units of that of the noise.
        after_variance: the same of the level after, or where ``moves`` is set, of the movement.
        moves: whether nothing is known of the movement but its size in units of the noise.
        offset: standard deviation of the offset of a device, in units of the noise.
        shape: shape of the inverse gamma prior of the variance of the noise.
        scale: its scale.
        probability: how probable this account is.
    """

    before: float
    after: float
    before_variance: float
    after_variance: float
    moves: bool
    offset: float
    shape: float
    scale: float
    probability: float

    def of_none(self, *, after: bool) -> LevelPrior:
        """Return the prior of one level: that before, or that after."""
        mean, covariance = self._levels()
        index = int(after)
        return self._prior(mean[[index]], covariance[[index]][:, [index]])

    def of_single(self) -> LevelPrior:
        """Return the prior of the levels before and after."""
        return self._prior(*self._levels())

    def of_pair(self) -> LevelPrior:
        """Return the prior of three levels; the one between is around the middle of the others, and far from sure."""
        mean, covariance = self._levels()
        average = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
        joint = average @ covariance @ average.T
        spread = mean[1] - mean[0]
        joint[1, 1] += spread * spread * self.shape / self.scale + (self.after_variance if self.moves else 4.0)
        return self._prior(average @ mean, joint)

    def _levels(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        shared = self.before_variance if self.moves else 0.0
        covariance = np.array([[self.before_variance, shared], [shared, shared + self.after_variance]])
        return np.array([self.before, self.after]), covariance

    def _prior(self, mean: NDArray[np.float64], covariance: NDArray[np.float64]) -> LevelPrior:
        return LevelPrior(
            mean=mean,
            precision=np.asarray(np.linalg.inv(covariance), dtype=np.float64),
            offset_precision=1 / self.offset**2,
            shape=self.shape,
            scale=self.scale,
            weight=math.log(self.probability),
        )


def scale_of(problem: Problem, values: NDArray[np.float64]) -> Scale:
    """Return the scale of a problem: that of its history, or where it has none, that of its values."""
    before, after = problem.before, problem.after
    known = [level for level in (before, after) if level.count]
    if not known:
        centre = float(np.median(values)) if len(values) else 0.0
        spread = float(np.std(values)) if len(values) else 0.0
        return Scale(centre, spread / 2 or abs(centre) * 1e-3 or 1.0)
    centre = sum(level.mean for level in known) / len(known)
    freedom = sum(max(level.count - 1, 0) for level in known)
    squares = sum(max(level.count - 1, 0) * level.deviation**2 for level in known)
    movement = abs(after.mean - before.mean) if len(known) == 2 else 0.0
    least = movement * _LEAST_NOISE or abs(centre) * 1e-6 or 1e-12
    noise = math.sqrt(squares / freedom) if freedom else 0.0
    return Scale(centre, max(noise, least))


def knowledge_of(problem: Problem, scale: Scale) -> Sequence[Knowledge]:
    """Return the accounts of what is known, in the unit of the scale.

    With a history: the devices are as the history, or differ by about the noise, or are other machines with another
    movement; and always, that the history says nothing.
    """
    before, after = problem.before, problem.after
    if not (before.count and after.count):
        return [
            *_vague(problem, shape=0.5, scale=0.5 if not (before.count or after.count) else 1.0, probability=1.0),
        ]
    low, high = ((level.mean - scale.centre) / scale.unit for level in (before, after))
    freedom = min(max(before.count + after.count - 2, 1), _HISTORY_COUNTS)

    def as_history(offset: float, loose: float, freedom: float, probability: float) -> Knowledge:
        return Knowledge(
            before=low,
            after=high,
            before_variance=_variance(before),
            after_variance=_variance(after) + (loose * (high - low)) ** 2,
            moves=False,
            offset=offset,
            shape=freedom / 2,
            scale=freedom / 2,
            probability=probability,
        )

    return [
        as_history(0.1, 0.0, freedom, 0.6),
        as_history(1.0, 0.0, freedom, 0.25),
        as_history(10.0, 0.3, min(freedom, 4.0), 0.1),
        *_vague(problem, shape=1.0, scale=1.0, probability=0.05),
    ]


def _vague(problem: Problem, *, shape: float, scale: float, probability: float) -> list[Knowledge]:
    """Return accounts without a history: movements of a few times the noise, or of much more."""
    del problem
    return [
        Knowledge(
            before=0.0,
            after=0.0,
            before_variance=_VAGUE_LEVEL**2,
            after_variance=movement**2,
            moves=True,
            offset=1.0,
            shape=shape,
            scale=scale,
            probability=probability * share,
        )
        for movement, share in ((3.0, 0.8), (60.0, 0.2))
    ]


def _variance(level: Level) -> float:
    return 1.0 / min(level.count, _HISTORY_COUNTS)
