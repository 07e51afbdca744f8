"""The traces that the base has and new results lack."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from knickpoint.model.frame import Trace
from knickpoint.model.judgement import Judgement
from knickpoint.model.params import decode_key
from knickpoint.model.step import Verdict
from knickpoint.watch.absence.vanished_traces import Vanished, find_vanished
from knickpoint.watch.results_check.report import CheckedTrace
from knickpoint.watch.results_check.sides import History, NewResults

__all__ = ["check_vanished"]

_BENCHMARK: Final = "benchmark"
_SUBJECT: Final = frozenset({_BENCHMARK, "metric", "stat"})
"""Params that name what was measured; the others name where and how."""


def check_vanished(
    history: History | None, new: Mapping[str, NewResults], checked: Sequence[Trace]
) -> tuple[list[CheckedTrace], int]:
    """Return the verdicts on the traces that the base has and the new results lack, and how many more are left out.

    ``checked`` are the traces of the new results.
    """
    if history is None or history.last < 0 or not new:
        return [], 0
    shared, judged = _shared(new), {trace.id for trace in checked}
    lacking = _lacking(history, new, shared, judged)
    names = {slot: history.name_of(slot) for slot in {vanished.slot for vanished in lacking}}
    rows = [
        CheckedTrace(
            vanished.trace.key,
            vanished.trace,
            vanished.trace.unit,
            (),
            Judgement.without_numbers(Verdict.REGRESSED, f"vanished: last measured at {names[vanished.slot]}"),
        )
        for vanished in lacking
    ]
    if _BENCHMARK not in shared:
        return rows, 0
    setting = {name: value for name, value in shared.items() if name not in _SUBJECT}
    return rows, len(_lacking(history, new, setting, judged)) - len(rows)


def _lacking(
    history: History, new: Mapping[str, NewResults], shared: Mapping[str, str], judged: Collection[int]
) -> list[Vanished]:
    """Return the traces that the base has with the params of ``shared``, and that the new results lack.

    ``judged`` are the ids of traces that have a verdict already. A benchmark that failed or was skipped has one for all
    of its traces.
    """
    whole = {key for key, results in new.items() if results.failed or not results.measured}
    accounted = {trace.id for trace in history.traces if trace.key in whole}
    return find_vanished(
        history.store,
        history.line,
        history.last,
        shared=shared,
        submitted={*judged, *accounted},
        measured=history.measured,
    )


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
