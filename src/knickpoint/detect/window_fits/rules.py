"""Compound rules: several kinds of step fit, joined by ``and`` and ``or``, and what they make of windows.

How they are written is in :mod:`knickpoint.detect.window_fits.rule_text`.
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
from knickpoint.detect.window_fits.windows import Runs
from knickpoint.model.step import Check

__all__ = [
    "Compound",
    "Judged",
    "Rule",
    "Simple",
    "explain_window",
    "judge",
    "judge_as_skia",
    "leaves",
    "scaled_rule",
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
"""Which of several kinds speaks for the rule: the highest of those that reached their bound."""


@dataclass(frozen=True, slots=True)
class Simple:
    """One kind of fit with its bound."""

    kind: Kind
    bound: float


@dataclass(frozen=True, slots=True)
class Compound:
    """Rules joined by ``operator``."""

    operator: Literal["and", "or"]
    rules: tuple[Rule, ...]


Rule = Simple | Compound


@dataclass(frozen=True, slots=True)
class Judged:
    """Hold what a rule says of many windows, one element a window.

    ``fits`` are those of the rule's leaves, in their order. ``movement`` is that of the whole rule: +1, -1
    or 0. ``speaker`` is the index into ``fits`` of the leaf that speaks for the window, -1 where none could judge.
    """

    fits: tuple[Fits, ...]
    movement: NDArray[np.int8]
    speaker: NDArray[np.int64]

    def value(self, window: int) -> float:
        """Return the value of the leaf that speaks for ``window``, ``nan`` if there is none."""
        speaker = int(self.speaker[window])
        return math.nan if speaker < 0 else float(self.fits[speaker].value[window])

    def part(self, first: int, stop: int) -> Judged:
        """Return what the rule says of windows ``first`` to ``stop - 1``."""
        fits = tuple(fit.part(first, stop) for fit in self.fits)
        return Judged(fits, self.movement[first:stop], self.speaker[first:stop])


def leaves(rule: Rule) -> Iterator[Simple]:
    """Iterate over the simple rules of ``rule``, from left to right."""
    if isinstance(rule, Simple):
        yield rule
        return
    for part in rule.rules:
        yield from leaves(part)


def scaled_rule(rule: Rule, unit: float) -> Rule:
    """Return ``rule`` for values divided by ``unit``."""
    if isinstance(rule, Simple):
        return Simple(rule.kind, rule.bound / unit) if rule.kind in IN_UNIT else rule
    return Compound(rule.operator, tuple(scaled_rule(part, unit) for part in rule.rules))


def window_width(rule: Rule, radius: int, *, compatible: bool) -> int:
    """Return how many values a window has: ``radius`` on each side, and one more where Skia's original fit occurs."""
    odd = compatible and any(leaf.kind == "original" for leaf in leaves(rule))
    return 2 * radius + (1 if odd else 0)


def _agree(rule: Rule, moves: Iterator[NDArray[np.int8]]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return where ``rule`` holds upwards and where downwards, each direction judged by itself."""
    if isinstance(rule, Simple):
        movement = next(moves)
        return movement > 0, movement < 0
    join = np.logical_and if rule.operator == "and" else np.logical_or
    parts = [_agree(part, moves) for part in rule.rules]
    return join.reduce([up for up, _ in parts]), join.reduce([down for _, down in parts])


def _holds(rule: Rule, moves: Iterator[NDArray[np.int8]]) -> NDArray[np.bool_]:
    """Return where ``rule`` holds when directions need not agree, as in Skia."""
    if isinstance(rule, Simple):
        return np.asarray(next(moves) != 0)
    join = np.logical_and if rule.operator == "and" else np.logical_or
    return np.asarray(join.reduce([_holds(part, moves) for part in rule.rules]))


def _speakers(fits: tuple[Fits, ...], heard: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return which leaf speaks for each window: one that is heard (leaves x windows) before one that is not."""
    priority = np.array([[PRIORITY[fit.kind]] for fit in fits])
    rank = np.where([fit.judged for fit in fits], priority + 10 * heard, -1)
    return np.where(rank.max(axis=0) < 0, -1, rank.argmax(axis=0))


def _heard(fits: tuple[Fits, ...], moves: NDArray[np.int8]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return which leaf speaks for each window, and the movement that it speaks of."""
    speaker = _speakers(fits, moves != 0)
    return speaker, np.take_along_axis(moves, np.maximum(speaker, 0)[None, :], 0)[0]


def judge(runs: Runs, rule: Rule, *, floor: float = 1e-4) -> Judged:
    """Judge every window of two neighbouring ``runs`` by ``rule``; leaves of an ``and`` have to agree in direction.

    ``floor`` is that of :func:`~knickpoint.detect.window_fits.fit.fit_steps`.
    """
    fits = tuple(fit_steps(runs, leaf.kind, leaf.bound, floor=floor) for leaf in leaves(rule))
    moves = np.array([fit.movement for fit in fits])
    speaker, spoken = _heard(fits, moves)
    if isinstance(rule, Simple):
        return Judged(fits, spoken, speaker)
    up, down = _agree(rule, iter(moves))
    movement = np.where(up & down, spoken, up.astype(np.int8) - down.astype(np.int8)).astype(np.int8)
    return Judged(fits, movement, np.where(movement != 0, _speakers(fits, moves == movement), speaker))


def judge_as_skia(windows: NDArray[np.floating], rule: Rule, *, floor: float = 1e-3) -> Judged:
    """Judge each row of ``windows`` as Skia does: leaves of an ``and`` need not agree in direction.

    ``floor`` is that of :func:`~knickpoint.detect.window_fits.fit_skia.fit_as_skia`.
    """
    fits = tuple(fit_as_skia(windows, leaf.kind, leaf.bound, floor=floor) for leaf in leaves(rule))
    moves = np.array([fit.movement for fit in fits])
    speaker, spoken = _heard(fits, moves)
    return Judged(fits, np.where(_holds(rule, iter(moves)), spoken, 0).astype(np.int8), speaker)


def explain_window(rule: Rule, judged: Judged, window: int, *, unit: float = 1.0) -> tuple[Check, ...]:
    """Say in numbers what ``rule`` made of a window: a check for each leaf, and one for the whole of a compound rule.

    ``judged`` may be of values divided by ``unit``, with the rule scaled along. A leaf that could not judge has the
    value that says least.
    """
    found: list[Check] = []
    for fit in judged.fits:
        ranks, own = fit.kind == "mann_whitney_u", unit if fit.kind in IN_UNIT else 1.0
        value = abs(float(fit.value[window])) * own if fit.judged[window] else float(ranks)
        bound = fit.bound * own
        passed = value <= bound if ranks else value >= bound
        found.append(Check(fit.kind, value, "<=" if ranks else ">=", bound, passed=passed))
        if passed and not fit.movement[window]:
            found.append(Check("size of the step", 0.0, ">", 0.0, passed=False))
    if isinstance(rule, Compound):
        holds = bool(judged.movement[window])
        found.append(Check("the rule, 1 where it holds", float(holds), ">=", 1.0, passed=holds))
    return tuple(found)
