"""The parts of k-means that the kernel does not have, and the normalisation of the traces before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.budget import check_time
from knickpoint.detect.measured_series import check_frame
from knickpoint.model.errors import SeriesError
from knickpoint.native.kmeans import Clustering, Packed, choose_start, lloyd, sharing
from knickpoint.progress import Stage, report_progress

# The parts of k-means that the kernel does not have: the number of clusters, the start, and Skia Perf's iterations.
#
# The start of k-means++ (Arthur and Vassilvitskii 2007) chooses rows that are far from those chosen before, so that few
# iterations are needed; Skia Perf chooses rows evenly and stops when the total distance hardly changes.
#
# A centroid is a mean, and the mean of some hundred rows is as good a shape as that of thousands. So of many rows a
# sample moves the centroids, and all rows are assigned at the end.


_SKIA_EPSILON: Final = 1.0
"""Change of the total distance below which Skia Perf stops."""

_SKIA_ITERATIONS: Final = 100

_SAMPLED: Final = 128
"""Rows for each centroid among which k-means looks for all of them."""

_LEAST_SAMPLE: Final = 8_192
"""Rows that k-means looks at in any case: a shape that few traces have is in the sample then, too."""

_LEAST_MOVING: Final = 0.005
"""Share of the sample that still moves when the search for centroids ends: in noise, the last rows move for hundreds of
iterations and change no centroid by more than its error."""

_BLOCK: Final = 2048
"""Rows whose distances are computed at a time, so that temporary arrays stay small."""

Rows = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Iteration:
    """The centroids after an iteration, and the sum of the distances of all rows to the nearest of them."""

    centroids: Rows
    total_error: float


def automatic_k(traces: int, *, compatible: bool = False) -> int:
    """Return the number of clusters to look for among ``traces``: 10, and 40 more for 30,000 traces.

    Never more than one for five traces, so that clusters have members, and never more than 200. Skia
    has only the first of these rules.
    """
    wanted = 10 + 40 * traces // 30_000
    return max(1, min(wanted, traces) if compatible else min(wanted, 200, -(-traces // 5)))


def _squares(rows: Rows, centroid: Rows) -> NDArray[np.float64]:
    """Return the squared distance of each row to ``centroid``."""
    squares = np.empty(len(rows))
    for first in range(0, len(rows), _BLOCK):
        distance = rows[first : first + _BLOCK] - centroid
        squares[first : first + _BLOCK] = np.einsum("ij,ij->i", distance, distance)
    return squares


def spread_start(rows: Rows | Packed, k: int, seed: int, *, threads: int = 1) -> Rows:
    """Choose ``k`` different rows as starting centroids by k-means++; fewer come back when fewer rows differ."""
    packed = Packed.of(rows)
    return packed.rows[choose_start(packed, k, np.random.default_rng(seed), threads=threads)]


def random_start(rows: Rows, k: int, seed: int) -> Rows:
    """Choose ``k`` rows uniformly and with replacement, as Skia does, but with a seed."""
    return rows[np.random.default_rng(seed).integers(len(rows), size=k)]


def k_means(rows: Rows, k: int, seed: int, *, threads: int = 1) -> Clustering:
    """Group ``rows`` by k-means, to convergence for up to 8,192 of them; the same for any number of threads.

    Of more rows, a random sample of that many, or of 128 ``k`` if these are more, moves the centroids until hardly any
    of it moves. Then each row goes to its nearest centroid, the centroids become the means of all their rows, and the
    rows are assigned to these. The time grows with ``k`` x columns x (sample x iterations + rows).
    """
    sampled = max(_LEAST_SAMPLE, _SAMPLED * k)
    if len(rows) <= sampled:
        packed = Packed.of(rows)
        return lloyd(packed, spread_start(packed, k, seed, threads=threads), threads=threads, each=_iterated)
    drawn = np.sort(np.random.default_rng([seed, len(rows)]).choice(len(rows), sampled, replace=False))
    sample = Packed.of(rows[drawn])
    start = spread_start(sample, k, seed, threads=threads)
    learned = lloyd(sample, start, least_moving=_LEAST_MOVING, threads=threads, each=_iterated)
    return lloyd(rows, learned.centroids, iterations=1, threads=threads)


def _iterated(number: int) -> None:
    """Say that an iteration is done, and stop where nobody waits for the clusters any more."""
    check_time()
    report_progress(Stage.GROUPING, iteration=number)


def _distances(rows: Rows, centroids: Rows) -> NDArray[np.float64]:
    distances: NDArray[np.float64] = np.sqrt(np.array([_squares(rows, centroid) for centroid in centroids]))
    return distances


def skia_iterations(rows: Rows, start: Rows) -> list[Iteration]:
    """Iterate as Skia does: drop centroids without rows, stop when the total error changes by less than 1.

    The error is compared with 0 first, so that a small error ends the search after one pass. At most 100 iterations.
    """
    iterations: list[Iteration] = []
    centroids, error = start, 0.0
    for _ in range(_SKIA_ITERATIONS):
        # Assignment, then update: a centroid without rows is dropped.
        labels = _distances(rows, centroids).argmin(axis=0)
        centroids = np.array(
            [rows[labels == label].mean(axis=0) for label in range(len(centroids)) if (labels == label).any()]
        )
        total = float(_distances(rows, centroids).min(axis=0).sum())
        iterations.append(Iteration(centroids, total))
        _iterated(len(iterations))
        if abs(total - error) < _SKIA_EPSILON:
            break
        error = total
    return iterations


# Normalise traces: fill missing values, then bring each trace to mean 0 and standard deviation 1.
#
# What is left is the shape, so that traces of different units and levels can be compared.


_SMALLEST: Final = 1e-140
"""A standard deviation below this may have lost squares that are too small for a float."""


def as_matrix(frame: ArrayLike) -> NDArray[np.floating]:
    """Return ``frame`` as a matrix of traces x commits; an array of floats is neither copied nor checked.

    Raises:
        SeriesError: it is not a matrix of numbers.
    """
    if type(frame) is np.ndarray and frame.ndim == 2 and frame.dtype.kind == "f":
        return frame
    return check_frame(frame)


def fill(frame: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``frame`` (traces x commits) with each missing value replaced by the next one of its trace.

    The end of a trace takes its last value; a trace without any value becomes 0.
    """
    missing = np.isnan(frame)
    holes = np.flatnonzero(missing)
    if not holes.size:
        return frame
    columns = frame.shape[1]
    # Indices into the flat frame: the measured value after each hole, and the one before it.
    measured = np.flatnonzero(~missing)
    following = np.searchsorted(measured, holes)
    next_measured = np.append(measured, frame.size)[following]
    last_measured = np.append(measured, -1)[following - 1]
    # They count only where they lie in the row of the hole; -1 where neither does.
    row = holes // columns
    source = np.where(
        next_measured // columns == row, next_measured, np.where(last_measured // columns == row, last_measured, -1)
    )
    filled = frame.copy().ravel()
    filled[holes] = np.where(source < 0, 0.0, filled[np.maximum(source, 0)])
    return filled.reshape(frame.shape)


def _spread(filled: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of each row, the values less that mean, and their population standard deviation."""
    level = filled.mean(axis=1, keepdims=True)
    centred = filled - level
    return level, centred, np.sqrt(np.square(centred).mean(axis=1, keepdims=True))


def _scale(block: NDArray[np.float64], floor: float, *, compatible: bool) -> NDArray[np.float64]:
    filled = fill(block)
    if compatible:
        _, centred, deviation = _spread(filled)
        return np.asarray(centred / np.where(deviation > floor, deviation, 1.0))
    with np.errstate(over="ignore", invalid="ignore"):
        level, centred, deviation = _spread(filled)
    # Rows whose squares leave the range of floats are computed again in a unit near their largest value.
    extreme = np.flatnonzero(~(deviation > _SMALLEST) | np.isinf(deviation))
    if extreme.size:
        largest = np.abs(filled[extreme]).max(axis=1, keepdims=True)
        unit = np.ldexp(1.0, np.clip(np.frexp(largest)[1], -1000, 1000))
        level[extreme], centred[extreme], deviation[extreme] = _spread(filled[extreme] / unit)
    divisor = np.maximum(deviation, floor * np.abs(level))
    scaled: NDArray[np.float64] = centred / np.where(divisor > 0, divisor, 1.0)
    return scaled


def _block(frame: NDArray[np.floating], first: int) -> NDArray[np.float64]:
    try:
        return check_frame(frame[first : first + _BLOCK])
    except SeriesError:
        check_frame(frame)  # so that the message names the row of the whole frame
        raise


def normalise(
    frame: ArrayLike, *, floor: float = 1e-4, compatible: bool = False, threads: int = 1
) -> NDArray[np.float32]:
    """Return the shapes of the traces of ``frame``, a matrix of traces x commits with ``nan`` for missing.

    Missing values are filled, the mean is taken off, and the rest divided by the population standard deviation, or by
    ``floor`` times |mean| where that is larger, so that the noise of a nearly constant trace is not magnified. With
    ``compatible``, ``floor`` is absolute, and a deviation not above it divides nothing. ``threads`` share the rows; the
    answer is the same.

    Raises:
        SeriesError: not a matrix of finite or missing numbers; the message names row and column of an infinity.
    """
    given = as_matrix(frame)
    shapes = np.empty(given.shape, dtype=np.float32)

    def scale(first: int) -> None:
        block = _block(given, first)
        if block.shape[1]:
            shapes[first : first + _BLOCK] = _scale(block, floor, compatible=compatible)

    blocks = range(0, len(given), _BLOCK)
    with sharing(threads, blocks) as share:
        for _ in share(scale, blocks):
            pass
    return shapes
