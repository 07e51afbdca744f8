"""The planned history of textmill, with the commits that really change its speed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from knickpoint.demo.textmill import FIRST_PIECES, justify_source, source_files

__all__ = ["CHANGES", "LAST_RANGE", "Change", "PlannedCommit", "plan"]

_BEGIN: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

_PEOPLE: Final = {
    "Ada Moreno": "ada@textmill.example",
    "Bengt Lindqvist": "bengt@textmill.example",
    "Chiara Ruiz": "chiara@textmill.example",
    "Dmitri Okafor": "dmitri@textmill.example",
    "Emi Tanaka": "emi@textmill.example",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A true change: from ``position`` on, these benchmarks are slower or faster.

    ``reverted`` is the position of the revert, None if there is none.
    """

    position: int
    path: str
    variant: str
    subject: str
    benchmarks: tuple[str, ...]
    slower: bool
    reverted: int | None = None


@dataclass(frozen=True, slots=True)
class PlannedCommit:
    """A commit to create; ``benchmarked`` is false if it gets no results."""

    position: int
    author: str
    email: str
    time: datetime
    message: str
    files: Mapping[str, str] = field(repr=False)
    benchmarked: bool = True


CHANGES: Final = (
    Change(10, "textmill/slug.py", "compiled", "Compile the slug pattern once", ("slug_titles",), slower=False),
    Change(18, "textmill/csvline.py", "quoted", "Allow commas inside quoted fields", ("parse_csv",), slower=True),
    Change(26, "textmill/wordcount.py", "counter", "Let Counter do the counting", ("count_words",), slower=False),
    Change(
        34,
        "textmill/template.py",
        "strict",
        "Report the missing field before rendering",
        ("render_letter",),
        slower=True,
        reverted=38,
    ),
    Change(45, "textmill/trie.py", "checked", "Refuse prefixes that are no words", ("find_prefix",), slower=True),
    Change(
        53,
        "textmill/clean.py",
        "collapsing",
        "Collapse runs of white space while cleaning",
        ("count_words", "find_prefix", "slug_titles", "wrap_text"),
        slower=True,
    ),
    Change(61, "textmill/distance.py", "rows", "Keep two rows of the edit matrix", ("edit_distance",), slower=False),
    Change(69, "textmill/wrap.py", "wide", "Measure wide characters as two columns", ("wrap_text",), slower=True),
)
"""The commits that change the speed, in order; the last one lies among commits without results."""

_NOT_BENCHMARKED: Final = frozenset({5, 22, 23, 41, 57, 67, 68, 69, 70})

LAST_RANGE: Final = (66, 71)
"""The benchmarked commits around the last change: a suspect range of five commits, one of which cannot be built."""

_CHORES: Final = (
    ("README.md", "Say in the README what textmill is for"),
    ("docs/slug.md", "Describe what a slug may contain"),
    ("tests/test_slug.py", "Test slugs of titles with digits"),
    ("CHANGES.md", "Start a change log"),
    ("docs/csv.md", "Explain how lines become fields"),
    ("tests/test_csv.py", "Test lines that end with a comma"),
    (".editorconfig", "Agree on four spaces"),
    ("docs/trie.md", "Draw how the words share their beginnings"),
    ("tests/test_trie.py", "Test a prefix that nothing begins with"),
    ("CHANGES.md", "Note the new documentation"),
    ("docs/wrap.md", "Show a wrapped paragraph"),
    ("tests/test_wrap.py", "Test words that are longer than a line"),
    ("README.md", "Add an example of rendering a letter"),
    ("docs/template.md", "List what a field name may look like"),
    ("tests/test_template.py", "Test a template without fields"),
    ("CONTRIBUTING.md", "Welcome contributors"),
    ("docs/distance.md", "Work through the distance of two words"),
    ("tests/test_distance.py", "Test words of different length"),
    ("CHANGES.md", "Prepare the next release"),
    ("docs/words.md", "Say which punctuation is stripped from words"),
    ("tests/test_words.py", "Test that the empty text has no words"),
    ("README.md", "Mention where the documentation lies"),
)


_UNBUILDABLE: Final = 67
"""The commit that cannot be built, two before a slow one and like it without results; the next one repairs it."""

_JUSTIFY: Final = "textmill/justify.py"
_JUSTIFY_SUBJECTS: Final = {
    _UNBUILDABLE: "Justify lines to both margins",
    _UNBUILDABLE + 1: "Close a bracket in the justification of lines",
}


def _pieces_at(position: int) -> dict[str, str]:
    pieces = dict(FIRST_PIECES)
    for change in CHANGES:
        if change.position <= position and (change.reverted is None or position < change.reverted):
            pieces[change.path] = change.variant
    return pieces


def _message(position: int) -> tuple[str, tuple[str, str] | None]:
    """Return the subject of the commit at ``position``, and the line that it adds to a file, if any."""
    if position == 0:
        return "Begin textmill: small tools for text", None
    if position in _JUSTIFY_SUBJECTS:
        return _JUSTIFY_SUBJECTS[position], None
    for change in CHANGES:
        if change.position == position:
            return change.subject, None
        if change.reverted == position:
            return f'Revert "{change.subject}"', None
    path, subject = _CHORES[position % len(_CHORES)]
    return subject, (path, subject)


def plan(count: int = 80) -> Iterator[PlannedCommit]:
    """Yield the commits of textmill, oldest first; the same on every machine, hashes included."""
    people = sorted(_PEOPLE)
    notes: dict[str, str] = {}
    for position in range(count):
        subject, note = _message(position)
        if note is not None:
            path, line = note
            mark = "# " if path.endswith((".py", ".editorconfig")) else "- "
            notes[path] = f"{notes.get(path, '')}{mark}{line} ({position}).\n"
        if position >= _UNBUILDABLE:
            notes[_JUSTIFY] = justify_source(broken=position == _UNBUILDABLE)
        author = people[(position * 7 + position // 5) % len(people)]
        yield PlannedCommit(
            position=position,
            author=author,
            email=_PEOPLE[author],
            time=_BEGIN + timedelta(hours=31 * position + 5 * (position % 3)),
            message=subject,
            files={**source_files(_pieces_at(position)), **notes},
            benchmarked=position not in _NOT_BENCHMARKED,
        )
