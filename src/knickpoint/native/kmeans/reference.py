"""The passes of k-means over rows in NumPy; ``kmeans.c`` and ``approach.c`` explain them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


def approach(
    packed: NDArray[np.float32],
    shape: tuple[int, int],
    first: int,
    stop: int,
    centroid: NDArray[np.float32],
    near: NDArray[np.float32],
) -> None:
    """Lower ``near`` of rows ``[first, stop)`` to their squared distance to ``centroid``, where that is less.

    The squares are added column by column in float32, so every machine gives the same bits.
    """
    far = np.zeros(stop - first, np.float32)
    for column, middle in zip(packed.reshape(shape)[first:stop].T, centroid, strict=True):
        difference = column - middle
        far += difference * difference
    np.minimum(near[first:stop], far, out=near[first:stop])


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
