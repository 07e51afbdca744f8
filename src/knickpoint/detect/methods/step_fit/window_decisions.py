"""Decide which windows of a step fit are steps, and explain every other window.

The refiner decides among the windows in which the rule holds; each decision keeps the checks that explain it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.methods.step_fit.refinement import (
    RefinedStep,
    Refiner,
    confirm,
    confirmation_samples,
    refine_windows,
)
from knickpoint.detect.window_fits.fit import IN_UNIT
from knickpoint.detect.window_fits.rules import Rule, RuleResult, explain_window, scaled_rule, simple_rules
from knickpoint.model.step import Candidate, Check

_OPEN: Final = "no weaker window on both sides yet: more data may move the step"


@dataclass(frozen=True, slots=True)
class SeriesWindows:
    """The windows of one series, with what the rule found in each.

    Attributes:
        rows: the row of the series that each measured value comes from.
        windows: consecutive windows of measured values, in ``unit``.
        rule: the rule that was applied, with bounds in the unit of the series.
        result: what the rule found, in ``unit``.
        movement: that of ``result``, 0 where the direction is not asked for.
        unit: what the values were divided by.
        radius: measured values on each side of the middle.
        floor: standard deviation below which there is no noise, a share of the level or absolute (``compatible``).
        compatible: whether to decide as Skia Perf does.
    """

    rows: NDArray[np.int64]
    windows: NDArray[np.float64]
    rule: Rule
    result: RuleResult
    movement: NDArray[np.int8]
    unit: float
    radius: int
    floor: float
    compatible: bool

    @property
    def middle(self) -> int:
        """How many values of a window are before its middle."""
        return self.result.fits[0].middle

    def row(self, window: int) -> int:
        """Return the row at the middle of ``window``."""
        return int(self.rows[window + self.middle])

    def checks(self, window: int) -> tuple[Check, ...]:
        """Return the comparisons of the rule in ``window``."""
        return explain_window(self.rule, self.result, window, unit=self.unit)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a window is not a step, in words and, beyond what the rule compared, in numbers."""

    reason: str
    checks: tuple[Check, ...] = ()


_NO_STEP: Final = Rejection("the rule does not hold")
_TOO_FEW: Final = Rejection("too few values to judge")


@dataclass(frozen=True, slots=True)
class WindowDecisions:
    """What was decided about windows: ``accepted`` maps those that are steps to the evidence that this adds.

    ``rejected`` are windows that the rule accepts and a refiner does not. The other windows are in neither.
    """

    accepted: Mapping[int, tuple[Check, ...]]
    rejected: Mapping[int, Rejection]


def _bounds_checks(step: RefinedStep, series: SeriesWindows) -> tuple[Check, ...]:
    return (
        Check("earliest index", float(series.row(step.left))),
        Check("latest index", float(series.row(step.right))),
        Check("windows that agree", float(step.area.last - step.area.first + 1)),
    )


def _decide_areas(steps: Sequence[RefinedStep], series: SeriesWindows) -> WindowDecisions:
    """Accept the window of each step, and reject the other windows of its area."""
    accepted: dict[int, tuple[Check, ...]] = {}
    rejected: dict[int, Rejection] = {}
    for step in steps:
        row = series.row(step.window)
        for window in range(step.area.first, step.area.last + 1):
            if window != step.window:
                distance = float(abs(series.row(window) - row))
                away = Check("commits to the best division", distance, "<=", 0.0, passed=False)
                rejected[window] = Rejection(f"the step that this window sees lies at index {row}", (away,))
        if step.open_end and not series.compatible:
            weaker = Check("weaker windows on both sides", 0.0, ">=", 1.0, passed=False)
            rejected[step.window] = Rejection(_OPEN, (weaker, *_bounds_checks(step, series)))
        else:
            accepted[step.window] = _bounds_checks(step, series)
    return WindowDecisions(accepted, rejected)


def _confirm_after(step: RefinedStep, previous: RefinedStep, series: SeriesWindows) -> Rejection | tuple[Check, ...]:
    """Compare ``step`` with the data since the ``previous`` one: a rejection, or the evidence that it adds."""
    if step.left - 1 <= previous.right:
        apart = Check("values between the bounds", float(step.left - 1 - previous.right), ">", 0.0, passed=False)
        return Rejection("its bounds overlap those of the step before", (apart,))
    simple = next(simple_rules(series.rule))
    if simple.kind == "const":
        return ()
    between = series.windows[previous.left : step.left, series.middle - 1]
    samples = confirmation_samples(between, series.windows[step.area.last, series.middle :], series.radius)
    if samples is None:
        return ()
    result = confirm(*samples, simple.kind, simple.bound, floor=series.floor, compatible=series.compatible)
    unit = series.unit if result.kind in IN_UNIT else 1.0
    name = f"{result.kind} against the data since the step before"
    check = Check(name, abs(result.value) * unit, ">=", result.bound * unit, passed=result.passed)
    if not result.passed:
        return Rejection("the data since the step before do not confirm it", (check,))
    return (check,)


def _confirmed(decisions: WindowDecisions, steps: Sequence[RefinedStep], series: SeriesWindows) -> WindowDecisions:
    """Reject the accepted windows that the data since the accepted step before do not confirm."""
    accepted: dict[int, tuple[Check, ...]] = {}
    rejected = dict(decisions.rejected)
    previous: RefinedStep | None = None
    for step in steps:
        if step.window not in decisions.accepted:
            continue
        confirmation = () if previous is None else _confirm_after(step, previous, series)
        if isinstance(confirmation, Rejection):
            rejected[step.window] = confirmation
            continue
        accepted[step.window] = decisions.accepted[step.window] + confirmation
        previous = step
    return WindowDecisions(accepted, rejected)


def decide_windows(series: SeriesWindows, refiner: Refiner) -> WindowDecisions:
    """Decide which windows are steps."""
    if refiner == "each":
        return WindowDecisions({int(window): () for window in np.flatnonzero(series.movement)}, {})
    steps = refine_windows(
        series.windows,
        scaled_rule(series.rule, series.unit),
        series.result,
        series.movement,
        longest=2 * series.radius,
        floor=series.floor,
        compatible=series.compatible,
    )
    decisions = _decide_areas(steps, series)
    return _confirmed(decisions, steps, series) if refiner == "confirmed" else decisions


def _rejection(series: SeriesWindows, decisions: WindowDecisions, window: int) -> Rejection:
    """Return the reason for which ``window`` is not a step."""
    if series.result.movement[window] == 0:
        return _NO_STEP if series.result.decisive[window] >= 0 else _TOO_FEW
    if series.movement[window] == 0:
        wanted = Check("the wanted direction, 1 where it has it", 0.0, ">=", 1.0, passed=False)
        return Rejection("the change has the other direction", (wanted,))
    if window in decisions.rejected:
        return decisions.rejected[window]
    return Rejection(_OPEN, (Check("calm windows on both sides", 0.0, ">=", 1.0, passed=False),))


def describe_windows(series: SeriesWindows, decisions: WindowDecisions) -> tuple[Candidate, ...]:
    """Describe every window as a candidate."""
    candidates: list[Candidate] = []
    for window in range(len(series.movement)):
        row, checks = series.row(window), series.checks(window)
        if window in decisions.accepted:
            candidates.append(Candidate(row, accepted=True, checks=checks + decisions.accepted[window]))
        else:
            rejection = _rejection(series, decisions, window)
            checks += rejection.checks
            candidates.append(Candidate(row, accepted=False, checks=checks, reason=rejection.reason))
    return tuple(candidates)
