"""Step fit: slide a window over the series and measure how much of a step its middle is.

The family of Skia Perf: eight kinds of fit, compound rules, and refiners that turn neighbouring interesting
windows into one step. See ``docs/guide/detect/step_fit.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import Series, power_of_two, read_series
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.methods.step_fit.refinement import Refiner
from knickpoint.detect.methods.step_fit.window_decisions import Outcome, Seen, describe, settle
from knickpoint.detect.parameters import Value
from knickpoint.detect.steps import build_step, build_steps
from knickpoint.detect.window_fits.fit import DEFAULT_BOUNDS, IN_UNIT, Kind
from knickpoint.detect.window_fits.rule_text import read_rule, write_rule
from knickpoint.detect.window_fits.rules import Judged, Rule, Simple, judge, judge_as_skia, scaled_rule, window_width
from knickpoint.detect.window_fits.windows import Runs, slide
from knickpoint.model.errors import InputError
from knickpoint.model.step import Detection, Step

__all__ = ["METHOD", "PRESETS", "detect_step_fit", "detect_step_fit_many", "rule_of"]

PRESETS: Final[dict[str, dict[str, Value]]] = {
    "skia": {"compatible": True, "kind": "original", "threshold": 50.0, "radius": 7, "refiner": "each", "floor": 0.001},
    "chrome": {"compatible": True, "kind": "cohen", "threshold": 2.0, "radius": 7, "refiner": "bounds", "floor": 0.001},
}
"""``skia``: the defaults of Skia Perf's own instance; ``chrome``: Cohen's d with anomaly bounds."""

_UNWANTED: Final = {"both": 0, "up": -1, "down": 1}

Direction = Literal["both", "up", "down"]


def rule_of(kind: Kind, threshold: float | None, rule: str) -> Rule:
    """Return the rule that these parameters of a step fit mean; ``rule`` counts when it is given.

    Raises:
        InputError: the rule cannot be read, or ``kind`` needs a threshold and has none.
    """
    if rule:
        return read_rule(rule)
    bound = DEFAULT_BOUNDS.get(kind) if threshold is None else threshold
    if bound is None:
        raise InputError(
            f"the kind {kind} has no threshold of its own, for it is in the unit of the series",
            remedy="Give threshold, the smallest change (or, for const, the limit) in that unit.",
        )
    if not (math.isfinite(bound) and bound >= 0):
        raise InputError(
            f"the threshold of {kind} is {bound:g}", remedy="Give a finite number of 0 or more; both directions count."
        )
    return Simple(kind, bound)


def _score(judged: Judged, window: int, unit: float) -> tuple[float, float | None]:
    """Return the strength of a window, and its p-value where it is one."""
    value = judged.value(window)
    kind = judged.fits[int(judged.speaker[window])].kind
    if kind == "mann_whitney_u":
        return -math.log10(max(value, 1e-300)), value
    return abs(value) * (unit if kind in IN_UNIT else 1.0), None


def _alone(values: NDArray[np.float64], seen: Seen, outcome: Outcome) -> Iterator[Step]:
    """Build a step for each window taken, with the halves of the window for levels."""
    for order, window in enumerate(sorted(outcome.taken)):
        score, p_value = _score(seen.judged, window, seen.unit)
        yield build_step(
            values,
            seen.index(window),
            method="step_fit",
            first=int(seen.rows[window]),
            last=int(seen.rows[window + seen.windows.shape[1] - 1]),
            score=score,
            p_value=p_value,
            order=order,
            evidence=seen.checks(window) + outcome.taken[window],
        )


def _in_line(values: NDArray[np.float64], seen: Seen, outcome: Outcome, unwanted: list[int]) -> Iterator[Step]:
    """Build the steps taken, whose levels reach from one to the next; those at ``unwanted`` end levels, too."""
    windows = sorted(outcome.taken)
    scores = [_score(seen.judged, window, seen.unit) for window in windows]
    steps = build_steps(
        values,
        [seen.index(window) for window in windows] + unwanted,
        method="step_fit",
        scores=[score for score, _ in scores] + [math.nan] * len(unwanted),
        p_values=[p_value for _, p_value in scores] + [None] * len(unwanted),
        evidence=[seen.checks(window) + outcome.taken[window] for window in windows] + [()] * len(unwanted),
    )
    return (step for step in steps if step.index not in unwanted)


@dataclass(frozen=True, slots=True)
class _Fitting:
    """Hold what is asked of a step fit."""

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
        return window_width(self.rule, self.radius, compatible=self.compatible)

    def readable(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``values``, without those beyond single precision where Skia would not have read them."""
        return np.where(np.abs(values) > np.finfo(np.float32).max, np.nan, values) if self.compatible else values

    def unit(self, measured: NDArray[np.float64]) -> float:
        """Return what to judge measured values in."""
        return 1.0 if self.compatible else power_of_two(measured)

    def judge(self, measured: NDArray[np.float64], unit: float) -> Judged:
        """Judge every window of measured values, of which there is one at least, in ``unit``."""
        if self.compatible:
            return judge_as_skia(slide(measured.astype(np.float32), self.width), self.rule, floor=self.floor)
        runs = Runs(measured / unit, self.radius, uneven=unit != 1)
        return judge(runs, scaled_rule(self.rule, unit), floor=self.floor)

    def see(self, series: Series, judged: Judged, unit: float) -> Seen:
        """Return ``series``, whose windows are ``judged`` in ``unit``, as what is to be settled."""
        wanted = np.where(judged.movement == _UNWANTED[self.direction], 0, judged.movement).astype(np.int8)
        windows = slide(series.values if unit == 1 else series.values / unit, self.width)
        return Seen(series.rows, windows, self.rule, judged, wanted, unit, self.radius, self.floor, self.compatible)

    def see_alone(self, series: Series) -> Seen:
        """Judge ``series``, which is as long as a window at least."""
        unit = self.unit(series.values)
        return self.see(series, self.judge(series.values, unit), unit)

    def steps(self, values: NDArray[np.float64], seen: Seen, outcome: Outcome) -> tuple[Step, ...]:
        """Build the steps of the series ``values``."""
        if self.refiner == "each":
            return tuple(_alone(values, seen, outcome))
        unwanted: list[int] = []
        if outcome.taken and self.direction != "both":
            turned = replace(seen, wanted=np.where(seen.wanted == 0, seen.judged.movement, 0).astype(np.int8))
            unwanted = [seen.index(window) for window in settle(turned, self.refiner).taken]
        return tuple(_in_line(values, seen, outcome, unwanted))


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
        threshold: the bound of ``kind``; None is its own default (``absolute`` and ``const`` have none).
        rule: several kinds joined by ``and`` and ``or``, instead of ``kind`` and ``threshold``.
        radius: measured values on each side of the step.
        refiner: ``each`` interesting window is a step; neighbours are joined with ``bounds``; ``confirmed``
            also asks the data since the step before.
        direction: which steps to report.
        floor: a standard deviation below this share of the level counts as no noise.
        compatible: compute as Skia Perf does, defects included; ``floor`` is then an absolute number, and a value
            beyond single precision is missing.
        candidates: whether to give the candidates, too; without them it takes less time.

    Raises:
        InputError: the parameters do not fit together.
    """
    fitting = _Fitting(rule_of(kind, threshold, rule), radius, refiner, direction, floor, compatible)
    parameters: dict[str, float | int | str | bool | None] = {
        "rule": write_rule(fitting.rule),
        "radius": radius,
        "refiner": refiner,
        "direction": direction,
        "floor": floor,
        "compatible": compatible,
    }
    series = read_series(fitting.readable(values))
    if series.values.size < fitting.width:
        few = {"values": float(series.values.size), "values in a window": float(fitting.width)}
        return Detection("step_fit", parameters, (), (), {"windows": 0.0, **few})
    seen = fitting.see_alone(series)
    outcome = settle(seen, refiner)
    return Detection(
        "step_fit",
        parameters,
        fitting.steps(values, seen, outcome),
        describe(seen, outcome) if candidates else (),
        {"windows": float(len(seen.windows)), "interesting windows": float(np.count_nonzero(seen.wanted))},
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
) -> list[tuple[Step, ...]]:
    """Return the steps of each row of ``frame``: those of :func:`detect_step_fit`, all windows judged at once.

    The rows are laid end to end, and windows that reach over an end are left out. A row that needs a unit of its
    own is judged by itself.
    """
    fitting = _Fitting(rule_of(kind, threshold, rule), radius, refiner, direction, floor, compatible)
    width, read = fitting.width, fitting.readable(frame)
    measured = ~np.isnan(read)
    alone = np.array([fitting.unit(row[have]) != 1 for row, have in zip(read, measured, strict=True)], dtype=np.bool_)
    counts = measured.sum(axis=1)
    seen = {row: fitting.see_alone(read_series(read[row])) for row in np.flatnonzero(alone & (counts >= width))}
    counts[alone] = 0
    ends = np.cumsum(counts)
    joined = read[measured & ~alone[:, None]]
    if joined.size >= width:
        judged = fitting.judge(joined, 1.0)
        moving = np.flatnonzero(judged.movement)
        rows = np.searchsorted(ends, moving, side="right")
        for row in np.unique(rows[moving + width <= ends[rows]]):
            own = judged.part(ends[row] - counts[row], ends[row] - width + 1)
            seen[row] = fitting.see(read_series(read[row]), own, 1.0)
    found: list[tuple[Step, ...]] = [()] * len(frame)
    for row, each in seen.items():
        found[row] = fitting.steps(frame[row], each, settle(each, refiner))
    return found


METHOD: Final = Method(
    "step_fit", MethodKind.SERIES, detect_step_fit, presets=PRESETS, detect_many=detect_step_fit_many
)
