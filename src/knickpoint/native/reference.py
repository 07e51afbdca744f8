"""The kernels again, in NumPy: the oracle of the tests, and the fallback where no compiler was at hand.

Every function here has a compiled twin of the same name and meaning in :mod:`knickpoint.native`.
"""

# ruff: noqa: PLR0917 - a kernel takes its arrays in the order of its twin in C

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Region", "assign", "move", "pack", "pack_rows", "region"]

Region = tuple[int, int, int, float, float, float, float, float]
"""First and last measured row, count, minimum, maximum, median, mean, variance."""


def region(values: NDArray[np.float64], first: int, last: int) -> Region | None:
    """Describe the measured values of ``values[first:last + 1]``, None when there is none.

    The variance has the divisor ``count - 1``; it is 0 for one value and for equal values.
    """
    rows = np.flatnonzero(~np.isnan(values[first : last + 1]))
    if not rows.size:
        return None
    part = values[first : last + 1][rows]
    low, high = float(part.min()), float(part.max())
    mean = low if low == high else float(part.mean())
    variance = 0.0 if low == high else float(np.square(part - mean).sum() / (part.size - 1))
    return (
        first + int(rows[0]),
        first + int(rows[-1]),
        int(rows.size),
        low,
        high,
        float(np.median(part)),
        mean,
        variance,
    )


def pack_rows() -> int:
    """Return the granularity of blocks of rows: blocks may begin at multiples of it."""
    return 1


def pack(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the form of a float32 matrix that :func:`assign` reads: here the matrix itself."""
    return rows


def assign(
    packed: NDArray[np.float32],
    shape: tuple[int, int],
    first: int,
    stop: int,
    centroids: NDArray[np.float32],
    labels: NDArray[np.int32],
    near: NDArray[np.float32],
) -> None:
    """Write the nearest centroid of rows ``[first, stop)`` into ``labels``, the first of equally near ones.

    ``near`` gets half the squared distance less half the squared norm of the row: comparable within a row,
    and a distance once the norm is added.
    """
    half = (0.5 * np.square(centroids, dtype=np.float64).sum(axis=1)).astype(np.float32)
    far = half - packed.reshape(shape)[first:stop] @ centroids.T
    chosen = far.argmin(axis=1)
    labels[first:stop] = chosen
    near[first:stop] = np.take_along_axis(far, chosen[:, np.newaxis], axis=1)[:, 0]


def move(
    rows: NDArray[np.float32],
    first: int,
    stop: int,
    before: NDArray[np.int32],
    after: NDArray[np.int32],
    sums: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> int:
    """Move the rows of ``[first, stop)`` whose label changed from one sum to the other; return how many.

    An old label of -1 means that the row was in no sum yet. ``sums`` is k x columns, ``counts`` k.
    """
    moved = first + np.flatnonzero(before[first:stop] != after[first:stop])
    np.add.at(sums, after[moved], rows[moved].astype(np.float64))
    np.add.at(counts, after[moved], 1)
    known = moved[before[moved] >= 0]
    np.subtract.at(sums, before[known], rows[known].astype(np.float64))
    np.subtract.at(counts, before[known], 1)
    return int(moved.size)
