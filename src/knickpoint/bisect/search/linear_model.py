"""The linear model of measured values: levels of segments, an offset of each device, an unknown variance.

A value is ``level of its segment + offset of its device + noise``. Levels, offsets and variance have conjugate priors
(normal, normal, inverse gamma), so that all of them integrate out in closed form. The precision of the offsets is
diagonal: they are eliminated first, and what is left for each hypothesis is a system as large as its number of levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Estimate", "LevelPrior", "Segments", "fit"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LevelPrior:
    """What is known of the levels of k segments, of the offsets and of the variance.

    Attributes:
        mean: expected levels; shape (k,).
        precision: inverse of their covariance, in units of 1 / variance of the noise; shape (k, k).
        offset_precision: the same of the offset of each device.
        shape: shape of the inverse gamma prior of the variance.
        scale: its scale.
        weight: logarithm of the prior probability of this knowledge.
    """

    mean: Array
    precision: Array
    offset_precision: float
    shape: float
    scale: float
    weight: float


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


@dataclass(frozen=True, slots=True)
class Estimate:
    """The fit of each hypothesis.

    Attributes:
        log_evidence: logarithm of the marginal likelihood, without the terms that all hypotheses share; shape (h,).
        levels: posterior means of the levels; shape (h, k).
        covariance: their covariance, in units of the variance; shape (h, k, k).
        variance: expected variance of the noise; shape (h,).
        freedom: degrees of freedom of the posterior.
        offsets: posterior means of the offsets of the devices; shape (h, d).
    """

    log_evidence: Array
    levels: Array
    covariance: Array
    variance: Array
    freedom: float
    offsets: Array


def fit(segments: Segments, prior: LevelPrior) -> Estimate:
    """Integrate over levels, offsets and variance, for all hypotheses at once."""
    count, total = segments.count, segments.total
    # Eliminate the offsets of the devices.
    held = count.sum(axis=1) + prior.offset_precision  # (h, d)
    pulled = total.sum(axis=1)
    by_device = count / held[:, None, :]
    matrix = prior.precision - by_device @ count.transpose(0, 2, 1)
    diagonal = np.arange(count.shape[1])
    matrix[:, diagonal, diagonal] += count.sum(axis=2)
    right = prior.precision @ prior.mean + total.sum(axis=2) - np.einsum("hkd,hd->hk", by_device, pulled)
    # Solve for the levels.
    inverse, log_determinant = _invert(matrix)
    levels = np.einsum("hij,hj->hi", inverse, right)
    explained = (right * levels).sum(axis=1) + (pulled**2 / held).sum(axis=1)
    expected = float(prior.mean @ prior.precision @ prior.mean)
    shape = prior.shape + float(count[0].sum()) / 2
    scale = np.maximum(prior.scale + (segments.squares + expected - explained) / 2, prior.scale)
    evidence = (
        prior.weight
        + 0.5 * (_log_determinant(prior.precision) - log_determinant)
        + 0.5 * (math.log(prior.offset_precision) * held.shape[1] - np.log(held).sum(axis=1))
        + prior.shape * math.log(prior.scale)
        - shape * np.log(scale)
        + math.lgamma(shape)
        - math.lgamma(prior.shape)
    )
    offsets = (pulled - np.einsum("hkd,hk->hd", count, levels)) / held
    return Estimate(evidence, levels, inverse, scale / shape, 2 * shape, offsets)


def _log_determinant(matrix: Array) -> float:
    return float(np.linalg.slogdet(matrix)[1])


def _invert(matrix: Array) -> tuple[Array, Array]:
    """Return inverses and log determinants of symmetric matrices; shape (h, k, k) with k of 1, 2 or 3."""
    size = matrix.shape[1]
    if size == 1:
        return 1 / matrix, np.log(matrix[:, 0, 0])
    if size == 2:
        a, b, d = matrix[:, 0, 0], matrix[:, 0, 1], matrix[:, 1, 1]
        determinant = a * d - b * b
        adjugate = np.stack([d, -b, -b, a], axis=1).reshape(-1, 2, 2)
        return adjugate / determinant[:, None, None], np.log(determinant)
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64), np.asarray(np.linalg.slogdet(matrix)[1])
