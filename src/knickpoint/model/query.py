"""Queries: a selection of traces by terms on their params.

There are two text forms of a query::

    os=Android|iOS -config=gpu name~^gl !sub draw -blur     words, for people
    os=Android&os=iOS&config=!gpu&name=~^gl&draw&-blur      for URLs

A term has alternatives for one param (``|``); terms on different params must all hold. A word without an operator must
be in the value of any param.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote_to_bytes

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


_LONGEST_PATTERN: Final = 1000
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

    if len(text) > _LONGEST_PATTERN:
        raise QueryError(
            f"the regular expression {text[:20] + ' …'!r} has {len(text):,} characters",
            remedy=f"Use at most {_LONGEST_PATTERN:,}.",
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
        remedy="Use the syntax of RE2: no backreferences, no lookaround, at most 1,000 repetitions.",
    )


_BAD_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_MOST_PATTERNS: Final = 50
_MOST_PARAMS: Final = 200
"""Params that one query may name; each costs a pass over the traces."""

_MOST_WORDS: Final = 20
"""Free words of a query; each costs a pass over all values."""

_LONGEST_QUERY: Final = 100_000
"""Characters of a query."""


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """The requirement on one param: it has one of the wanted values, and none of the refused ones.

    Attributes:
        name: name of the param.
        values: wanted values.
        patterns: wanted regular expressions (RE2), which may match anywhere in the value.
        refused: refused values.
        refused_patterns: regular expressions that must not match.
        present: whether any value is wanted (``name=*``).
        missing: whether a missing param is wanted (``!name``).

    A trace without the param passes if ``missing`` is true, or if the term only refuses.
    """

    name: str
    values: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    refused_patterns: tuple[str, ...] = ()
    present: bool = False
    missing: bool = False

    def accepts(self, value: str | None) -> bool:
        """Return True if a param with this ``value`` passes; None is a missing param."""
        if value is None:
            return self.missing or not self._wants
        return self.accepts_each((value,))[0]

    def accepts_each(self, values: Sequence[str]) -> list[bool]:
        """Return for each of ``values`` whether it passes."""
        wanted, refused = frozenset(self.values), frozenset(self.refused)
        passes = [not self._wants or self.present or value in wanted for value in values]
        for pattern in self.patterns:
            passes = [before or match for before, match in zip(passes, _occurrences(pattern, values), strict=True)]
        for pattern in self.refused_patterns:
            passes = [before and not match for before, match in zip(passes, _occurrences(pattern, values), strict=True)]
        if refused:
            passes = [before and value not in refused for before, value in zip(passes, values, strict=True)]
        return passes

    @property
    def _wants(self) -> bool:
        return bool(self.values or self.patterns or self.present or self.missing)

    def with_more(self, other: QueryTerm) -> QueryTerm:
        """Return this term and ``other``, on the same param, as one."""

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
        name = quoted(self.name, always=self.name.startswith("-"))
        words = []
        if self.values:
            words.append(f"{name}={'|'.join(quoted(value) for value in self.values)}")
        words.extend(f"{name}~{quoted(pattern, always=True)}" for pattern in self.patterns)
        if self.refused:
            words.append(f"{name}!={'|'.join(quoted(value) for value in self.refused)}")
        words.extend(f"{name}!~{quoted(pattern, always=True)}" for pattern in self.refused_patterns)
        if self.present:
            words.append(f"{name}=*")
        if self.missing:
            words.append(f"!{name}")
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Query:
    """Terms and free words that must all hold; without any, it matches every trace.

    Attributes:
        terms: one a param, sorted by name.
        words: sorted, each once.
    """

    terms: tuple[QueryTerm, ...] = ()
    words: tuple[FreeWord, ...] = ()

    @classmethod
    def of(cls, *terms: QueryTerm, words: Iterable[FreeWord] = ()) -> Query:
        """Join ``terms`` and free ``words``; terms on the same param become alternatives.

        Raises:
            QueryError: there are too many regular expressions or words, or terms on too many params.
        """
        distinct = sorted(set(words))
        if len(distinct) > _MOST_WORDS:
            raise QueryError(
                f"the query has {len(distinct):,} free words",
                remedy=f"Use at most {_MOST_WORDS}, or name the param: name=one|two.",
            )
        patterns = sum(len(term.patterns) + len(term.refused_patterns) for term in terms)
        if patterns > _MOST_PATTERNS:
            raise QueryError(
                f"the query has {patterns:,} regular expressions and wildcards",
                remedy=f"Use at most {_MOST_PATTERNS}, and join alternatives into one: name~(one|two).",
            )
        joined: dict[str, QueryTerm] = {}
        if len({term.name for term in terms}) > _MOST_PARAMS:
            raise QueryError(
                f"the query has terms on {len({term.name for term in terms}):,} params",
                remedy=f"Name at most {_MOST_PARAMS}, and join values of one param: name=one|two.",
            )
        for term in terms:
            known = joined.get(term.name)
            joined[term.name] = known.with_more(term) if known else term
        return cls(tuple(joined[name] for name in sorted(joined)), tuple(distinct))

    def with_term(self, term: QueryTerm) -> Query:
        """Return the query joined with one more term.

        Raises:
            QueryError: it has too many then.
        """
        return Query.of(*self.terms, term, words=self.words)

    def matches(self, params: Mapping[str, str]) -> bool:
        """Return True if a trace with these ``params`` matches."""
        return all(term.accepts(params.get(term.name)) for term in self.terms) and all(
            word.accepts(params) for word in self.words
        )

    def without(self, name: str) -> Query:
        """Return the query without its term on ``name``, with which pickers list alternatives."""
        return Query(tuple(term for term in self.terms if term.name != name), self.words)

    def __str__(self) -> str:
        """Render in words; :func:`parse_query` reads it back."""
        return " ".join(str(part) for part in (*self.terms, *self.words))

    def url(self) -> str:
        """Render as the query part of a URL; :func:`parse_url_query` reads it back."""
        pieces: list[tuple[str, str]] = []
        for term in self.terms:
            name = term.name
            pieces.extend((name, value) for value in term.values)
            pieces.extend((name, "~" + pattern) for pattern in term.patterns)
            pieces.extend((name, "!" + value) for value in term.refused)
            pieces.extend((name, "!~" + pattern) for pattern in term.refused_patterns)
            pieces.extend([(name, "*")] * term.present)
            pieces.extend([("!" + name, "")] * term.missing)
        pieces.extend(("-" * word.refused + word.text, "") for word in self.words)
        return "&".join(
            f"{quote(name, safe='!')}={quote(value, safe='!~*')}".removesuffix("=") for name, value in pieces
        )


def parse_query(text: str) -> Query:
    """Parse a query in words, or in the form for URLs if it has an unquoted ``&``.

    In words, spaces separate terms, ``|`` separates values, and ``*`` in an unquoted value stands for any text. A word
    without an operator is in the value of any param; ``-`` negates a term or a word. Quote a value with ``"`` if it has
    a space, ``|``, ``*``, ``&`` or a leading ``!`` or ``~``, and a name or a word also with a leading ``-``; within
    quotes, a backslash escapes ``"`` and a backslash.

    Raises:
        QueryError: the text cannot be read; the message names the column, from 1.
    """
    _check_length(text)
    if not text.strip():
        return Query()
    words = split_words(text)
    if len(words) == 1 and any(sign == "&" for sign, _, _ in words[0]):
        return parse_url_query(text.strip())
    return _joined(_part(word, text) for word in words)


def _joined(parts: Iterable[QueryTerm | FreeWord]) -> Query:
    found = tuple(parts)
    terms = (part for part in found if isinstance(part, QueryTerm))
    return Query.of(*terms, words=(part for part in found if isinstance(part, FreeWord)))


def parse_url_query(text: str) -> Query:
    """Parse a query in the form for URLs: ``os=Android&os=iOS&config=!gpu&name=~^gl&sub=*&!extra&draw&-blur``.

    Raises:
        QueryError: a value is empty, or a percent escape or regular expression is invalid; it names the column, from 1.
    """
    _check_length(text)
    parts = []
    column = 1
    for piece in text.split("&"):
        if piece:
            parts.append(_url_part(piece, column))
        column += len(piece) + 1
    return _joined(parts)


def _check_length(text: str) -> None:
    if len(text) > _LONGEST_QUERY:
        raise QueryError(f"the query has {len(text):,} characters", remedy=f"Use at most {_LONGEST_QUERY:,}.")


def _occurrences(pattern: str, values: Sequence[str]) -> list[bool]:
    return compile_pattern(pattern).occurs_in_each(values)


def _pattern(text: str, column: int) -> str:
    try:
        compile_pattern(text)
    except QueryError as error:
        raise fault(error.message, column, error.remedy) from error
    return text


def _url_part(piece: str, column: int) -> QueryTerm | FreeWord:
    bad = _BAD_ESCAPE.search(piece)
    if bad:
        raise fault("a percent sign that is not followed by two hex digits", column + bad.start(), "Write it as %25.")
    name_part, sign, value_part = piece.partition("=")
    try:
        name, value = (unquote_to_bytes(part.replace("+", " ")).decode() for part in (name_part, value_part))
    except UnicodeDecodeError as error:
        raise fault("the escaped bytes are not UTF-8", column) from error
    if not sign and name.startswith("!") and len(name) > 1:
        return QueryTerm(name[1:], missing=True)
    if not sign and name.strip("!-"):
        return FreeWord(name.removeprefix("-"), refused=name.startswith("-"))
    if not name or not value:
        raise fault(f"{piece!r} is not name=value", column, "Write name=value, name=* or !name.")
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
            raise fault("nothing follows the exclamation mark", column, "Write name=!value or !name.")
        return QueryTerm(name, refused=(value[1:],))
    return QueryTerm(name, values=(value,))


def _part(word: list[Token], text: str) -> QueryTerm | FreeWord:
    """Read one word: a term, a free word, or either of them after a minus sign."""
    first, column, was_quoted = word[0]
    negated = first.startswith("-") and not was_quoted
    rest = word
    if negated:
        rest = [(first[1:], column + 1, False)] * (len(first) > 1) + word[1:]
        if not rest:
            raise fault("nothing follows the minus sign", column, "Write -word or -name=value.")
    if all(is_text or not _is_sign(sign) for sign, _, is_text in rest):
        return _free_word(rest, refused=negated)
    term = _term(rest, text)
    if not negated:
        return term
    if term.refused or term.refused_patterns or term.missing:
        raise fault("the term is negated twice", column, "Write -name=value or name!=value.")
    return QueryTerm(term.name, refused=term.values, refused_patterns=term.patterns, missing=term.present)


def _is_sign(text: str) -> bool:
    return text in (*OPERATORS, "!", "|", "&")


def _free_word(tokens: list[Token], *, refused: bool) -> FreeWord:
    for text, column, was_quoted in tokens:
        if "*" in text and not was_quoted:
            remedy = 'Name the param, as in name=*text*, or quote the word: "*".'
            raise fault(
                "an asterisk stands for any text in the value of a param only", column + text.index("*"), remedy
            )
    word = "".join(text for text, _, _ in tokens)
    if not word:
        raise fault("the quotation is empty", tokens[0][1], "Write a word or name=value.")
    return FreeWord(word, refused)


def _term(word: list[Token], text: str) -> QueryTerm:
    """Read one word: ``name OP value|value…`` or ``!name``."""
    first, column, was_quoted = word[0]
    if not was_quoted and first == "!":
        if len(word) != 2 or (word[1][0] in ("=", "~", "!", "|", "&", "!=", "!~") and not word[1][2]):
            raise fault("an exclamation mark must precede one name", column, "Write !name.")
        return QueryTerm(word[1][0], missing=True)
    if (
        len(word) < 2
        or word[1][2]
        or word[1][0] not in OPERATORS
        or (first in (*OPERATORS, "|", "&") and not was_quoted)
    ):
        raise fault(
            f"{text[column - 1 :].split(maxsplit=1)[0]!r} is not a term",
            column,
            "Write a word, name=value, name!=value, name~regex, name!~regex, name=* or !name.",
        )
    operator, column_of_operator, _ = word[1]
    rest = word[2:]
    if operator == "=" and rest and not rest[0][2] and rest[0][0] in ("!", "~", "!~"):
        operator, column_of_operator = {"!": "!=", "~": "~", "!~": "!~"}[rest[0][0]], rest[0][1]
        rest = rest[1:]
    start = column_of_operator + len(operator if word[1][0] == operator else word[1][0])
    if operator in ("~", "!~"):
        pattern = _pattern("".join(token for token, _, _ in rest), start)
        return (
            QueryTerm(first, patterns=(pattern,)) if operator == "~" else QueryTerm(first, refused_patterns=(pattern,))
        )
    return Query.of(*(_choice(first, operator, choice, start) for choice in _choices(rest))).terms[0]


def _choices(tokens: list[Token]) -> list[list[Token]]:
    choices: list[list[Token]] = [[]]
    for token in tokens:
        if token[0] == "|" and not token[2]:
            choices.append([])
        else:
            choices[-1].append(token)
    return choices


def _choice(name: str, operator: str, tokens: list[Token], column: int) -> QueryTerm:
    value = "".join(token for token, _, _ in tokens)
    if not value:
        raise fault("a value is missing", column, "Write name=value; a param cannot be empty.")
    wild = any("*" in token for token, _, quoted in tokens if not quoted)
    if operator == "=":
        if wild and value == "*":
            return QueryTerm(name, present=True)
        return QueryTerm(name, patterns=(_glob(tokens),)) if wild else QueryTerm(name, values=(value,))
    if wild and value == "*":
        return QueryTerm(name, missing=True)
    return QueryTerm(name, refused_patterns=(_glob(tokens),)) if wild else QueryTerm(name, refused=(value,))


def _glob(tokens: list[Token]) -> str:
    body = "".join(
        re.escape(token) if quoted else ".*".join(map(re.escape, token.split("*"))) for token, _, quoted in tokens
    )
    return f"^{body}$"
