"""Step fit: slide a window over the series and measure how much of a step lies at its middle.

The method of Skia Perf: eight kinds of fit, rules that combine them, and refiners that turn neighbouring windows in
which the rule holds into a single step. :mod:`knickpoint.detect.window_fits` has the fits and the rules,
``window_decisions`` decides which windows are steps, and ``refinement`` gives each step its bounds. The guide page
``docs/guide/detect/step_fit.md`` has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import MeasuredSeries, drop_missing, safe_unit
from knickpoint.detect.method import Method, MethodKind, Value
from knickpoint.detect.methods.step_fit.refinement import Refiner
from knickpoint.detect.methods.step_fit.window_decisions import (
    SeriesWindows,
    WindowDecisions,
    decide_windows,
    describe_windows,
)
from knickpoint.detect.steps import build_step, build_steps
from knickpoint.detect.window_fits.fit import DEFAULT_BOUNDS, IN_UNIT, Kind
from knickpoint.detect.window_fits.rules import (
    Rule,
    RuleResult,
    SimpleRule,
    apply_rule,
    apply_rule_as_skia,
    read_rule,
    scaled_rule,
    window_width,
    write_rule,
)
from knickpoint.detect.window_fits.windows import HalfWindows, sliding_windows
from knickpoint.model.errors import InputError
from knickpoint.model.step import Detection, Step

PRESETS: Final[dict[str, dict[str, Value]]] = {
    "skia": {"compatible": True, "kind": "original", "threshold": 50.0, "radius": 7, "refiner": "each", "floor": 0.001},
    "chrome": {"compatible": True, "kind": "cohen", "threshold": 2.0, "radius": 7, "refiner": "bounds", "floor": 0.001},
}
"""``skia``: the defaults of Skia Perf's own instance; ``chrome``: Cohen's d with anomaly bounds."""

_UNWANTED: Final = {"both": 0, "up": -1, "down": 1}
"""The movement that a direction leaves out, 0 for none."""

Direction = Literal["both", "up", "down"]


def _rule_of(kind: Kind, threshold: float | None, rule: str) -> Rule:
    """Return the rule that the parameters mean: ``rule`` if there is one, otherwise ``kind`` with ``threshold``."""
    if rule:
        return read_rule(rule)
    bound = DEFAULT_BOUNDS.get(kind) if threshold is None else threshold
    if bound is None:
        raise InputError(
            f"the kind {kind} has no default threshold, because it is in the unit of the series",
            remedy="Give threshold, the smallest change (or, for const, the limit) in that unit.",
        )
    if not (math.isfinite(bound) and bound >= 0):
        raise InputError(
            f"the threshold of {kind} is {bound:g}", remedy="Give a finite number of 0 or more; both directions count."
        )
    return SimpleRule(kind, bound)


def _score(result: RuleResult, window: int, unit: float) -> tuple[float, float | None]:
    """Return the strength of a window, and its p-value if the decisive fit has one."""
    value = result.value(window)
    kind = result.fits[int(result.decisive[window])].kind
    if kind == "mann_whitney_u":
        return -math.log10(max(value, 1e-300)), value
    return abs(value) * (unit if kind in IN_UNIT else 1.0), None


def _steps_of_windows(
    values: NDArray[np.float64], series: SeriesWindows, decisions: WindowDecisions
) -> tuple[Step, ...]:
    """Build a step for each accepted window; its levels are the halves of the window."""
    steps: list[Step] = []
    for order, window in enumerate(sorted(decisions.accepted)):
        score, p_value = _score(series.result, window, series.unit)
        steps.append(
            build_step(
                values,
                series.row(window),
                method="step_fit",
                first=int(series.rows[window]),
                last=int(series.rows[window + series.windows.shape[1] - 1]),
                score=score,
                p_value=p_value,
                order=order,
                evidence=series.checks(window) + decisions.accepted[window],
            )
        )
    return tuple(steps)


def _steps_between_regions(
    values: NDArray[np.float64], series: SeriesWindows, decisions: WindowDecisions, unwanted: list[int]
) -> tuple[Step, ...]:
    """Build the accepted steps; levels reach from step to step, where ``unwanted`` ones, by row, end levels as well."""
    windows = sorted(decisions.accepted)
    scores = [_score(series.result, window, series.unit) for window in windows]
    steps = build_steps(
        values,
        [series.row(window) for window in windows] + unwanted,
        method="step_fit",
        scores=[score for score, _ in scores] + [math.nan] * len(unwanted),
        p_values=[p_value for _, p_value in scores] + [None] * len(unwanted),
        evidence=[series.checks(window) + decisions.accepted[window] for window in windows] + [()] * len(unwanted),
    )
    return tuple(step for step in steps if step.index not in unwanted)


@dataclass(frozen=True, slots=True)
class _Settings:
    """The parameters of a step fit, checked."""

    rule: Rule
    radius: int
    refiner: Refiner
    direction: Direction
    floor: float
    compatible: bool

    def __post_init__(self) -> None:
        if self.radius < 1 or not self.floor >= 0:
            raise InputError(
                f"radius is {self.radius} and floor {self.floor}",
                remedy="Give a radius of 1 or more and a floor of 0 or more.",
            )

    @property
    def width(self) -> int:
        """Values in a window."""
        return window_width(self.rule, self.radius, compatible=self.compatible)

    def readable(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``values``, without those beyond single precision if Skia's way is asked for."""
        return np.where(np.abs(values) > np.finfo(np.float32).max, np.nan, values) if self.compatible else values

    def unit_of(self, measured: NDArray[np.float64]) -> float:
        """Return the unit in which to fit measured values."""
        return 1.0 if self.compatible else safe_unit(measured)

    def apply(self, measured: NDArray[np.float64], unit: float) -> RuleResult:
        """Apply the rule to every window of measured values, of which there is at least one, in ``unit``."""
        if self.compatible:
            windows = sliding_windows(measured.astype(np.float32), self.width)
            return apply_rule_as_skia(windows, self.rule, floor=self.floor)
        halves = HalfWindows(measured / unit, self.radius, uneven=unit != 1)
        return apply_rule(halves, scaled_rule(self.rule, unit), floor=self.floor)

    def windows_of(self, series: MeasuredSeries, result: RuleResult, unit: float) -> SeriesWindows:
        """Return the windows of ``series`` with the ``result`` of the rule in ``unit``."""
        movement = np.where(result.movement == _UNWANTED[self.direction], 0, result.movement).astype(np.int8)
        windows = sliding_windows(series.values if unit == 1 else series.values / unit, self.width)
        return SeriesWindows(
            series.rows, windows, self.rule, result, movement, unit, self.radius, self.floor, self.compatible
        )

    def apply_to_series(self, series: MeasuredSeries) -> SeriesWindows:
        """Apply the rule to the windows of ``series``, which has at least one."""
        unit = self.unit_of(series.values)
        return self.windows_of(series, self.apply(series.values, unit), unit)

    def steps(self, values: NDArray[np.float64], series: SeriesWindows, decisions: WindowDecisions) -> tuple[Step, ...]:
        """Build the steps of ``values``, of which ``series`` has the windows."""
        if self.refiner == "each":
            return _steps_of_windows(values, series, decisions)
        unwanted: list[int] = []
        if decisions.accepted and self.direction != "both":
            # Steps of the other direction are not reported, but they end the levels of those that are.
            other = np.where(series.movement == 0, series.result.movement, 0).astype(np.int8)
            turned = replace(series, movement=other)
            unwanted = [series.row(window) for window in decide_windows(turned, self.refiner).accepted]
        return _steps_between_regions(values, series, decisions, unwanted)


def detect_step_fit(
    values: NDArray[np.float64],
    *,
    kind: Kind = "original",
    threshold: float | None = None,
    rule: str = "",
    radius: int = 7,
    refiner: Refiner = "bounds",
    direction: Direction = "both",
    floor: float = 1e-4,
    compatible: bool = False,
    candidates: bool = True,
) -> Detection:
    """Slide a window of ``2 * radius`` measured values over the series and fit a step at its middle.

    Args:
        values: 1-D, ``nan`` for missing; missing values are left out before windows are cut.
        kind: how to measure the step.
        threshold: the bound of ``kind``; None is the default of the kind (``absolute`` and ``const`` have none).
        rule: several kinds joined by ``and`` and ``or``, instead of ``kind`` and ``threshold``.
        radius: measured values on each side of the step.
        refiner: ``each``: every window in which the rule holds is a step; ``bounds``: neighbouring windows are joined
            into one step; ``confirmed``: the data since the step before have to confirm it as well.
        direction: which steps to report.
        floor: a standard deviation below this share of the level counts as no noise.
        compatible: compute as Skia Perf does, defects included; ``floor`` is then an absolute number, and a value
            beyond single precision is missing.
        candidates: whether to return the candidates, which takes more time.

    Raises:
        InputError: the parameters do not fit together.
    """
    settings = _Settings(_rule_of(kind, threshold, rule), radius, refiner, direction, floor, compatible)
    parameters = {"rule": write_rule(settings.rule)}
    measured = drop_missing(settings.readable(values))
    if measured.values.size < settings.width:
        few = {"values": float(measured.values.size), "values in a window": float(settings.width)}
        return Detection("step_fit", parameters, (), (), {"windows": 0.0, **few})
    series = settings.apply_to_series(measured)
    decisions = decide_windows(series, refiner)
    return Detection(
        "step_fit",
        parameters,
        settings.steps(values, series, decisions),
        describe_windows(series, decisions) if candidates else (),
        {"windows": float(len(series.windows)), "interesting windows": float(np.count_nonzero(series.movement))},
    )


def detect_step_fit_many(
    frame: NDArray[np.float64],
    *,
    kind: Kind = "original",
    threshold: float | None = None,
    rule: str = "",
    radius: int = 7,
    refiner: Refiner = "bounds",
    direction: Direction = "both",
    floor: float = 1e-4,
    compatible: bool = False,
) -> Sequence[Sequence[Step]]:
    """Return the steps of each row of ``frame``: those of :func:`detect_step_fit`, all windows fitted at once.

    The rows are laid end to end, and windows that reach over an end are left out. A row that needs a unit of its
    own is fitted by itself.
    """
    settings = _Settings(_rule_of(kind, threshold, rule), radius, refiner, direction, floor, compatible)
    width, readable = settings.width, settings.readable(frame)
    measured = ~np.isnan(readable)
    counts = measured.sum(axis=1)
    # Rows whose values need another unit than 1: each by itself.
    alone = np.array(
        [settings.unit_of(row[mask]) != 1 for row, mask in zip(readable, measured, strict=True)], dtype=np.bool_
    )
    by_row = {
        row: settings.apply_to_series(drop_missing(readable[row])) for row in np.flatnonzero(alone & (counts >= width))
    }
    # All other rows, end to end: the rule is applied to all windows at once.
    counts[alone] = 0
    ends = np.cumsum(counts)
    joined = readable[measured & ~alone[:, None]]
    if joined.size >= width:
        result = settings.apply(joined, 1.0)
        moving = np.flatnonzero(result.movement)
        rows = np.searchsorted(ends, moving, side="right")
        # Only rows in which the rule holds somewhere, in a window that lies within the row, can have steps.
        for row in np.unique(rows[moving + width <= ends[rows]]):
            result_of_row = result.part(ends[row] - counts[row], ends[row] - width + 1)
            by_row[row] = settings.windows_of(drop_missing(readable[row]), result_of_row, 1.0)
    steps: list[tuple[Step, ...]] = [()] * len(frame)
    for row, series in by_row.items():
        steps[row] = settings.steps(frame[row], series, decide_windows(series, refiner))
    return steps


METHOD: Final = Method(
    "step_fit",
    MethodKind.SERIES,
    detect_step_fit,
    presets=PRESETS,
    detect_many=detect_step_fit_many,
    fewest=lambda found: 2 * int(found["radius"]),
)
