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

The values are positive when the level goes up. How Skia Perf computes them is in
:mod:`knickpoint.detect.window_fits.fit_skia`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import power_of_two
from knickpoint.detect.window_fits.mann_whitney import mann_whitney_slid
from knickpoint.detect.window_fits.windows import Runs

__all__ = [
    "DEFAULT_BOUNDS",
    "IN_UNIT",
    "KINDS",
    "Fits",
    "Kind",
    "fit_steps",
    "pooled_cohen",
    "relative_difference",
    "settled",
]

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

_SCALE_FREE: Final[frozenset[Kind]] = frozenset({"original", "percent", "percent_median", "cohen", "stepiness"})
"""Kinds whose values are shares of something else in the window."""

_TWO_A_SIDE: Final[frozenset[Kind]] = frozenset({"original", "cohen"})
"""Kinds that say nothing of one value on each side."""

_TINY: Final = float(np.finfo(np.float64).tiny)
_DIGITS: Final = 2.0**40

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

    def part(self, first: int, stop: int) -> Fits:
        """Return the fits of windows ``first`` to ``stop - 1``."""
        own = slice(first, stop)
        return Fits(
            self.kind,
            self.bound,
            self.turning,
            self.value[own],
            self.size[own],
            self.error[own],
            self.judged[own],
            self.movement[own],
        )


def relative_difference(before: Floats, after: Floats) -> Floats:
    """Return (after - before) / |before|: 0 for 0/0, infinite where only ``before`` is 0."""
    with np.errstate(all="ignore"):
        step = after - before
        relative: Floats = np.where(step == 0, 0.0, step / np.abs(before))
    return relative


def settled(value: Floats) -> Floats:
    """Round to twelve digits: no tie hangs on those beyond, which another unit of the series would change."""
    part, exponent = np.frexp(value)
    return np.asarray(np.ldexp(np.round(part * _DIGITS) / _DIGITS, exponent))


def pooled_cohen(before: Floats, after: Floats, floor: float) -> float:
    """Return the difference of means of two samples over their pooled standard deviation.

    ``floor`` is the smallest deviation to divide by. 0 for samples of fewer than three values together.
    """
    n, m = before.size, after.size
    if n + m < 3 or not n or not m:
        return 0.0
    unit = power_of_two(np.concatenate([before, after]))
    before, after = before / unit, after / unit
    step = float(after.mean() - before.mean())
    if step == 0:
        return 0.0
    squares = float(np.square(before - before.mean()).sum() + np.square(after - after.mean()).sum())
    spread = max(float(np.sqrt(squares / (n + m - 2))), floor / unit)
    return step / spread if spread > 0 else float(np.copysign(np.inf, step))


def _measure(kind: Kind, runs: Runs, floor: float) -> tuple[Floats, Floats, Floats]:  # noqa: PLR0911 - one return a kind
    """Return value, size and error of every window."""
    radius = runs.radius
    step, before, after = runs.step, runs.mean[:-radius], runs.mean[radius:]
    none = np.full(step.size, np.nan)
    match kind:
        case "absolute":
            return step, step, none
        case "percent":
            relative = relative_difference(before, after)
            return relative, relative, none
        case "percent_median":
            relative = relative_difference(runs.median[:-radius], runs.median[radius:])
            return relative, relative, none
        case "const":
            return runs.values[radius : radius + step.size], step, none
        case "mann_whitney_u":
            u, p_values = mann_whitney_slid(runs.values, radius)
            return p_values, step, u
    least = floor * np.abs(before + after) / 2
    if kind == "cohen":
        deviation = (runs.spread[:-radius] + runs.spread[radius:]) / 2 * np.sqrt(radius / (radius - 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(step == 0, 0.0, step / np.maximum(deviation, least)), step, none
    inside = runs.spread_within
    around = np.hypot(inside, step / 2)
    if kind == "stepiness":
        share = np.divide(inside, around, out=np.ones_like(inside), where=around > 0)
        return np.sign(step) * (1 - share), step, none
    unit = np.maximum(around, least)
    unit[unit == 0] = 1.0
    with np.errstate(over="ignore"):
        return step / np.maximum(inside, (floor or _TINY) * unit), step / unit, inside / unit


def fit_steps(runs: Runs, kind: Kind, bound: float, *, floor: float) -> Fits:
    """Fit a step at the middle of every window of two neighbouring ``runs``.

    The middle is the first value of the later run. ``floor`` is the share of |mean| of a window below which a
    standard deviation counts as no noise.
    """
    count = max(0, runs.values.size - 2 * runs.radius + 1)
    if not count or (runs.radius < 2 and kind in _TWO_A_SIDE):
        nothing, still = np.full(count, np.nan), np.zeros(count, dtype=np.int8)
        return Fits(kind, bound, runs.radius, nothing, nothing, nothing, still > 0, still)
    value, size, error = _measure(kind, runs, floor)
    if kind in _SCALE_FREE:
        value = settled(value)
    with np.errstate(invalid="ignore"):
        if kind == "mann_whitney_u":
            movement = np.where(value <= bound, np.sign(size), 0)
        else:
            movement = np.where(np.abs(value) >= bound, np.sign(value), 0)
    return Fits(kind, bound, runs.radius, value, size, error, ~np.isnan(value), movement.astype(np.int8))
