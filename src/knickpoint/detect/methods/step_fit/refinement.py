"""Refine windows into steps: one step for each area of windows that agree, with bounds for where it may lie.

A step makes several neighbouring windows hold the rule. The refiner ``each`` reports every one of them, as Skia's
default does; ``bounds`` joins them into one step; ``confirmed`` also compares it with all the data since the step
before. The bounds are those of Chromium's fork of Skia Perf.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import safe_unit
from knickpoint.detect.window_fits.fit import Kind, pooled_cohen, relative_difference, round_for_ties
from knickpoint.detect.window_fits.fit_skia import relative_as_skia
from knickpoint.detect.window_fits.rules import PRIORITY, Rule, RuleResult, SimpleRule
from knickpoint.detect.window_fits.windows import Area, find_peaks, join_areas

Refiner = Literal["each", "bounds", "confirmed"]

_POINT_BOUND: Final = 2.0
"""Cohen's d at which a single point stands out, for the kinds that cannot be applied to one point."""

_CONFIRM_BOUND: Final = 1.2
"""The largest Cohen's d that a confirmation asks for."""

_CONFIRM_LONGEST: Final = 200
"""How many of the last values before a step a confirmation uses."""

_FEWEST: Final = 3
"""Values that each sample of a confirmation needs."""

_TIE_BREAK: Final = 1e-6
"""Weight of the values beside their ranks, where ranks tie."""

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class RefinedStep:
    """A step, by indices of windows.

    Attributes:
        area: the windows that agree.
        left: the first window in whose middle the step may lie.
        highest: the strongest window.
        right: the last window in whose middle the step may lie.
        window: the window whose middle divides the values within the bounds best.
        open_end: true when a side of the strongest window has no weaker one, so that more data may move the step.
    """

    area: Area
    left: int
    highest: int
    right: int
    window: int
    open_end: bool


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The comparison of a step with the data since the step before."""

    kind: Kind
    value: float
    bound: float
    passed: bool


def _relative(before: Floats, after: Floats, *, compatible: bool) -> float:
    change = relative_as_skia(before, after) if compatible else relative_difference(before, after)
    return float(change[0])


def _in_deviations(distance: float, sample: Floats, floor: float) -> float:
    """Return ``distance`` in standard deviations of ``sample``, or in ``floor`` where that is larger."""
    if sample.size < 2 or distance == 0:
        return 0.0
    unit = safe_unit(np.asarray(sample, dtype=np.float64))
    spread = max(float((sample / unit).std(ddof=1)) * unit, floor)
    return float(round_for_ties(np.asarray(distance / spread))) if spread > 0 else math.inf


def single_point_stands_out(
    point: float, baseline: Floats, kind: Kind, bound: float, *, floor: float, compatible: bool = False
) -> bool:
    """Return True if one value is a step away from ``baseline`` by the same measure as the windows.

    Kinds that need two samples fall back to Cohen's d of at least 2, with the spread of the baseline.
    """
    if kind == "const":
        return abs(point) >= bound
    if not baseline.size:
        return False
    number = np.asarray(baseline).dtype.type(point)
    level = np.median(baseline) if kind == "percent_median" else baseline.mean()
    if kind == "absolute":
        return bool(abs(number - level) >= bound)
    if kind in {"percent", "percent_median"}:
        return abs(_relative(np.asarray([level]), np.asarray([number]), compatible=compatible)) >= bound
    distance = _in_deviations(abs(float(number - level)), baseline, floor if compatible else floor * abs(float(level)))
    return distance > 0 and distance >= (bound if kind == "cohen" else _POINT_BOUND)


def _stands_out(point: float, baseline: Floats, rule: Rule, *, floor: float, compatible: bool) -> bool:
    if isinstance(rule, SimpleRule):
        return single_point_stands_out(point, baseline, rule.kind, rule.bound, floor=floor, compatible=compatible)
    parts = (_stands_out(point, baseline, part, floor=floor, compatible=compatible) for part in rule.rules)
    return all(parts) if rule.operator == "and" else any(parts)


def _common_fit(result: RuleResult, area: Area) -> int:
    """Return the index of the fit that measures the whole area: one that moved in every window, by priority."""
    within = slice(area.first, area.last + 1)
    fits = range(len(result.fits))
    everywhere = [fit for fit in fits if result.fits[fit].movement[within].all()]
    return max(everywhere or fits, key=lambda fit: (PRIORITY[result.fits[fit].kind], -fit))


def strengths(result: RuleResult, index: int) -> NDArray[np.float64]:
    """Return the strength of each window by the fit at ``index``, larger being stronger."""
    fit = result.fits[index]
    value = np.asarray(fit.value, dtype=np.float64)
    strength = 1 - value if fit.kind == "mann_whitney_u" else np.abs(value)
    return np.where(fit.defined & ~np.isnan(strength), strength, -np.inf)


def _is_open(strength: NDArray[np.float64], highest: int) -> bool:
    """Return True if a side of ``highest`` has no weaker window before a stronger one."""
    if strength.size == 1:
        return False
    top = strength[highest]
    sides = strength[:highest][::-1], strength[highest + 1 :]
    for side in sides:
        different = side[side != top]
        if not different.size or different[0] > top:
            return True
    return False


def _best_division(windows: NDArray[np.floating], left: int, right: int, middle: int) -> int:
    """Return the window of ``left`` to ``right`` whose middle divides the ranks of their values best.

    The strength of a window is flat near the step for kinds that look at order or medians. Ranks locate the step, and
    outliers have little weight. Where ranks tie, the values decide.
    """
    if left == right:
        return left
    # All values of the windows from left to right: the first window whole, and the last value of each of the others.
    span = np.concatenate([windows[left], windows[left + 1 : right + 1, -1]])
    _, inverse, counts = np.unique(span, return_inverse=True, return_counts=True)
    # Mid-ranks, and a trace of the values so that ties are broken.
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    width = float(np.ptp(span))
    if width > 0:
        ranks += _TIE_BREAK * (span - span.min()) / width
    # The between-group sum of squares of the ranks, up to a constant, for each division of the span.
    sizes = np.arange(middle, middle + right - left + 1)
    before = np.cumsum(ranks)[sizes - 1]
    distance = before - sizes * ranks.mean()
    return left + int(np.argmax(round_for_ties(distance**2 / (sizes * (span.size - sizes)))))


def refine_windows(
    windows: NDArray[np.floating],
    rule: Rule,
    result: RuleResult,
    movement: NDArray[np.int8],
    *,
    longest: int,
    floor: float,
    compatible: bool,
) -> list[RefinedStep]:
    """Join the windows that agree into steps with bounds.

    ``windows`` are consecutive, and ``result`` is what ``rule`` found in them; ``movement`` is 0 for those that do not
    count, because the rule does not hold or the direction is not asked for. The bounds reach from the outermost local
    peaks of strength outwards, as long as the values there belong neither to the level before nor to the level after.
    An area of more than ``longest`` windows becomes several steps.
    """
    steps: list[RefinedStep] = []
    middle = result.fits[0].middle
    for area in join_areas(movement, longest, compatible=compatible):
        # Strength: the peaks inside the area.
        strength = strengths(result, _common_fit(result, area))
        peaks = find_peaks(strength[area.first : area.last + 1])
        highest = area.first + peaks.highest
        # Bounds: from the outermost peaks outwards, while the next value stands out from the level on its side.
        before, after = windows[area.first, :middle], windows[area.last, middle:]
        left, right = area.first + peaks.left, area.first + peaks.right
        while left > area.first and _stands_out(
            float(windows[left - 1, middle]), before, rule, floor=floor, compatible=compatible
        ):
            left -= 1
        while right < area.last and _stands_out(
            float(windows[right + 1, middle - 1]), after, rule, floor=floor, compatible=compatible
        ):
            right += 1
        # Place: the best division within the bounds.
        window = highest if compatible else _best_division(windows, left, right, middle)
        steps.append(RefinedStep(area, left, highest, right, window, _is_open(strength, highest)))
    return steps


def confirm(
    before: Floats, after: Floats, kind: Kind, bound: float, *, floor: float, compatible: bool = False
) -> Confirmation:
    """Compare the data since the step before with the level after a step, both 1-D without missing values.

    ``absolute`` and ``percent`` keep their bound; every other kind becomes Cohen's d with the pooled
    deviation, of at most 1.2.
    """
    step = float(after.mean() - before.mean())
    match kind:
        case "absolute":
            value = step
        case "percent" | "percent_median":
            value = _relative(before.mean(keepdims=True), after.mean(keepdims=True), compatible=compatible)
        case _:
            bound = min(bound, _CONFIRM_BOUND) if kind == "cohen" else _CONFIRM_BOUND
            least = floor if compatible else floor * abs(float(before.mean()))
            value, kind = pooled_cohen(before, after, least), "cohen"
    if not compatible:
        value = float(round_for_ties(np.asarray(value)))
    return Confirmation(kind, value, bound, abs(value) >= bound and not math.isnan(value))


def confirmation_samples(before: Floats, after: Floats, radius: int) -> tuple[Floats, Floats] | None:
    """Return the two samples that a confirmation compares, None where there are too few values."""
    if before.size < max(radius, _FEWEST) or after.size < _FEWEST:
        return None
    return before[-_CONFIRM_LONGEST:], after
