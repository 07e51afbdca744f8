"""The searches that ours is compared with: the noiseless optimum, and posteriors that know the noise.

These know more than ours may: one culprit for certain, good and bad ends for certain, and the error, or the levels and the
deviation. They probe the quantiles i / (d + 1) of the posterior in rounds of d probes, and stop at the stated probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bisection_answers import Answers

__all__ = ["Searches", "optimal_rounds", "search_measured", "search_pass_fail"]

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_PROBABILITY: Final = 0.95

_BLOCK: Final = 1_000_000
"""Numbers of the posteriors that are worked on at a time, for the cache."""


@dataclass(frozen=True, slots=True)
class Searches:
    """What many searches took: tests and rounds of each, and whether the named culprit is wrong."""

    tests: Counts
    rounds: Counts
    wrong: NDArray[np.bool_]


def optimal_rounds(candidates: int, devices: int) -> int:
    """Return the fewest rounds that always find one of ``candidates`` with ``devices`` exact probes in each.

    A round of d exact probes has d + 1 outcomes, so the candidates that are left shrink by d + 1 at best.
    """
    rounds = 0
    while (devices + 1) ** rounds < candidates:
        rounds += 1
    return rounds


def search_pass_fail(candidates: int, devices: int, answers: Answers, culprits: Counts) -> Searches:
    """Search each of ``culprits`` with probes that pass or fail, whose error is known."""
    weight = math.log((1 - answers.error) / answers.error)

    def evidence(search: Counts, place: Counts, k: Counts, culprit: Counts) -> Array:
        return np.where(answers.passed(search, place, k, culprit), -weight, weight)

    return _search(candidates, devices, culprits, evidence)


def search_measured(candidates: int, devices: int, answers: Answers, culprits: Counts) -> Searches:
    """Search each of ``culprits`` with measured values, whose levels 0 and delta and deviation 1 are known."""

    def evidence(search: Counts, place: Counts, k: Counts, culprit: Counts) -> Array:
        return answers.delta * answers.values(search, place, k, culprit) - answers.delta**2 / 2

    return _search(candidates, devices, culprits, evidence)


def _search(
    candidates: int, devices: int, culprits: Counts, evidence: Callable[[Counts, Counts, Counts, Counts], Array]
) -> Searches:
    """Search in blocks; ``evidence`` is log(likelihood of bad / likelihood of good) of the k-th probes of places."""
    size = max(1, _BLOCK // candidates)
    parts = [
        _search_block(candidates, devices, culprits[begin : begin + size], begin, evidence)
        for begin in range(0, len(culprits), size)
    ]
    return Searches(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("tests", "rounds", "wrong")))


def _search_block(
    candidates: int,
    devices: int,
    culprits: Counts,
    begin: int,
    evidence: Callable[[Counts, Counts, Counts, Counts], Array],
) -> Searches:
    total = len(culprits)
    posterior = np.full((total, candidates), 1 / candidates)
    probes = np.zeros((total, candidates + 1), np.int64)
    rounds = np.zeros(total, np.int64)
    named = np.zeros(total, np.int64)
    quantiles = np.arange(1, devices + 1) / (devices + 1)
    places = np.arange(1, candidates + 1)
    running = np.arange(total)
    while running.size:
        bad = posterior[running].cumsum(axis=1)[:, :-1]  # probability that place 1 .. n - 1 is bad
        update = np.zeros((running.size, candidates))
        for quantile in quantiles:
            place = np.abs(bad - quantile).argmin(axis=1) + 1
            k = probes[running, place]
            probes[running, place] += 1
            found = evidence(begin + running, place, k, culprits[running])
            update += np.where(places <= place[:, None], found[:, None], 0.0)
        update -= update.max(axis=1, keepdims=True)
        weighted = posterior[running] * np.exp(update)
        posterior[running] = weighted / weighted.sum(axis=1, keepdims=True)
        rounds[running] += 1
        named[running] = posterior[running].argmax(axis=1) + 1
        running = running[posterior[running].max(axis=1) < _PROBABILITY]
    return Searches(rounds * devices, rounds, named != culprits)
