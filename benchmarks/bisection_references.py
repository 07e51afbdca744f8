"""The searches that ours is compared with: the noiseless optimum, posteriors that know the noise, and one that knows no levels.

These know more than ours may: one culprit for certain, good and bad ends for certain, and the error, or the levels and
the deviation; :func:`search_with_history` knows the deviation, and of the levels what a history says. They probe the
quantiles i / (d + 1) of the posterior in rounds of d probes, and stop at the stated probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from bisection_answers import Answers

__all__ = ["Searches", "optimal_rounds", "search_measured", "search_pass_fail", "search_with_history"]

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


def search_with_history(
    candidates: int,
    devices: int,
    answers: Answers,
    culprits: Counts,
    *,
    means: Array,
    count: int,
    first: int = 0,
) -> Searches:
    """Search each of ``culprits`` with measured values, of whose levels a history of ``count`` values has the ``means``.

    ``means`` has shape (searches, 2); ``first`` is the number of the first search. This is what is lost by not knowing
    the levels: their normal posterior is integrated out exactly, and an end is measured instead of a quantile where its
    value is expected to say more.
    """
    found = [
        _search_with_history(candidates, devices, answers, (first + number, int(culprit)), (means[number], count))
        for number, culprit in enumerate(culprits)
    ]
    tests, named = (np.array(each, np.int64) for each in zip(*found, strict=True))
    return Searches(tests, tests // devices, named != culprits)


def _search_with_history(
    candidates: int, devices: int, answers: Answers, search: tuple[int, int], history: tuple[Array, int]
) -> tuple[int, int]:
    """Return how many tests one search takes, and the culprit that it names.

    ``search`` is its number, and its culprit.
    """
    means, count = history
    made, total = np.zeros(candidates + 1, np.int64), np.zeros(candidates + 1)
    while True:
        # The levels before and after each candidate, and how well they explain the values.
        below = np.stack([made, total]).cumsum(axis=1)[:, :-1]
        counts = count + np.stack([below[0], made.sum() - below[0]])
        sums = count * means[:, None] + np.stack([below[1], total.sum() - below[1]])
        levels = sums / counts
        logs = (levels * sums - np.log(counts)).sum(axis=0) / 2
        posterior = np.exp(logs - logs.max())
        posterior /= posterior.sum()
        if posterior.max() >= _PROBABILITY:
            return int(made.sum()), int(posterior.argmax()) + 1
        bad = posterior.cumsum()[:-1]
        chosen: list[int] = []
        for quantile in np.arange(1, devices + 1) / (devices + 1):
            options = [int(np.abs(bad - quantile).argmin()) + 1, *({0, candidates} - set(chosen))]
            gains = [_gain(posterior, levels, counts, place) for place in options]
            chosen.append(options[int(np.argmax(gains))])
        for place in chosen:
            at = (np.array([number]) for number in (search[0], place, made[place], search[1]))
            total[place] += float(answers.values(*at)[0])
            made[place] += 1


def _gain(posterior: Array, levels: Array, counts: Array, place: int) -> float:
    """Return what the variance of the expected value of a place is, in units of that of the value."""
    after = (np.arange(1, len(posterior) + 1) <= place).astype(np.intp)
    candidates = np.arange(len(posterior))
    expected = levels[after, candidates]
    mean = posterior @ expected
    return float(posterior @ (expected - mean) ** 2 / (1 + posterior @ (1 / counts[after, candidates])))


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
