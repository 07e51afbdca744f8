"""What is known of levels, devices and noise before a search measures: the priors of the linear model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.linear_model import LevelPrior
from knickpoint.bisect.search.problem import Level, Problem

__all__ = ["Knowledge", "Scale", "knowledge_of", "scale_of"]

Array = NDArray[np.float64]

_HISTORY_COUNTS: Final = 30
"""The history of a level counts at most as much as so many values, and that of the noise as so many degrees of freedom."""

_LEAST_NOISE: Final = 1e-3
"""A history without noise has this deviation, relative to the movement: counters repeat exactly, other things do not."""

_NO_OFFSET: Final = 1e-3
"""Standard deviation of the offset of a device that has none, in units of the noise."""

_VAGUE_LEVEL: Final = 100.0
"""Standard deviation of a level of which nothing is known, in units of the noise."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The unit in which values are treated: ``(value - centre) / unit``."""

    centre: float
    unit: float


@dataclass(frozen=True, slots=True)
class _Account:
    """One account of what is known before the first value, in the unit of the scale; several, weighted, make the prior.

    Attributes:
        probability: how probable this account is.
        offset: standard deviation of the offset of a device, in units of the noise.
        freedom: degrees of freedom of what is known of the noise.
        noise: its expected deviation.
        before: expected level of the good end.
        after: expected level of the bad end.
        covariance: variance of the level before, covariance, variance of the level after, in units of that of the noise.
        moves: standard deviation of the movement in units of the noise, where nothing else is known of it; else 0.
    """

    probability: float
    offset: float
    freedom: float
    noise: float
    before: float
    after: float
    covariance: tuple[float, float, float]
    moves: float = 0.0


@dataclass(frozen=True)
class Knowledge:
    """The accounts of what is known, as priors of the linear model for a accounts.

    Attributes:
        none_before: prior of one level, that of the good end.
        none_after: prior of one level, that of the bad end.
        single: prior of the levels before and after.
        pair: prior of three levels; the one between is around the middle of the others, and far from sure.
        moves: variance of the movement where nothing else is known of it, in units of that of the noise; else 0; shape (a, 1).
    """

    none_before: LevelPrior
    none_after: LevelPrior
    single: LevelPrior
    pair: LevelPrior
    moves: Array


def scale_of(problem: Problem, values: Array) -> Scale:
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


@lru_cache(maxsize=256)
def knowledge_of(before: Level, after: Level, scale: Scale, *, same_machine: bool = False) -> Knowledge:
    """Return what is known, in the unit of the scale.

    With a history: the devices are as the history, or differ by about the noise, or are other machines with another
    movement; and always, that the history says nothing. On the same machine there is no offset, and all values count.
    """
    accounts = _accounts(before, after, scale, same_machine=same_machine)
    covariance = np.array([[[a.covariance[0], a.covariance[1]], [a.covariance[1], a.covariance[2]]] for a in accounts])
    mean = np.array([[account.before, account.after] for account in accounts])
    average = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    three = average @ covariance @ average.T
    three[:, 1, 1] += [
        ((account.after - account.before) / account.noise) ** 2 + (account.moves or 2.0) ** 2 for account in accounts
    ]
    return Knowledge(
        none_before=_prior(accounts, mean[:, :1], covariance[:, :1, :1]),
        none_after=_prior(accounts, mean[:, 1:], covariance[:, 1:, 1:]),
        single=_prior(accounts, mean, covariance),
        pair=_prior(accounts, mean @ average.T, three),
        moves=np.array([[account.moves**2] for account in accounts]),
    )


def _prior(accounts: list[_Account], mean: Array, covariance: Array) -> LevelPrior:
    shape = np.array([account.freedom / 2 for account in accounts])
    return LevelPrior.of(
        mean,
        covariance,
        offset=np.array([account.offset for account in accounts]),
        shape=shape,
        scale=shape * np.array([account.noise**2 for account in accounts]),
        probability=np.array([account.probability for account in accounts]),
    )


def _accounts(before: Level, after: Level, scale: Scale, *, same_machine: bool) -> list[_Account]:
    if not (before.count and after.count):
        return _vague(1.0, 0.5 if not (before.count or after.count) else 1.0)
    low, high = ((level.mean - scale.centre) / scale.unit for level in (before, after))
    most = max(before.count, after.count) * 2 if same_machine else _HISTORY_COUNTS
    counts = [min(level.count, most) for level in (before, after)]
    freedom = float(min(max(before.count + after.count - 2, 1), most))

    def as_history(probability: float, offset: float, freedom: float, loose: float = 0.0) -> _Account:
        quarter = (loose * (high - low)) ** 2 / 4  # of the variance of the movement, on both sides of the middle
        covariance = (1 / counts[0] + quarter, -quarter, 1 / counts[1] + quarter)
        return _Account(probability, offset, freedom, 1.0, low, high, covariance)

    if same_machine:
        return [as_history(0.99, _NO_OFFSET, freedom), as_history(0.01, 1.0, freedom)]
    return [
        as_history(0.8, 0.1, freedom),
        as_history(0.12, 1.0, freedom),
        as_history(0.05, 10.0, min(freedom, 4.0), loose=0.3),
        *_vague(0.03, 1.0),
    ]


def _vague(probability: float, noise: float) -> list[_Account]:
    """Return accounts without a history: movements of a few times the noise, or of much more."""
    level = _VAGUE_LEVEL**2
    return [
        _Account(probability * share, 1.0, 1.0, noise, 0.0, 0.0, _around(level, moves), moves)
        for moves, share in ((3.0, 0.8), (60.0, 0.2))
    ]


def _around(level: float, moves: float) -> tuple[float, float, float]:
    """Return the covariance of two levels on both sides of an unknown one, ``moves`` apart."""
    quarter = moves**2 / 4
    return level + quarter, level - quarter, level + quarter
