"""Count the permutations of a series whose largest Q-hat reaches the observed one.

``permutation.c`` explains the test.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.extension import choose, lib
from knickpoint.native.q_hat import q_hat_in_numpy, q_of_both

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def _mixed(value: int) -> int:
    """Mix a counter by the finaliser of SplitMix64."""
    value = value + _GOLDEN & _WORD
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _WORD
    return value ^ value >> 31


def draw_permutations(seed: int, turn: int, numbers: range, first: int, count: int) -> NDArray[np.int64]:
    """Return the permutations ``numbers`` of ``count`` places, one a row, for a cluster that begins at ``first``.

    Place i takes part in one swap, drawn from the counter (seed, turn, number, first + i) by the finaliser
    of SplitMix64: any permutation can be had without those before it.
    """
    base = _mixed(seed ^ _mixed(turn))
    streams = np.array([_mixed(base + number & _WORD) for number in numbers], np.uint64)
    counters = np.array([(first + place + 1) * _GOLDEN & _WORD for place in range(count)], np.uint64)
    drawn: NDArray[np.uint64] = streams[:, np.newaxis] + counters
    drawn = (drawn ^ np.right_shift(drawn, 30)) * np.uint64(0xBF58476D1CE4E5B9)
    drawn = (drawn ^ np.right_shift(drawn, 27)) * np.uint64(0x94D049BB133111EB)
    drawn = np.right_shift(drawn ^ np.right_shift(drawn, 31), 32)
    places = np.right_shift(drawn * np.arange(1, count + 1, dtype=np.uint64), 32).astype(np.int64)

    # The last of so many places is swapped with the one drawn
    order = np.zeros((len(numbers), count), np.int64)
    rows = np.arange(len(numbers))
    for place in range(count):
        swapped = places[:, place]
        order[:, place] = order[rows, swapped]
        order[rows, swapped] = place
    return order


def _tops(values: NDArray[np.float64], alpha: float, least: int, *, v_form: bool, both: bool) -> NDArray[np.float64]:
    """Return the largest Q of every row."""
    tops: NDArray[np.float64]
    if both:
        tops = q_of_both(values, alpha, least, v_form=v_form).max(axis=(1, 2))
    else:
        every = np.array([q_hat_in_numpy(row, alpha, v_form=v_form) for row in values])
        tops = every[:, least : values.shape[1] - least + 1].max(axis=1)
    return tops


def permute_in_numpy(
    ordered: NDArray[np.float64],
    bounds: NDArray[np.int64],
    alpha: float,
    *,
    v_form: bool,
    both: bool,
    least: int,
    seed: int,
    turn: int,
    count: int,
    reach: float = np.inf,
    allowed: int = -1,
    tops: NDArray[np.float64] | None = None,
) -> tuple[int, int]:
    """Shuffle inside each cluster, and count the permutations whose largest Q of all clusters is ``reach`` or more.

    ``ordered`` holds the values sorted cluster by cluster, ``bounds`` where the clusters begin and the last
    one ends. Permutations are judged in order until more than ``allowed`` reach; with a negative
    ``allowed`` all ``count`` are. ``tops``, ``count`` long, takes the largest Q of each, exact up to ``reach``.
    ``turn`` sets apart the tests of one series.

    Returns how many reached, and how many were judged.
    """
    hits = judged = 0
    step = 32
    while judged < count:
        numbers = range(judged, min(judged + step, count))
        best = np.full(len(numbers), -np.inf)
        for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            cluster = ordered[first:stop]
            if cluster.size >= 2 * least and cluster[0] != cluster[-1]:
                shuffled = cluster[draw_permutations(seed, turn, numbers, first, cluster.size)]
                best = np.maximum(best, _tops(shuffled, alpha, least, v_form=v_form, both=both))
        for top in best:
            if tops is not None:
                tops[judged] = top
            hits += bool(top >= reach)
            judged += 1
            if 0 <= allowed < hits:
                return hits, judged
    return hits, judged


def permute_in_c(
    ordered: NDArray[np.float64],
    bounds: NDArray[np.int64],
    alpha: float,
    *,
    v_form: bool,
    both: bool,
    least: int,
    seed: int,
    turn: int,
    count: int,
    reach: float = np.inf,
    allowed: int = -1,
    tops: NDArray[np.float64] | None = None,
) -> tuple[int, int]:
    """Return the number of permutations that reach ``reach``, and of those that were judged; see the reference."""
    exceeded = np.zeros(1, dtype=np.int64)
    judged = lib.kp_permute(
        ordered,
        bounds,
        bounds.size - 1,
        alpha,
        v_form,
        both,
        least,
        seed,
        turn,
        0,
        count,
        reach,
        allowed,
        tops,
        exceeded,
    )
    if judged < 0:
        raise MemoryError
    return int(exceeded[0]), int(judged)


permute = choose(permute_in_numpy, permute_in_c)
