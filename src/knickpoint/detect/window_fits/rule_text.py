"""The text of rules, read and written.

For example::

    cohen >= 1.5 and (percent >= 0.03 or absolute >= 10)
    mann_whitney_u <= 0.01

``and`` binds tighter than ``or``. The relation is ``<=`` for ``mann_whitney_u`` and ``>=`` for all others, and
may be left out. :func:`read_rule` also reads the JSON of Skia Perf
(``{"complex_rule": {"op": "AND", "rules": [...]}}``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from knickpoint.detect.window_fits.fit import KINDS, Kind
from knickpoint.detect.window_fits.rules import CompoundRule, Rule, SimpleRule
from knickpoint.model.errors import InputError

__all__ = ["read_rule", "write_rule"]

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
        f"{found} where {expected} is expected",
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
