"""Which words of trace keys tell the traces that moved from those that did not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from knickpoint.model.params import decode_key

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
