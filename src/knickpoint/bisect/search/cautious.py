"""The cautious evidence of measured values: noise with heavy tails, or another deviation than the history shows.

The search itself takes noise for normal, with a few outliers. That is quick, and nearly always right about where to measure
next. What it states has to hold for other noise as well: here the same hypotheses are weighed under several shapes of noise.
A value under Student's t is normal with a precision factor of its own; the factors are integrated out by a variational bound
(each is a Gamma variable beside the levels, offsets and variance), and levels, offsets and variance in closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.linear_model import LevelPrior, inverted

__all__ = ["CautiousFit", "fit_cautiously"]

Array = NDArray[np.float64]


class _Shape(NamedTuple):
    """A shape of noise: its prior probability, degrees of freedom (0: normal), and deviations relative to the history's."""

    probability: float
    freedom: float
    before: float = 1.0
    after: float = 1.0


_SHAPES: Final = (
    _Shape(0.36, 0.0),
    _Shape(0.36, 3.0),
    _Shape(0.07, 0.0, after=2.0),
    _Shape(0.07, 0.0, before=2.0),
    _Shape(0.07, 0.0, before=2.0, after=2.0),
    _Shape(0.07, 3.0, before=2.0, after=2.0),
)

_ROUNDS: Final = 4
"""How often the precision factors of the values are refined; more changes the evidence by less than 0.1."""


@dataclass(frozen=True, slots=True)
class CautiousFit:
    """The fit of each of h hypotheses under each of a accounts and shapes together.

    Attributes:
        log_evidence: logarithm of the marginal likelihood; shape (a, h).
        movement: the expected level after the change minus that before it; shape (a, h).
        movement_variance: its variance, in units of that of the noise; shape (a, h).
        variance: expected variance of the noise; shape (a, h).
        moves: variance of the movement where nothing else is known of it, in units of that of the noise; shape (a, 1).
    """

    log_evidence: Array
    movement: Array
    movement_variance: Array
    variance: Array
    moves: Array


def fit_cautiously(
    values: Array, device: Array, after: NDArray[np.bool_], prior: LevelPrior, moves: Array
) -> CautiousFit:
    """Fit levels before and after a change, for all hypotheses, accounts and shapes of noise.

    ``values`` (v,) and ``device`` (v, d; 1 where a device made a value) are fitted with the level after the change where
    ``after`` (h, v) is true.
    """
    fits = [_fit(values, device, after, prior, shape) for shape in _SHAPES]
    evidence, movement, spread, variance = (np.concatenate(part) for part in zip(*fits, strict=True))
    return CautiousFit(evidence, movement, spread, variance, np.tile(moves, (len(_SHAPES), 1)))


def _fit(
    values: Array, device: Array, after: NDArray[np.bool_], prior: LevelPrior, shape: _Shape
) -> tuple[Array, Array, Array, Array]:
    """Return evidence, movement, variance of the movement, and of the noise; each of shape (accounts, hypotheses)."""
    base = np.where(after, shape.after**-2.0, shape.before**-2.0)  # precision of each value, (h, v)
    segments = np.stack([~after, after], axis=1).astype(np.float64)  # (h, 2, v)
    rate = np.full(
        (len(prior.mean), *after.shape), shape.freedom / 2 or 1.0
    )  # of the Gamma distribution of the factors
    # Refine the precision factors of Student's t; normal noise has none.
    for _ in range(_ROUNDS if shape.freedom else 1):
        factor = (shape.freedom + 1) / (2 * rate) if shape.freedom else np.ones_like(rate)
        solved = _solve(values, device, segments, factor * base, prior)
        used, rate = rate, (shape.freedom + solved.squared * base) / 2
    evidence = solved.log_evidence + np.log(base).sum(axis=1) / 2 + math.log(shape.probability)
    if shape.freedom:
        half, full = shape.freedom / 2, (shape.freedom + 1) / 2
        constant = math.lgamma(full) - math.lgamma(half) + half * math.log(half) + full
        evidence = evidence + (constant - full * np.log(used) - full * half / used).sum(axis=2)
    return evidence, solved.movement, solved.movement_variance, solved.variance


class _Solved(NamedTuple):
    """The fit with given precisions; ``squared`` are the expected squares of the residuals over the variance, (a, h, v)."""

    log_evidence: Array
    movement: Array
    movement_variance: Array
    variance: Array
    squared: Array


def _solve(values: Array, device: Array, segments: Array, weights: Array, prior: LevelPrior) -> _Solved:
    """Integrate over levels, offsets and variance, with a precision of each value under each account and hypothesis."""
    by_segment = weights[:, :, None, :] * segments  # (a, h, 2, v)
    count, total = by_segment @ device, (by_segment * values) @ device  # (a, h, 2, d)
    # Eliminate the offsets of the devices.
    held = count.sum(axis=2) + prior.offset_precision  # (a, h, d)
    pulled = total.sum(axis=2)
    share = count / held[:, :, None, :]
    matrix = prior.precision[:, None] - share @ count.transpose(0, 1, 3, 2)
    for level in (0, 1):
        matrix[..., level, level] += count[:, :, level].sum(axis=2)
    right = prior.pull[:, None] + total.sum(axis=3) - (share @ pulled[..., None])[..., 0]
    # Solve for the levels.
    inverse, determinant = inverted(matrix)
    levels = (inverse @ right[..., None])[..., 0]
    explained = (right * levels).sum(axis=2) + (pulled**2 / held).sum(axis=2)
    shape = prior.shape + len(values) / 2
    squares = (weights * values**2).sum(axis=2)
    scale = np.maximum(prior.scale + (squares + prior.expected - explained) / 2, prior.scale)
    lgamma = np.array([[math.lgamma(value)] for value in shape[:, 0]])
    shrunk = np.log(held / prior.offset_precision[:, 0, :][:, None, :]).sum(axis=2)
    evidence = prior.constant + lgamma - (np.log(determinant) + shrunk) / 2 - shape * np.log(scale)
    # The residual of each value, and the variance of its expected level and offset.
    offsets = (pulled - (levels[..., None, :] @ count)[..., 0, :]) / held
    expected = (levels[..., None, :] @ segments)[..., 0, :] + offsets @ device.T
    direction = segments - share @ device.T  # (a, h, 2, v)
    spread = np.einsum("ahkv,ahkl,ahlv->ahv", direction, inverse, direction, optimize=True) + (1 / held) @ device.T
    squared = (values - expected) ** 2 * (shape / scale)[..., None] + spread
    movement_variance = inverse[..., 0, 0] + inverse[..., 1, 1] - 2 * inverse[..., 0, 1]
    return _Solved(evidence, levels[..., 1] - levels[..., 0], movement_variance, scale / shape, squared)
