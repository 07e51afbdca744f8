"""What a check knows of one trace: values to judge beside those of others, or a verdict without any."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.samples import needs_text, short_text
from knickpoint.model.frame import Trace
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.plain_text import counted
from knickpoint.model.step import Verdict
from knickpoint.model.summary import MEDIAN, Summary
from knickpoint.model.unit import Better, convert, read_unit
from knickpoint.watch.results_check.sides import History, NewResults

__all__ = ["MeasuredTrace", "check_key"]

_LONGEST_MESSAGE: Final = 200
"""Characters of the output of a failed benchmark that a reason quotes."""


@dataclass(frozen=True, slots=True)
class MeasuredTrace:
    """New values of a trace that are not judged yet, and their history, in ``unit``."""

    trace: str
    trace_id: int | None
    unit: str
    values: tuple[float, ...]
    past: NDArray[np.float64]
    better: Better


def check_key(
    key: str, new: NewResults, history: History | None, summary: Summary = MEDIAN
) -> list[JudgedBenchmark | MeasuredTrace]:
    """Return the verdicts on the new results of one key, or what is to be judged: one, or one for each dimension."""
    if new.failed or not new.measured:
        return [_without_value(key, new, history)]
    return [_check_values(key, dimension, new, history, summary=summary) for dimension in new.measured]


def _check_values(
    key: str, dimension: str, new: NewResults, history: History | None, *, summary: Summary
) -> JudgedBenchmark | MeasuredTrace:
    """Return the values of one dimension with their history, or the verdict where the unit changed, or samples are too few."""
    measured = new.measured[dimension]
    rows = history.of(key) if history else {}
    row = rows.get(dimension)
    if history and (former := _replaced_row(history, rows, row, new)) is not None:
        return _of_another_unit(key, measured, history.traces[former])

    # Compare in the unit of the history, where there is one.
    trace = history.traces[row] if history and row is not None else None
    past = history.judged[row] if history and row is not None else np.empty(0)
    better = (history.better(trace) if history and trace else None) or new.better
    unit = trace.unit if trace else measured[0][1]
    enough = [(value, source) for value, source in measured if not math.isnan(value)]
    values = tuple(convert(value, read_unit(source), read_unit(unit)) for value, source in enough)
    few = ""
    if not values:
        few = f"the new results have too few samples: {short_text(summary, new.most)}"
    elif history and row is not None and np.isnan(past).all():
        few = f"the history has too few samples: {needs_text(summary)}"
    if few:
        return JudgedBenchmark(
            key,
            unit,
            Verdict.NO_DATA,
            few,
            better,
            samples=len(values),
            trace_id=trace.id if trace else None,
            new=values,
        )
    return MeasuredTrace(key, trace.id if trace else None, unit, values, past, better)


def _replaced_row(history: History, rows: Mapping[str, int], row: int | None, new: NewResults) -> int | None:
    """Return the row of another dimension that was measured later than ``row``, and is not measured any more.

    Then the unit of the benchmark changed.
    """
    gone = next((other for dimension, other in rows.items() if dimension not in new.measured), None)
    if gone is None:
        return None
    return gone if row is None or history.newest[gone] > history.newest[row] else None


def _of_another_unit(key: str, measured: Sequence[tuple[float, str]], trace: Trace) -> JudgedBenchmark:
    """Return the verdict on values whose unit does not convert into that of ``trace``, the history of the key."""
    unit = measured[0][1]
    reason = f"the unit changed from {trace.unit or 'none'} to {unit or 'none'}"
    values = tuple(convert(value, read_unit(source), read_unit(unit)) for value, source in measured)
    return JudgedBenchmark(key, unit, Verdict.REGRESSED, reason, samples=len(measured), trace_id=trace.id, new=values)


def _without_value(key: str, new: NewResults, history: History | None) -> JudgedBenchmark:
    """Return the verdict on a benchmark that failed or was skipped."""
    row = next(iter(history.of(key).values()), None) if history else None
    newest = history.newest[row] if history and row is not None else -1
    verdict, reason = _verdict_without_value(key, new, history, newest)
    trace = next((history.traces[each] for each in history.rows.get(key, [])), None) if history else None
    return JudgedBenchmark(
        key,
        trace.unit if trace else "",
        verdict,
        reason,
        failed=bool(new.failed),
        trace_id=trace.id if trace else None,
    )


def _verdict_without_value(key: str, new: NewResults, history: History | None, newest: int) -> tuple[Verdict, str]:
    """Return verdict and reason; ``newest`` is the last position at which the benchmark was measured, -1 for never."""
    if not new.failed:
        return Verdict.NO_DATA, _with_message("skipped", new.skipped)
    extent = f"failed in {len(new.failed)} of {counted(new.runs, 'run')}" if new.measured else "failed"
    reason = _with_message(extent, new.failed)
    broken = history.failed_at(key) if history else -1
    if history and broken > newest:
        return Verdict.NO_DATA, f"{reason}; it failed {history.at(broken)}, too"
    return Verdict.REGRESSED, reason if newest >= 0 else f"{reason}; it was never measured before"


def _with_message(what: str, messages: Sequence[str]) -> str:
    """Return what happened, with the first line of the messages that is not empty."""
    lines = (line.strip() for message in messages for line in message.splitlines())
    first = next((line for line in lines if line), "")
    return f"{what}: {first[:_LONGEST_MESSAGE]}" if first else what
