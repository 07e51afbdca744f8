"""The planned history of textmill, with the commits that really change its speed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from knickpoint.demo.textmill import FIRST_PIECES, justify_source, source_files

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


# Compare the findings with the true changes.


_TOLERANCE: Final = 1
"""Benchmarked commits by which a finding may miss the true change."""


@dataclass(frozen=True, slots=True)
class Found:
    """A change point that the alerts found.

    ``position`` is that of the first commit at the new level in the history.
    """

    benchmark: str
    previous: int
    position: int
    relative_size: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A true change with its change points; ``reverts`` are those at its revert.

    ``found`` is true when a change point of the right benchmark and direction lies within one benchmarked
    commit of the change, and of its revert if it has one.
    """

    change: Change
    expected: int
    points: tuple[Found, ...]
    reverts: tuple[Found, ...]

    @property
    def found(self) -> bool:
        """Whether the change was found, at both ends where it has two."""
        return bool(self.points) and (self.change.reverted is None or bool(self.reverts))


@dataclass(frozen=True, slots=True)
class Comparison:
    """The true changes with their findings; ``false`` are the change points that no true change explains."""

    changes: tuple[Judged, ...]
    false: tuple[Found, ...]

    @property
    def count_found(self) -> int:
        """Number of true changes that were found."""
        return sum(judged.found for judged in self.changes)


def compare(points: Sequence[Found], benchmarked: Sequence[int], changes: Sequence[Change] = CHANGES) -> Comparison:
    """Match ``points`` with ``changes``; ``benchmarked`` are the positions that have results, ascending.

    A change explains a point when benchmark, direction and position agree.
    """

    def rank(position: int) -> int:
        return bisect_left(benchmarked, position)

    used: set[Found] = set()

    def near(change: Change, position: int, *, slower: bool) -> tuple[Found, ...]:
        fitting = tuple(
            point
            for point in points
            if point.benchmark in change.benchmarks
            and (point.relative_size > 0) == slower
            and abs(rank(point.position) - rank(position)) <= _TOLERANCE
        )
        used.update(fitting)
        return fitting

    judged = tuple(
        Judged(
            change,
            benchmarked[min(rank(change.position), len(benchmarked) - 1)],
            near(change, change.position, slower=change.slower),
            () if change.reverted is None else near(change, change.reverted, slower=not change.slower),
        )
        for change in changes
    )
    return Comparison(judged, tuple(point for point in sorted(points, key=_order) if point not in used))


def _order(point: Found) -> tuple[int, str]:
    return point.position, point.benchmark
