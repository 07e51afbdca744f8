"""Rules: one or several kinds of step fit, joined by ``and`` and ``or``, and what they decide about windows.

A rule is a tree. Its leaves are simple rules, each a kind of fit with a bound. The text form of rules is in
:mod:`knickpoint.detect.window_fits.rule_text`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.window_fits.fit import IN_UNIT, Fits, Kind, fit_steps
from knickpoint.detect.window_fits.fit_skia import fit_as_skia
from knickpoint.detect.window_fits.windows import HalfWindows
from knickpoint.model.step import Check

__all__ = [
    "PRIORITY",
    "CompoundRule",
    "Rule",
    "RuleResult",
    "SimpleRule",
    "apply_rule",
    "apply_rule_as_skia",
    "explain_window",
    "scaled_rule",
    "simple_rules",
    "window_width",
]

PRIORITY: Final[dict[Kind, int]] = {
    "stepiness": 6,
    "cohen": 5,
    "percent": 4,
    "percent_median": 4,
    "absolute": 3,
    "const": 3,
    "mann_whitney_u": 2,
    "original": 1,
}
"""Which kind is decisive, so that its value is reported: the highest of those that reached their bound."""


@dataclass(frozen=True, slots=True)
class SimpleRule:
    """One kind of fit with its bound."""

    kind: Kind
    bound: float


@dataclass(frozen=True, slots=True)
class CompoundRule:
    """Rules joined by ``operator``."""

    operator: Literal["and", "or"]
    rules: tuple[Rule, ...]


Rule = SimpleRule | CompoundRule


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What a rule decides about many windows, one element a window.

    Attributes:
        fits: the fits of the simple rules, from left to right.
        movement: +1, -1, or 0 where the rule does not hold.
        decisive: index into ``fits`` of the fit whose value is reported for the window, -1 where none is defined.
    """

    fits: tuple[Fits, ...]
    movement: NDArray[np.int8]
    decisive: NDArray[np.int64]

    def value(self, window: int) -> float:
        """Return the value of the decisive fit of ``window``, ``nan`` if there is none."""
        decisive = int(self.decisive[window])
        return math.nan if decisive < 0 else float(self.fits[decisive].value[window])

    def part(self, first: int, stop: int) -> RuleResult:
        """Return what the rule decides about windows ``first`` to ``stop - 1``."""
        fits = tuple(fit.part(first, stop) for fit in self.fits)
        return RuleResult(fits, self.movement[first:stop], self.decisive[first:stop])


def simple_rules(rule: Rule) -> Iterator[SimpleRule]:
    """Yield the simple rules of ``rule``, from left to right."""
    if isinstance(rule, SimpleRule):
        yield rule
        return
    for part in rule.rules:
        yield from simple_rules(part)


def scaled_rule(rule: Rule, unit: float) -> Rule:
    """Return ``rule`` for values divided by ``unit``."""
    if isinstance(rule, SimpleRule):
        return SimpleRule(rule.kind, rule.bound / unit) if rule.kind in IN_UNIT else rule
    return CompoundRule(rule.operator, tuple(scaled_rule(part, unit) for part in rule.rules))


def window_width(rule: Rule, radius: int, *, compatible: bool) -> int:
    """Return how many values a window has: ``radius`` on each side, and one more where Skia's original fit occurs."""
    odd = compatible and any(simple.kind == "original" for simple in simple_rules(rule))
    return 2 * radius + (1 if odd else 0)


def _holds_in_one_direction(
    rule: Rule, moves: Iterator[NDArray[np.int8]]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return where ``rule`` holds upwards and where downwards; the parts of an ``and`` have to agree in direction."""
    if isinstance(rule, SimpleRule):
        movement = next(moves)
        return movement > 0, movement < 0
    join = np.logical_and if rule.operator == "and" else np.logical_or
    parts = [_holds_in_one_direction(part, moves) for part in rule.rules]
    return join.reduce([up for up, _ in parts]), join.reduce([down for _, down in parts])


def _holds_in_any_direction(rule: Rule, moves: Iterator[NDArray[np.int8]]) -> NDArray[np.bool_]:
    """Return where ``rule`` holds when the directions of its parts need not agree, as in Skia."""
    if isinstance(rule, SimpleRule):
        return np.asarray(next(moves) != 0)
    join = np.logical_and if rule.operator == "and" else np.logical_or
    return np.asarray(join.reduce([_holds_in_any_direction(part, moves) for part in rule.rules]))


def _decisive_fits(fits: tuple[Fits, ...], eligible: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the index of the decisive fit of each window: eligible ones (fits x windows) first, then by priority."""
    priority = np.array([[PRIORITY[fit.kind]] for fit in fits])
    rank = np.where([fit.defined for fit in fits], priority + 10 * eligible, -1)
    return np.where(rank.max(axis=0) < 0, -1, rank.argmax(axis=0))


def _decisive_moves(fits: tuple[Fits, ...], moves: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return the index of the decisive fit of each window, and its movement."""
    decisive = _decisive_fits(fits, moves != 0)
    return decisive, np.take_along_axis(moves, np.maximum(decisive, 0)[None, :], 0)[0]


def apply_rule(halves: HalfWindows, rule: Rule, *, floor: float = 1e-4) -> RuleResult:
    """Apply ``rule`` to every window of two neighbouring ``halves``; the parts of an ``and`` have to agree in direction.

    ``floor`` is that of :func:`~knickpoint.detect.window_fits.fit.fit_steps`.
    """
    fits = tuple(fit_steps(halves, simple.kind, simple.bound, floor=floor) for simple in simple_rules(rule))
    moves = np.array([fit.movement for fit in fits])
    decisive, decisive_move = _decisive_moves(fits, moves)
    if isinstance(rule, SimpleRule):
        return RuleResult(fits, decisive_move, decisive)
    # An "or" can hold in both directions at once; then the decisive fit chooses. Otherwise the direction is clear, and
    # only a fit that moved in it can be decisive.
    up, down = _holds_in_one_direction(rule, iter(moves))
    movement = np.where(up & down, decisive_move, up.astype(np.int8) - down.astype(np.int8)).astype(np.int8)
    return RuleResult(fits, movement, np.where(movement != 0, _decisive_fits(fits, moves == movement), decisive))


def apply_rule_as_skia(windows: NDArray[np.floating], rule: Rule, *, floor: float = 1e-3) -> RuleResult:
    """Apply ``rule`` to each row of ``windows`` as Skia does: the parts of an ``and`` need not agree in direction.

    ``floor`` is that of :func:`~knickpoint.detect.window_fits.fit_skia.fit_as_skia`.
    """
    fits = tuple(fit_as_skia(windows, simple.kind, simple.bound, floor=floor) for simple in simple_rules(rule))
    moves = np.array([fit.movement for fit in fits])
    decisive, decisive_move = _decisive_moves(fits, moves)
    holds = _holds_in_any_direction(rule, iter(moves))
    return RuleResult(fits, np.where(holds, decisive_move, 0).astype(np.int8), decisive)


def explain_window(rule: Rule, result: RuleResult, window: int, *, unit: float = 1.0) -> tuple[Check, ...]:
    """Return the checks of a window: one for each simple rule, and one for the whole of a compound rule.

    The rule may have been applied to values divided by ``unit``, and scaled along. Where a fit is undefined, its check
    has the value that is furthest from the bound.
    """
    checks: list[Check] = []
    for fit in result.fits:
        is_p_value, scale = fit.kind == "mann_whitney_u", unit if fit.kind in IN_UNIT else 1.0
        value = abs(float(fit.value[window])) * scale if fit.defined[window] else float(is_p_value)
        bound = fit.bound * scale
        passed = value <= bound if is_p_value else value >= bound
        checks.append(Check(fit.kind, value, "<=" if is_p_value else ">=", bound, passed=passed))
        if passed and not fit.movement[window]:
            checks.append(Check("size of the step", 0.0, ">", 0.0, passed=False))
    if isinstance(rule, CompoundRule):
        holds = bool(result.movement[window])
        checks.append(Check("the rule, 1 where it holds", float(holds), ">=", 1.0, passed=holds))
    return tuple(checks)
