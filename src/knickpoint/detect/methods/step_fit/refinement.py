"""From windows to findings: one for each step, with bounds for the place where it may lie.

A step makes several neighbouring windows interesting. ``each`` reports every one of them, as Skia's default
does; ``bounds`` joins them into one finding; ``confirmed`` also compares it with all the data since the
finding before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import power_of_two
from knickpoint.detect.window_fits.fit import Kind, pooled_cohen, relative_difference, settled
from knickpoint.detect.window_fits.fit_skia import relative_as_skia
from knickpoint.detect.window_fits.rules import PRIORITY, Judged, Rule, Simple
from knickpoint.detect.window_fits.windows import Area, areas, find_peaks

__all__ = [
    "Confirmation",
    "Finding",
    "Refiner",
    "confirm",
    "confirmable",
    "find_bounds",
    "single_point_stands_out",
    "strengths",
]

Refiner = Literal["each", "bounds", "confirmed"]

_POINT_BOUND: Final = 2.0
"""Cohen's d at which a single point stands out, for the kinds that cannot be applied to one point."""

_CONFIRM_BOUND: Final = 1.2
"""The largest Cohen's d that a confirmation asks for."""

_CONFIRM_LONGEST: Final = 200
"""How many of the last points before a finding a confirmation looks at."""

_FEWEST: Final = 3
_TIE_BREAK: Final = 1e-6

Floats = NDArray[np.floating]


@dataclass(frozen=True, slots=True)
class Finding:
    """A step, by windows: strongest at ``highest``, somewhere between ``left`` and ``right``.

    ``area`` are the windows that agreed. ``place`` is the window whose middle divides the values within
    the bounds best. ``open_end`` is true when the strongest window has no weaker one beside it, so that more
    data may move the finding.
    """

    area: Area
    left: int
    highest: int
    right: int
    place: int
    open_end: bool


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Hold the comparison of a finding with the data since the finding before."""

    kind: Kind
    value: float
    bound: float
    passed: bool


def _relative(before: Floats, after: Floats, *, compatible: bool) -> float:
    change = relative_as_skia(before, after) if compatible else relative_difference(before, after)
    return float(change[0])


def _in_deviations(distance: float, sample: Floats, floor: float) -> float:
    """Return ``distance`` in standard deviations of ``sample``, of which none is below ``floor``."""
    if sample.size < 2 or distance == 0:
        return 0.0
    unit = power_of_two(np.asarray(sample, dtype=np.float64))
    spread = max(float((sample / unit).std(ddof=1)) * unit, floor)
    return float(settled(np.asarray(distance / spread))) if spread > 0 else math.inf


def single_point_stands_out(
    point: float, baseline: Floats, kind: Kind, bound: float, *, floor: float, compatible: bool = False
) -> bool:
    """Say whether one value is a step away from ``baseline`` by the same measure as the windows.

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
    if isinstance(rule, Simple):
        return single_point_stands_out(point, baseline, rule.kind, rule.bound, floor=floor, compatible=compatible)
    parts = (_stands_out(point, baseline, part, floor=floor, compatible=compatible) for part in rule.rules)
    return all(parts) if rule.operator == "and" else any(parts)


def _common_leaf(judged: Judged, area: Area) -> int:
    """Return the leaf that measures the whole area: one that moved in every window, the highest of priority."""
    within = slice(area.first, area.last + 1)
    leaves = range(len(judged.fits))
    everywhere = [leaf for leaf in leaves if judged.fits[leaf].movement[within].all()]
    return max(everywhere or leaves, key=lambda leaf: (PRIORITY[judged.fits[leaf].kind], -leaf))


def strengths(judged: Judged, leaf: int) -> NDArray[np.float64]:
    """Return how strong each window is by one leaf of the rule, larger being stronger."""
    fit = judged.fits[leaf]
    value = np.asarray(fit.value, dtype=np.float64)
    strength = 1 - value if fit.kind == "mann_whitney_u" else np.abs(value)
    return np.where(fit.judged & ~np.isnan(strength), strength, -np.inf)


def _is_open(strength: NDArray[np.float64], highest: int) -> bool:
    """Say whether going from ``highest`` to either side never meets a weaker window."""
    if strength.size == 1:
        return False
    top = strength[highest]
    sides = strength[:highest][::-1], strength[highest + 1 :]
    for side in sides:
        different = side[side != top]
        if not different.size or different[0] > top:
            return True
    return False


def _best_division(windows: NDArray[np.floating], left: int, right: int, turning: int) -> int:
    """Return the window of ``left`` to ``right`` whose middle divides the ranks of their values best.

    The strength of a window is flat near the step for the kinds that look at order or medians; the ranks
    tell its place, and outliers count little. Where ranks tie, the values decide.
    """
    if left == right:
        return left
    span = np.concatenate([windows[left], windows[left + 1 : right + 1, -1]])
    _, inverse, counts = np.unique(span, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    width = float(np.ptp(span))
    if width > 0:
        ranks += _TIE_BREAK * (span - span.min()) / width
    sizes = np.arange(turning, turning + right - left + 1)
    before = np.cumsum(ranks)[sizes - 1]
    distance = before - sizes * ranks.mean()
    return left + int(np.argmax(settled(distance**2 / (sizes * (span.size - sizes)))))


def find_bounds(
    windows: NDArray[np.floating],
    rule: Rule,
    judged: Judged,
    movement: NDArray[np.int8],
    *,
    longest: int,
    floor: float,
    compatible: bool,
) -> list[Finding]:
    """Join the windows that agree into findings with bounds.

    ``windows`` are consecutive and ``judged`` by ``rule``; ``movement`` is 0 for those that do not count
    (uninteresting, or of the unwanted direction). The bounds reach from the outermost local peaks of strength
    outwards as long as the points there belong neither to the level before nor to the level after. An area of
    more than ``longest`` windows becomes several findings.
    """
    found: list[Finding] = []
    turning = judged.fits[0].turning
    for area in areas(movement, longest, compatible=compatible):
        strength = strengths(judged, _common_leaf(judged, area))
        peaks = find_peaks(strength[area.first : area.last + 1])
        highest = area.first + peaks.highest
        before, after = windows[area.first, :turning], windows[area.last, turning:]
        left, right = area.first + peaks.left, area.first + peaks.right
        while left > area.first and _stands_out(
            float(windows[left - 1, turning]), before, rule, floor=floor, compatible=compatible
        ):
            left -= 1
        while right < area.last and _stands_out(
            float(windows[right + 1, turning - 1]), after, rule, floor=floor, compatible=compatible
        ):
            right += 1
        place = highest if compatible else _best_division(windows, left, right, turning)
        found.append(Finding(area, left, highest, right, place, _is_open(strength, highest)))
    return found


def confirm(
    before: Floats, after: Floats, kind: Kind, bound: float, *, floor: float, compatible: bool = False
) -> Confirmation:
    """Compare the data since the finding before with the level after a finding, both 1-D without missing values.

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
        value = float(settled(np.asarray(value)))
    return Confirmation(kind, value, bound, abs(value) >= bound and not math.isnan(value))


def confirmable(before: Floats, after: Floats, radius: int) -> tuple[Floats, Floats] | None:
    """Return the two samples to compare, None where there are too few values for it."""
    if before.size < max(radius, _FEWEST) or after.size < _FEWEST:
        return None
    return before[-_CONFIRM_LONGEST:], after
