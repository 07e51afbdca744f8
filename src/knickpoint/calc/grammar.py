"""Read a formula into a tree.

::

    sum     = product (("+" | "-") product)*
    product = signed (("*" | "/") signed)*
    signed  = ("+" | "-") signed | single
    single  = number | text | name "(" [sum ("," sum)*] ")" | "(" sum ")"

A text stands in double quotes; a backslash takes the next character as it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum
from typing import Final

from knickpoint.model.errors import QueryError

# Cut a formula into tokens, each with its column.


LONGEST: Final = 10_000
"""A formula longer than this is refused."""

_PATTERN: Final = re.compile(
    r"""
    (?P<NAME>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<NUMBER>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | "(?P<TEXT>(?:[^"\\]|\\.)*)"
    | (?P<SIGN>[()+\-*/,])
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_SPACE: Final = re.compile(r"\s*")


class Kind(Enum):
    """The kind of a token."""

    NAME = "a name"
    NUMBER = "a number"
    TEXT = "a string"
    SIGN = "a sign"
    END = "the end"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a formula.

    ``start`` and ``stop`` are its offsets in the formula, ``text`` is its text without quotes.
    """

    kind: Kind
    text: str
    start: int
    stop: int


def formula_error(formula: str, offset: int, message: str, remedy: str) -> QueryError:
    """Return an error that names the column of ``offset``, counted from 1."""
    shown = formula if len(formula) <= 120 else f"{formula[:117]}..."
    return QueryError(message, where=f"formula {shown!r}, column {offset + 1}", remedy=remedy)


def _remedy(character: str) -> str:
    """Return the remedy for a character that begins no token."""
    return 'Write a query in double quotes, as in filter("a=b").' if character in "=!~*|" else "Take it out."


def tokenise(formula: str) -> list[Token]:
    """Return the tokens of ``formula``, the end included.

    Raises:
        QueryError: a character that begins no token, a text that is not closed, or a formula that is too long.
    """
    if len(formula) > LONGEST:
        raise formula_error(formula, LONGEST, f"the formula has {len(formula)} characters", f"Stay within {LONGEST}.")
    tokens: list[Token] = []
    offset = 0
    while True:
        space = _SPACE.match(formula, offset)
        assert space is not None
        offset = space.end()
        if offset == len(formula):
            return [*tokens, Token(Kind.END, "", offset, offset)]
        match = _PATTERN.match(formula, offset)
        if match is None or match.lastgroup is None:
            if formula[offset] == '"':
                raise formula_error(formula, offset, "the text that begins here is not closed", 'Close it with ".')
            raise formula_error(formula, offset, f"{formula[offset]!r} has no meaning here", _remedy(formula[offset]))
        kind, text = Kind[match.lastgroup], match[match.lastgroup]
        tokens.append(Token(kind, _ESCAPE.sub(r"\1", text) if kind is Kind.TEXT else text, offset, match.end()))
        offset = match.end()


DEEPEST: Final = 60
"""How deep a formula may nest, operators in a row included."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number. In every node ``start`` and ``stop`` are offsets in the formula, and ``depth`` counts levels."""

    value: float
    start: int
    stop: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Text:
    """A text in quotes."""

    value: str
    start: int
    stop: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments."""

    name: str
    arguments: tuple[Node, ...]
    start: int
    stop: int
    depth: int


@dataclass(frozen=True, slots=True)
class Negative:
    """A minus sign before a value."""

    value: Node
    start: int
    stop: int
    depth: int


@dataclass(frozen=True, slots=True)
class Binary:
    """Two values with an operator between them, which is at ``operator_at``."""

    operator: str
    left: Node
    right: Node
    operator_at: int
    start: int
    stop: int
    depth: int


Node = Number | Text | Call | Negative | Binary


@dataclass(slots=True)
class _Parser:
    formula: str
    tokens: list[Token]
    position: int = 0
    nesting: int = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.position]

    def advance(self) -> Token:
        token = self.next
        self.position += 1
        return token

    def sign(self, signs: str) -> Token | None:
        token = self.next
        return self.advance() if token.kind is Kind.SIGN and token.text in signs else None

    def expect(self, sign: str, remedy: str) -> Token:
        token = self.sign(sign)
        if token is None:
            raise self.unexpected(f"{sign!r}", remedy)
        return token

    def unexpected(self, expected: str, remedy: str) -> Exception:
        token = self.next
        found = "the end of the formula" if token.kind is Kind.END else repr(self.formula[token.start : token.stop])
        return formula_error(self.formula, token.start, f"expected {expected}, got {found}", remedy)

    def deeper(self, depth: int, offset: int) -> int:
        if depth > DEEPEST:
            raise formula_error(
                self.formula, offset, f"the formula is deeper than {DEEPEST} levels", "Write a flatter one."
            )
        return depth

    def row(self, signs: str, part: Callable[[], Node]) -> Node:
        left = part()
        while (operator := self.sign(signs)) is not None:
            right = part()
            depth = self.deeper(max(left.depth, right.depth) + 1, operator.start)
            left = Binary(operator.text, left, right, operator.start, left.start, right.stop, depth)
        return left

    def sum(self) -> Node:
        return self.row("+-", self.product)

    def product(self) -> Node:
        return self.row("*/", self.signed)

    def signed(self) -> Node:
        signs: list[Token] = []
        while (sign := self.sign("+-")) is not None:
            signs.append(sign)
        value = self.single()
        if sum(sign.text == "-" for sign in signs) % 2 == 0:
            return value
        first = signs[0].start
        if isinstance(value, Number):
            return Number(-value.value, first, value.stop)
        return Negative(value, first, value.stop, self.deeper(value.depth + 1, first))

    def single(self) -> Node:
        token = self.next
        self.nesting = self.deeper(self.nesting + 1, token.start)
        node = self._single(token)
        self.nesting -= 1
        return node

    def _single(self, token: Token) -> Node:
        if token.kind is Kind.NUMBER:
            self.advance()
            number = float(token.text)
            if math.isinf(number):
                raise formula_error(self.formula, token.start, "the number is too large", "Give one below 1e308.")
            return Number(number, token.start, token.stop)
        if token.kind is Kind.TEXT:
            self.advance()
            return Text(token.text, token.start, token.stop)
        if token.kind is Kind.NAME:
            return self.call(self.advance())
        if self.sign("("):
            inner = self.sum()
            self.expect(")", "Close the parenthesis.")
            return inner
        raise self.unexpected("a function, a string or a number", 'Write a formula as: norm(filter("config=8888")).')

    def call(self, name: Token) -> Node:
        self.expect("(", f"Write {name.text}(…).")
        arguments: list[Node] = []
        end = self.sign(")")
        while end is None:
            arguments.append(self.sum())
            end = self.sign(")")
            if end is None:
                self.expect(",", "Separate arguments with commas, and close the parenthesis.")
        depth = self.deeper(1 + max((argument.depth for argument in arguments), default=0), name.start)
        return Call(name.text, tuple(arguments), name.start, end.stop, depth)


def parse(formula: str) -> Node:
    """Read ``formula`` into a tree.

    Raises:
        QueryError: it is not a formula; the message names the column and the remedy.
    """
    parser = _Parser(formula, tokenise(formula))
    node = parser.sum()
    if parser.next.kind is not Kind.END:
        raise parser.unexpected("an operator or the end", "Take out what follows the formula.")
    return node


# Derive the unit of a calculated trace from its formula.
#
# A formula keeps the unit of the traces that it reads where every function and operator keeps it. After ``norm``,
# values are standard deviations of each trace. Any other formula has no unit.


_DEVIATIONS: Final = "σ"
"""The unit of normalised traces: standard deviations of each."""

_KEEPING: Final = frozenset(
    {"filter", "shortcut", "ave", "avg", "sum", "min", "max", "geo", "std", "fill", "iqrr"}
    | {"trace_ave", "trace_avg", "trace_stddev"}
)
"""Functions whose result has the unit of their arguments."""


def unit_of(node: Node, units: Collection[str]) -> str:
    """Return the unit of a formula over traces of ``units``, "" where it has none or several are mixed."""
    if _is_normalised(node):
        return _DEVIATIONS
    return next(iter(units)) if len(units) == 1 and _keeps_unit(node) else ""


def _is_normalised(node: Node) -> bool:
    """Whether the value of a node is in standard deviations of each trace."""
    match node:
        case Call(name="norm"):
            return True
        case Call(name=name, arguments=arguments):
            parts = [each for each in arguments if isinstance(each, Call | Binary | Negative)]
            return name in _KEEPING and bool(parts) and all(map(_is_normalised, parts))
        case Negative(value=value):
            return _is_normalised(value)
        case Binary(operator="+" | "-", left=left, right=right):
            return _is_normalised(left) and _is_normalised(right)
    return False


def _keeps_unit(node: Node) -> bool:
    """Whether the value of a node has the unit of the traces that it reads."""
    match node:
        case Call(name=name, arguments=arguments):
            return name in _KEEPING and all(
                _keeps_unit(each) for each in arguments if isinstance(each, Call | Binary | Negative)
            )
        case Negative(value=value):
            return _keeps_unit(value)
        case Binary(operator="+" | "-", left=left, right=right):
            return _keeps_unit(left) and _keeps_unit(right)
        case Binary(operator="*", left=Number(), right=other) | Binary(operator="*" | "/", left=other, right=Number()):
            return _keeps_unit(other)
    return False
