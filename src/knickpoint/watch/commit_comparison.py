"""Compare two commits whose results are in the store: the decision of a check, for values that arrived already.

The history up to the base is what the new side is judged against, so that the noise of all traces sets the bars. The
new side of a trace is its newest values up to the head that the base does not have: one value alone says little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family import judge_moves, speed_sign
from knickpoint.detect.samples import needs_text
from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Trace
from knickpoint.model.judged_benchmark import CommonMove, JudgedBenchmark, JudgedResults, Judgement
from knickpoint.model.machine import MachineDifference, compare_machines
from knickpoint.model.step import Verdict
from knickpoint.model.summary import MEDIAN, Summary
from knickpoint.store import Store
from knickpoint.watch.detection.commit_values import read_summaries
from knickpoint.watch.results_check.sides import deciding_keys, machines_at, noise_kind

MOST_VALUES: Final = 5
"""New values of a trace that count at most: a check takes no more samples of a side either."""

_NEWEST: Final = 200
"""Measured commits of the history that count, as in a check."""

_WINDOW: Final = 256
"""Commits that are read at a time, from the head back, until each trace has its new values."""

_TRACES: Final = 128
"""Traces whose samples are read at a time, where they are compared: they take many times the memory of their points."""

_UNMEASURED: Final = "no commit of the new side has a value"


@dataclass(frozen=True, slots=True)
class LinePosition:
    """A commit as a position on a line."""

    line: Line
    position: int


def compare_commits(
    store: Store,
    base: LinePosition,
    head: LinePosition,
    trace_ids: Sequence[int],
    *,
    values: int = 3,
    summary: Summary = MEDIAN,
    shown: int = 40,
    false_positives: float = 0.01,
    minimum_effect: float = 0.0,
) -> JudgedResults:
    """Judge the commits up to ``head`` that ``base`` does not have against the history of ``base``, changes first.

    The two may be on different lines of one repository. ``values`` is how many of the newest values of a trace stand
    for the head, at most :data:`MOST_VALUES`; ``shown`` how many of its past are returned. With another ``summary``
    than the median the values of both sides are made of the samples of their commits, and commits with too few have
    none.

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
    # Read both sides; what neither of them measured is not part of the comparison.
    past = _history(store, base, trace_ids, summary)
    new = _new_side(store, base, head, trace_ids, summary)
    rows = np.flatnonzero(past.measured | new.measured)
    traces = store.traces.get([trace_ids[int(row)] for row in rows])
    sides = [
        _Sides(trace, past.values[row], _last(new.values[row], values), _why_none(past, new, int(row), summary))
        for row, trace in zip(rows, traces, strict=True)
    ]

    # Statistics beside the main value of a benchmark are judged apart: they are not evidence of their own.
    deciding = deciding_keys({trace.key for trace in traces})
    options = _Options(shown, false_positives, minimum_effect)
    # The machines of both sides, by the trace of the head that the base measured most often.
    most = (
        trace_ids[int((np.count_nonzero(~np.isnan(past.values), axis=1) * new.measured).argmax())] if rows.size else 0
    )
    difference = compare_machines(
        machines_at(store, base.line, most, past.positions), machines_at(store, head.line, most, new.positions)
    )
    main, replayed, move = _judge([each for each in sides if each.trace.key in deciding], options, difference)
    beside, _, _ = _judge([each for each in sides if each.trace.key not in deciding], options, difference)
    everything = [*main, *(replace(each, decides=False) for each in beside)]
    everything.sort(key=lambda each: (*each.changed_first, each.trace_id or 0))
    slot = base.line.slots[base.position]
    return JudgedResults(tuple(everything), false_positives, replayed, base.line.name, slot, move=move)


@dataclass(frozen=True, slots=True)
class _Sides:
    """The values of both sides of one trace; ``without`` says why there is no verdict, "" where there may be one."""

    trace: Trace
    past: NDArray[np.float64]
    new: NDArray[np.float64]
    without: str


@dataclass(frozen=True, slots=True)
class _Options:
    shown: int
    false_positives: float
    minimum_effect: float


def _judge(
    sides: Sequence[_Sides], options: _Options, difference: MachineDifference
) -> tuple[list[JudgedBenchmark], int, CommonMove]:
    """Return the verdicts of one decision over all ``sides``, the number of past commits, and the common move."""
    if not sides:
        return [], 0, CommonMove()
    found = judge_moves(
        np.stack([each.past for each in sides]),
        [each.new for each in sides],
        signs=[speed_sign(each.trace.unit, each.trace.better, each.past) for each in sides],
        unlike=difference.unlike,
        machines=difference.machines,
        better=[each.trace.better for each in sides],
        kinds=[noise_kind(each.trace.key, each.trace.unit) for each in sides],
        false_positives=options.false_positives,
        minimum_effect=options.minimum_effect,
    )
    compared = [
        JudgedBenchmark.of(
            Judgement.without_numbers(Verdict.NO_DATA, each.without) if each.without else judgement,
            trace=each.trace.key,
            unit=each.trace.unit,
            better=each.trace.better,
            margin=margin,
            trace_id=each.trace.id,
            past=tuple(_last(each.past, options.shown).tolist()),
            new=tuple(each.new.tolist()),
            together=together,
        )
        for each, judgement, margin, together in zip(
            sides, found.judgements, found.margins, found.together, strict=True
        )
    ]
    return compared, found.commits, found.move.on(difference)


@dataclass(frozen=True, slots=True)
class _SideValues:
    """The values of one side, traces x commits, and which of the traces were measured there at all.

    ``positions`` are those of the columns of the past, and of the newest measured commits of the new side.
    """

    values: NDArray[np.float64]
    measured: NDArray[np.bool_]
    positions: Sequence[int]


def _why_none(past: _SideValues, new: _SideValues, row: int, summary: Summary) -> str:
    """Return the reason for which a trace has no values to judge, "" if it has, or if its history is only too short."""
    if not new.measured[row]:
        return _UNMEASURED
    for side, name in ((new, "the new commits have"), (past, "the history has")):
        if side.measured[row] and np.isnan(side.values[row]).all():
            return f"{name} too few samples: {needs_text(summary)}"
    return ""


def _new_side(
    store: Store, base: LinePosition, head: LinePosition, trace_ids: Sequence[int], summary: Summary
) -> _SideValues:
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
    measured = np.zeros(len(trace_ids), dtype=np.bool_)
    positions: list[int] = []
    end = head.position + 1
    while end > first and bool((waiting := np.flatnonzero(counts < MOST_VALUES)).size):
        begin = max(first, end - _WINDOW)
        part = [trace_ids[row] for row in waiting.tolist()]
        points = np.asarray(store.frames.values(head.line, part, first=begin, last=end - 1), dtype=np.float64)
        measured[waiting] |= (~np.isnan(points)).any(axis=1)
        positions = positions or (begin + np.flatnonzero((~np.isnan(points)).any(axis=0))[-MOST_VALUES:]).tolist()
        values = points if summary == MEDIAN else _summaries(store, head.line, part, range(begin, end), summary)
        for row, series in zip(waiting.tolist(), values, strict=True):
            newest = _last(series, MOST_VALUES - int(counts[row]))
            stop = MOST_VALUES - int(counts[row])
            found[row, stop - newest.size : stop] = newest
            counts[row] += newest.size
        end = begin
    return _SideValues(found, measured, positions)


def _history(store: Store, base: LinePosition, trace_ids: Sequence[int], summary: Summary) -> _SideValues:
    """Return the values of the newest measured commits up to the base."""
    frame = store.frames.read(base.line, trace_ids, last=base.position, measured=_NEWEST)
    points = np.asarray(frame.values, dtype=np.float64)
    measured = np.asarray((~np.isnan(points)).any(axis=1))
    positions = np.array([base.line.positions[slot] for slot in frame.slots.tolist()], dtype=np.int64)
    if summary == MEDIAN or not frame.columns:
        return _SideValues(points, measured, positions.tolist())
    first, last = int(positions[0]), int(positions[-1])
    values = _summaries(store, base.line, trace_ids, range(first, last + 1), summary)
    return _SideValues(values[:, positions - first], measured, positions.tolist())


def _summaries(
    store: Store, line: Line, trace_ids: Sequence[int], positions: range, summary: Summary
) -> NDArray[np.float64]:
    """Return the ``summary`` of the samples at some positions, traces x positions.

    Samples of a few traces are read at a time.
    """
    parts = [trace_ids[begin : begin + _TRACES] for begin in range(0, len(trace_ids), _TRACES)]
    frames = (store.frames.read(line, part, first=positions.start, last=positions.stop - 1) for part in parts)
    found = [read_summaries(store, frame, summary) for frame in frames]
    return np.concatenate(found) if found else np.empty((0, len(positions)))


def _last(row: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return row[~np.isnan(row)][-count:]
