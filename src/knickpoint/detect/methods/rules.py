"""Compound rules: several kinds of step fit, joined by ``and`` and ``or``.

The text of a rule::

    cohen >= 1.5 and (percent >= 0.03 or absolute >= 10)
    mann_whitney_u <= 0.01

``and`` binds tighter than ``or``; the relation is ``<=`` for ``mann_whitney_u`` and ``>=`` for all others, and
may be left out. The JSON of Skia Perf (``{"complex_rule": {"op": "AND", "rules": [...]}}``) is read, too.
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

from knickpoint.detect.methods.fit import IN_UNIT, KINDS, Fits, Kind, fit_steps
from knickpoint.model.errors import InputError
from knickpoint.model.step import Check

__all__ = [
    "Compound",
    "Judged",
    "Rule",
    "Simple",
    "explain_window",
    "judge_windows",
    "leaves",
    "read_rule",
    "scaled_rule",
    "window_width",
    "write_rule",
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

_DEEPEST: Final = 20
_SKIA_NAMES: Final = {"": "original", "mannwhitneyu": "mann_whitney_u"}
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<word>[A-Za-z_]+)|(?P<relation>>=|<=)|(?P<number>[-+]?[0-9.][0-9.eE+-]*)|(?P<sign>[()]))"
)


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


def write_rule(rule: Rule) -> str:
    """Return the text of ``rule``, which :func:`read_rule` reads back."""
    if isinstance(rule, Simple):
        return f"{rule.kind} {'<=' if rule.kind == 'mann_whitney_u' else '>='} {rule.bound:.12g}"
    parts = (write_rule(part) if isinstance(part, Simple) else f"({write_rule(part)})" for part in rule.rules)
    return f" {rule.operator} ".join(parts)


def _refuse(text: str, column: int, found: str, expected: str) -> InputError:
    return InputError(
        f"{found} where {expected} is expected",
        where=f"rule {text!r}, column {column + 1}",
        remedy="Write a rule as: cohen >= 2 and percent >= 0.03.",
    )


@dataclass(slots=True)
class _Reader:
    text: str
    tokens: list[tuple[str, str, int]]
    place: int = 0

    @classmethod
    def of(cls, text: str) -> _Reader:
        tokens: list[tuple[str, str, int]] = []
        at = 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None or match.lastgroup is None:
                start = at + len(text[at:]) - len(text[at:].lstrip())
                raise _refuse(text, start, repr(text[start]), "a kind, a number or a parenthesis")
            tokens.append((match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            at = match.end()
        return cls(text, tokens)

    def peek(self) -> tuple[str, str, int]:
        return self.tokens[self.place] if self.place < len(self.tokens) else ("end", "", len(self.text))

    def take(self, kind: str, expected: str) -> tuple[str, int]:
        found, token, column = self.peek()
        if found != kind:
            raise _refuse(self.text, column, repr(token) if token else "nothing", expected)
        self.place += 1
        return token, column

    def alternatives(self, depth: int) -> Rule:
        rules = [self.conjunction(depth)]
        while self._word("or"):
            rules.append(self.conjunction(depth))
        return rules[0] if len(rules) == 1 else Compound("or", tuple(rules))

    def conjunction(self, depth: int) -> Rule:
        rules = [self.single(depth)]
        while self._word("and"):
            rules.append(self.single(depth))
        return rules[0] if len(rules) == 1 else Compound("and", tuple(rules))

    def _word(self, word: str) -> bool:
        kind, token, _ = self.peek()
        found = kind == "word" and token.lower() == word
        self.place += found
        return found

    def single(self, depth: int) -> Rule:
        kind, token, column = self.peek()
        if depth > _DEEPEST:
            raise _refuse(self.text, column, f"a rule deeper than {_DEEPEST} parentheses", "a flatter one")
        if (kind, token) == ("sign", "("):
            self.place += 1
            inner = self.alternatives(depth + 1)
            sign, column = self.take("sign", "a closing parenthesis")
            if sign != ")":
                raise _refuse(self.text, column, repr(sign), "a closing parenthesis")
            return inner
        name, column = self.take("word", f"one of {', '.join(KINDS)}")
        wanted = _kind(name, f"rule {self.text!r}, column {column + 1}")
        self._relation(wanted)
        number, column = self.take("number", "a number")
        return Simple(wanted, _bound(number, f"rule {self.text!r}, column {column + 1}"))

    def _relation(self, kind: Kind) -> None:
        group, token, column = self.peek()
        right = "<=" if kind == "mann_whitney_u" else ">="
        if group == "relation":
            self.place += 1
            if token != right:
                raise _refuse(self.text, column, repr(token), f"{right!r} for {kind}")


def _kind(name: str, where: str) -> Kind:
    wanted = _SKIA_NAMES.get(name, name)
    for kind in KINDS:
        if kind == wanted:
            return kind
    raise InputError(f"there is no kind of fit {name!r}", where=where, remedy=f"The kinds are: {', '.join(KINDS)}.")


def _bound(value: object, where: str) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{value!r} is not a bound", where=where, remedy="Give a finite number.")
    return number


def _from_json(node: Any, where: str, depth: int) -> Rule:
    if depth > _DEEPEST:
        raise InputError(f"the rule is deeper than {_DEEPEST} levels", where=where, remedy="Write a flatter one.")
    if not isinstance(node, Mapping) or ("simple_rule" in node) == ("complex_rule" in node):
        raise InputError("a rule has either simple_rule or complex_rule", where=where, remedy="Give one of the two.")
    if "simple_rule" in node:
        leaf = node["simple_rule"]
        if not isinstance(leaf, Mapping):
            raise InputError("simple_rule is not an object", where=where, remedy="Give step and threshold.")
        return Simple(_kind(str(leaf.get("step", "")), where), _bound(leaf.get("threshold"), where))
    inner = node["complex_rule"]
    parts = inner.get("rules") if isinstance(inner, Mapping) else None
    operator = str(inner.get("op", "")).lower() if isinstance(inner, Mapping) else ""
    if not isinstance(parts, list) or not parts:
        raise InputError("complex_rule has no rules", where=where, remedy="Give at least one.")
    if operator not in {"and", "or"}:
        raise InputError(f"{operator!r} joins no rules", where=where, remedy="Give AND or OR.")
    return Compound(
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
        raise _refuse(text, column, repr(token), "and, or, or the end")
    return rule


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


def judge_windows(
    windows: NDArray[np.floating], rule: Rule, *, floor: float = 1e-4, compatible: bool = False
) -> Judged:
    """Judge each row of ``windows`` by ``rule``; the arguments are those of :func:`fit_steps`.

    Leaves of an ``and`` have to agree in direction, except when ``compatible``.
    """
    fits = tuple(fit_steps(windows, leaf.kind, leaf.bound, floor=floor, compatible=compatible) for leaf in leaves(rule))
    moves = np.array([fit.movement for fit in fits])
    speaker = _speakers(fits, moves != 0)
    spoken = np.take_along_axis(moves, np.maximum(speaker, 0)[None, :], 0)[0]
    if compatible:
        return Judged(fits, np.where(_holds(rule, iter(moves)), spoken, 0).astype(np.int8), speaker)
    up, down = _agree(rule, iter(moves))
    movement = np.where(up & down, spoken, up.astype(np.int8) - down.astype(np.int8)).astype(np.int8)
    return Judged(fits, movement, np.where(movement != 0, _speakers(fits, moves == movement), speaker))


def explain_window(rule: Rule, judged: Judged, window: int, *, unit: float = 1.0) -> tuple[Check, ...]:
    """Say in numbers what ``rule`` made of a window: a check for each leaf, and one for the whole of a compound rule.

    ``judged`` may be of values divided by ``unit``, with the rule scaled along. A leaf that could not judge has the
    value that says least.
    """
    found: list[Check] = []
    for fit, leaf in zip(judged.fits, leaves(rule), strict=True):
        ranks = fit.kind == "mann_whitney_u"
        value = abs(float(fit.value[window])) if fit.judged[window] else float(ranks)
        if fit.kind in IN_UNIT:
            value *= unit
        passed = bool(fit.movement[window])
        found.append(Check(fit.kind, value, "<=" if ranks else ">=", leaf.bound, passed=passed))
    if isinstance(rule, Compound):
        holds = bool(judged.movement[window])
        found.append(Check("the rule, 1 where it holds", float(holds), ">=", 1.0, passed=holds))
    return tuple(found)
