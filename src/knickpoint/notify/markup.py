"""Markdown of messages: values written so it shows them as they are, and its translation for services without Markdown.

Messages use bold, links, lists, headings and code of CommonMark. A backslash escapes punctuation there, and is shown
before anything else: only what would be markup where it stands is escaped. Jira has a notation of its own, and some
chats show text as it comes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

_BREAK: Final = "\N{ZERO WIDTH SPACE}"
_MENTION: Final = re.compile(r"([@#])(?=\w)|(?<=://)|(?i:\bwww)(?=\.)")
_ESCAPED: Final = re.compile(
    r"""
    [\\`*\[\]<|~]                          # markup wherever it stands; | ends a cell of a table
    | (?<![^\W_])_++ | _++(?![^\W_])       # emphasis, but not within a word
    | &(?=\#?\w+;)                         # the beginning of an entity
    | ^\#(?=\#{0,5}(?:\s|$))               # a heading, below: a list, a line, a quote, the line under a heading
    | ^[-+](?=[\s-]|$) | ^> | ^=(?==*\s*$)
    """,
    re.MULTILINE | re.VERBOSE,
)
_NUMBERED: Final = re.compile(r"^(\d{1,9})([.)])(?=\s|$)", re.MULTILINE)


def escape_markdown(value: str) -> str:
    """Return ``value`` so that Markdown shows it as it is, with no mention, reference, image or link of its own."""
    escaped = _ESCAPED.sub(lambda found: "".join(f"\\{sign}" for sign in found[0]), value)
    escaped = _NUMBERED.sub(r"\1\\\2", escaped)
    return _MENTION.sub(lambda found: f"{found[0]}{_BREAK}", escaped)


def code_span(value: str) -> str:
    """Return ``value`` as a code span of Markdown, in which no character means anything but itself."""
    longest = max((len(run) for run in re.findall("`+", value)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if value.startswith("`") or value.endswith("`") else ""
    return f"{fence}{padding}{value}{padding}{fence}"


def link_target(address: str) -> str:
    """Return an address as the target of a link in Markdown."""
    return re.sub(r"[\s<>()\\\[\]`]", lambda found: f"%{ord(found[0]):02X}", address)


_MARKUP: Final = re.compile(
    r"""
    (?<!`)(?P<fence>`+)(?!`)[ ]?(?P<code>.+?)[ ]?(?<!`)(?P=fence)(?!`)
    | \\(?P<escaped>[!-/:-@\[-`{-~])
    | (?P<bold>\*\*)
    | \[(?P<text>(?:\\.|[^\]\\\n])+)\]\((?P<address>[^()\s]+)\)
    | ^(?P<heading>\#{1,6})[ ]+
    | ^(?P<list>[ ]*)-[ ]
    | (?P<sign>[{}!^~])
    """,
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Notation:
    """How a service writes what messages have: each is made from the group of ``_MARKUP`` with its name."""

    bold: str
    link: Callable[[str, str], str]
    code: Callable[[str], str]
    heading: Callable[[int], str]
    item: Callable[[int], str]
    sign: Callable[[str], str]

    def of(self, markdown: str) -> str:
        """Return ``markdown`` in this notation."""
        return _MARKUP.sub(self._word, markdown)

    def _word(self, found: re.Match[str]) -> str:
        kind = found.lastgroup or ""
        words: Mapping[str, Callable[[], str]] = {
            "code": lambda: self.code(found["code"]),
            "escaped": lambda: self.sign(found["escaped"]),
            "bold": lambda: self.bold,
            "address": lambda: self.link(self.of(found["text"]), found["address"]),
            "heading": lambda: self.heading(len(found["heading"])),
            "list": lambda: self.item(len(found["list"]) // 2 + 1),
            "sign": lambda: self.sign(found["sign"]),
        }
        return words[kind]()


_WIKI_SIGNS: Final = frozenset("*_{}[]|!^~#+-")
_WIKI_ENTITIES: Final = {"\\": "&#92;", "&": "&amp;"}


def _wiki_sign(sign: str) -> str:
    """Return a sign of a text in the notation of Jira, where two backslashes end the line, and entities count."""
    return _WIKI_ENTITIES.get(sign) or (f"\\{sign}" if sign in _WIKI_SIGNS else sign)


_WIKI: Final = _Notation(
    bold="*",
    link=lambda text, address: f"[{text}|{address}]",
    code=lambda text: "{{" + re.sub(r"[*{}\[\]|!^~]|\\", lambda found: _wiki_sign(found[0]), text) + "}}",
    heading=lambda depth: f"h{depth}. ",
    item=lambda depth: f"{'*' * depth} ",
    sign=_wiki_sign,
)
_PLAIN: Final = _Notation(
    bold="",
    link=lambda text, address: f"{text} ({address})",
    code=lambda text: text,
    heading=lambda _depth: "",
    item=lambda depth: f"{'  ' * (depth - 1)}- ",
    sign=lambda sign: sign,
)


def wiki_text(markdown: str) -> str:
    """Return the Markdown of a message in the notation of Jira."""
    return _WIKI.of(markdown)


def plain_text(markdown: str) -> str:
    """Return the Markdown of a message as text for services that show it as it comes."""
    return _PLAIN.of(markdown)
