"""Compare two commits whose results are in the store: the decision of a check, for values that arrived already.

The history up to the base is what the new side is judged against, so that the noise of all traces sets the bars. The new side
of a trace is its newest values up to the head that the base does not have: one value alone says little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family import judge_family
from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Trace
from knickpoint.model.judgement import Judgement, worst_first
from knickpoint.model.step import Verdict
from knickpoint.store import Store
from knickpoint.watch.deciding_statistics import deciding_keys, noise_kind

__all__ = ["MOST_VALUES", "CommitComparison", "ComparedTrace", "LinePosition", "compare_commits"]

MOST_VALUES: Final = 5
"""New values of a trace that count at most: a check takes no more samples of a side either."""

_NEWEST: Final = 200
"""Measured commits of the history that count, as in a check."""

_WINDOW: Final = 256
"""Commits that are read at a time, from the head back, until each trace has its new values."""

_UNMEASURED: Final = "no commit of the new side has a value"


@dataclass(frozen=True, slots=True)
class LinePosition:
    """A commit as a position on a line."""

    line: Line
    position: int


@dataclass(frozen=True, slots=True)
class ComparedTrace:
    """The verdict on one trace.

    ``past`` are its newest values up to the base, and ``new`` those of the new side, oldest first. ``margin`` is the half-width of
    the 95 % interval of the change, nan without one. ``decides`` is false for a statistic beside the main value.
    """

    trace: Trace
    judgement: Judgement
    margin: float
    past: tuple[float, ...]
    new: tuple[float, ...]
    decides: bool


@dataclass(frozen=True, slots=True)
class CommitComparison:
    """The verdicts on all traces that were measured on either side, worst first.

    ``counts`` are those of the traces that decide. ``false_positives`` is the share of unchanged commits at which any trace regresses, set from ``replayed`` past commits.
    """

    traces: tuple[ComparedTrace, ...]
    counts: Mapping[Verdict, int]
    false_positives: float
    replayed: int


def compare_commits(
    store: Store,
    base: LinePosition,
    head: LinePosition,
    trace_ids: Sequence[int],
    *,
    values: int = 3,
    shown: int = 40,
    false_positives: float = 0.01,
    minimum_effect: float = 0.0,
) -> CommitComparison:
    """Judge the commits up to ``head`` that ``base`` does not have against the history of ``base``.

    The two may be on different lines of one repository. ``values`` is how many of the newest values of a trace stand for the
    head, at most :data:`MOST_VALUES`; ``shown`` how many of its past are returned.

    Raises:
        InputError: the base has every commit of the head, ``values`` is out of its range, or the two are of different
            repositories.
    """
    if not 1 <= values <= MOST_VALUES:
        raise InputError(f"values is {values}", remedy=f"Give a number from 1 to {MOST_VALUES}.")
    if base.line.repository != head.line.repository:
        raise InputError(
            "the two commits are of different repositories", remedy="Compare two commits of one repository."
        )
    # Read both sides; what neither of them measured is no part of the comparison.
    past = _newest(store, base.line, trace_ids, range(base.position + 1), _NEWEST)
    new = _new_side(store, base, head, trace_ids)
    rows = np.flatnonzero((~np.isnan(past)).any(axis=1) | (~np.isnan(new)).any(axis=1))
    traces = store.traces.get([trace_ids[int(row)] for row in rows])
    sides = [_Sides(trace, past[row], _last(new[row], values)) for row, trace in zip(rows, traces, strict=True)]

    # Statistics beside the main value of a benchmark are judged apart: they are no evidence of their own.
    deciding = deciding_keys({trace.key for trace in traces})
    options = _Options(shown, false_positives, minimum_effect)
    main, replayed = _judge([each for each in sides if each.trace.key in deciding], options, decides=True)
    beside, _ = _judge([each for each in sides if each.trace.key not in deciding], options, decides=False)
    counts = Counter(each.judgement.verdict for each in main)
    everything = sorted([*main, *beside], key=lambda each: (*worst_first(each.judgement), each.trace.id))
    return CommitComparison(tuple(everything), counts, false_positives, replayed)


@dataclass(frozen=True, slots=True)
class _Sides:
    trace: Trace
    past: NDArray[np.float64]
    new: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Options:
    shown: int
    false_positives: float
    minimum_effect: float


def _judge(sides: Sequence[_Sides], options: _Options, *, decides: bool) -> tuple[list[ComparedTrace], int]:
    """Return the verdicts of one decision over all ``sides``, and the number of past commits behind it."""
    if not sides:
        return [], 0
    found = judge_family(
        np.stack([each.past for each in sides]),
        [each.new for each in sides],
        better=[each.trace.better for each in sides],
        kinds=[noise_kind(each.trace.key, each.trace.unit) for each in sides],
        false_positives=options.false_positives,
        minimum_effect=options.minimum_effect,
    )
    compared = [
        ComparedTrace(
            each.trace,
            judgement if each.new.size else Judgement.without_numbers(Verdict.NO_DATA, _UNMEASURED),
            margin,
            tuple(_last(each.past, options.shown).tolist()),
            tuple(each.new.tolist()),
            decides,
        )
        for each, judgement, margin in zip(sides, found.judgements, found.margins, strict=True)
    ]
    return compared, found.commits


def _new_side(store: Store, base: LinePosition, head: LinePosition, trace_ids: Sequence[int]) -> NDArray[np.float64]:
    """Return the newest values up to the head of commits that the base does not have, :data:`MOST_VALUES` columns.

    Traces that are measured rarely are looked for further back than those that every commit measures.
    """
    known = set(base.line.slots[: base.position + 1])
    first = next((at for at in range(head.position + 1) if head.line.slots[at] not in known), None)
    if first is None:
        raise InputError(
            "the base has every commit of the head",
            remedy="The head comes after the base: swap the two, or choose a newer one.",
        )
    found = np.full((len(trace_ids), MOST_VALUES), np.nan)
    counts = np.zeros(len(trace_ids), dtype=np.intp)
    end = head.position + 1
    while end > first and bool((waiting := np.flatnonzero(counts < MOST_VALUES)).size):
        begin = max(first, end - _WINDOW)
        part = [trace_ids[row] for row in waiting.tolist()]
        values = np.asarray(store.frames.values(head.line, part, first=begin, last=end - 1), dtype=np.float64)
        for row, series in zip(waiting.tolist(), values, strict=True):
            newest = _last(series, MOST_VALUES - int(counts[row]))
            stop = MOST_VALUES - int(counts[row])
            found[row, stop - newest.size : stop] = newest
            counts[row] += newest.size
        end = begin
    return found


def _newest(store: Store, line: Line, trace_ids: Sequence[int], positions: range, measured: int) -> NDArray[np.float64]:
    frame = store.frames.read(line, trace_ids, first=positions.start, last=positions.stop - 1, measured=measured)
    return np.asarray(frame.values, dtype=np.float64)


def _last(row: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return row[~np.isnan(row)][-count:]
