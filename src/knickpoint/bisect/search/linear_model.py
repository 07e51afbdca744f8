"""The linear model of measured values: levels of segments, an offset of each device, an unknown variance.

A value is ``level of its segment + offset of its device + noise``. Levels, offsets and variance have conjugate priors
(normal, normal, inverse gamma), so that all of them integrate out in closed form. The precision of the offsets is
diagonal: they are eliminated first, and what is left for each hypothesis is a system as large as its number of levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.problem import Level, Problem

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LevelPrior:
    """What each of several accounts knows of the levels of k segments, of device offsets, and of the noise variance.

    Attributes:
        mean: expected levels; shape (a, k).
        precision: inverse of their covariance, in units of 1 / variance of the noise; shape (a, k, k).
        pull: precision @ mean; shape (a, k).
        expected: mean @ precision @ mean; shape (a, 1).
        offset_precision: the precision of the offset of each device; shape (a, 1, 1).
        shape: shape of the inverse gamma prior of the variance; shape (a, 1).
        scale: its scale; shape (a, 1).
        constant: logarithms of the prior probability of each account and of its normalising terms; shape (a, 1).
    """

    mean: Array
    precision: Array
    pull: Array
    expected: Array
    offset_precision: Array
    shape: Array
    scale: Array
    constant: Array

    @classmethod
    def of(
        cls, mean: Array, covariance: Array, *, offset: Array, shape: Array, scale: Array, probability: Array
    ) -> Self:
        """Make the prior: means (a, k), covariances (a, k, k); offset deviations, shapes, scales and weights (a,)."""
        precision = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
        pull = np.einsum("aij,aj->ai", precision, mean)
        lgamma = np.array([math.lgamma(value) for value in shape])
        constant = np.log(probability) - np.linalg.slogdet(covariance)[1] / 2 + shape * np.log(scale) - lgamma
        return cls(
            mean=mean,
            precision=precision,
            pull=pull,
            expected=(mean * pull).sum(axis=1)[:, None],
            offset_precision=(1 / offset**2)[:, None, None],
            shape=shape[:, None],
            scale=scale[:, None],
            constant=constant[:, None],
        )

    def of_accounts(self, kept: NDArray[np.bool_]) -> LevelPrior:
        """Return the prior of some of the accounts; ``kept`` has shape (a,)."""
        return LevelPrior(*(getattr(self, each.name)[kept] for each in fields(self)))


@dataclass(frozen=True, slots=True)
class Segments:
    """Sums over the values of each segment and device, for h hypotheses, k segments and d devices.

    Attributes:
        count: sum of the weights of the values; shape (h, k, d).
        total: weighted sum of the values; shape (h, k, d).
        squares: weighted sum of their squares; one number, as all hypotheses explain the same values.
    """

    count: Array
    total: Array
    squares: float

    def turned(self) -> Segments:
        """Return the segments in reverse order, each with the level of the other end."""
        return Segments(self.count[:, ::-1], self.total[:, ::-1], self.squares)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The fit of each hypothesis under each account.

    Attributes:
        log_evidence: logarithm of the marginal likelihood, without the terms that all hypotheses share; shape (a, h).
        levels: posterior means of the levels; shape (a, h, k).
        covariance: their covariance, in units of the variance; shape (a, h, k, k).
        variance: expected variance of the noise; shape (a, h).
        count: the counts of the segments that were fitted; shape (h, k, d).
        pulled: sum of the values of each device; shape (1, d).
        held: precision of the offset of each device, given the levels; shape (a, 1, d).
    """

    log_evidence: Array
    levels: Array
    covariance: Array
    variance: Array
    count: Array
    pulled: Array
    held: Array

    @property
    def offsets(self) -> Array:
        """The posterior means of the offsets of the devices; shape (a, h, d)."""
        return np.asarray((self.pulled - (self.levels[..., None, :] @ self.count)[..., 0, :]) / self.held)

    @property
    def movement(self) -> Array:
        """The last level minus the first; shape (a, h)."""
        return np.asarray(self.levels[..., -1] - self.levels[..., 0])

    @property
    def movement_variance(self) -> Array:
        """Its variance, in units of the variance of the noise; shape (a, h)."""
        covariance = self.covariance
        return np.asarray(covariance[..., 0, 0] + covariance[..., -1, -1] - 2 * covariance[..., 0, -1])


def fit(segments: Segments, prior: LevelPrior) -> Estimate:
    """Integrate over levels, offsets and variance, for all hypotheses and accounts at once."""
    count, total = segments.count, segments.total
    # Eliminate the offsets of the devices. All hypotheses share the sums of a device over all segments.
    held = count[:1].sum(axis=1) + prior.offset_precision  # (a, 1, d)
    pulled = total[:1].sum(axis=1)
    by_device = count / held[:, :, None, :]
    matrix = prior.precision[:, None] - by_device @ count.transpose(0, 2, 1)
    diagonal = np.arange(count.shape[1])
    matrix[..., diagonal, diagonal] += count.sum(axis=2)
    right = prior.pull[:, None] + total.sum(axis=2) - (by_device @ pulled[:, :, None])[..., 0]
    # Solve for the levels.
    inverse, determinant = inverted(matrix)
    levels = (inverse @ right[..., None])[..., 0]
    explained = (right * levels).sum(axis=2) + (pulled**2 / held).sum(axis=2)
    shape = prior.shape + float(count[0].sum()) / 2
    scale = np.maximum(prior.scale + (segments.squares + prior.expected - explained) / 2, prior.scale)
    lgamma = np.array([[math.lgamma(value)] for value in shape[:, 0]])
    shrunk = np.log(held / prior.offset_precision).sum(axis=2)
    evidence = prior.constant + lgamma - (np.log(determinant) + shrunk) / 2 - shape * np.log(scale)
    return Estimate(evidence, levels, inverse, scale / shape, count, pulled, held)


def inverted(matrix: Array) -> tuple[Array, Array]:
    """Return inverses and determinants of symmetric matrices; shape (..., k, k) with k of 1, 2 or 3."""
    size = matrix.shape[-1]
    if size == 1:
        return 1 / matrix, matrix[..., 0, 0]
    adjugate = np.empty_like(matrix)
    if size == 2:
        adjugate[..., 0, 0], adjugate[..., 1, 1] = matrix[..., 1, 1], matrix[..., 0, 0]
        adjugate[..., 0, 1] = adjugate[..., 1, 0] = -matrix[..., 0, 1]
    else:
        a, b, c = matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 0, 2]
        d, e, f = matrix[..., 1, 1], matrix[..., 1, 2], matrix[..., 2, 2]
        adjugate[..., 0, 0], adjugate[..., 1, 1], adjugate[..., 2, 2] = d * f - e * e, a * f - c * c, a * d - b * b
        adjugate[..., 0, 1] = adjugate[..., 1, 0] = c * e - b * f
        adjugate[..., 0, 2] = adjugate[..., 2, 0] = b * e - c * d
        adjugate[..., 1, 2] = adjugate[..., 2, 1] = b * c - a * e
    determinant = (matrix[..., 0, :] * adjugate[..., :, 0]).sum(axis=-1)
    return adjugate / determinant[..., None, None], determinant


# What is known of levels, devices and noise before a search measures: the priors of the linear model.


_HISTORY_COUNTS: Final = 30
"""The history of a level counts at most as much as so many values, and that of the noise as so many degrees of freedom.
"""

_LEAST_NOISE: Final = 1e-3
"""A history without noise has this deviation, relative to the movement: counters repeat exactly, other things do not.
"""

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
        covariance: variance of the level before, covariance, variance of the level after, in units of that of the
            noise.
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
        moves: variance of the movement where nothing else is known of it, in units of that of the noise; else 0; shape
            (a, 1).
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
    """Return the prior knowledge, in the unit of the scale.

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


# The evidence of observations: how well each hypothesis explains them, before any prior of commits.


@dataclass(frozen=True, slots=True)
class Predictions:
    """What each hypothesis expects of the next value, in the unit of the search.

    The hypotheses are one change in each of the m + 1 gaps, then "no change" at the level of the good end and at that
    of the bad end; h = m + 3.

    Attributes:
        devices: names of the devices that have measured.
        before: the expected value of each device at a place before the change; shape (h, devices).
        after: the same at a place after it.
        variance: variance of the value around it, with that of the level before, or after; shape (h, 2).
    """

    devices: tuple[str, ...]
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    variance: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Logarithms of the probability of all observations, each under one hypothesis; common terms are left out.

    Attributes:
        places: measured places, ascending; shape (m,).
        none_before: no change, and all places have the level of the good end.
        none_after: no change, and all places have the level of the bad end.
        single: one change, in each gap; shape (m + 1,), see :class:`~knickpoint.bisect.search.belief.Gaps`.
        reversed: one change in the other direction, in each gap; shape (m + 1,). -inf where each direction is the
            change.
        pair: two changes, the first in gap i and the second in gap j >= i; shape (m + 1, m + 1), -inf below the
            diagonal.
        predictions: the values that are expected next; None where probes pass or fail.
        negligible: probability of each single change to be too small to be the change in question; shape (m + 1,), or
            None.
        negligible_pair: the same of each two changes, as far as they were measured; shape (m + 1, m + 1), or None.
    """

    places: NDArray[np.int64]
    none_before: float
    none_after: float
    single: NDArray[np.float64]
    reversed: NDArray[np.float64]
    pair: NDArray[np.float64]
    predictions: Predictions | None = None
    negligible: NDArray[np.float64] | None = None
    negligible_pair: NDArray[np.float64] | None = None


def log_sum(values: NDArray[np.float64], axis: int | None = None) -> NDArray[np.float64]:
    """Return the logarithm of the sum of ``exp(values)``, along an axis or of all; -inf where all are."""
    top = np.max(values, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.sum(np.exp(values - top), axis=axis, keepdims=True)) + top
    return np.asarray(np.squeeze(total, axis=axis))
