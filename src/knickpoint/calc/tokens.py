"""Cut a formula into tokens, each with its column."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from knickpoint.model.errors import QueryError

__all__ = ["LONGEST", "Kind", "Token", "formula_error", "tokenise"]

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
    """Say what a token is."""

    NAME = "a name"
    NUMBER = "a number"
    TEXT = "a text"
    SIGN = "a sign"
    END = "the end"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a formula; ``start`` and ``stop`` are its offsets in the formula, ``text`` is its text without quotes."""

    kind: Kind
    text: str
    start: int
    stop: int


def formula_error(formula: str, offset: int, message: str, remedy: str) -> QueryError:
    """Return an error that names the column of ``offset``, counted from 1."""
    shown = formula if len(formula) <= 120 else f"{formula[:117]}..."
    return QueryError(message, where=f"formula {shown!r}, column {offset + 1}", remedy=remedy)


def _remedy(character: str) -> str:
    """Return what to do about a character that begins no token."""
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
