"""The evidence of measured values, with unknown levels, noise and offsets of devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.linear_model import (
    Estimate,
    Evidence,
    Knowledge,
    LevelPrior,
    Predictions,
    Scale,
    Segments,
    fit,
    knowledge_of,
    log_sum,
    scale_of,
)
from knickpoint.bisect.search.mixture import Change, fit_mixture, mix
from knickpoint.bisect.search.problem import Observation, Problem

# Movements between levels: their signs, and which are too small to be the change in question.


_NEGLIGIBLE: Final = 0.5
"""A movement of less than this share of that of the history is not the change in question."""


def least_movement(problem: Problem, scale: Scale) -> float:
    """Return the least movement that counts, in the unit of the scale; 0 where that is the noise.

    It is the one that is asked for, or half that of the history.
    """
    if problem.least:
        return problem.least * abs(scale.centre) / scale.unit
    if problem.before.count and problem.after.count:
        return abs(problem.after.mean - problem.before.mean) / scale.unit * _NEGLIGIBLE
    return 0.0


def change_in_question(problem: Problem, scale: Scale) -> Change:
    """Return the changes that count, in the unit of the scale."""
    if problem.least:
        return Change(problem.movement, problem.least, -scale.centre / scale.unit)
    return Change(problem.movement, least_movement(problem, scale))


def negligible_steps(fitted: Estimate, least: float) -> Array:
    """Return the probability that all levels that were measured are closer together than the least movement.

    Shape (a, h).

    The level of a segment without values is not known, and no reason to go on: measuring places decides what was seen.
    """
    seen = fitted.count.sum(axis=2) > 0  # (h, k)
    bound = least or np.sqrt(fitted.variance)
    small = np.ones(fitted.variance.shape)
    for first, second in combinations(range(seen.shape[1]), 2):
        covariance = fitted.covariance
        spread = covariance[..., first, first] + covariance[..., second, second] - 2 * covariance[..., first, second]
        movement = np.abs(fitted.levels[..., second] - fitted.levels[..., first])
        probability = np.exp(log_positive((bound - movement) / np.sqrt(spread * fitted.variance)))
        small = np.minimum(small, np.where(seen[:, first] & seen[:, second], probability, 1.0))
    return small


def log_positive(standard: Array) -> Array:
    """Return the log probability that a quantity is positive, from its estimate in standard deviations (logistic)."""
    return np.asarray(-np.logaddexp(0.0, -1.702 * standard))


Array = NDArray[np.float64]

_OUTLIERS: Final = 0.01
"""Share of values that are expected to be outliers,"""

_OUTLIER_DEVIATION: Final = 20.0
"""and their deviation, in units of the noise."""

_FEW: Final = 4
"""With fewer values than this, none is a gross outlier."""

_GROSS: Final = 6.0
"""A gross outlier is further from the values near it than this, in units of the noise or of what is typical among them.
"""

_LOOKS: Final = 3
"""How often outliers are looked for at most, each time with what the last look left of them."""

_SAME_WEIGHTS: Final = 0.05
"""Weights that move by less than this are the same."""

_LEFT_OUT: Final = 12.0
"""An account whose evidence is less than that of the best one by so many nats is left out of what is summed over pairs.
"""

_PER_OFFSET: Final = 2.0
"""An offset of a device has to explain the values better by so many nats."""

_TAKEN_BACK: Final = 0.02
"""Share of the pairs of changes in which the second takes the first one back."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a search in its own unit.

    Attributes:
        places: measured places, ascending; shape (m,).
        index: which of the places each value is of; shape (v,).
        device: which of the devices made each value; shape (v,).
        devices: names of the devices, sorted.
        value: the values in the unit of the scale; shape (v,).
        scale: the unit.
        order: for each value, which observation it is; shape (v,).
    """

    places: NDArray[np.int64]
    index: NDArray[np.int64]
    device: NDArray[np.int64]
    devices: tuple[str, ...]
    value: Array
    scale: Scale
    order: NDArray[np.int64]

    @classmethod
    def of(cls, problem: Problem, observations: Sequence[Observation]) -> Values:
        """Read the observations, in an order of their own."""
        rows = sorted((o.place, o.device, o.value, number) for number, o in enumerate(observations))
        places, index = np.unique(np.array([row[0] for row in rows], dtype=np.int64), return_inverse=True)
        devices = sorted({row[1] for row in rows})
        number = {name: position for position, name in enumerate(devices)}
        device = np.array([number[row[1]] for row in rows], dtype=np.int64)
        values = np.array([row[2] for row in rows], dtype=np.float64)
        order = np.array([row[3] for row in rows], dtype=np.int64)
        scale = scale_of(problem, values)
        return cls(places, index, device, tuple(devices), (values - scale.centre) / scale.unit, scale, order)


@dataclass(frozen=True, slots=True)
class _Sums:
    """Weighted sums over the values below each gap, and over all; shape (m + 1, d)."""

    count: Array
    total: Array
    squares: float

    @classmethod
    def of(cls, values: Values, weights: Array) -> _Sums:
        devices = len(values.devices)
        cell = (values.index + 1) * devices + values.device
        size = (len(values.places) + 1) * devices
        count = np.bincount(cell, weights, size).reshape(-1, devices).cumsum(axis=0)
        total = np.bincount(cell, weights * values.value, size).reshape(-1, devices).cumsum(axis=0)
        return cls(count, total, float((weights * values.value**2).sum()))

    def none(self) -> Segments:
        """All values in one segment."""
        return Segments(self.count[-1:, None], self.total[-1:, None], self.squares)

    def single(self) -> Segments:
        """Two segments for each gap, before and after it."""
        count, total = (np.stack([sums, sums[-1] - sums], axis=1) for sums in (self.count, self.total))
        return Segments(count, total, self.squares)

    def pair(self, *, taken_back: bool) -> Segments:
        """Three segments for each pair of gaps; or two, where the levels outside are the same."""
        first, second = np.triu_indices(len(self.count))
        parts = []
        for sums in (self.count, self.total):
            before, between, after = sums[first], sums[second] - sums[first], sums[-1] - sums[second]
            parts.append(np.stack([before + after, between] if taken_back else [before, between, after], axis=1))
        return Segments(parts[0], parts[1], self.squares)


@dataclass(frozen=True, slots=True)
class Fit:
    """The most probable account of the values.

    Attributes:
        levels: levels before and after; one level where no change is more probable.
        deviations: standard deviations of these estimates.
        noise: standard deviation of single values.
        offsets: offset of each device.
    """

    levels: Array
    deviations: Array
    noise: float
    offsets: Array


@dataclass(frozen=True, slots=True)
class _Fitted:
    """The fits of no change and of one change, and the weights of the values that they rest on."""

    sums: _Sums
    weights: Array
    before: Estimate
    after: Estimate
    single: Estimate

    @classmethod
    def of(cls, values: Values, known: Knowledge, weights: Array) -> _Fitted:
        sums = _Sums.of(values, weights)
        none = sums.none()
        return cls(
            sums, weights, fit(none, known.none_before), fit(none, known.none_after), fit(sums.single(), known.single)
        )

    def best(self) -> Fit:
        """Return the most probable hypothesis of one or no change, under its most probable account."""
        return _best_of(max((self.single, self.before, self.after), key=lambda found: float(found.log_evidence.max())))

    def levels(self) -> Array:
        """Return all levels that a value may have, by the best hypothesis and by the best single change."""
        return np.concatenate([self.best().levels, _best_of(self.single).levels])


def _best_of(estimate: Estimate) -> Fit:
    account, gap = np.unravel_index(int(np.argmax(estimate.log_evidence)), estimate.log_evidence.shape)
    variance = float(estimate.variance[account, gap])
    return Fit(
        levels=estimate.levels[account, gap],
        deviations=np.sqrt(np.diag(estimate.covariance[account, gap]) * variance),
        noise=float(np.sqrt(variance)),
        offsets=estimate.offsets[account, gap],
    )


def evidence_of_values(problem: Problem, observations: Sequence[Observation]) -> Evidence:
    """Return the evidence of observations with values.

    One change and none are weighed under many shapes of noise. Normal noise with a few outliers says what values to
    expect, and how much better two changes explain them than one.
    """
    values, known, fitted = _fitted(problem, observations)
    found = _mixture_evidence(problem, values, known, fitted)
    single = _directed(problem.movement, known, fitted)
    pair, small_pair = found.pair.copy(), None
    if problem.several > 0:
        small_pair = np.zeros(pair.shape)
        upper = np.triu_indices(len(pair))
        pair[upper], small_pair[upper] = _pairs(known, fitted, least_movement(problem, values.scale))
        pair += _best(found) - _best_of_normal(known, fitted)
    return replace(found, pair=pair, negligible_pair=small_pair, predictions=_predictions(values, fitted, single))


def _best(found: Evidence) -> float:
    """Return the evidence of the best explanation by one change or none."""
    return max(float(found.single.max()), float(found.reversed.max()), found.none_before, found.none_after)


def _best_of_normal(known: Knowledge, fitted: _Fitted) -> float:
    """Return the same under normal noise; a change in the other direction has the levels exchanged."""
    turned = fit(fitted.sums.single().turned(), known.single)
    changes = [each.log_evidence + _moved(known.moves, each) for each in (fitted.single, turned)]
    logs = *changes, fitted.before.log_evidence, fitted.after.log_evidence
    return max(float(log_sum(each, axis=0).max()) for each in logs)


def evidence_of_one_change(problem: Problem, observations: Sequence[Observation]) -> Evidence:
    """Return the evidence of one change at most, under many shapes of noise."""
    return _mixture_evidence(problem, *_fitted(problem, observations))


def _fitted(problem: Problem, observations: Sequence[Observation]) -> tuple[Values, Knowledge, _Fitted]:
    values = Values.of(problem, observations)
    known = knowledge_of(problem.before, problem.after, values.scale, same_machine=problem.same_machine)
    return values, known, _without_outliers(values, known)


def _mixture_evidence(problem: Problem, values: Values, known: Knowledge, fitted: _Fitted) -> Evidence:
    places = len(values.places)
    before = np.concatenate([[0], np.cumsum(np.bincount(values.index, minlength=places))])
    change = change_in_question(problem, values.scale)
    found = fit_mixture(values.value, before, known, change)
    if len(values.devices) > 1:
        # Bursts that are taken for wide noise make offsets look large, so that they have to explain the values better.
        corrected = fit_mixture(values.value - fitted.best().offsets[values.device], before, known, change)
        found = mix([found, corrected], [0.0, -_PER_OFFSET * (len(values.devices) - 1)])
    return Evidence(
        places=values.places,
        none_before=found.none_before,
        none_after=found.none_after,
        single=found.single,
        reversed=found.reversed,
        pair=np.full((places + 1, places + 1), -np.inf),
        negligible=np.exp(found.small - np.where(np.isfinite(found.single), found.single, 0.0)),
    )


def _predictions(values: Values, fitted: _Fitted, single: Array) -> Predictions:
    """Average what the accounts expect, each weighed by its evidence under the hypothesis."""
    fits = (fitted.single, fitted.before, fitted.after)
    parts = []
    for found, evidence in zip(fits, (single, fits[1].log_evidence, fits[2].log_evidence), strict=True):
        shares = np.exp(evidence - log_sum(evidence, axis=0))  # (a, h)
        means = found.levels[:, :, [0, -1], None] + found.offsets[:, :, None, :]  # (a, h, 2, d)
        levels = np.diagonal(found.covariance, axis1=2, axis2=3)[..., [0, -1]]
        variance = found.variance[..., None] * (1 + levels)
        parts.append((np.einsum("ah,ahkd->hkd", shares, means), np.einsum("ah,ahk->hk", shares, variance)))
    means, variance = (np.concatenate([part[number] for part in parts]) for number in (0, 1))
    return Predictions(values.devices, means[:, 0], means[:, 1], variance)


def best_fit(problem: Problem, observations: Sequence[Observation]) -> tuple[Values, Fit, Array]:
    """Return the values, the most probable account of them (in the unit of the scale), and the weight of each value."""
    values, _, fitted = _fitted(problem, observations)
    return values, fitted.best(), fitted.weights


def _directed(movement: int, known: Knowledge, fitted: _Fitted) -> Array:
    """Return the log evidence of one change in each gap, in the direction of the movement."""
    evidence = fitted.single.log_evidence + _moved(known.moves, fitted.single)
    if movement == 0:
        return evidence
    return evidence + log_positive(movement * _standard(fitted.single)) - _expected_direction(movement, known.single)


def _expected_direction(movement: int, prior: LevelPrior) -> Array:
    """Return the log probability that each account gives the movement its direction; shape (a, 1)."""
    covariance = np.linalg.inv(prior.precision)
    spread = np.sqrt(covariance[:, 0, 0] + covariance[:, 1, 1] - 2 * covariance[:, 0, 1])
    return log_positive(movement * (prior.mean[:, 1] - prior.mean[:, 0]) / spread)[:, None]


def _standard(estimate: Estimate) -> Array:
    """Return the estimated movement in standard deviations."""
    return np.asarray(estimate.movement / np.sqrt(estimate.movement_variance * estimate.variance))


def _moved(moves: Array, estimate: Estimate) -> Array:
    """Weigh a vague prior of the movement by its square, so that a movement near zero is not one.

    Without it, "no change" could never gain much on "a very small change" (the moment prior of Johnson and Rossell,
    2010).
    """
    moment = estimate.movement**2 / estimate.variance + estimate.movement_variance
    return np.asarray(np.where(moves > 0, np.log(moment / np.maximum(moves, 1e-300)), 0.0))


def _pairs(known: Knowledge, fitted: _Fitted, least: float) -> tuple[Array, Array]:
    """Return the log evidence of two changes for each pair of gaps, and the chance that both are negligible.

    There are many pairs, so an account that explains neither one change nor none at all is left out.
    """
    best = np.max(
        np.concatenate([fitted.single.log_evidence, fitted.before.log_evidence, fitted.after.log_evidence], axis=1),
        axis=1,
    )
    kept = best > best.max() - _LEFT_OUT
    triple, single, moves = known.pair.of_accounts(kept), known.single.of_accounts(kept), known.moves[kept]
    outside_first = fitted.sums.pair(taken_back=True)
    # Three levels; up and back, from the level before; or down and back, from the level after.
    found = [
        fit(fitted.sums.pair(taken_back=False), triple),
        fit(outside_first, single),
        fit(outside_first.turned(), single),
    ]
    shares = np.log([1 - _TAKEN_BACK, _TAKEN_BACK / 2, _TAKEN_BACK / 2])
    joint = np.concatenate(
        [share + each.log_evidence + _moved(moves, each) for share, each in zip(shares, found, strict=True)]
    )
    evidence = log_sum(joint, axis=0)
    small = np.concatenate([negligible_steps(each, least) for each in found])
    return evidence, (np.exp(joint - evidence) * small).sum(axis=0)


def _without_outliers(values: Values, known: Knowledge) -> _Fitted:
    """Fit with the probability of each value to be no outlier as its weight."""
    fitted = _Fitted.of(values, known, _first_weights(values))
    for _ in range(_LOOKS):
        weights = _weights(values, fitted)
        if float(np.abs(weights - fitted.weights).max()) < _SAME_WEIGHTS:
            break
        fitted = _Fitted.of(values, known, weights)
    return fitted


def _first_weights(values: Values) -> Array:
    """Return 0 for values that are far from all values near them, while these are close to each other.

    1 for the others.

    One gross outlier would otherwise widen the noise until it is none.
    """
    weights = np.ones(len(values.value))
    if len(weights) < _FEW:
        return weights
    distance = _distance_to_neighbours(values, values.value)
    typical = max(2.0 * float(np.median(distance)), 1.0)
    weights[distance > _GROSS * typical] = 0.0
    return weights


def _weights(values: Values, fitted: _Fitted) -> Array:
    """Return the probability of each value to be no outlier: a level explains it, or another value near it agrees."""
    found = fitted.best()
    corrected = values.value - found.offsets[values.device]
    residual = np.abs(corrected[:, None] - fitted.levels()).min(axis=1)
    suspicious = residual > 2 * found.noise
    if suspicious.any():
        residual[suspicious] = np.minimum(residual, _distance_to_neighbours(values, corrected))[suspicious]
    exponent = np.minimum((residual / found.noise) ** 2 / 2 * (1 - 1 / _OUTLIER_DEVIATION**2), 700.0)
    return np.asarray(1 / (1 + _OUTLIERS / (1 - _OUTLIERS) / _OUTLIER_DEVIATION * np.exp(exponent)))


def _distance_to_neighbours(values: Values, corrected: Array) -> Array:
    """Return the distance of each value to the nearest other one of its place and of the places next to it."""
    near = np.abs(values.index[:, None] - values.index[None, :]) <= 1
    np.fill_diagonal(near, val=False)
    distance = np.abs(corrected[:, None] - corrected[None, :])
    return np.asarray(np.where(near, distance, np.inf).min(axis=1, initial=np.inf))
