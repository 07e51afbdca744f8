"""Normalise traces: fill missing values, then bring each trace to mean 0 and standard deviation 1.

What is left is the shape, so that traces of different units and levels can be compared.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.measured_series import check_frame
from knickpoint.model.errors import SeriesError
from knickpoint.native.kmeans import sharing

__all__ = ["as_matrix", "fill", "normalise"]

_BLOCK: Final = 2048
"""Traces that are normalised at a time, so that temporary arrays stay small."""

_SMALLEST: Final = 1e-140
"""A standard deviation below this may have lost squares that are too small for a float."""


def as_matrix(frame: ArrayLike) -> NDArray[np.floating]:
    """Return ``frame`` as a matrix of traces x commits; an array of floats is neither copied nor checked.

    Raises:
        SeriesError: it is no matrix of numbers.
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

    Missing values are filled, the mean is taken off, and the rest divided by the population standard
    deviation, or by ``floor`` times |mean| where that is larger, so that the noise of a nearly constant trace
    is not magnified. With ``compatible``, ``floor`` is absolute, and a deviation not above it divides nothing. ``threads``
    share the rows; the answer is the same.

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
