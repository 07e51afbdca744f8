"""Fit a step at the middle of every window: eight measures of how much of a step there is, after Skia Perf.

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

The values are positive when the level goes up. How Skia Perf computes them is in
:mod:`knickpoint.detect.window_fits.fit_skia`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import safe_unit
from knickpoint.detect.window_fits.mann_whitney import mann_whitney_slid
from knickpoint.detect.window_fits.windows import HalfWindows

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
"""Bounds for when the user gives none. ``absolute`` and ``const`` are in the unit of the metric and have none."""

IN_UNIT: Final[frozenset[Kind]] = frozenset({"absolute", "const"})
"""Kinds whose values and bounds are in the unit of the metric."""

_SCALE_FREE: Final[frozenset[Kind]] = frozenset({"original", "percent", "percent_median", "cohen", "stepiness"})
"""Kinds whose values are ratios, so that the unit of the series does not matter."""

_TWO_A_SIDE: Final[frozenset[Kind]] = frozenset({"original", "cohen"})
"""Kinds that need two values on each side."""

_TINY: Final = float(np.finfo(np.float64).tiny)
_DIGITS: Final = 2.0**40

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Fits:
    """The fits of many windows by one kind, one element a window.

    Attributes:
        kind: the measure.
        bound: what ``value`` has to reach.
        middle: index of the step in every window.
        value: the measure, positive when the level goes up; the p-value for ``mann_whitney_u``.
        size: size of the step, positive when the level goes up.
        error: error of the fit (U for ``mann_whitney_u``), ``nan`` where the kind has none.
        defined: false where the window has too few values for the measure.
        movement: +1, -1, or 0 where ``value`` does not reach ``bound``.
    """

    kind: Kind
    bound: float
    middle: int
    value: Floats
    size: Floats
    error: Floats
    defined: NDArray[np.bool_]
    movement: NDArray[np.int8]

    def part(self, first: int, stop: int) -> Fits:
        """Return the fits of windows ``first`` to ``stop - 1``."""
        part = slice(first, stop)
        return Fits(
            self.kind,
            self.bound,
            self.middle,
            self.value[part],
            self.size[part],
            self.error[part],
            self.defined[part],
            self.movement[part],
        )


def relative_difference(before: Floats, after: Floats) -> Floats:
    """Return (after - before) / |before|: 0 for 0 / 0, infinite where only ``before`` is 0."""
    with np.errstate(all="ignore"):
        step = after - before
        relative: Floats = np.where(step == 0, 0.0, step / np.abs(before))
    return relative


def round_for_ties(value: Floats) -> Floats:
    """Round to twelve digits, so that digits which another unit of the series would change decide no tie."""
    mantissa, exponent = np.frexp(value)
    return np.asarray(np.ldexp(np.round(mantissa * _DIGITS) / _DIGITS, exponent))


def pooled_cohen(before: Floats, after: Floats, floor: float) -> float:
    """Return the difference of means of two samples over their pooled standard deviation.

    ``floor`` is the smallest deviation to divide by. Samples of fewer than three values together give 0.
    """
    n, m = before.size, after.size
    if n + m < 3 or not n or not m:
        return 0.0
    unit = safe_unit(np.concatenate([before, after]))
    before, after = before / unit, after / unit
    step = float(after.mean() - before.mean())
    if step == 0:
        return 0.0
    squares = float(np.square(before - before.mean()).sum() + np.square(after - after.mean()).sum())
    spread = max(float(np.sqrt(squares / (n + m - 2))), floor / unit)
    return step / spread if spread > 0 else float(np.copysign(np.inf, step))


def _measure(kind: Kind, halves: HalfWindows, floor: float) -> tuple[Floats, Floats, Floats]:  # noqa: PLR0911 - one return a kind
    """Return value, size and error of every window."""
    radius = halves.radius
    step, before, after = halves.step, halves.mean[:-radius], halves.mean[radius:]
    none = np.full(step.size, np.nan)
    match kind:
        case "absolute":
            return step, step, none
        case "percent":
            relative = relative_difference(before, after)
            return relative, relative, none
        case "percent_median":
            relative = relative_difference(halves.median[:-radius], halves.median[radius:])
            return relative, relative, none
        case "const":
            return halves.values[radius : radius + step.size], step, none
        case "mann_whitney_u":
            u, p_values = mann_whitney_slid(halves.values, radius)
            return p_values, step, u
    # The other kinds divide by a spread, which a floor keeps away from 0.
    least = floor * np.abs(before + after) / 2
    if kind == "cohen":
        deviation = (halves.spread[:-radius] + halves.spread[radius:]) / 2 * np.sqrt(radius / (radius - 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(step == 0, 0.0, step / np.maximum(deviation, least)), step, none
    inside = halves.spread_within
    around = np.hypot(inside, step / 2)
    if kind == "stepiness":
        share = np.divide(inside, around, out=np.ones_like(inside), where=around > 0)
        return np.sign(step) * (1 - share), step, none
    unit = np.maximum(around, least)
    unit[unit == 0] = 1.0
    with np.errstate(over="ignore"):
        return step / np.maximum(inside, (floor or _TINY) * unit), step / unit, inside / unit


def fit_steps(halves: HalfWindows, kind: Kind, bound: float, *, floor: float) -> Fits:
    """Fit a step at the middle of every window, which consists of two neighbouring ``halves``.

    The middle is the first value of the later half. ``floor`` is a share of the |mean| of a window; a standard
    deviation below it counts as no noise.
    """
    count = max(0, halves.values.size - 2 * halves.radius + 1)
    if not count or (halves.radius < 2 and kind in _TWO_A_SIDE):
        undefined, still = np.full(count, np.nan), np.zeros(count, dtype=np.int8)
        return Fits(kind, bound, halves.radius, undefined, undefined, undefined, still > 0, still)
    value, size, error = _measure(kind, halves, floor)
    if kind in _SCALE_FREE:
        value = round_for_ties(value)
    with np.errstate(invalid="ignore"):
        if kind == "mann_whitney_u":
            movement = np.where(value <= bound, np.sign(size), 0)
        else:
            movement = np.where(np.abs(value) >= bound, np.sign(value), 0)
    return Fits(kind, bound, halves.radius, value, size, error, ~np.isnan(value), movement.astype(np.int8))
