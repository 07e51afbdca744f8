"""The compiled kernels behind the signatures of :mod:`knickpoint.native.reference`.

Importing this fails where they were not built. Every call lets other threads run.
"""

# ruff: noqa: PLR0917 - a kernel takes its arrays in the order of its twin in C

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from knickpoint.native._kernels import ffi, lib  # type: ignore[import-not-found]
from knickpoint.native.reference import Note, Region

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "approach",
    "assign",
    "layer",
    "move",
    "pack",
    "pack_rows",
    "permute",
    "q_hat",
    "regions",
    "scan_both",
    "student",
    "windows",
]

_pointer: Any = ffi.from_buffer
_ALIGNMENT = 64


def _aligned(count: int, kind: type) -> NDArray[Any]:
    """Return an uninitialised array that begins at a multiple of a cache line."""
    width = np.dtype(kind).itemsize
    raw = np.empty(count * width + _ALIGNMENT, np.uint8)
    shift = -int(raw.ctypes.data) % _ALIGNMENT
    return raw[shift : shift + count * width].view(kind)


def regions(values: NDArray[np.float64], bounds: Sequence[int]) -> list[Region | None]:
    """Describe the measured values between each two of the ``bounds``; see the reference."""
    pieces = len(bounds) - 1
    out, work = np.empty((pieces, 8)), np.empty(values.size)
    lib.kp_regions(
        _pointer("double[]", values), list(bounds), pieces, _pointer("double[]", out), _pointer("double[]", work)
    )
    return [
        (int(first), int(last), int(count), low, high, median, mean, variance) if count else None
        for first, last, count, low, high, median, mean, variance in out.tolist()
    ]


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
        _pointer("float[]", packed),
        shape[1],
        first,
        stop,
        _pointer("float[]", centroid),
        _pointer("float[]", near),
    )


def layer(
    former: NDArray[np.float64], weight: NDArray[np.float64], value: NDArray[np.float64], square: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return cost and beginning of the last group of every prefix; see the reference."""
    cost = np.full(former.size, np.inf)
    begin = np.zeros(former.size, np.int64)
    lib.kp_layer(
        _pointer("double[]", former),
        _pointer("double[]", weight),
        _pointer("double[]", value),
        _pointer("double[]", square),
        former.size,
        _pointer("double[]", cost),
        _pointer("int64_t[]", begin),
    )
    return cost, begin


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


def q_hat(values: NDArray[np.float64], alpha: float, *, v_form: bool) -> NDArray[np.float64]:
    """Return Q-hat of every split of ``values``; see the reference. O(T log T) for ``alpha`` 1."""
    q = np.zeros(values.size)
    if lib.kp_qhat(_pointer("double[]", values), values.size, alpha, v_form, _pointer("double[]", q)):
        raise MemoryError
    return q


def scan_both(values: NDArray[np.float64], alpha: float, least: int, *, v_form: bool) -> tuple[int, int, float]:
    """Return the best (tau, kappa) of ``values`` and its Q; see the reference."""
    found = np.empty(3)
    if lib.kp_scan_both(_pointer("double[]", values), values.size, alpha, v_form, least, _pointer("double[]", found)):
        raise MemoryError
    tau, kappa, q = found.tolist()
    return int(tau), int(kappa), q


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
    """Return how many permutations reach ``reach``, and how many were judged; see the reference."""
    exceeded = ffi.new("int64_t *")
    judged = lib.kp_permute(
        _pointer("double[]", ordered),
        _pointer("int64_t[]", bounds),
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
        ffi.NULL if tops is None else _pointer("double[]", tops),
        exceeded,
    )
    if judged < 0:
        raise MemoryError
    return int(exceeded[0]), int(judged)


def student(t: float, freedom: float) -> float:
    """Return the two-sided p-value of Student's t; see the reference."""
    return float(lib.kp_student(t, freedom))


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
    """Split windows by t-test and take away the weakest; see the reference."""
    found = ffi.new("int64_t *")
    most = 64 + values.size // 4
    while True:
        notes = np.empty((most, 5))
        used = lib.kp_windows(
            _pointer("double[]", values),
            values.size,
            alpha,
            v_form,
            least,
            window,
            stride,
            first_p,
            max_p,
            least_magnitude,
            population,
            stale,
            _pointer("double[]", notes),
            most,
            found,
        )
        if used < 0:
            raise MemoryError
        if used <= most:
            told = notes[0 if refused else used - found[0] : used].tolist()
            return [(int(kind), int(index), q, p, size) for kind, index, q, p, size in told]
        most = used
