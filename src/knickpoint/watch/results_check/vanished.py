"""The traces that the base has and new results lack."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from knickpoint.model.frame import Trace
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.params import decode_key
from knickpoint.model.query import Query
from knickpoint.model.step import Verdict
from knickpoint.watch.results_check.sides import History, NewResults

__all__ = ["check_vanished"]

_BENCHMARK: Final = "benchmark"
_SUBJECT: Final = frozenset({_BENCHMARK, "metric", "stat"})
"""Params that name what was measured; the others name where and how."""


def check_vanished(
    history: History | None, new: Mapping[str, NewResults], checked: Collection[int], query: Query
) -> tuple[list[JudgedBenchmark], int]:
    """Return the verdicts on traces of ``query`` that the base has and the new results lack, and how many more are left out.

    ``checked`` are the ids of the traces of the new results.
    """
    if history is None or history.is_empty or not new:
        return [], 0
    shared = _shared(new)
    # A benchmark that failed or was skipped has a verdict already, for all of its traces.
    whole = {key for key, results in new.items() if results.failed or not results.measured}
    submitted = {*checked, *(trace.id for trace in history.traces if trace.key in whole)}
    lacking = _lacking(history, shared, submitted, query)
    rows = [
        JudgedBenchmark(
            trace.key,
            trace.unit,
            Verdict.REGRESSED,
            f"vanished: last measured {place}",
            vanished=True,
            trace_id=trace.id,
        )
        for trace, place in lacking
    ]
    if _BENCHMARK not in shared:
        return rows, 0
    setting = {name: value for name, value in shared.items() if name not in _SUBJECT}
    return rows, len(_lacking(history, setting, submitted, query)) - len(rows)


def _lacking(
    history: History, shared: Mapping[str, str], submitted: Collection[int], query: Query
) -> list[tuple[Trace, str]]:
    found = history.lacking(shared, submitted)
    return [(trace, place) for trace, place in found if query.matches(decode_key(trace.key))]


def _shared(keys: Iterable[str]) -> dict[str, str]:
    """Return the params that all keys have with the same value."""
    rest = iter(keys)
    shared = dict(decode_key(next(rest)))
    for key in rest:
        params = decode_key(key)
        shared = {name: value for name, value in shared.items() if params.get(name) == value}
        if not shared:
            break
    return shared
