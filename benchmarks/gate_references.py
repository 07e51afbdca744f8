"""The rules by which other tools fail a pull request, written from their documentation.

Each takes the histories and the new samples of many benchmarks, lower is better, and returns which of them it calls
worse.

- github-action-benchmark: the new value over that of the commit before, from ``alert-threshold`` on (200 %, and 150 %).
- Bencher: ``t_test`` with an upper boundary of 0.99 over at most 64 past values: a prediction interval.
- benchstat: the Mann-Whitney U-test at 0.05 between as many samples of the base and of the new side.
- asv continuous: the ratio of the medians from ``--factor`` 1.1 on; with enough samples also the U-test at 0.002.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gate_noise import PullRequest
from knickpoint.detect.outliers import student_quantile

__all__ = ["REFERENCES"]

Worse = NDArray[np.bool_]

_LONGEST: Final = 64


def ratio(pull: PullRequest, threshold: float) -> Worse:
    """Compare with the value of the commit before."""
    return np.asarray(np.median(pull.samples, axis=1) > threshold * pull.histories[:, -1])


def t_test(pull: PullRequest, boundary: float) -> Worse:
    """Compare with the prediction interval of a normal distribution."""
    past = pull.histories[:, -_LONGEST:]
    count = past.shape[1]
    quantile = student_quantile(boundary, count - 1)
    limit = past.mean(axis=1) + quantile * past.std(axis=1, ddof=1) * math.sqrt(1 + 1 / count)
    return np.asarray(np.median(pull.samples, axis=1) > limit)


@lru_cache(maxsize=32)
def _u_tail(count: int) -> tuple[float, ...]:
    """Return P(U >= u) for two sides of ``count`` samples without ties, for u from 0 on."""
    ways = np.zeros(count * count + 1)
    if count <= 5:
        for ranks in combinations(range(2 * count), count):
            ways[sum(ranks) - count * (count - 1) // 2] += 1
    else:
        # The number of partitions that fit into a square, by the recurrence of Gaussian binomials.
        ways[0] = 1
        for part in range(1, count + 1):
            for power in range(ways.size - 1, count + part - 1, -1):
                ways[power] -= ways[power - count - part]
            for power in range(part, ways.size):
                ways[power] += ways[power - part]
    tail = np.cumsum(ways[::-1])[::-1] / ways.sum()
    return tuple(tail.tolist())


def u_test(pull: PullRequest, alpha: float) -> Worse:
    """Compare the newest past values, as samples of the base, with as many new ones.

    Two-sided at ``alpha``, worse only.
    """
    count = pull.samples.shape[1]
    base = pull.histories[:, -count:]
    above = (pull.samples[:, :, None] > base[:, None, :]).sum(axis=(1, 2))
    ties = (pull.samples[:, :, None] == base[:, None, :]).sum(axis=(1, 2))
    tail = np.array(_u_tail(count))[np.floor(above + ties / 2).astype(int)]
    return np.asarray(2 * tail <= alpha)


def continuous(pull: PullRequest, factor: float) -> Worse:
    """Compare the medians of as many samples of both sides, and the samples where they can differ at 0.002."""
    count = pull.samples.shape[1]
    base = np.median(pull.histories[:, -count:], axis=1)
    worse = np.asarray(np.median(pull.samples, axis=1) > factor * base)
    return worse & u_test(pull, 0.002) if 2 / math.comb(2 * count, count) <= 0.002 else worse


REFERENCES: Final[dict[str, Callable[[PullRequest], Worse]]] = {
    "github-action-benchmark, 200 %": lambda pull: ratio(pull, 2.0),
    "github-action-benchmark, 150 %": lambda pull: ratio(pull, 1.5),
    "Bencher, t-test 0.99": lambda pull: t_test(pull, 0.99),
    "benchstat": lambda pull: u_test(pull, 0.05),
    "asv continuous, 1.1": lambda pull: continuous(pull, 1.1),
}
