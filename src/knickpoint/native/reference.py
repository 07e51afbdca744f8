"""The kernels again, in NumPy: the oracle of the tests, and the fallback where no compiler was at hand.

Every function here has a compiled twin of the same name and meaning in :mod:`knickpoint.native`.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Final

import numpy as np

from knickpoint.native.reference_kmeans import approach, assign, move, pack, pack_rows
from knickpoint.native.reference_partition import layer
from knickpoint.native.reference_student import student

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "TIED",
    "Note",
    "Region",
    "approach",
    "assign",
    "form_weight",
    "layer",
    "move",
    "pack",
    "pack_rows",
    "permutations",
    "permute",
    "q_hat",
    "regions",
    "scan_both",
    "student",
    "windows",
]

TIED: Final = 1e-10
"""A Q this much short of another, relatively, equals it: the same sums were only added in another order."""

Note = tuple[int, int, float, float, float]
"""What :func:`windows` did, with index, Q, p and magnitude: 0 split, 1 candidate refused, 2 taken away for its p,
3 for its magnitude, 4 stays."""

_WORD = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15

Region = tuple[int, int, int, float, float, float, float, float]
"""First and last measured row, count, minimum, maximum, median, mean, variance."""


def regions(values: NDArray[np.float64], bounds: Sequence[int]) -> list[Region | None]:
    """Describe the measured values from each of the ascending ``bounds`` to the next, None where there is none.

    The variance has the divisor ``count - 1``; it is 0 for one value and for equal values.
    """
    return [_region(values, first, stop) for first, stop in itertools.pairwise(bounds)]


def _region(values: NDArray[np.float64], first: int, stop: int) -> Region | None:
    rows = np.flatnonzero(~np.isnan(values[first:stop]))
    if not rows.size:
        return None
    part = values[first:stop][rows]
    low, high = float(part.min()), float(part.max())
    with np.errstate(over="ignore", invalid="ignore"):
        mean = low if low == high else float(part.mean())
        variance = 0.0 if low == high else float(np.square(part - mean).sum() / (part.size - 1))
        median = float(np.median(part))
    return (
        first + int(rows[0]),
        first + int(rows[-1]),
        int(rows.size),
        low,
        high,
        median,
        mean,
        variance,
    )


def _far(difference: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    distance = np.abs(difference)
    return distance if alpha == 1 else np.power(distance, alpha, out=distance)


def form_weight(points: NDArray[np.float64], *, v_form: bool) -> NDArray[np.float64]:
    """Return what a block of ``points`` divides its inner distances by, inverted: U gives a single point 0."""
    with np.errstate(divide="ignore"):
        return 1.0 / points if v_form else np.where(points > 1, 1.0 / (points - 1), 0.0)


def _inner(values: NDArray[np.float64], alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distances from each point to all before it, and to all."""
    before, every = np.empty_like(values), np.empty_like(values)
    for place, value in enumerate(values):
        distances = _far(values - value, alpha)
        before[place] = distances[:place].sum()
        every[place] = distances.sum()
    return before, every


def q_hat(values: NDArray[np.float64], alpha: float, *, v_form: bool) -> NDArray[np.float64]:
    """Return Q-hat of every split of ``values``, ``q[t]`` for the first ``t`` points against the rest; ``q[0]`` is 0.

    ``alpha`` in (0, 2] is the power of the distance. U form: the mean inner distance of a block is over its
    pairs; V form: over its points squared. O(T^2) time, O(T) memory here.
    """
    count = values.size
    if count < 2:
        return np.zeros(count)
    before, every = _inner(values - np.median(values), alpha)
    left = np.cumsum(before)[:-1]
    right = before.sum() - np.cumsum(every - before)[:-1]
    across = before.sum() - left - right
    points = np.arange(1.0, count)
    rest = count - points
    inner = left * rest * form_weight(points, v_form=v_form) + right * points * form_weight(rest, v_form=v_form)
    return np.concatenate([[0.0], 2.0 / count * (across - inner)])


def _both(values: NDArray[np.float64], alpha: float, least: int, *, v_form: bool) -> NDArray[np.float64]:
    """Return Q of every (tau, kappa) for rows of series: rows x tau x kappa, ``-inf`` where a block is too short."""
    count = values.shape[-1]
    grid = np.full((len(values), count + 1, count + 1), -np.inf)
    distances = _far(values[:, :, np.newaxis] - values[:, np.newaxis, :], alpha)
    before = np.tril(distances, -1).sum(axis=2)
    whole = np.concatenate([np.zeros((len(values), 1)), np.cumsum(before, axis=1)], axis=1)
    right = np.zeros((len(values), count + 1))
    for tau in range(count - 1, least - 1, -1):
        right[:, tau + 1 :] += np.cumsum(distances[:, tau, tau:], axis=1)
        kappa = np.arange(tau + least, count + 1)
        points = (kappa - tau).astype(float)
        left, inner = whole[:, tau, np.newaxis], right[:, tau + least :]
        of_left = points * form_weight(np.array([float(tau)]), v_form=v_form)
        of_right = tau * form_weight(points, v_form=v_form)
        grid[:, tau, tau + least :] = (
            (whole[:, tau + least :] - left * (1 + of_left) - inner * (1 + of_right)) * 2 / kappa
        )
    return grid


def scan_both(values: NDArray[np.float64], alpha: float, least: int, *, v_form: bool) -> tuple[int, int, float]:
    """Return (tau, kappa) with the largest Q of ``values[:tau]`` against ``values[tau:kappa]``, and that Q.

    Both blocks have at least ``least`` points; ties go to the smaller tau, then kappa. (-1, -1, -inf) when
    there is no room. O(T^2) time; O(T^2) memory here, O(T) compiled.
    """
    if values.size < 2 * least:
        return -1, -1, -np.inf
    grid = _both(values[np.newaxis], alpha, least, v_form=v_form)[0]
    q = float(grid.max())
    tau, kappa = np.unravel_index(int(np.argmax(grid >= q - TIED * abs(q))), grid.shape)
    return int(tau), int(kappa), q


def _mixed(value: int) -> int:
    value = value + _GOLDEN & _WORD
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    value = (value ^ value >> 27) * 0x94D049BB133111EB & _WORD
    return value ^ value >> 31


def permutations(seed: int, turn: int, numbers: range, first: int, count: int) -> NDArray[np.int64]:
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
        tops = _both(values, alpha, least, v_form=v_form).max(axis=(1, 2))
    else:
        every = np.array([q_hat(row, alpha, v_form=v_form) for row in values])
        tops = every[:, least : values.shape[1] - least + 1].max(axis=1)
    return tops


def permute(
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
    ``allowed`` all ``count`` are. ``tops``, ``count`` long, takes the largest Q of each, exact up to ``reach``. ``turn`` sets apart the tests of one series.

    Returns how many reached, and how many were judged.
    """
    hits = judged = 0
    step = 32
    while judged < count:
        numbers = range(judged, min(judged + step, count))
        best = np.full(len(numbers), -np.inf)
        for first, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            own = ordered[first:stop]
            if own.size >= 2 * least and own[0] != own[-1]:
                shuffled = own[permutations(seed, turn, numbers, first, own.size)]
                best = np.maximum(best, _tops(shuffled, alpha, least, v_form=v_form, both=both))
        for top in best:
            if tops is not None:
                tops[judged] = top
            hits += bool(top >= reach)
            judged += 1
            if 0 <= allowed < hits:
                return hits, judged
    return hits, judged


def _compare(values: NDArray[np.float64], a: int, b: int, c: int, *, population: bool) -> tuple[float, float]:
    """Return p and magnitude of ``values[a:b]`` against ``values[b:c]``, by a pooled t-test."""
    before, after = values[a:b], values[b:c]
    n, m = before.size, after.size
    one, two = (float(part[0] + (part - part[0]).sum() / part.size) for part in (before, after))
    magnitude = max(abs(two / one - 1) if one else 0.0, abs(one / two - 1) if two else 0.0)
    if n + m <= 2:
        return 1.0, magnitude
    squares = float(np.square(before - one).sum()) * ((n - 1) / n if population else 1)
    others = float(np.square(after - two).sum()) * ((m - 1) / m if population else 1)
    error = (squares + others) / (n + m - 2) * (1 / n + 1 / m)
    if error == 0:
        return (1.0 if one == two else 0.0), magnitude
    return student((one - two) / math.sqrt(error), n + m - 2), magnitude


def _split_window(
    values: NDArray[np.float64],
    start: int,
    stop: int,
    alpha: float,
    *,
    v_form: bool,
    least: int,
    bound: float,
    population: bool,
    notes: list[Note],
) -> dict[int, float]:
    """Split ``values[start:stop]`` until the best candidate is not significant; return the points and their Q."""
    found: dict[int, float] = {}
    bounds = [start, stop]
    known: dict[tuple[int, int], tuple[int, float]] = {}
    while True:
        candidates = []
        for first, end in itertools.pairwise(bounds):
            if end - first < 2 * least:
                continue
            if (first, end) not in known:
                tau, _, q = scan_both(values[first:end], alpha, least, v_form=v_form)
                known[first, end] = first + tau, q
            candidates.append((*known[first, end], first, end))
        if not candidates:
            return found
        index, q, first, end = candidates[0]
        for candidate in candidates[1:]:
            if candidate[1] > q + TIED * abs(q):
                index, q, first, end = candidate
        p, magnitude = _compare(values, first, index, end, population=population)
        passed = p <= bound
        notes.append((0 if passed else 1, index, q, p, magnitude))
        if not passed:
            return found
        found[index] = q
        bounds = sorted([*bounds, index])


def windows(
    values: NDArray[np.float64],
    alpha: float,
    *,
    v_form: bool,
    least: int,
    window: int,
    stride: int,
    first_p: float,
    max_p: float,
    least_magnitude: float,
    population: bool,
    stale: bool,
    refused: bool = True,
) -> list[Note]:
    """Split sliding windows by E-Divisive with a t-test at each split, then take away the weakest.

    A window begins ``stride`` after the one before, or at the last point found if that is later. Splits need
    a p of at most ``first_p``. Then the point with the largest p goes while that is not below ``max_p``, else
    the one with the smallest magnitude while that is not above ``least_magnitude``. ``population`` divides
    variances by n as Otava does; ``stale`` leaves the statistics of the point before one that is taken away
    as they were, as Otava 0.8 does. The last notes, of kind 4, are the points that stay, with fresh statistics;
    without ``refused`` there are no others.
    """
    notes: list[Note] = []
    strength: dict[int, float] = {}
    start = 0
    while start < values.size:
        found = _split_window(
            values,
            start,
            min(start + window, values.size),
            alpha,
            v_form=v_form,
            least=least,
            bound=first_p,
            population=population,
            notes=notes,
        )
        for index, q in found.items():
            strength[index] = max(q, strength.get(index, -math.inf))
        start = max([*found, start + stride])
    points = sorted(strength)

    def around(place: int) -> tuple[float, float]:
        first = points[place - 1] if place else 0
        end = points[place + 1] if place + 1 < len(points) else values.size
        return _compare(values, first, points[place], end, population=population)

    levels = [around(place) for place in range(len(points))]
    while points:
        kind, weakest = 2, max(range(len(points)), key=lambda place: levels[place][0])
        if levels[weakest][0] < max_p:
            kind, weakest = 3, min(range(len(points)), key=lambda place: levels[place][1])
            if levels[weakest][1] > least_magnitude:
                break
        index = points.pop(weakest)
        notes.append((kind, index, strength[index], *levels.pop(weakest)))
        for place in (weakest, weakest + 1) if stale else (weakest - 1, weakest):
            if 0 <= place < len(points):
                levels[place] = around(place)
    stay: list[Note] = [(4, index, strength[index], *around(place)) for place, index in enumerate(points)]
    return notes + stay if refused else stay
