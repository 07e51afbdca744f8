"""Fit a step at the middle of windows: eight ways to say how much of a step there is.

=====================  =======================================================  =================
kind                   value                                                    counts when
=====================  =======================================================  =================
``original``           step of the normalised window / error of the fit         |value| >= bound
``absolute``           mean after - mean before                                 |value| >= bound
``percent``            the same / abs(mean before)                              |value| >= bound
``percent_median``     the same with medians                                    |value| >= bound
``const``              the value at the middle itself                           |value| >= bound
``cohen``              mean after - mean before, in standard deviations         |value| >= bound
``mann_whitney_u``     two-sided p of the rank test                             value <= bound
``stepiness``          how much of the spread the step takes away, -1 to 1      |value| >= bound
=====================  =======================================================  =================

The values are positive when the level goes up. With ``compatible`` the numbers are those of Skia Perf to
the last bit of single precision, defects included (its sign is the other one); the guide page lists them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.methods.mann_whitney import mann_whitney_rows, mann_whitney_u

__all__ = ["DEFAULT_BOUNDS", "IN_UNIT", "KINDS", "Fits", "Kind", "fit_steps", "pooled_cohen", "scaled_difference"]

Kind = Literal["original", "absolute", "percent", "percent_median", "const", "cohen", "mann_whitney_u", "stepiness"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

DEFAULT_BOUNDS: Final[dict[Kind, float]] = {
    "original": 3.5,
    "percent": 0.1,
    "percent_median": 0.1,
    "cohen": 3.0,
    "mann_whitney_u": 0.001,
    "stepiness": 0.5,
}
"""Bounds where the user gives none. ``absolute`` and ``const`` are in the unit of the metric and have none."""

IN_UNIT: Final[frozenset[Kind]] = frozenset({"absolute", "const"})
"""Kinds whose values and bounds are in the unit of the metric."""

_FEWEST: Final[dict[Kind, int]] = {"original": 3, "cohen": 4}
_LARGEST: Final = float(np.finfo(np.float32).max)
_SKIA_MISSING: Final = 1e32
"""What stands for a missing value in Skia, where ``const`` and ``mann_whitney_u`` take it for a number."""

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Fits:
    """Hold the fits of many windows, one element a window.

    ``turning`` is the place of the step in every window. ``value`` and ``size`` are positive when the level
    goes up, except the p-value of ``mann_whitney_u``. ``error`` is the error of the fit (U for
    ``mann_whitney_u``), ``nan`` where the kind has none. ``judged`` is false where the window has too few
    values to say anything; ``movement`` is +1, -1, or 0 where ``value`` does not reach ``bound``.
    """

    kind: Kind
    bound: float
    turning: int
    value: Floats
    size: Floats
    error: Floats
    judged: NDArray[np.bool_]
    movement: NDArray[np.int8]


def _total(values: Floats) -> Floats:
    """Sum the last axis from left to right, which gives one answer whatever the machine."""
    if not values.shape[-1]:
        return np.zeros(values.shape[:-1], dtype=values.dtype)
    summed: Floats = np.add.accumulate(values, axis=-1)[..., -1]
    return summed


@dataclass(frozen=True, slots=True)
class _Half:
    values: Floats
    have: NDArray[np.bool_]

    @property
    def count(self) -> Floats:
        number: Floats = self.have.sum(axis=-1).astype(self.values.dtype)
        return number

    @property
    def mean(self) -> Floats:
        mean: Floats = _total(np.where(self.have, self.values, 0)) / np.maximum(self.count, 1)
        return mean

    @property
    def median(self) -> Floats:
        ordered = np.sort(np.where(self.have, self.values, np.inf), axis=-1)
        count = self.have.sum(axis=-1)
        upper = np.minimum(count // 2, ordered.shape[-1] - 1)[..., None]
        lower = np.maximum((count - 1) // 2, 0)[..., None]
        low = np.take_along_axis(ordered, lower, -1)[..., 0]
        high = np.take_along_axis(ordered, upper, -1)[..., 0]
        low, high = np.where(count > 0, low, 0), np.where(count > 0, high, 0)
        half = low.dtype.type(2)
        middle: Floats = np.where(low == high, low, (low + high) / half).astype(self.values.dtype)
        return middle

    def squares(self, around: Floats) -> Floats:
        """Sum of squared distances from ``around``."""
        distance = np.where(self.have, self.values - around[..., None], 0)
        return _total(distance * distance)

    def deviation(self, freedom: int) -> Floats:
        """Standard deviation with divisor count - ``freedom``, ``nan`` where that is 0."""
        divisor = self.count - self.values.dtype.type(freedom)
        variance = np.where(divisor > 0, self.squares(self.mean) / np.maximum(divisor, 1), np.nan)
        spread: Floats = np.sqrt(variance.astype(np.float64)).astype(self.values.dtype)
        return spread


def _half(values: Floats) -> _Half:
    return _Half(values, ~np.isnan(values))


def scaled_difference(before: Floats, after: Floats, *, compatible: bool) -> Floats:
    """Return (after - before) / |before|: 0 for 0/0, infinite where only ``before`` is 0.

    Skia divides by ``before`` itself, and has the largest float32 for infinity.
    """
    with np.errstate(all="ignore"):
        if not compatible:
            step = after - before
            relative: Floats = np.where(step == 0, 0.0, step / np.abs(before))
            return relative
        ratio = -((before - after) / before)
        largest = np.copysign(ratio.dtype.type(_LARGEST), after - before)
        limited: Floats = np.where(np.isinf(ratio), largest, np.nan_to_num(ratio, nan=0.0, posinf=0, neginf=0))
        return limited


def _smallest(values: Floats, floor: float, *, compatible: bool) -> Floats:
    """Return the standard deviation below which the windows count as noiseless."""
    if compatible:
        return np.full(values.shape[:-1], floor, dtype=values.dtype)
    level: Floats = floor * np.abs(_half(values).mean)
    return level


def _original(values: Floats, turning: int, floor: float, *, compatible: bool) -> tuple[Floats, Floats, Floats]:
    whole = _half(values)
    centre, spread = whole.mean, whole.deviation(0)
    least = _smallest(values, floor, compatible=compatible)
    divisor = np.where(spread > least, spread, 1) if compatible else np.maximum(spread, least)
    divisor = np.where(divisor > 0, divisor, 1).astype(values.dtype)
    scaled = ((values - centre[..., None]) / divisor[..., None]).astype(values.dtype)
    before, after = _half(scaled[..., :turning]), _half(scaled[..., turning:])
    step = after.mean - before.mean
    squares = before.squares(before.mean) + after.squares(after.mean)
    number = values.dtype.type(values.shape[-1])
    if not compatible:
        error = np.sqrt(squares / np.maximum(whole.count, 1))
        return step / np.maximum(error, floor if floor > 0 else np.finfo(np.float64).tiny), step, error
    level = before.mean == after.mean
    squares = np.where(level, values.dtype.type(_LARGEST), squares).astype(np.float64)
    error = (np.sqrt(squares).astype(values.dtype) / number).astype(values.dtype)
    step = np.where(level, 1, step).astype(values.dtype)
    return step / np.maximum(error, values.dtype.type(floor)), step, error


def _cohen(before: _Half, after: _Half, least: Floats, *, compatible: bool) -> Floats:
    """Difference of means over the mean of the two standard deviations, or over ``least`` if that is larger."""
    two = before.values.dtype.type(2)
    spread = (before.deviation(1) + after.deviation(1)) / two
    if compatible:
        spread = np.where(np.isnan(spread) | (spread < least), least, spread).astype(before.values.dtype)
    else:
        spread = np.maximum(np.nan_to_num(spread, nan=0.0), least)
    with np.errstate(all="ignore"):
        step = after.mean - before.mean
        effect: Floats = np.where(step == 0, 0, step / spread).astype(before.values.dtype)
    return effect


def pooled_cohen(before: Floats, after: Floats, floor: float, *, compatible: bool = False) -> float:
    """Return the difference of means of two samples over their pooled standard deviation.

    ``floor`` is the smallest deviation to divide by: absolute when ``compatible``, else as a share of
    |mean of before|. 0 for samples of fewer than three values together.
    """
    n, m = before.size, after.size
    if n + m < 3 or not n or not m:
        return 0.0
    squares = float(np.square(before - before.mean()).sum() + np.square(after - after.mean()).sum())
    spread = float(np.sqrt(squares / (n + m - 2)))
    least = floor if compatible else floor * abs(float(before.mean()))
    step = float(after.mean() - before.mean())
    if step == 0:
        return 0.0
    spread = max(spread, least)
    return step / spread if spread > 0 else float(np.copysign(np.inf, step))


def _stepiness(whole: _Half, before: _Half, after: _Half) -> Floats:
    inside = before.squares(before.mean) + after.squares(after.mean)
    around = whole.squares(whole.mean)
    with np.errstate(all="ignore"):
        share = np.where(around > 0, inside / around, 1)
    kept = 1 - np.sqrt(share.astype(np.float64)).astype(whole.values.dtype)
    signed: Floats = np.sign(after.mean - before.mean) * kept
    return signed


def _rank_tests(before: _Half, after: _Half) -> tuple[Floats, Floats]:
    """Return the p-value and U of each window."""
    kind = before.values.dtype
    if before.have.all() and after.have.all():
        u, p_values = mann_whitney_rows(before.values, after.values)
        return p_values.astype(kind), u.astype(kind)
    tests = [
        mann_whitney_u(left[keep_left], right[keep_right])
        for left, keep_left, right, keep_right in zip(before.values, before.have, after.values, after.have, strict=True)
    ]
    return np.array([test.p_value for test in tests], dtype=kind), np.array([test.u for test in tests], dtype=kind)


def _enough(before: _Half, after: _Half, kind: Kind, width: int, *, compatible: bool) -> NDArray[np.bool_]:
    if width < _FEWEST.get(kind, 2):
        return np.zeros(before.values.shape[0], dtype=np.bool_)
    if compatible:
        return np.ones(before.values.shape[0], dtype=np.bool_)
    side = 2 if kind == "cohen" else 1
    judged: NDArray[np.bool_] = (before.count >= side) & (after.count >= side)
    return judged


def _move(kind: Kind, value: Floats, size: Floats, bound: float) -> NDArray[np.int8]:
    with np.errstate(invalid="ignore"):
        if kind == "mann_whitney_u":
            return np.where(value <= bound, np.sign(size), 0).astype(np.int8)
        return np.where(np.abs(value) >= bound, np.sign(value), 0).astype(np.int8)


def _measure(  # noqa: PLR0911 - one return a kind
    kind: Kind, values: Floats, turning: int, floor: float, *, compatible: bool
) -> tuple[Floats, Floats, Floats]:
    """Return value, size and error of every window."""
    before, after = _half(values[:, :turning]), _half(values[:, turning:])
    step = after.mean - before.mean
    if compatible and kind in {"const", "mann_whitney_u"}:
        values = np.where(np.isnan(values), values.dtype.type(_SKIA_MISSING), values)
        before, after = _half(values[:, :turning]), _half(values[:, turning:])
    none = np.full(len(values), np.nan, dtype=values.dtype)
    match kind:
        case "original":
            return _original(values, turning, floor, compatible=compatible)
        case "absolute":
            return step, step, none
        case "percent":
            relative = scaled_difference(before.mean, after.mean, compatible=compatible)
            return relative, relative, none
        case "percent_median":
            relative = scaled_difference(before.median, after.median, compatible=compatible)
            return relative, relative, none
        case "const":
            here = values[:, turning] if turning < values.shape[1] else none
            return (np.abs(here) if compatible else here), step, none
        case "cohen":
            effect = _cohen(before, after, _smallest(values, floor, compatible=compatible), compatible=compatible)
            return effect, effect if compatible else step, none
        case "mann_whitney_u":
            p_values, u = _rank_tests(before, after)
            return p_values, step, u
        case "stepiness":
            return _stepiness(_half(values), before, after), step, none


def fit_steps(
    windows: NDArray[np.floating], kind: Kind, bound: float, *, floor: float = 1e-4, compatible: bool = False
) -> Fits:
    """Fit a step at the middle of each row of ``windows``, a matrix of windows x values, ``nan`` for missing.

    The middle is index width // 2, the first value after the step. ``floor`` is the standard deviation below
    which a window counts as noiseless: a share of its |mean|, or an absolute number when ``compatible``.
    """
    kept = windows
    if compatible:
        kept = windows.astype(np.float32)
        bound = float(np.float32(bound))
        if kind != "original" and kept.shape[1] % 2:
            kept = kept[:, :-1]
    turning = kept.shape[1] // 2
    judged = _enough(_half(kept[:, :turning]), _half(kept[:, turning:]), kind, windows.shape[1], compatible=compatible)
    if not judged.any():
        nothing = np.full(len(kept), np.nan, dtype=kept.dtype)
        return Fits(kind, bound, turning, nothing, nothing, nothing, judged, np.zeros(len(kept), dtype=np.int8))
    value, size, error = _measure(kind, kept, turning, floor, compatible=compatible)
    if kind == "mann_whitney_u":
        judged &= ~np.isnan(value)
    movement = np.where(judged, _move(kind, value, size, bound), 0).astype(np.int8)
    if kind == "const" and compatible:
        movement = np.where(judged & (value >= bound), -1, 0).astype(np.int8)
    return Fits(kind, bound, turning, value, size, error, judged, movement)
