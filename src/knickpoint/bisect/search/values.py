"""The evidence of measured values, with unknown levels, noise and offsets of devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.bisect.search.evidence import Evidence, log_sum
from knickpoint.bisect.search.knowledge import Knowledge, Scale, knowledge_of, scale_of
from knickpoint.bisect.search.linear_model import Estimate, Segments, fit
from knickpoint.bisect.search.problem import Observation, Problem

__all__ = ["Fit", "Values", "best_fit", "evidence_of_values"]

Array = NDArray[np.float64]

_OUTLIERS: Final = 0.02
"""Share of values that are expected to be outliers,"""

_OUTLIER_DEVIATION: Final = 10.0
"""and their deviation, in units of the noise."""

_ROUNDS: Final = 2
"""How often the outliers are looked for anew, with what the last look left of them."""

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
    """

    places: NDArray[np.int64]
    index: NDArray[np.int64]
    device: NDArray[np.int64]
    devices: tuple[str, ...]
    value: Array
    scale: Scale

    @classmethod
    def of(cls, problem: Problem, observations: Sequence[Observation]) -> Values:
        """Read the observations; their order does not matter."""
        values = np.array([observation.value for observation in observations], dtype=np.float64)
        places, index = np.unique(np.array([o.place for o in observations], dtype=np.int64), return_inverse=True)
        devices = sorted({observation.device for observation in observations})
        number = {name: position for position, name in enumerate(devices)}
        device = np.array([number[observation.device] for observation in observations], dtype=np.int64)
        scale = scale_of(problem, values)
        return cls(places, index, device, tuple(devices), (values - scale.centre) / scale.unit, scale)


@dataclass(frozen=True, slots=True)
class _Sums:
    """Weighted sums over the values below each gap, and over all; shape (m + 1, d)."""

    count: Array
    total: Array
    squares: float

    def segments(self, *selected: tuple[Array, Array]) -> Segments:
        """Return segments of given sums of (count, total), each of shape (h, d)."""
        return Segments(
            np.stack([count for count, _ in selected], axis=1),
            np.stack([total for _, total in selected], axis=1),
            self.squares,
        )

    def none(self) -> Segments:
        return self.segments((self.count[-1:], self.total[-1:]))

    def single(self) -> Segments:
        left = (self.count, self.total)
        return self.segments(left, (self.count[-1] - self.count, self.total[-1] - self.total))

    def reversed(self) -> Segments:
        left = (self.count, self.total)
        return self.segments((self.count[-1] - self.count, self.total[-1] - self.total), left)


@dataclass(frozen=True, slots=True)
class Fit:
    """The most probable account of the values, in the unit of the values.

    Attributes:
        levels: levels before and after; one level where no change is more probable.
        deviations: standard deviations of these estimates.
        noise: standard deviation of single values.
        offsets: offset of each device.
        weights: weight of each value, near 0 for an outlier; shape (v,).
    """

    levels: Array
    deviations: Array
    noise: float
    offsets: Array
    weights: Array


def evidence_of_values(problem: Problem, observations: Sequence[Observation]) -> Evidence:
    """Return the evidence of observations with values."""
    values = Values.of(problem, observations)
    accounts = knowledge_of(problem, values.scale)
    sums = _sums(values, _weights(problem, values, accounts))
    before, after, single, backwards, pair = [], [], [], [], []
    for account in accounts:
        none = sums.none()
        before.append(fit(none, account.of_none(after=False)).log_evidence[0])
        after.append(fit(none, account.of_none(after=True)).log_evidence[0])
        forward, turned = _directed(problem, account, sums)
        single.append(forward)
        backwards.append(turned)
        if problem.several > 0:
            pair.append(_pairs(account, sums))
    gaps = len(values.places) + 1
    of_pairs = np.full((gaps, gaps), -np.inf)
    if pair:
        of_pairs[np.triu_indices(gaps)] = log_sum(np.array(pair), axis=0)
    return Evidence(
        places=values.places,
        none_before=float(log_sum(np.array(before))),
        none_after=float(log_sum(np.array(after))),
        single=log_sum(np.array(single), axis=0),
        reversed=log_sum(np.array(backwards), axis=0),
        pair=of_pairs,
    )


def best_fit(problem: Problem, observations: Sequence[Observation]) -> Fit:
    """Return the most probable account of values."""
    values = Values.of(problem, observations)
    accounts = knowledge_of(problem, values.scale)
    weights = _weights(problem, values, accounts)
    found = _best(problem, accounts, _sums(values, weights))
    unit = values.scale.unit
    return Fit(
        levels=found.levels * unit + values.scale.centre,
        deviations=found.deviations * unit,
        noise=found.noise * unit,
        offsets=found.offsets * unit,
        weights=weights,
    )


def _sums(values: Values, weights: Array) -> _Sums:
    shape = (len(values.places) + 1, len(values.devices))
    count, total = np.zeros(shape), np.zeros(shape)
    np.add.at(count, (values.index + 1, values.device), weights)
    np.add.at(total, (values.index + 1, values.device), weights * values.value)
    return _Sums(count.cumsum(axis=0), total.cumsum(axis=0), float((weights * values.value**2).sum()))


def _directed(problem: Problem, account: Knowledge, sums: _Sums) -> tuple[Array, Array]:
    """Return the log evidence of one change in each gap, in the direction of the movement and in the other one."""
    estimate = fit(sums.single(), account.of_single())
    evidence = estimate.log_evidence + _moved(account, estimate)
    if problem.movement == 0:
        return evidence, np.full_like(evidence, -np.inf)
    prior = account.of_single()
    covariance = np.linalg.inv(prior.precision)
    expected = problem.movement * (prior.mean[1] - prior.mean[0])
    spread = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    likely = float(_log_positive(np.array(expected / spread)))
    standard = problem.movement * _movement(estimate)
    forward = evidence + _log_positive(standard) - likely
    if account.moves:
        return forward, evidence + _log_positive(-standard) - likely
    turned = fit(sums.reversed(), account.of_single())
    return forward, turned.log_evidence + _log_positive(problem.movement * _movement(turned)) - likely


def _movement(estimate: Estimate) -> Array:
    """Return the estimated movement between the first and the last level, in standard deviations."""
    covariance = estimate.covariance
    variance = covariance[:, 0, 0] + covariance[:, -1, -1] - 2 * covariance[:, 0, -1]
    return (estimate.levels[:, -1] - estimate.levels[:, 0]) / np.sqrt(variance * estimate.variance)


def _log_positive(standard: Array) -> Array:
    """Return the log probability that a quantity is positive, from its estimate in standard deviations (logistic)."""
    return -np.logaddexp(0.0, -1.702 * standard)


def _moved(account: Knowledge, estimate: Estimate) -> Array:
    """Weigh a vague prior of the movement by its square, so that a movement near zero is not one.

    Without it, "no change" could never gain much on "a very small change" (the moment prior of Johnson and Rossell, 2010).
    """
    if not account.moves:
        return np.zeros(len(estimate.log_evidence))
    covariance = estimate.covariance
    variance = covariance[:, 0, 0] + covariance[:, -1, -1] - 2 * covariance[:, 0, -1]
    movement = estimate.levels[:, -1] - estimate.levels[:, 0]
    return np.asarray(np.log((movement**2 / estimate.variance + variance) / account.after_variance))


def _pairs(account: Knowledge, sums: _Sums) -> Array:
    """Return the log evidence of two changes, for each pair of gaps of the upper triangle."""
    first, second = np.triu_indices(len(sums.count))
    before = (sums.count[first], sums.total[first])
    between = (sums.count[second] - before[0], sums.total[second] - before[1])
    after = (sums.count[-1] - sums.count[second], sums.total[-1] - sums.total[second])
    outside = (before[0] + after[0], before[1] + after[1])
    three = fit(sums.segments(before, between, after), account.of_pair())
    two = fit(sums.segments(outside, between), account.of_single())
    return np.asarray(
        np.logaddexp(
            np.log1p(-_TAKEN_BACK) + three.log_evidence + _moved(account, three),
            np.log(_TAKEN_BACK) + two.log_evidence + _moved(account, two),
        )
    )


def _weights(problem: Problem, values: Values, accounts: Sequence[Knowledge]) -> Array:
    """Return the probability of each value to be no outlier: no level explains it, and no other value near it agrees."""
    weights = np.ones(len(values.value))
    alone = _distance_to_neighbours
    for _ in range(_ROUNDS):
        found = _best(problem, accounts, _sums(values, weights))
        corrected = values.value - found.offsets[values.device]
        residual = np.abs(corrected[:, None] - found.levels[None, :]).min(axis=1)
        residual = np.minimum(residual, alone(values, corrected)) / found.noise
        odds = _OUTLIERS / (1 - _OUTLIERS) / _OUTLIER_DEVIATION
        exponent = np.minimum(residual**2 / 2 * (1 - 1 / _OUTLIER_DEVIATION**2), 700.0)
        weights = 1 / (1 + odds * np.exp(exponent))
    return weights


def _distance_to_neighbours(values: Values, corrected: Array) -> Array:
    """Return how far each value is from the nearest other one of its place and the places next to it."""
    apart = np.abs(values.index[:, None] - values.index[None, :]) <= 1
    np.fill_diagonal(apart, val=False)
    distance = np.abs(corrected[:, None] - corrected[None, :])
    return np.asarray(np.where(apart, distance, np.inf).min(axis=1, initial=np.inf))


def _best(problem: Problem, accounts: Sequence[Knowledge], sums: _Sums) -> Fit:
    """Return the most probable hypothesis of one or no change, under the most probable account."""
    candidates: list[tuple[float, int, Estimate]] = []
    for account in accounts:
        for after in (False, True):
            none = fit(sums.none(), account.of_none(after=after))
            candidates.append((float(none.log_evidence[0]), 0, none))
        single = fit(sums.single(), account.of_single())
        gap = int(np.argmax(single.log_evidence))
        candidates.append((float(single.log_evidence[gap]), gap, single))
    _, gap, estimate = max(candidates, key=lambda candidate: candidate[0])
    del problem
    variance = float(estimate.variance[gap])
    return Fit(
        levels=estimate.levels[gap],
        deviations=np.sqrt(np.diag(estimate.covariance[gap]) * variance),
        noise=float(np.sqrt(variance)),
        offsets=estimate.offsets[gap],
        weights=np.empty(0),
    )
