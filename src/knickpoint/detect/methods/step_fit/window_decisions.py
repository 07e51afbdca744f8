"""What becomes of the windows of a step fit: which are steps, and what the others lack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.methods.step_fit.refinement import Finding, Refiner, confirm, confirmable, find_bounds
from knickpoint.detect.window_fits.fit import IN_UNIT
from knickpoint.detect.window_fits.rules import Judged, Rule, explain_window, leaves, scaled_rule
from knickpoint.model.step import Candidate, Check

__all__ = ["Outcome", "Seen", "describe", "settle"]

_OPEN: Final = "no weaker window on both sides yet: more data may move the step"


@dataclass(frozen=True, slots=True)
class Seen:
    """A series as a step fit sees it.

    ``rows`` are where its values come from. ``windows`` are consecutive, and ``judged`` by ``rule``; they and what
    was judged count in ``unit``. ``wanted`` is the movement of each window, 0 where it does not count.
    """

    rows: NDArray[np.int64]
    windows: NDArray[np.float64]
    rule: Rule
    judged: Judged
    wanted: NDArray[np.int8]
    unit: float
    radius: int
    floor: float
    compatible: bool

    @property
    def turning(self) -> int:
        """How many values of a window are before its middle."""
        return self.judged.fits[0].turning

    def index(self, window: int) -> int:
        """Return the row at the middle of ``window``."""
        return int(self.rows[window + self.turning])

    def checks(self, window: int) -> tuple[Check, ...]:
        """Return what the rule compared in ``window``."""
        return explain_window(self.rule, self.judged, window, unit=self.unit)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the windows: ``taken`` maps those that are steps to the evidence that this adds.

    ``reasons`` says of others what speaks against them, and ``against`` says it in numbers.
    """

    taken: dict[int, tuple[Check, ...]]
    reasons: dict[int, str]
    against: dict[int, tuple[Check, ...]]

    def refuse(self, window: int, reason: str, *checks: Check) -> None:
        """Note why ``window`` is no step."""
        self.taken.pop(window, None)
        self.reasons[window], self.against[window] = reason, checks


def _bounds_of(finding: Finding, seen: Seen) -> tuple[Check, ...]:
    return (
        Check("earliest index", float(seen.index(finding.left))),
        Check("latest index", float(seen.index(finding.right))),
        Check("windows that agree", float(finding.area.last - finding.area.first + 1)),
    )


def _joined(findings: list[Finding], seen: Seen) -> Outcome:
    """Take the place of each finding, and refuse the other windows of its area."""
    outcome = Outcome({}, {}, {})
    for finding in findings:
        at = seen.index(finding.place)
        for window in range(finding.area.first, finding.area.last + 1):
            away = Check("commits to the best division", float(abs(seen.index(window) - at)), "<=", 0.0, passed=False)
            if window != finding.place:
                outcome.refuse(window, f"the step that this window sees lies at index {at}", away)
        if finding.open_end and not seen.compatible:
            weaker = Check("weaker windows on both sides", 0.0, ">=", 1.0, passed=False)
            outcome.refuse(finding.place, _OPEN, weaker, *_bounds_of(finding, seen))
        else:
            outcome.taken[finding.place] = _bounds_of(finding, seen)
    return outcome


def _confirm(outcome: Outcome, findings: list[Finding], seen: Seen) -> None:
    """Refuse the findings that the data since the finding before do not confirm."""
    leaf = next(iter(leaves(seen.rule)))
    turning = seen.turning
    last: Finding | None = None
    for finding in findings:
        if finding.place not in outcome.taken:
            continue
        if last is not None and finding.left - 1 <= last.right:
            apart = Check("values between the bounds", float(finding.left - 1 - last.right), ">", 0.0, passed=False)
            outcome.refuse(finding.place, "its bounds overlap those of the step before", apart)
            continue
        if last is not None and leaf.kind != "const":
            between = seen.windows[last.left : finding.left, turning - 1]
            samples = confirmable(between, seen.windows[finding.area.last, turning:], seen.radius)
            if samples is not None:
                result = confirm(*samples, leaf.kind, leaf.bound, floor=seen.floor, compatible=seen.compatible)
                unit = seen.unit if result.kind in IN_UNIT else 1.0
                name = f"{result.kind} against the data since the step before"
                check = Check(name, abs(result.value) * unit, ">=", result.bound * unit, passed=result.passed)
                if not result.passed:
                    outcome.refuse(finding.place, "the data since the step before do not confirm it", check)
                    continue
                outcome.taken[finding.place] += (check,)
        last = finding


def settle(seen: Seen, refiner: Refiner) -> Outcome:
    """Decide which windows are steps."""
    if refiner == "each":
        return Outcome({int(window): () for window in np.flatnonzero(seen.wanted)}, {}, {})
    findings = find_bounds(
        seen.windows,
        scaled_rule(seen.rule, seen.unit),
        seen.judged,
        seen.wanted,
        longest=2 * seen.radius,
        floor=seen.floor,
        compatible=seen.compatible,
    )
    outcome = _joined(findings, seen)
    if refiner == "confirmed":
        _confirm(outcome, findings, seen)
    return outcome


def _refusal(seen: Seen, outcome: Outcome, window: int) -> tuple[str, tuple[Check, ...]]:
    """Return why ``window`` is no step, in words and, beyond what the rule compared, in numbers."""
    if seen.judged.movement[window] == 0:
        return ("the rule does not hold" if seen.judged.speaker[window] >= 0 else "too few values to judge"), ()
    if seen.wanted[window] == 0:
        wanted = Check("the wanted direction, 1 where it has it", 0.0, ">=", 1.0, passed=False)
        return "the change has the other direction", (wanted,)
    if window in outcome.reasons:
        return outcome.reasons[window], outcome.against[window]
    return _OPEN, (Check("calm windows on both sides", 0.0, ">=", 1.0, passed=False),)


def describe(seen: Seen, outcome: Outcome) -> tuple[Candidate, ...]:
    """Describe every window as a candidate."""
    found: list[Candidate] = []
    for window in range(len(seen.wanted)):
        if window in outcome.taken:
            reason, more = "", outcome.taken[window]
        else:
            reason, more = _refusal(seen, outcome, window)
        found.append(Candidate(seen.index(window), not reason, seen.checks(window) + more, reason))
    return tuple(found)
