"""The tokens of a query in words: names, operators, values, quotations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knickpoint.model.errors import QueryError

if TYPE_CHECKING:
    import re2


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


# Free words of a query, which any param may contain.


@dataclass(frozen=True, slots=True, order=True)
class FreeWord:
    """A text that the value of some param contains, or of none if it is ``refused``; upper and lower case are alike."""

    text: str
    refused: bool = False

    def occurs_in_each(self, values: Sequence[str]) -> list[bool]:
        """Return for each of ``values`` whether it contains the text."""
        text = self.text.lower()
        return [text in value.lower() for value in values]

    def accepts(self, params: Mapping[str, str]) -> bool:
        """Return True if a trace with these ``params`` passes."""
        return any(self.occurs_in_each([*params.values()])) != self.refused

    def __str__(self) -> str:
        """Render in words."""
        return "-" * self.refused + quoted(self.text, always=self.text.startswith("-"))


# Match the regular expressions of queries with RE2, in time that is linear in the text for every pattern.
#
# Queries come from everyone who can reach the server, and the matcher of the standard library needs exponential time
# for some patterns; see ``docs/decisions/api.md``.


_LONGEST: Final = 1000
"""Characters of a pattern."""

_MEMORY: Final = 1 << 20
"""Bytes of a compiled pattern; RE2 refuses a larger one, or drops cached states."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that may occur anywhere in a text."""

    text: str
    _engine: re2._Regexp

    def occurs_in_each(self, texts: Iterable[str]) -> list[bool]:
        """Return for each text whether the expression occurs in it."""
        search = self._engine.search
        return [search(text) is not None for text in texts]


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """Compile a regular expression in the syntax of RE2: that of Python without backreferences and lookarounds.

    Raises:
        QueryError: it is invalid, needs an unsupported feature, or is too large.
    """
    import re2

    if len(text) > _LONGEST:
        raise QueryError(
            f"the regular expression {text[:20] + ' …'!r} has {len(text):,} characters",
            remedy=f"Use at most {_LONGEST:,}.",
        )
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    try:
        return Pattern(text, re2.compile(text, options))
    except re2.error as error:
        reason = (
            error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        )
    except UnicodeEncodeError:
        reason = "half a surrogate pair is not a character"
    raise QueryError(
        f"{text!r} is not a regular expression: {reason}",
        remedy="Use the syntax of RE2: no references back, no looking around, at most 1,000 repetitions.",
    )
