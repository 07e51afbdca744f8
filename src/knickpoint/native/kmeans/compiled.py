"""The passes of k-means over rows in C."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib

_ALIGNMENT = 64


def _aligned(count: int, kind: type) -> NDArray[Any]:
    """Return an uninitialised array that begins at a multiple of a cache line."""
    width = np.dtype(kind).itemsize
    raw = np.empty(count * width + _ALIGNMENT, np.uint8)
    shift = -int(raw.ctypes.data) % _ALIGNMENT
    return raw[shift : shift + count * width].view(kind)


def pack(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the packed form of a contiguous float32 matrix, which :func:`assign` reads."""
    count, columns = rows.shape
    packed = _aligned(int(lib.kp_pack_size(count, columns)), np.float32)
    lib.kp_pack(rows, count, columns, packed)
    return packed


def assign(
    packed: NDArray[np.float32],
    shape: tuple[int, int],
    first: int,
    stop: int,
    centroids: NDArray[np.float32],
    labels: NDArray[np.int32],
    near: NDArray[np.float32],
) -> None:
    """Write the nearest centroid of rows ``[first, stop)``; see the reference."""
    failed = lib.kp_assign(
        packed,
        shape[1],
        first,
        stop,
        centroids,
        len(centroids),
        labels,
        near,
    )
    if failed:
        raise MemoryError


def approach(
    packed: NDArray[np.float32],
    shape: tuple[int, int],
    first: int,
    stop: int,
    centroid: NDArray[np.float32],
    near: NDArray[np.float32],
) -> None:
    """Lower ``near`` of rows ``[first, stop)`` to their squared distance to ``centroid``; see the reference."""
    lib.kp_approach(
        packed,
        shape[1],
        first,
        stop,
        centroid,
        near,
    )


def move(
    rows: NDArray[np.float32],
    first: int,
    stop: int,
    before: NDArray[np.int32],
    after: NDArray[np.int32],
    sums: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> int:
    """Move rows whose label changed from one sum to the other; see the reference."""
    return int(
        lib.kp_move(
            rows,
            rows.shape[1],
            first,
            stop,
            before,
            after,
            sums,
            counts,
        )
    )
