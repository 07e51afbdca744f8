"""The linear model of measured values: levels of segments, an offset of each device, an unknown variance.

A value is ``level of its segment + offset of its device + noise``. Levels, offsets and variance have conjugate priors
(normal, normal, inverse gamma), so that all of them integrate out in closed form. The precision of the offsets is
diagonal: they are eliminated first, and what is left for each hypothesis is a system as large as its number of levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimate", "LevelPrior", "Segments", "fit", "inverted"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LevelPrior:
    """What each of several accounts knows of the levels of k segments, of the offsets of devices and of the variance of the noise.

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
        """Make the prior of means (a, k), covariances (a, k, k), and deviations of offsets, shapes, scales and weights (a,)."""
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
