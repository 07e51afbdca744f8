"""Which words of trace keys tell the traces that moved from those that did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from knickpoint.model.params import decode_key
from knickpoint.watch.suspects.words import words_of

__all__ = ["BenchmarkWords", "KeyWords", "contrast", "count_words"]

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

    ``moved`` is word → weight in (0, 1]: the share of the moved traces that have it, times the share of the others that do
    not. ``named`` has a param with the word. ``unmoved`` are words that only traces have that did not move.
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
