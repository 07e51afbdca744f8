"""Check the values that a caller gives, and set the missing ones aside.

A method takes the whole series, ``nan`` where a commit has no value, and returns rows of that series. In between it
works on the measured values alone::

    series = drop_missing(values)
    places = search(series.values)       # without nan
    indices = series.rows[places]        # rows of what the caller gave
"""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from knickpoint.model.errors import SeriesError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


_SQUARABLE: Final = 1e100
"""Where the largest value lies between this and its inverse, sums of squares stay within the range of floats."""


@dataclass(frozen=True, slots=True)
class MeasuredSeries:
    """The measured values of a series of ``length`` rows.

    ``values`` is 1-D, float64, contiguous and finite; ``rows[k]`` is the row that ``values[k]`` came
    from, ascending.
    """

    length: int
    rows: NDArray[np.int64]
    values: NDArray[np.float64]


_REMEDY: Final = "Give numbers that fit 64-bit floats, and nan for what is missing."


def _as_floats(values: ArrayLike) -> NDArray[np.float64]:
    """Convert ``values`` to floats: durations to seconds, and NaT, NA and None to ``nan``.

    NumPy converts dates to counts of days or nanoseconds, and a missing duration to the smallest integer.
    """
    given = values if isinstance(values, np.ndarray) else np.asarray(values)
    if given.dtype.kind == "c":
        raise SeriesError("the values are complex numbers", remedy=_REMEDY)
    if "M" in (given.dtype.kind, getattr(getattr(values, "dtype", None), "kind", "")):
        # A column of dates, taken for that of the values; pandas gives those with a time zone as objects.
        raise SeriesError("the values are dates", remedy=_REMEDY)
    if given.dtype.kind == "m":
        return np.ascontiguousarray(given / np.timedelta64(1, "s"))
    if given.dtype.kind == "O":
        flat = [None if type(value).__name__ == "NAType" else value for value in given.flat]
        given = np.array([*flat, None], dtype=object)[:-1].reshape(given.shape)  # None, lest nested values be unpacked
    return np.ascontiguousarray(given, dtype=np.float64)


def refuse_data_frame(values: object, remedy: str) -> None:
    """Raise SeriesError with ``remedy`` if ``values`` is a data frame: its rows may be commits or traces."""
    if hasattr(values, "columns"):
        raise SeriesError("the values are a data frame, whose rows may be commits or traces", remedy=remedy)


def _check(values: ArrayLike, dimensions: int, shape: str, of_data_frame: str) -> NDArray[np.float64]:
    refuse_data_frame(values, of_data_frame)
    try:
        array = _as_floats(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise SeriesError(f"the values are not all numbers ({error})", remedy=_REMEDY) from error
    if array.ndim != dimensions or np.ndim(values) != dimensions:
        raise SeriesError(
            f"the dimensions of the values are {np.ndim(values)}, not {dimensions}", remedy=f"Give {shape}."
        )
    if "numpy.ma" in sys.modules and isinstance(values, np.ma.MaskedArray):  # else it takes 9 ms to import
        array = np.where(np.ma.getmaskarray(values), np.nan, array)
    if np.isinf(array).any():
        index = ", ".join(str(number) for number in np.argwhere(np.isinf(array))[0])
        raise SeriesError(
            "the value is infinite",
            where=f"index {index}",
            remedy="Give nan where a measurement is missing or failed.",
        )
    return array


def check_series(values: ArrayLike) -> NDArray[np.float64]:
    """Return ``values`` as a 1-D contiguous float64 array, ``nan`` where a value is missing or masked.

    Durations in seconds.

    Raises:
        SeriesError: not one dimension, not numbers, or an infinity; the message names its index.
    """
    return _check(values, 1, "one value a commit, in the order of the commits", "Give one of its columns.")


def check_frame(values: ArrayLike) -> NDArray[np.float64]:
    """Return ``values`` as a contiguous float64 matrix of traces x commits; ``nan`` stands for missing.

    Raises:
        SeriesError: not two dimensions, not numbers, or an infinity; the message names its row and column.
    """
    by_axis = "Give frame.to_numpy().T if its rows are commits, or frame.to_numpy() if they are traces."
    return _check(values, 2, "a matrix of traces x commits", by_axis)


def drop_missing(values: ArrayLike) -> MeasuredSeries:
    """Check ``values`` as :func:`check_series` does and set the missing ones aside."""
    array = check_series(values)
    missing = np.isnan(array)
    if not missing.any():
        return MeasuredSeries(array.size, np.arange(array.size, dtype=np.int64), array)
    rows = np.flatnonzero(~missing).astype(np.int64, copy=False)
    return MeasuredSeries(array.size, rows, array[rows])


def safe_unit(values: NDArray[np.float64]) -> float:
    """Return a power of two to divide finite ``values`` by, so that sums of their squares neither overflow nor vanish.

    It is 1 for nearly every series, and otherwise the power of two just below the largest value, so that division
    changes no digit. Such values occur: some tools write 1.8e308 for a missing number.
    """
    return unit_of_largest(float(np.abs(values).max(initial=0.0)))


def unit_of_largest(largest: float) -> float:
    """Return :func:`safe_unit` of values of which ``largest`` is the largest magnitude."""
    if largest == 0 or 1 / _SQUARABLE < largest < _SQUARABLE:
        return 1.0
    return math.ldexp(1.0, math.frexp(largest)[1] - 1)


# How many threads the work of many series is shared among.


def available_threads() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
