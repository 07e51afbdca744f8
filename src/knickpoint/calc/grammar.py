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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from knickpoint.calc.tokens import Kind, Token, formula_error, tokenise

__all__ = ["DEEPEST", "Binary", "Call", "Negative", "Node", "Number", "Text", "parse"]

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
        return formula_error(self.formula, token.start, f"{found} where {expected} is expected", remedy)

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
        raise self.unexpected("a function, a text or a number", 'Write a formula as: norm(filter("config=8888")).')

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
        QueryError: it is no formula; the message names the column and the remedy.
    """
    parser = _Parser(formula, tokenise(formula))
    node = parser.sum()
    if parser.next.kind is not Kind.END:
        raise parser.unexpected("an operator or the end", "Take out what follows the formula.")
    return node
