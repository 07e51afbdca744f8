"""Step fit: slide a window over the series and measure how much of a step its middle is.

The family of Skia Perf: eight kinds of fit, compound rules, and refiners that turn neighbouring interesting
windows into one step. See ``docs/guide/detect/step_fit.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.methods.fit import DEFAULT_BOUNDS, IN_UNIT, Kind
from knickpoint.detect.methods.refine import Finding, Refiner, confirm, confirmable, find_bounds
from knickpoint.detect.methods.rule_text import read_rule, write_rule
from knickpoint.detect.methods.rules import (
    Judged,
    Rule,
    Simple,
    explain_window,
    judge_windows,
    leaves,
    scaled_rule,
    window_width,
)
from knickpoint.detect.methods.windows import slide
from knickpoint.detect.parameters import Value
from knickpoint.detect.regions import build_step, build_steps
from knickpoint.detect.series import Series, power_of_two, read_series
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection, Step

__all__ = ["PRESETS", "detect_step_fit", "rule_of"]

PRESETS: Final[dict[str, dict[str, Value]]] = {
    "skia": {"compatible": True, "kind": "original", "threshold": 50.0, "radius": 7, "refiner": "each", "floor": 0.001},
    "chrome": {"compatible": True, "kind": "cohen", "threshold": 2.0, "radius": 7, "refiner": "bounds", "floor": 0.001},
}
"""``skia``: the defaults of Skia Perf's own instance; ``chrome``: Cohen's d with anomaly bounds."""

_OPEN: Final = "no weaker window on both sides yet: more data may move the step"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of the windows: ``taken`` maps a window to the evidence that it adds, ``reasons`` the others."""

    taken: dict[int, tuple[Check, ...]]
    reasons: dict[int, str]
    extra: dict[int, tuple[Check, ...]]


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


@dataclass(frozen=True, slots=True)
class _Explain:
    """Say in numbers what ``rule`` made of the windows; ``judged`` counts in ``unit``."""

    rule: Rule
    judged: Judged
    unit: float

    def checks(self, window: int) -> tuple[Check, ...]:
        """Return what the rule compared in a window."""
        return explain_window(self.rule, self.judged, window, unit=self.unit)


def _each(movement: NDArray[np.int8]) -> _Outcome:
    return _Outcome({int(window): () for window in np.flatnonzero(movement)}, {}, {})


def _bounds_of(finding: Finding, rows: NDArray[np.int64], turning: int) -> tuple[Check, ...]:
    return (
        Check("earliest index", float(rows[finding.left + turning])),
        Check("latest index", float(rows[finding.right + turning])),
        Check("windows that agree", float(finding.area.last - finding.area.first + 1)),
    )


def _joined(findings: list[Finding], rows: NDArray[np.int64], turning: int, *, compatible: bool) -> _Outcome:
    outcome = _Outcome({}, {}, {})
    for finding in findings:
        at = int(rows[finding.place + turning])
        speaks = f"the step that this window sees lies at index {at}"
        for window in range(finding.area.first, finding.area.last + 1):
            away = float(abs(int(rows[window + turning]) - at))
            outcome.reasons[window] = speaks
            outcome.extra[window] = (Check("commits to the best division", away, "<=", 0.0, passed=False),)
        del outcome.reasons[finding.place], outcome.extra[finding.place]
        if finding.open_end and not compatible:
            outcome.reasons[finding.place] = _OPEN
            outcome.extra[finding.place] = (
                Check("weaker windows on both sides", 0.0, ">=", 1.0, passed=False),
                *_bounds_of(finding, rows, turning),
            )
        else:
            outcome.taken[finding.place] = _bounds_of(finding, rows, turning)
    return outcome


def _confirmed(
    outcome: _Outcome,
    findings: list[Finding],
    windows: NDArray[np.float64],
    rule: Rule,
    *,
    radius: int,
    floor: float,
    unit: float,
    compatible: bool,
) -> None:
    """Take out of ``outcome`` the findings that the data since the finding before do not confirm."""
    leaf = next(iter(leaves(rule)))
    turning = windows.shape[1] // 2
    last: Finding | None = None
    for finding in findings:
        if finding.place not in outcome.taken:
            continue
        if last is not None and finding.left - 1 <= last.right:
            del outcome.taken[finding.place]
            outcome.reasons[finding.place] = "its bounds overlap those of the step before"
            apart = float(finding.left - 1 - last.right)
            outcome.extra[finding.place] = (Check("values between the bounds", apart, ">", 0.0, passed=False),)
            continue
        if last is not None and leaf.kind != "const":
            between = windows[last.left : finding.left, turning - 1]
            samples = confirmable(between, windows[finding.area.last, turning:], radius)
            if samples is not None:
                result = confirm(*samples, leaf.kind, leaf.bound, floor=floor, compatible=compatible)
                check = Check(
                    f"{result.kind} against the data since the step before",
                    abs(result.value) * (unit if result.kind in IN_UNIT else 1.0),
                    ">=",
                    result.bound * (unit if result.kind in IN_UNIT else 1.0),
                    passed=result.passed,
                )
                if not result.passed:
                    del outcome.taken[finding.place]
                    outcome.reasons[finding.place] = "the data since the step before do not confirm it"
                    outcome.extra[finding.place] = (check,)
                    continue
                outcome.taken[finding.place] += (check,)
        last = finding


def _candidates(
    explain: _Explain, wanted: NDArray[np.int8], outcome: _Outcome, rows: NDArray[np.int64], turning: int
) -> tuple[Candidate, ...]:
    found: list[Candidate] = []
    judged = explain.judged
    for window in range(len(wanted)):
        accepted = window in outcome.taken
        checks = explain.checks(window) + outcome.taken.get(window, ()) + outcome.extra.get(window, ())
        if accepted:
            reason = ""
        elif judged.movement[window] == 0:
            reason = "the rule does not hold" if judged.speaker[window] >= 0 else "too few values to judge"
        elif wanted[window] == 0:
            reason = "the change has the other direction"
            checks += (Check("the wanted direction, 1 where it has it", 0.0, ">=", 1.0, passed=False),)
        elif window in outcome.reasons:
            reason = outcome.reasons[window]
        else:
            reason = _OPEN
            checks += (Check("calm windows on both sides", 0.0, ">=", 1.0, passed=False),)
        found.append(Candidate(int(rows[window + turning]), accepted, checks, reason))
    return tuple(found)


def _score(judged: Judged, window: int, unit: float) -> tuple[float, float | None]:
    """Return the strength of a window, and its p-value where it is one."""
    value = judged.value(window)
    kind = judged.fits[int(judged.speaker[window])].kind
    if kind == "mann_whitney_u":
        return -math.log10(max(value, 1e-300)), value
    return abs(value) * (unit if kind in IN_UNIT else 1.0), None


def _steps(
    series: Series, values: NDArray[np.float64], explain: _Explain, outcome: _Outcome, *, alone: bool, turning: int
) -> tuple[Step, ...]:
    windows = sorted(outcome.taken)
    scores = [_score(explain.judged, window, explain.unit) for window in windows]
    evidence = [explain.checks(window) + outcome.taken[window] for window in windows]
    indices = [int(series.rows[window + turning]) for window in windows]
    if not alone:
        return build_steps(
            values,
            indices,
            method="step_fit",
            scores=[score for score, _ in scores],
            p_values=[p_value for _, p_value in scores],
            evidence=evidence,
        )
    width = turning * 2
    return tuple(
        build_step(
            values,
            indices[order],
            method="step_fit",
            first=int(series.rows[window]),
            last=int(series.rows[window + width - 1]),
            score=scores[order][0],
            p_value=scores[order][1],
            order=order,
            evidence=evidence[order],
        )
        for order, window in enumerate(windows)
    )


def _in_single(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``values`` without those that single precision cannot hold, which Skia would not have read."""
    return np.where(np.abs(values) > np.finfo(np.float32).max, np.nan, values)


def detect_step_fit(
    values: NDArray[np.float64],
    *,
    kind: Kind = "original",
    threshold: float | None = None,
    rule: str = "",
    radius: int = 7,
    refiner: Refiner = "bounds",
    direction: Literal["both", "up", "down"] = "both",
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
    chosen = rule_of(kind, threshold, rule)
    if radius < 1 or not floor >= 0:
        raise InputError(
            f"radius is {radius} and floor {floor}", remedy="Give a radius of 1 or more and a floor of 0 or more."
        )
    parameters: dict[str, float | int | str | bool | None] = {
        "rule": write_rule(chosen),
        "radius": radius,
        "refiner": refiner,
        "direction": direction,
        "floor": floor,
        "compatible": compatible,
    }
    series = read_series(_in_single(values) if compatible else values)
    width = window_width(chosen, radius, compatible=compatible)
    windows = slide(series.values, width)
    if not len(windows):
        few = {"values": float(series.values.size), "values in a window": float(width)}
        return Detection("step_fit", parameters, (), (), {"windows": 0.0, **few})
    unit = 1.0 if compatible else power_of_two(series.values)
    if unit != 1:
        windows = windows / unit
    scaled = scaled_rule(chosen, unit)
    judged = judge_windows(windows, scaled, floor=floor, compatible=compatible)
    unwanted = {"both": 0, "up": -1, "down": 1}[direction]
    wanted = np.where(judged.movement == unwanted, 0, judged.movement).astype(np.int8)
    turning = judged.fits[0].turning
    if refiner == "each":
        outcome = _each(wanted)
    else:
        findings = find_bounds(windows, scaled, judged, wanted, longest=2 * radius, floor=floor, compatible=compatible)
        outcome = _joined(findings, series.rows, turning, compatible=compatible)
        if refiner == "confirmed":
            _confirmed(outcome, findings, windows, scaled, radius=radius, floor=floor, unit=unit, compatible=compatible)
    explain = _Explain(chosen, judged, unit)
    return Detection(
        "step_fit",
        parameters,
        _steps(series, values, explain, outcome, alone=refiner == "each", turning=turning),
        _candidates(explain, wanted, outcome, series.rows, turning) if candidates else (),
        {"windows": float(len(windows)), "interesting windows": float(np.count_nonzero(wanted))},
    )
