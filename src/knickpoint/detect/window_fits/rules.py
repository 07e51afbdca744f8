"""Rules: one or several kinds of step fit, joined by ``and`` and ``or``, and what they decide about windows.

A rule is a tree. Its leaves are simple rules, each a kind of fit with a bound. The text form of rules is in
:mod:`knickpoint.detect.window_fits.rules`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.window_fits.fit import IN_UNIT, KINDS, Fits, Kind, fit_steps
from knickpoint.detect.window_fits.fit_skia import fit_as_skia
from knickpoint.detect.window_fits.windows import HalfWindows
from knickpoint.model.errors import InputError
from knickpoint.model.step import Check

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
        """Return the decision of the rule about windows ``first`` to ``stop - 1``."""
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
    """Return the number of values of a window: ``radius`` on each side, and one more with Skia's original fit."""
    odd = compatible and any(simple.kind == "original" for simple in simple_rules(rule))
    return 2 * radius + (1 if odd else 0)


def _holds_in_one_direction(
    rule: Rule, moves: Iterator[NDArray[np.int8]]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the windows in which ``rule`` holds upwards and downwards.

    The parts of an ``and`` have to agree in direction.
    """
    if isinstance(rule, SimpleRule):
        movement = next(moves)
        return movement > 0, movement < 0
    join = np.logical_and if rule.operator == "and" else np.logical_or
    parts = [_holds_in_one_direction(part, moves) for part in rule.rules]
    return join.reduce([up for up, _ in parts]), join.reduce([down for _, down in parts])


def _holds_in_any_direction(rule: Rule, moves: Iterator[NDArray[np.int8]]) -> NDArray[np.bool_]:
    """Return the windows in which ``rule`` holds if the directions of its parts need not agree, as in Skia."""
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
    """Apply ``rule`` to every window of two neighbouring ``halves``.

    The parts of an ``and`` have to agree in direction.

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


# The text of rules: ``cohen >= 1.5 and (percent >= 0.03 or absolute >= 10)``, or ``mann_whitney_u <= 0.01``.
#
# ``and`` binds tighter than ``or``. The relation is ``<=`` for ``mann_whitney_u`` and ``>=`` for all others, and may be
# left out. :func:`read_rule` also reads the JSON of Skia Perf (``{"complex_rule": {"op": "AND", "rules": [...]}}``).


_DEEPEST: Final = 20
"""Levels of parentheses that a rule may have."""

"""Levels of parentheses that a rule may have."""

_SKIA_NAMES: Final = {"": "original", "mannwhitneyu": "mann_whitney_u"}
"""Kinds of fit that Skia spells differently."""

"""Kinds of fit that Skia spells differently."""

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<word>[A-Za-z_]+)|(?P<relation>>=|<=)|(?P<number>[-+]?[0-9.][0-9.eE+-]*)|(?P<sign>[()]))"
)


def write_rule(rule: Rule) -> str:
    """Return the text of ``rule``, which :func:`read_rule` reads back."""
    if isinstance(rule, SimpleRule):
        short = f"{rule.bound:g}"
        bound = short if float(short) == rule.bound else repr(rule.bound)
        return f"{rule.kind} {'<=' if rule.kind == 'mann_whitney_u' else '>='} {bound}"
    parts = (write_rule(part) if isinstance(part, SimpleRule) else f"({write_rule(part)})" for part in rule.rules)
    return f" {rule.operator} ".join(parts)


def _syntax_error(text: str, column: int, found: str, expected: str) -> InputError:
    return InputError(
        f"expected {expected}, got {found}",
        where=f"rule {text!r}, column {column + 1}",
        remedy="Write a rule as: cohen >= 2 and percent >= 0.03.",
    )


@dataclass(slots=True)
class _Reader:
    """Read a rule by recursive descent; ``tokens`` are kind, text and column, ``position`` is the next of them."""

    text: str
    tokens: list[tuple[str, str, int]]
    position: int = 0

    @classmethod
    def of(cls, text: str) -> _Reader:
        tokens: list[tuple[str, str, int]] = []
        offset = 0
        while text[offset:].strip():
            match = _TOKEN.match(text, offset)
            if match is None or match.lastgroup is None:
                start = offset + len(text[offset:]) - len(text[offset:].lstrip())
                raise _syntax_error(text, start, repr(text[start]), "a kind, a number or a parenthesis")
            tokens.append((match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            offset = match.end()
        return cls(text, tokens)

    def peek(self) -> tuple[str, str, int]:
        return self.tokens[self.position] if self.position < len(self.tokens) else ("end", "", len(self.text))

    def take(self, kind: str, expected: str) -> tuple[str, int]:
        found, token, column = self.peek()
        if found != kind:
            raise _syntax_error(self.text, column, repr(token) if token else "nothing", expected)
        self.position += 1
        return token, column

    def alternatives(self, depth: int) -> Rule:
        rules = [self.conjunction(depth)]
        while self._word("or"):
            rules.append(self.conjunction(depth))
        return rules[0] if len(rules) == 1 else CompoundRule("or", tuple(rules))

    def conjunction(self, depth: int) -> Rule:
        rules = [self.single(depth)]
        while self._word("and"):
            rules.append(self.single(depth))
        return rules[0] if len(rules) == 1 else CompoundRule("and", tuple(rules))

    def _word(self, word: str) -> bool:
        kind, token, _ = self.peek()
        found = kind == "word" and token.lower() == word
        self.position += found
        return found

    def single(self, depth: int) -> Rule:
        kind, token, column = self.peek()
        if depth > _DEEPEST:
            raise _syntax_error(self.text, column, f"a rule deeper than {_DEEPEST} parentheses", "a flatter one")
        if (kind, token) == ("sign", "("):
            self.position += 1
            inner = self.alternatives(depth + 1)
            sign, column = self.take("sign", "a closing parenthesis")
            if sign != ")":
                raise _syntax_error(self.text, column, repr(sign), "a closing parenthesis")
            return inner
        name, column = self.take("word", f"one of {', '.join(KINDS)}")
        fit_kind = _kind(name, f"rule {self.text!r}, column {column + 1}")
        self._relation(fit_kind)
        number, column = self.take("number", "a number")
        return SimpleRule(fit_kind, _bound(number, f"rule {self.text!r}, column {column + 1}"))

    def _relation(self, kind: Kind) -> None:
        group, token, column = self.peek()
        right = "<=" if kind == "mann_whitney_u" else ">="
        if group == "relation":
            self.position += 1
            if token != right:
                raise _syntax_error(self.text, column, repr(token), f"{right!r} for {kind}")


def _kind(name: str, where: str) -> Kind:
    spelled = _SKIA_NAMES.get(name, name)
    for kind in KINDS:
        if kind == spelled:
            return kind
    raise InputError(f"there is no kind of fit {name!r}", where=where, remedy=f"The kinds are: {', '.join(KINDS)}.")


def _bound(value: object, where: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise InputError(
            f"{value!r} is not a bound", where=where, remedy="Give a finite number of 0 or more; both directions count."
        )
    return number


def _from_json(node: Any, where: str, depth: int) -> Rule:
    if depth > _DEEPEST:
        raise InputError(f"the rule is deeper than {_DEEPEST} levels", where=where, remedy="Write a flatter one.")
    if not isinstance(node, Mapping) or ("simple_rule" in node) == ("complex_rule" in node):
        raise InputError("a rule has either simple_rule or complex_rule", where=where, remedy="Give one of the two.")
    if "simple_rule" in node:
        simple = node["simple_rule"]
        if not isinstance(simple, Mapping):
            raise InputError("simple_rule is not an object", where=where, remedy="Give step and threshold.")
        return SimpleRule(_kind(str(simple.get("step", "")), where), _bound(simple.get("threshold"), where))
    inner = node["complex_rule"]
    parts = inner.get("rules") if isinstance(inner, Mapping) else None
    operator = str(inner.get("op", "")).lower() if isinstance(inner, Mapping) else ""
    if not isinstance(parts, list) or not parts:
        raise InputError("complex_rule has no rules", where=where, remedy="Give at least one.")
    if operator not in {"and", "or"}:
        raise InputError(f"{operator!r} joins no rules", where=where, remedy="Give AND or OR.")
    return CompoundRule(
        "and" if operator == "and" else "or",
        tuple(_from_json(part, f"{where}, rule {number}", depth + 1) for number, part in enumerate(parts, start=1)),
    )


def read_rule(text: str) -> Rule:
    """Read the text of a rule, or the JSON of one.

    Raises:
        InputError: it is not a rule; the message names the column.
    """
    if text.lstrip().startswith("{"):
        try:
            node = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError(f"the rule is not JSON ({error})", remedy="Check its brackets and quotes.") from error
        return _from_json(node, "rule", 0)
    reader = _Reader.of(text)
    rule = reader.alternatives(0)
    group, token, column = reader.peek()
    if group != "end":
        raise _syntax_error(text, column, repr(token), "and, or, or the end")
    return rule
