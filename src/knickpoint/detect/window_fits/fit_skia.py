"""The step fits of Skia Perf, to the last bit of single precision and with its defects, which the guide page lists.

They take a matrix of windows x values, ``nan`` for missing. Their signs are those of
:mod:`knickpoint.detect.window_fits.fit`, the opposite of Skia's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.window_fits.fit import Fits, Kind
from knickpoint.detect.window_fits.mann_whitney import mann_whitney_rows

_FEWEST: Final[dict[Kind, int]] = {"original": 3, "cohen": 4}
"""Values that a window needs; 2 for the other kinds."""

_LARGEST: Final = np.finfo(np.float32).max
_MISSING: Final = np.float32(1e32)
"""Skia's mark for a missing value, which ``const`` and ``mann_whitney_u`` take for a number."""

Singles = NDArray[np.float32]


def _total(values: Singles) -> Singles:
    """Sum the last axis from left to right, so that every machine gives the same answer."""
    total = np.zeros(values.shape[:-1], dtype=np.float32)
    for column in range(values.shape[-1]):
        total += values[..., column]
    return total


@dataclass(frozen=True, slots=True)
class _Half:
    """One side of every window, with its count and mean; ``measured`` is false where a value is missing."""

    values: Singles
    measured: NDArray[np.bool_]
    count: Singles
    mean: Singles

    @classmethod
    def of(cls, values: Singles) -> _Half:
        measured = ~np.isnan(values)
        count = measured.sum(axis=-1, dtype=np.float32)
        total = _total(np.where(measured, values, np.float32(0)))
        return cls(values, measured, count, total / np.maximum(count, np.float32(1)))

    @property
    def median(self) -> Singles:
        """Median, 0 for an empty side."""
        ordered = np.sort(np.where(self.measured, self.values, np.inf), axis=-1)
        count = self.measured.sum(axis=-1)
        upper = np.minimum(count // 2, ordered.shape[-1] - 1)[..., None]
        lower = np.maximum((count - 1) // 2, 0)[..., None]
        low = np.take_along_axis(ordered, lower, -1)[..., 0]
        high = np.take_along_axis(ordered, upper, -1)[..., 0]
        low, high = np.where(count > 0, low, 0), np.where(count > 0, high, 0)
        halfway: Singles = np.where(low == high, low, (low + high) / np.float32(2)).astype(np.float32)
        return halfway

    @property
    def squares(self) -> Singles:
        """Sum of squared distances from the mean."""
        distance = np.where(self.measured, self.values - self.mean[..., None], np.float32(0))
        return _total(distance * distance)

    def deviation(self, freedom: int) -> Singles:
        """Standard deviation with divisor count - ``freedom``, ``nan`` where that is 0."""
        divisor = self.count - np.float32(freedom)
        variance = np.where(divisor > 0, self.squares / np.maximum(divisor, 1), np.nan)
        spread: Singles = np.sqrt(variance.astype(np.float64)).astype(np.float32)
        return spread


def relative_as_skia(before: Singles, after: Singles) -> Singles:
    """Return (after - before) / before, with the largest float32 for infinity and 0 for 0/0."""
    with np.errstate(all="ignore"):
        ratio = -((before - after) / before)
        largest = np.copysign(ratio.dtype.type(_LARGEST), after - before)
        limited: Singles = np.where(np.isinf(ratio), largest, np.nan_to_num(ratio, nan=0.0, posinf=0, neginf=0))
        return limited


def _original(values: Singles, middle: int, floor: np.float32) -> tuple[Singles, Singles, Singles]:
    whole = _Half.of(values)
    spread = whole.deviation(0)
    divisor = np.where(spread > floor, spread, np.float32(1))
    scaled = np.asarray((values - whole.mean[..., None]) / divisor[..., None], dtype=np.float32)
    before, after = _Half.of(scaled[..., :middle]), _Half.of(scaled[..., middle:])
    level = before.mean == after.mean
    squares = np.where(level, _LARGEST, before.squares + after.squares).astype(np.float64)
    error: Singles = (np.sqrt(squares).astype(np.float32) / np.float32(values.shape[-1])).astype(np.float32)
    step: Singles = np.where(level, np.float32(1), after.mean - before.mean)
    return np.asarray(step / np.maximum(error, floor), dtype=np.float32), step, error


def _cohen(before: _Half, after: _Half, floor: np.float32) -> Singles:
    spread = (before.deviation(1) + after.deviation(1)) / np.float32(2)
    spread = np.where(np.isnan(spread) | (spread < floor), floor, spread)
    with np.errstate(all="ignore"):
        step = after.mean - before.mean
        effect: Singles = np.where(step == 0, np.float32(0), step / spread)
    return effect


def _stepiness(whole: _Half, before: _Half, after: _Half) -> Singles:
    inside, around = before.squares + after.squares, whole.squares
    with np.errstate(all="ignore"):
        share = np.where(around > 0, inside / around, np.float32(1))
    kept = np.float32(1) - np.sqrt(share.astype(np.float64)).astype(np.float32)
    signed: Singles = np.sign(after.mean - before.mean) * kept
    return signed


def _with_marks(values: Singles) -> Singles:
    """Return ``values`` with Skia's mark for missing ones."""
    return np.where(np.isnan(values), _MISSING, values)


def _measure(  # noqa: PLR0911 - one return a kind
    kind: Kind, values: Singles, middle: int, floor: np.float32
) -> tuple[Singles, Singles, Singles]:
    """Return value, size and error of every window."""
    before, after = _Half.of(values[:, :middle]), _Half.of(values[:, middle:])
    step: Singles = after.mean - before.mean
    none = np.full(len(values), np.nan, dtype=np.float32)
    match kind:
        case "original":
            return _original(values, middle, floor)
        case "absolute":
            return step, step, none
        case "percent":
            relative = relative_as_skia(before.mean, after.mean)
            return relative, relative, none
        case "percent_median":
            relative = relative_as_skia(before.median, after.median)
            return relative, relative, none
        case "const":
            return np.abs(_with_marks(values)[:, middle]), step, none
        case "cohen":
            effect = _cohen(before, after, floor)
            return effect, effect, none
        case "mann_whitney_u":
            marked = _with_marks(values)
            u, p_values = mann_whitney_rows(marked[:, :middle], marked[:, middle:])
            return p_values.astype(np.float32), step, u.astype(np.float32)
        case "stepiness":
            return _stepiness(_Half.of(values), before, after), step, none


def fit_as_skia(windows: NDArray[np.floating], kind: Kind, bound: float, *, floor: float) -> Fits:
    """Fit a step at the middle of each row of ``windows``, index width // 2.

    ``floor`` is the standard deviation below which a window counts as free of noise. All kinds but ``original`` leave
    out the last value of an odd window, and ``const`` is always a movement downwards.
    """
    kept = windows.astype(np.float32)
    bound = float(np.float32(bound))
    if kind != "original" and kept.shape[1] % 2:
        kept = kept[:, :-1]
    middle = kept.shape[1] // 2
    if windows.shape[1] < _FEWEST.get(kind, 2):
        undefined = np.full(len(kept), np.nan, dtype=np.float32)
        still = np.zeros(len(kept), dtype=np.int8)
        return Fits(kind, bound, middle, undefined, undefined, undefined, still > 0, still)
    value, size, error = _measure(kind, kept, middle, np.float32(floor))
    with np.errstate(invalid="ignore"):
        if kind == "mann_whitney_u":
            movement = np.where(value <= bound, np.sign(size), 0)
        elif kind == "const":
            movement = np.where(value >= bound, -1, 0)
        else:
            movement = np.where(np.abs(value) >= bound, np.sign(value), 0)
    defined = ~np.isnan(value) if kind == "mann_whitney_u" else np.ones(len(kept), dtype=np.bool_)
    return Fits(kind, bound, middle, value, size, error, defined, movement.astype(np.int8))
