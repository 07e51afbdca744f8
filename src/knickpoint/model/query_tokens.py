"""The tokens of a query in words: names, operators, values, quotations."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.model.errors import QueryError

__all__ = ["OPERATORS", "Token", "fault", "quoted", "split_words"]

_PLAIN: Final = re.compile(r'[^\s"|&!~=*][^\s"|&*]*')
OPERATORS: Final = ("!=", "!~", "=", "~")

Token = tuple[str, int, bool]
"""A text, its column, and whether it was quoted."""


def fault(message: str, column: int, remedy: str = "") -> QueryError:
    """Return the error at a column, from 1."""
    return QueryError(message, where=f"query, column {column}", remedy=remedy)


def quoted(text: str, *, always: bool = False) -> str:
    """Return a name or a value as it stands in a query, in quotes where it needs them."""
    if not always and _PLAIN.fullmatch(text) and "\\" not in text and not re.search("[=~!]", text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def split_words(text: str) -> list[list[Token]]:
    """Split a query into words of tokens (text, column, whether it was quoted)."""
    words: list[list[Token]] = []
    word: list[Token] = []
    position = 0
    while position < len(text):
        sign = text[position]
        if sign.isspace():
            words.append(word)
            word = []
            position += 1
        elif sign == '"':
            found, end = _quotation(text, position)
            word.append((found, position + 1, True))
            position = end
        elif sign in "|&":
            word.append((sign, position + 1, False))
            position += 1
        elif sign in "!=~":
            operator = text[position : position + 2] if text[position : position + 2] in OPERATORS else sign
            word.append((operator, position + 1, False))
            position += len(operator)
        else:
            end = position
            while end < len(text) and not text[end].isspace() and text[end] not in '"|&!=~':
                end += 1
            word.append((text[position:end], position + 1, False))
            position = end
    words.append(word)
    return [word for word in words if word]


def _quotation(text: str, position: int) -> tuple[str, int]:
    found = []
    end = position + 1
    while end < len(text) and text[end] != '"':
        if text[end] == "\\" and end + 1 < len(text):
            end += 1
        found.append(text[end])
        end += 1
    if end == len(text):
        raise fault("a quotation does not end", position + 1, 'Close it with ".')
    return "".join(found), end + 1
