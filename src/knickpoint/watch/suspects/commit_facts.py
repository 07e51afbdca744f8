"""Facts about a commit that speak for or against it as a suspect, such as words of the traces that moved.

The author of a commit is none of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Final

from knickpoint.model.params import decode_key
from knickpoint.model.suspects import CommitFiles, TouchedFile

# Split names into words, and measure how alike two words are.


_PIECE: Final = re.compile(r"[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+")
"""``HTTPServer_v2`` has the pieces HTTP, Server and v."""

_SHORTEST_WORD: Final = 2
_SHORTEST_BEGINNING: Final = 3
_SHORTEST_END: Final = 4
"""Letters that a word must have to be found at the beginning, or at the end, of a longer one."""

_LEAST_SHARE: Final = 0.4
"""Least share of the longer word that the shorter one must be."""

_GENERIC: Final = frozenset(
    {
        *("bench", "benchmark", "benchmarks", "case", "cases", "example", "examples", "main", "mean", "median", "perf"),
        *(
            "performance",
            "result",
            "results",
            "run",
            "src",
            "suite",
            "test",
            "tests",
            "testing",
            "time",
            "value",
            "values",
        ),
        *("and", "for", "from", "in", "into", "of", "on", "the", "to", "when", "with"),
    }
)
"""Words that say how something is measured, or nothing at all."""


def words_of(text: str) -> frozenset[str]:
    """Return the words of a name, a path or a sentence, in lower case; numbers and generic words are left out."""
    pieces = (piece.lower() for piece in _PIECE.findall(text))
    return frozenset(piece for piece in pieces if len(piece) >= _SHORTEST_WORD and piece not in _GENERIC)


@cache
def _similarity(one: str, other: str) -> float:
    """Return 1 for equal words, the share of the longer word where the shorter is its beginning or end, else 0."""
    if one == other:
        return 1.0
    shorter, longer = sorted((one, other), key=len)
    begins = len(shorter) >= _SHORTEST_BEGINNING and longer.startswith(shorter)
    ends = len(shorter) >= _SHORTEST_END and longer.endswith(shorter)
    share = len(shorter) / len(longer)
    return share if (begins or ends) and share >= _LEAST_SHARE else 0.0


def similarities(words: Collection[str], vocabulary: Collection[str]) -> Mapping[str, Mapping[str, float]]:
    """Return word → the words of ``vocabulary`` that are alike, each with its similarity in (0, 1].

    Complexity O(words x vocabulary), with a few letters compared in most cases.
    """
    found: dict[str, dict[str, float]] = {}
    for word in words:
        alike = {other: _similarity(word, other) for other in vocabulary if _may_be_alike(word, other)}
        found[word] = {other: share for other, share in alike.items() if share}
    return found


def _may_be_alike(one: str, other: str) -> bool:
    """Say quickly whether one word could be the beginning or the end of the other."""
    return one[0] == other[0] or one[-1] == other[-1]


_LEAST_WEIGHT: Final = 0.05
"""Weight below which a word says too little."""


@dataclass(frozen=True, slots=True)
class KeyWords:
    """How many of ``traces`` traces have each word in a value of their params.

    ``named`` has the first param with each word, as ``name=value``.
    """

    traces: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BenchmarkWords:
    """The words of what moved and of what did not.

    ``moved`` is word → weight in (0, 1]: the share of the moved traces that have it, times the share of the others that
    do not. ``named`` has a param with the word. ``unmoved`` are words that only traces have that did not move.
    """

    moved: Mapping[str, float] = field(default_factory=dict)
    named: Mapping[str, str] = field(default_factory=dict)
    unmoved: frozenset[str] = frozenset()


def count_words(keys: Iterable[str]) -> KeyWords:
    """Count in how many of some trace keys each word is. A param is read once, however many keys have it."""
    counts: Counter[str] = Counter()
    named: dict[str, str] = {}
    words: dict[str, frozenset[str]] = {}
    traces = 0
    for key in keys:
        traces += 1
        pairs = key[1:-1].split(",")
        for pair in pairs:
            if pair not in words:
                ((name, value),) = decode_key(f",{pair},").items()
                words[pair] = words_of(value)
                for word in words[pair]:
                    named.setdefault(word, f"{name}={value}")
        counts.update(frozenset[str]().union(*(words[pair] for pair in pairs)))
    return KeyWords(traces, counts, named)


def contrast(moved: KeyWords, all_traces: KeyWords) -> BenchmarkWords:
    """Compare the words of the traces that moved with those of all traces, the moved ones included."""
    others = all_traces.traces - moved.traces
    weights: dict[str, float] = {}
    for word, count in moved.counts.items():
        elsewhere = max(all_traces.counts.get(word, 0) - count, 0)
        weight = count / moved.traces * (1.0 - (elsewhere / others if others > 0 else 0.0))
        if weight >= _LEAST_WEIGHT:
            weights[word] = weight
    unmoved = frozenset(all_traces.counts.keys() - moved.counts.keys())
    return BenchmarkWords(weights, {word: moved.named[word] for word in weights}, unmoved)


_LINES_OF_A_FILE: Final = 20
"""Lines that count for a file of sources whose lines are not counted."""

_DOCUMENT: Final = re.compile(
    r"(^|/)(docs?|documentation|man|licenses?)/|\.(md|rst|adoc|txt|png|svg|jpe?g|gif|pdf)$"
    r"|(^|/)(readme|license|licence|copying|authors|changes|changelog|news|contributing|codeowners|notice)[^/]*$",
    re.IGNORECASE,
)
_TEST: Final = re.compile(
    r"(^|/)(tests?|testing|specs?|__tests__|fixtures|testdata)/|(^|/)(test_|conftest)[^/]*$|[._-](test|tests|spec)\.\w+$",
    re.IGNORECASE,
)
_BENCHMARK: Final = re.compile(r"bench|perf", re.IGNORECASE)
_CI: Final = re.compile(
    r"(^|/)(\.github|\.gitlab|\.circleci|\.buildkite|\.azure[^/]*)/|(^|/)(\.gitlab-ci[^/]*|\.travis\.yml|appveyor\.yml|jenkinsfile)$"
    r"|(^|/)\.(editorconfig|gitignore|gitattributes|mailmap|pre-commit-config\.yaml)$",
    re.IGNORECASE,
)
_BUILD: Final = re.compile(
    r"(^|/)(cargo\.(toml|lock)|go\.(mod|sum)|package(-lock)?\.json|yarn\.lock|pnpm-lock\.yaml|poetry\.lock|uv\.lock"
    r"|pyproject\.toml|setup\.(py|cfg)|requirements[^/]*\.(txt|in)|cmakelists\.txt|[^/]*\.cmake|(gnu)?makefile[^/]*|meson\.build"
    r"|build(\.gradle(\.kts)?|\.bazel|)|workspace|module\.bazel|pom\.xml|[^/]*\.csproj|directory\.[^/]*\.props|rust-toolchain[^/]*"
    r"|deps|\.gitmodules|dockerfile[^/]*|flake\.(lock|nix)|conanfile[^/]*|gemfile(\.lock)?)$",
    re.IGNORECASE,
)
_REVERT: Final = re.compile(r"(revert|back(ed)?[ -]?out|reapply|reland)\b", re.IGNORECASE)
_SPEED: Final = re.compile(
    r"\b(perf|performance|speed\w*|fast\w*|slow\w*|optimi[sz]\w*|cach(e|ed|es|ing)|alloc\w*|memory|latency|throughput"
    r"|simd|vectori[sz]\w*|inlin\w*|hot ?path|regression)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class CommitFacts:
    """What the ranking knows of a commit.

    ``position`` is on the line. ``distance`` counts measured commits from the suspect range, negative before it, 0
    inside. ``files`` is None where they are not known.
    """

    slot: int
    position: int
    subject: str
    files: CommitFiles | None = None
    distance: int = 0

    @cached_property
    def sources(self) -> tuple[TouchedFile, ...]:
        """The touched files that can change a measured value: no documents, no tests, no CI. Benchmarks can."""
        return tuple(file for file in self.files.files if _is_source(file.path)) if self.files else ()

    @property
    def changes_no_source(self) -> bool:
        """Whether it is known that no touched file can change a measured value."""
        return self.files is not None and not self.sources and not self.files.omitted

    @cached_property
    def words(self) -> dict[str, str]:
        """The words of the paths of its sources, each with the first path that has it."""
        found: dict[str, str] = {}
        for file in sorted(self.sources, key=lambda file: file.path):
            for path in filter(None, (file.path, file.former)):
                for word in words_of(_without_suffix(path)):
                    found.setdefault(word, path)
        return found

    @cached_property
    def subject_words(self) -> frozenset[str]:
        """The words of the subject; none where no source changes."""
        return frozenset() if self.changes_no_source else words_of(self.subject)

    @cached_property
    def lines(self) -> int:
        """Lines of sources that it adds and removes; a file whose lines are not counted counts for a few."""
        return sum(_lines(file) for file in self.sources)

    @cached_property
    def paths(self) -> frozenset[str]:
        """The paths of its sources."""
        return frozenset(file.path for file in self.sources)

    @property
    def build_files(self) -> Iterator[str]:
        """The touched files that choose dependencies, compilers or flags."""
        return (file.path for file in (self.files.files if self.files else ()) if _BUILD.search(file.path))

    @property
    def is_revert(self) -> bool:
        """Whether it takes an earlier commit back, by its subject."""
        return bool(_REVERT.match(self.subject))

    @property
    def speaks_of_speed(self) -> str:
        """The word of the subject that is about speed or memory, "" for none."""
        found = None if self.changes_no_source else _SPEED.search(self.subject)
        return found[0] if found else ""


def _is_source(path: str) -> bool:
    if _BUILD.search(path):
        return True
    if _DOCUMENT.search(path) or _CI.search(path):
        return False
    return not _TEST.search(path) or bool(_BENCHMARK.search(path))


def _lines(file: TouchedFile) -> int:
    if file.added is None or file.removed is None:
        return _LINES_OF_A_FILE
    return file.added + file.removed


def _without_suffix(path: str) -> str:
    """Return a path without the suffix of its name: ``src/parse.py`` is about parse, not about py."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.rpartition('.')[0] or name}"
