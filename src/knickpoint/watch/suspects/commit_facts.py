"""Facts about a commit that speak for or against it as a suspect; its author is none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from knickpoint.model.suspects import CommitFiles, TouchedFile
from knickpoint.watch.suspects.benchmark_words import words_of

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
