"""The compiled kernels behind the signatures of :mod:`knickpoint.native.reference`.

Importing this fails where they were not built. Every call lets other threads run.
"""

# ruff: noqa: PLR0917 - a kernel takes its arrays in the order of its twin in C

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.native._kernels import ffi, lib  # type: ignore[import-not-found]
from knickpoint.native.reference import Region

__all__ = ["assign", "move", "pack", "pack_rows", "region"]

_pointer: Any = ffi.from_buffer
_ALIGNMENT = 64


def _aligned(count: int, kind: type) -> NDArray[Any]:
    """Return an uninitialised array that begins at a multiple of a cache line."""
    width = np.dtype(kind).itemsize
    raw = np.empty(count * width + _ALIGNMENT, np.uint8)
    shift = -int(raw.ctypes.data) % _ALIGNMENT
    return raw[shift : shift + count * width].view(kind)


def region(values: NDArray[np.float64], first: int, last: int) -> Region | None:
    """Describe the measured values of ``values[first:last + 1]``; see the reference."""
    out = np.empty(8 + last - first + 1)
    start = _pointer("double[]", out)
    if not lib.kp_region(_pointer("double[]", values), first, last, start, start + 8):
        return None
    begin, end, count, low, high, median, mean, variance = out[:8].tolist()
    return int(begin), int(end), int(count), low, high, median, mean, variance


def pack_rows() -> int:
    """Return how many rows lie side by side in the packed form: blocks of work are multiples of it."""
    return int(lib.kp_pack_rows())


def pack(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the packed form of a contiguous float32 matrix, which :func:`assign` reads."""
    count, columns = rows.shape
    packed = _aligned(int(lib.kp_pack_size(count, columns)), np.float32)
    lib.kp_pack(_pointer("float[]", rows), count, columns, _pointer("float[]", packed))
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
        _pointer("float[]", packed),
        shape[1],
        first,
        stop,
        _pointer("float[]", centroids),
        len(centroids),
        _pointer("int32_t[]", labels),
        _pointer("float[]", near),
    )
    if failed:
        raise MemoryError


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
            _pointer("float[]", rows),
            rows.shape[1],
            first,
            stop,
            _pointer("int32_t[]", before),
            _pointer("int32_t[]", after),
            _pointer("double[]", sums),
            _pointer("int64_t[]", counts),
        )
    )
