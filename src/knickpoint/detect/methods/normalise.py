"""Normalise traces: fill what is missing, then mean 0 and standard deviation 1, so that only the shape is left."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.series import check_frame
from knickpoint.model.errors import SeriesError

__all__ = ["fill", "normalise"]

_BLOCK: Final = 2048


def fill(frame: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``frame`` (traces x commits) with each missing value replaced by the next one of its trace.

    The end of a trace takes its last value; a trace without any value becomes 0.
    """
    missing = np.isnan(frame)
    holes = np.flatnonzero(missing)
    if not holes.size:
        return frame
    columns = frame.shape[1]
    measured = np.flatnonzero(~missing)
    following = np.searchsorted(measured, holes)
    bounded = np.append(measured, frame.size)
    later = bounded[following]
    former = np.append(measured, -1)[following - 1]
    row = holes // columns
    source = np.where(later // columns == row, later, np.where(former // columns == row, former, -1))
    filled = frame.copy().ravel()
    filled[holes] = np.where(source < 0, 0.0, filled[np.maximum(source, 0)])
    return filled.reshape(frame.shape)


def _scale(block: NDArray[np.float64], floor: float, *, compatible: bool) -> NDArray[np.float64]:
    filled = fill(block)
    level = filled.mean(axis=1, keepdims=True)
    centred = filled - level
    deviation = np.sqrt(np.square(centred).mean(axis=1, keepdims=True))
    if compatible:
        return np.asarray(centred / np.where(deviation > floor, deviation, 1.0))
    divisor = np.maximum(deviation, floor * np.abs(level))
    scaled: NDArray[np.float64] = centred / np.where(divisor > 0, divisor, 1.0)
    return scaled


def _block(frame: NDArray[np.generic], first: int) -> NDArray[np.float64]:
    try:
        return check_frame(frame[first : first + _BLOCK])
    except SeriesError:
        check_frame(frame)  # names the place in the whole frame
        raise


def normalise(frame: ArrayLike, *, floor: float = 1e-4, compatible: bool = False) -> NDArray[np.float32]:
    """Return the shapes of the traces of ``frame``, a matrix of traces x commits with ``nan`` for missing.

    Missing values are filled, the mean is taken off, and the rest divided by the population standard
    deviation, or by ``floor`` times |mean| where that is larger, so that the noise of a nearly constant trace
    is not blown up. With ``compatible``, ``floor`` is absolute, and a deviation not above it divides nothing.

    Raises:
        SeriesError: not a matrix of finite or missing numbers; an infinity is named by row and column.
    """
    given = np.asarray(frame)
    if given.ndim != 2:
        check_frame(given)
    shapes = np.empty(given.shape, dtype=np.float32)
    for first in range(0, len(given), _BLOCK):
        block = _block(given, first)
        if block.shape[1]:
            shapes[first : first + _BLOCK] = _scale(block, floor, compatible=compatible)
    return shapes
