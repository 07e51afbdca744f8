"""Queries: which traces are meant, by conditions on their params.

Two text forms say the same::

    os=Android|iOS config=gpu name!=x name~^gl !sub        words, as people type them
    os=Android&os=iOS&config=gpu&name=!x&name=~^gl          as an address holds them

Conditions on one param are alternatives (``|``), conditions on different params must all hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from knickpoint.model.errors import QueryError
from knickpoint.model.pattern import compile_pattern

__all__ = ["Query", "QueryTerm", "parse_query", "parse_url_query"]

_PLAIN: Final = re.compile(r'[^\s"|&!~=*][^\s"|&*]*')
_BAD_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_OPERATORS: Final = ("!=", "!~", "=", "~")
_MOST_PATTERNS: Final = 50


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """What one param must be: any of what is wanted, and nothing of what is refused.

    Attributes:
        name: of the param.
        values: wanted, literally.
        patterns: wanted, as regular expressions (RE2) that may match anywhere in the value.
        refused: values that must not be.
        refused_patterns: regular expressions that must not match.
        present: wanted whatever its value (``name=*``).
        missing: wanted missing (``!name``).

    A trace that lacks the param passes if it is wanted missing, or if nothing is wanted, only refused.
    """

    name: str
    values: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    refused_patterns: tuple[str, ...] = ()
    present: bool = False
    missing: bool = False

    def accepts(self, value: str | None) -> bool:
        """Whether a param of this ``value`` passes; None is a missing param."""
        if value is None:
            return self.missing or not self._wants
        return self.accepts_each((value,))[0]

    def accepts_each(self, values: Sequence[str]) -> list[bool]:
        """Say of each of ``values`` of the param whether it passes."""
        wanted, refused = frozenset(self.values), frozenset(self.refused)
        found = [not self._wants or self.present or value in wanted for value in values]
        for pattern in self.patterns:
            found = [one or other for one, other in zip(found, _occurrences(pattern, values), strict=True)]
        for pattern in self.refused_patterns:
            found = [one and not other for one, other in zip(found, _occurrences(pattern, values), strict=True)]
        if refused:
            found = [one and value not in refused for one, value in zip(found, values, strict=True)]
        return found

    @property
    def _wants(self) -> bool:
        return bool(self.values or self.patterns or self.present or self.missing)

    def with_more(self, other: QueryTerm) -> QueryTerm:
        """Return both conditions on the same param as one."""

        def both(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(dict.fromkeys(first + second))

        return QueryTerm(
            self.name,
            both(self.values, other.values),
            both(self.patterns, other.patterns),
            both(self.refused, other.refused),
            both(self.refused_patterns, other.refused_patterns),
            self.present or other.present,
            self.missing or other.missing,
        )

    def __str__(self) -> str:
        """Render in words."""
        name = _quoted(self.name)
        words = []
        if self.values:
            words.append(f"{name}={'|'.join(_quoted(value) for value in self.values)}")
        words.extend(f"{name}~{_quoted(pattern, always=True)}" for pattern in self.patterns)
        if self.refused:
            words.append(f"{name}!={'|'.join(_quoted(value) for value in self.refused)}")
        words.extend(f"{name}!~{_quoted(pattern, always=True)}" for pattern in self.refused_patterns)
        if self.present:
            words.append(f"{name}=*")
        if self.missing:
            words.append(f"!{name}")
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Query:
    """Conditions that must all hold, one a param, sorted by name; none at all match every trace."""

    conditions: tuple[QueryTerm, ...] = ()

    @classmethod
    def of(cls, *conditions: QueryTerm) -> Query:
        """Join ``conditions``; those on the same param become alternatives.

        Raises:
            QueryError: there are too many regular expressions.
        """
        patterns = sum(len(term.patterns) + len(term.refused_patterns) for term in conditions)
        if patterns > _MOST_PATTERNS:
            raise QueryError(
                f"the query has {patterns:,} regular expressions and wildcards",
                remedy=f"Use at most {_MOST_PATTERNS}, and join alternatives into one: name~(one|two).",
            )
        joined: dict[str, QueryTerm] = {}
        for condition in conditions:
            known = joined.get(condition.name)
            joined[condition.name] = known.with_more(condition) if known else condition
        return cls(tuple(joined[name] for name in sorted(joined)))

    def matches(self, params: Mapping[str, str]) -> bool:
        """Whether a trace with these ``params`` is meant."""
        return all(condition.accepts(params.get(condition.name)) for condition in self.conditions)

    def without(self, name: str) -> Query:
        """Return the query with no condition on ``name``, as pickers need to offer alternatives."""
        return Query(tuple(condition for condition in self.conditions if condition.name != name))

    def __str__(self) -> str:
        """Render in words; :func:`parse_query` reads it back."""
        return " ".join(str(condition) for condition in self.conditions)

    def url(self) -> str:
        """Render as the query part of an address; :func:`parse_url_query` reads it back."""
        pieces: list[tuple[str, str]] = []
        for condition in self.conditions:
            name = condition.name
            pieces.extend((name, value) for value in condition.values)
            pieces.extend((name, "~" + pattern) for pattern in condition.patterns)
            pieces.extend((name, "!" + value) for value in condition.refused)
            pieces.extend((name, "!~" + pattern) for pattern in condition.refused_patterns)
            pieces.extend([(name, "*")] * condition.present)
            pieces.extend([("!" + name, "")] * condition.missing)
        return "&".join(
            f"{quote(name, safe='!')}={quote(value, safe='!~*')}".removesuffix("=") for name, value in pieces
        )


def parse_query(text: str) -> Query:
    """Read a query in words, or as an address holds it when it has a plain ``&``.

    In words, conditions are parted by space; values are parted by ``|``; ``*`` in a value that is not
    quoted stands for any text; quote with ``"`` what has a space, ``|``, ``*``, ``&`` or a leading ``!`` or
    ``~`` (inside of quotes, a backslash before ``"`` or a backslash takes it literally).

    Raises:
        QueryError: the text cannot be read; the message names the column, from 1.
    """
    if not text.strip():
        return Query()
    words = _words(text)
    if len(words) == 1 and any(sign == "&" for sign, _, _ in words[0]):
        return parse_url_query(text.strip())
    return Query.of(*(_condition(word, text) for word in words))


def parse_url_query(text: str) -> Query:
    """Read a query as an address holds it: ``os=Android&os=iOS&config=!gpu&name=~^gl&sub=*&!extra``.

    Raises:
        QueryError: an empty value, a bad percent escape or regular expression; names the column, from 1.
    """
    conditions = []
    column = 1
    for piece in text.split("&"):
        if piece:
            conditions.append(_url_condition(piece, column))
        column += len(piece) + 1
    return Query.of(*conditions)


def _quoted(text: str, *, always: bool = False) -> str:
    if not always and _PLAIN.fullmatch(text) and "\\" not in text and not re.search("[=~!]", text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _fault(message: str, column: int, remedy: str = "") -> QueryError:
    return QueryError(message, where=f"query, column {column}", remedy=remedy)


def _occurrences(pattern: str, values: Sequence[str]) -> list[bool]:
    return compile_pattern(pattern).occurs_in_each(values)


def _pattern(text: str, column: int) -> str:
    try:
        compile_pattern(text)
    except QueryError as error:
        raise _fault(error.message, column, error.remedy) from error
    return text


def _url_condition(piece: str, column: int) -> QueryTerm:
    bad = _BAD_ESCAPE.search(piece)
    if bad:
        raise _fault("a percent sign that is not followed by two hex digits", column + bad.start(), "Write it as %25.")
    name_part, sign, value_part = piece.partition("=")
    try:
        name, value = (unquote_to_bytes(part.replace("+", " ")).decode() for part in (name_part, value_part))
    except UnicodeDecodeError as error:
        raise _fault("the escaped bytes are not UTF-8", column) from error
    if not sign and name.startswith("!") and len(name) > 1:
        return QueryTerm(name[1:], missing=True)
    if not name or not value:
        raise _fault(f"{piece!r} is not name=value", column, "Write name=value, name=* or !name.")
    return _valued(name, value, column + len(name_part) + 1)


def _valued(name: str, value: str, column: int) -> QueryTerm:
    if value == "*":
        return QueryTerm(name, present=True)
    if value.startswith("!~"):
        return QueryTerm(name, refused_patterns=(_pattern(value[2:], column + 2),))
    if value.startswith("~"):
        return QueryTerm(name, patterns=(_pattern(value[1:], column + 1),))
    if value.startswith("!"):
        if len(value) == 1:
            raise _fault("nothing stands after the exclamation mark", column, "Write name=!value or !name.")
        return QueryTerm(name, refused=(value[1:],))
    return QueryTerm(name, values=(value,))


_Token = tuple[str, int, bool]


def _words(text: str) -> list[list[_Token]]:
    """Cut a query into words of tokens (text, column, whether it was quoted)."""
    words: list[list[_Token]] = []
    word: list[_Token] = []
    place = 0
    while place < len(text):
        sign = text[place]
        if sign.isspace():
            words.append(word)
            word = []
            place += 1
        elif sign == '"':
            found, end = _quotation(text, place)
            word.append((found, place + 1, True))
            place = end
        elif sign in "|&":
            word.append((sign, place + 1, False))
            place += 1
        elif sign in "!=~":
            operator = text[place : place + 2] if text[place : place + 2] in _OPERATORS else sign
            word.append((operator, place + 1, False))
            place += len(operator)
        else:
            end = place
            while end < len(text) and not text[end].isspace() and text[end] not in '"|&!=~':
                end += 1
            word.append((text[place:end], place + 1, False))
            place = end
    words.append(word)
    return [word for word in words if word]


def _quotation(text: str, place: int) -> tuple[str, int]:
    found = []
    end = place + 1
    while end < len(text) and text[end] != '"':
        if text[end] == "\\" and end + 1 < len(text):
            end += 1
        found.append(text[end])
        end += 1
    if end == len(text):
        raise _fault("a quotation does not end", place + 1, 'Close it with ".')
    return "".join(found), end + 1


def _condition(word: list[_Token], text: str) -> QueryTerm:
    """Read one word: ``name OP value|value…`` or ``!name``."""
    first, column, quoted = word[0]
    if not quoted and first == "!":
        if len(word) != 2 or (word[1][0] in ("=", "~", "!", "|", "&", "!=", "!~") and not word[1][2]):
            raise _fault("an exclamation mark must stand before one name", column, "Write !name.")
        return QueryTerm(word[1][0], missing=True)
    if len(word) < 2 or word[1][2] or word[1][0] not in _OPERATORS or (first in (*_OPERATORS, "|", "&") and not quoted):
        raise _fault(
            f"{text[column - 1 :].split(maxsplit=1)[0]!r} is not a condition",
            column,
            "Write name=value, name!=value, name~regex, name!~regex, name=* or !name.",
        )
    operator, place, _ = word[1]
    rest = word[2:]
    if operator == "=" and rest and not rest[0][2] and rest[0][0] in ("!", "~", "!~"):
        operator, place = {"!": "!=", "~": "~", "!~": "!~"}[rest[0][0]], rest[0][1]
        rest = rest[1:]
    start = place + len(operator if word[1][0] == operator else word[1][0])
    if operator in ("~", "!~"):
        pattern = _pattern("".join(token for token, _, _ in rest), start)
        return (
            QueryTerm(first, patterns=(pattern,)) if operator == "~" else QueryTerm(first, refused_patterns=(pattern,))
        )
    return Query.of(*(_choice(first, operator, choice, start) for choice in _choices(rest))).conditions[0]


def _choices(tokens: list[_Token]) -> list[list[_Token]]:
    choices: list[list[_Token]] = [[]]
    for token in tokens:
        if token[0] == "|" and not token[2]:
            choices.append([])
        else:
            choices[-1].append(token)
    return choices


def _choice(name: str, operator: str, tokens: list[_Token], column: int) -> QueryTerm:
    value = "".join(token for token, _, _ in tokens)
    if not value:
        raise _fault("a value is missing", column, "Write name=value; a param cannot be empty.")
    wild = any("*" in token for token, _, quoted in tokens if not quoted)
    if operator == "=":
        if wild and value == "*":
            return QueryTerm(name, present=True)
        return QueryTerm(name, patterns=(_glob(tokens),)) if wild else QueryTerm(name, values=(value,))
    if wild and value == "*":
        return QueryTerm(name, missing=True)
    return QueryTerm(name, refused_patterns=(_glob(tokens),)) if wild else QueryTerm(name, refused=(value,))


def _glob(tokens: list[_Token]) -> str:
    body = "".join(
        re.escape(token) if quoted else ".*".join(map(re.escape, token.split("*"))) for token, _, quoted in tokens
    )
    return f"^{body}$"
