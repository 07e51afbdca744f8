"""The tool that searches the guide, and the instructions that agents read."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from pydantic import Field

from knickpoint.agents.tool import First, Page, Reply, Request, Said, Session, call, tool
from knickpoint.answers.base import Text

_HERE: Final = Path(__file__).resolve().parent
_PLACES: Final = (_HERE / "guide", _HERE.parents[2] / "docs" / "guide")
"""Where the guide is: in an installed package, and in a checkout."""

_WORD: Final = re.compile(r"[\w-]{2,}")
_HEADING: Final = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
_LONGEST: Final = 1_500
"""Characters of a section; more of it is in the page."""

_IN_HEADING: Final = 5
"""How many occurrences in the text one in the heading counts as."""


def read_instructions() -> str:
    """Return the instructions for an agent, which suit a repository's file for agents, too."""
    return (_HERE / "instructions.md").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a page of the guide."""

    page: str
    heading: str
    text: str

    def score(self, words: frozenset[str]) -> tuple[int, int]:
        """Return the number of ``words`` in the section, and their occurrences."""
        named = Counter(_WORD.findall(self.heading.lower()))
        told = Counter(_WORD.findall(self.text.lower()))
        counts = [_IN_HEADING * named[word] + told[word] for word in words]
        return sum(map(bool, counts)), sum(counts)


@cache
def read_guide() -> tuple[Section, ...]:
    """Return the sections of the guide; none where the package came without it."""
    place = next((each for each in _PLACES if each.is_dir()), None)
    pages = sorted(place.rglob("*.md")) if place else []
    return tuple(
        section
        for page in pages
        for section in _sections(page.relative_to(place or page).as_posix(), page.read_text(encoding="utf-8"))
    )


def _sections(page: str, text: str) -> list[Section]:
    places = [*_HEADING.finditer(text), None]
    return [
        Section(page, begin[1], text[begin.end() : end.start() if end else len(text)].strip())
        for begin, end in pairwise(places)
        if begin
    ]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"


class DocumentationRequest(Request):
    """What to look for."""

    words: Text = Field(min_length=2, max_length=300, description="Words to look for, as `bisection recipe`.")
    first: First = 0


@tool()
def search_documentation(session: Session, asked: DocumentationRequest) -> Reply:  # noqa: ARG001
    """Search the guide of Knickpoint: what its words mean, how it judges, how it is configured and used."""
    words = frozenset(_WORD.findall(asked.words.lower()))
    scored = [(section.score(words), section) for section in read_guide()]
    found = [section for score, section in sorted(scored, key=lambda each: each[0], reverse=True) if score[0]]
    items = [
        {"page": Said(each.page), "section": Said(each.heading), "text": Said(_cut(each.text))}
        for each in found[asked.first :]
    ]
    return Reply({}, Page("sections", items, asked.first, len(found)), [] if items else [call("list_repositories")])
