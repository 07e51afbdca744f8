"""Judge new results by one decision: gather one value a run and benchmark, read the history, judge all together."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family import FEWEST, judge_moves, speed_sign
from knickpoint.detect.samples import needs_text, short_text
from knickpoint.model.commit import Repository
from knickpoint.model.direction import DirectionRule
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Trace
from knickpoint.model.judged_benchmark import CommonMove, JudgedBenchmark, JudgedResults, Judgement
from knickpoint.model.machine import MachineDifference, compare_machines
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted
from knickpoint.model.query import Query
from knickpoint.model.report import RunReport
from knickpoint.model.step import Verdict
from knickpoint.model.summary import MEDIAN, Summary
from knickpoint.model.unit import convert, read_unit
from knickpoint.model.unit_names import Better
from knickpoint.store import Store
from knickpoint.watch.results_check.sides import (
    FileHistory,
    History,
    NewResults,
    StoredHistory,
    base_position,
    deciding_keys,
    gather,
    noise_kind,
)

# What a check knows of one trace: values to judge beside those of others, or a verdict without any.


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
    """Return the values of one dimension with their history, or the verdict for a changed unit or too few samples."""
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
    """Return the outcome, with the first line of the messages that is not empty."""
    lines = (line.strip() for message in messages for line in message.splitlines())
    first = next((line for line in lines if line), "")
    return f"{what}: {first[:_LONGEST_MESSAGE]}" if first else what


# The traces that the base has and new results lack.


_BENCHMARK: Final = "benchmark"
_SUBJECT: Final = frozenset({_BENCHMARK, "metric", "stat"})
"""Params that name what was measured; the others name where and how."""


def check_vanished(
    history: History | None, new: Mapping[str, NewResults], checked: Collection[int], query: Query
) -> tuple[list[JudgedBenchmark], int]:
    """Return the verdicts on traces of ``query`` that the new results lack, and how many more are left out.

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


_NEWEST: Final = 200
"""Measured commits of the history that count."""

_SHOWN: Final = 40
"""Values of the history that are kept with a verdict, to be drawn beside the new ones."""


@dataclass(frozen=True, slots=True)
class CheckRules:
    """What a check compares, and how it decides (:func:`knickpoint.detect.family.judge_moves`).

    ``query`` selects the traces that are judged, and ``summary`` what of the samples of a run. ``partial`` results lack
    benchmarks on purpose.
    """

    partial: bool = False
    false_positives: float = 0.01
    minimum_effect: float = 0.0
    summary: Summary = MEDIAN
    query: Query = field(default_factory=Query)


_USUAL: Final = CheckRules()


def check_results(
    store: Store,
    repository: Repository | None,
    runs: Sequence[RunReport],
    *,
    base: int | None = None,
    line: str = "",
    rules: CheckRules = _USUAL,
) -> JudgedResults:
    """Judge the results of ``runs`` against the history of ``line`` up to and including ``base`` (a slot).

    Several runs of one benchmark are several samples; the samples within a run are one value, their median, as the
    points of the history are. With another ``summary`` they are that, and the values of the history are made of its
    samples, as far as they are stored. Without a ``repository`` or a ``base`` there is no history. Nothing is written.
    The values are judged together (:func:`knickpoint.detect.family.judge_moves`), apart from what the machine does: at
    most a share of ``false_positives`` of unchanged commits has any regression. Besides, a benchmark is *regressed*,
    with the reason,

    - when it failed in any of the runs, unless it failed at the base, too: then there are no data;
    - when it vanished, unless ``partial``: the base has it with the params that all new results share
      (:func:`knickpoint.watch.results_check.sides.find_vanished`), and the new results lack it;
    - when it has another unit now, into which that of the history does not convert.

    Raises:
        HistoryError: no such line, or the base is not on it.
        InputError: ``false_positives`` or ``minimum_effect`` cannot be, or the query selects nothing.
    """
    if repository is None:
        return _check(runs, None, line, rules)
    chosen = store.commits.line(repository, line)
    history = StoredHistory.read(store, chosen, base_position(chosen, base), _keys(runs), rules.summary)
    measured = history.measured
    newest = chosen.slots[int(measured[-1])] if measured.size else None
    return replace(_check(runs, history, chosen.name, rules), base=base, newest=newest)


def check_files(
    base: Sequence[RunReport],
    runs: Sequence[RunReport],
    *,
    name: str,
    rules: CheckRules = _USUAL,
    directions: Sequence[DirectionRule] = (),
    repository: str = "",
) -> JudgedResults:
    """Judge the results of ``runs`` against those of ``base``, the runs of a file called ``name``, without any store.

    It is the decision of :func:`check_results` where each run of ``base`` is a commit of the history, or each of its
    commits where it names several. If no benchmark has 5 of them, the samples of the runs stand for them, and each
    change is conditional: what differs from run to run is not among them. ``directions`` are the rules for
    ``repository`` that say what is better.

    Raises:
        InputError: an option cannot be, or the query selects nothing.
    """
    history = FileHistory.from_runs(base, name, summary=rules.summary, rules=directions, repository=repository)
    found = _check(runs, history, "", rules)
    benchmarks = tuple(_beside_file(each, history) for each in found.benchmarks)
    return replace(found, benchmarks=benchmarks, by_samples=history.by_samples)


def _beside_file(found: JudgedBenchmark, history: FileHistory) -> JudgedBenchmark:
    """Return a verdict on what is not a trace of the store, with what it rests on."""
    reason, conditional = found.reason, found.conditional
    if history.by_samples and found.verdict in {Verdict.REGRESSED, Verdict.IMPROVED} and found.past:
        again = "" if conditional else "; measure again to confirm"
        reason += f"{again}; samples of the base replace runs, which are too few"
        conditional = True
    if found.verdict is Verdict.NO_DATA and found.new and len(found.past) < FEWEST:
        reason = f"{history.name} has {counted(len(found.past), 'value')} of it, and a verdict needs {FEWEST}: runs, or samples of runs"
    return replace(found, trace_id=None, reason=reason, conditional=conditional)


def _keys(runs: Sequence[RunReport]) -> list[str]:
    """Return the keys of all results, each once."""
    return list(dict.fromkeys(key for run in runs for key in run.results.keys))


def _check(runs: Sequence[RunReport], history: History | None, line: str, rules: CheckRules) -> JudgedResults:
    """Judge what was measured, then what was not."""
    new = gather(runs, rules.summary)
    chosen = {key: results for key, results in new.items() if rules.query.matches(decode_key(key))}
    rows = [row for key, results in chosen.items() for row in check_key(key, results, history, rules.summary)]
    waiting = [row for row in rows if isinstance(row, MeasuredTrace)]
    checked = [row for row in rows if isinstance(row, JudgedBenchmark)]
    known = {row.trace_id for row in rows if row.trace_id is not None}
    vanished, left_out = ([], 0) if rules.partial else check_vanished(history, new, known, rules.query)
    if new and not rows and not vanished:
        raise InputError(
            f"the query {str(rules.query)!r} selects none of the {counted(len(new), 'trace')} of the results",
            where="query",
            remedy="Leave it out to see all of them.",
        )
    deciding = deciding_keys({row.trace for row in (*rows, *vanished)})
    machines = _Machines(history, [run.environment for run in runs])
    judged, replayed, move = _judge([row for row in waiting if row.trace in deciding], rules, machines)
    beside, _, _ = _judge([row for row in waiting if row.trace not in deciding], rules, machines)
    everything = [replace(row, decides=row.trace in deciding) for row in (*checked, *vanished, *judged, *beside)]
    everything.sort(key=lambda row: (row.trace, row.unit))
    return JudgedResults(
        tuple(everything),
        rules.false_positives,
        replayed,
        line,
        measured=int(history.measured.size) if history else 0,
        left_out=left_out,
        move=move,
    )


@dataclass(frozen=True, slots=True)
class _Machines:
    """The machines of both sides: those of the points of the ``history``, and the facts of each new run."""

    history: History | None
    new: Sequence[Mapping[str, str]]

    def compared(self, points: NDArray[np.intp]) -> MachineDifference:
        """Compare those of some points with those of the new runs."""
        if self.history is None or not any(self.new) or not points.size:
            return MachineDifference((False,) * points.size)
        return compare_machines(self.history.machines(points.tolist()), self.new)


def _judge(
    rows: Sequence[MeasuredTrace], rules: CheckRules, machines: _Machines
) -> tuple[list[JudgedBenchmark], int, CommonMove]:
    """Return the verdicts of one decision over all ``rows``, the number of past commits, and the common move."""
    if not rows:
        return [], 0, CommonMove()
    columns = max(row.past.size for row in rows)
    histories = np.full((len(rows), columns), math.nan)
    for place, row in enumerate(rows):
        histories[place, : row.past.size] = row.past
    points = np.flatnonzero((~np.isnan(histories)).any(axis=0))[-_NEWEST:]
    difference = machines.compared(points)
    found = judge_moves(
        histories[:, points],
        [row.values for row in rows],
        signs=[speed_sign(row.unit, row.better, row.past) for row in rows],
        unlike=difference.unlike,
        machines=difference.machines,
        better=[row.better for row in rows],
        kinds=[noise_kind(row.trace, row.unit) for row in rows],
        false_positives=rules.false_positives,
        minimum_effect=rules.minimum_effect,
    )
    checked = [
        JudgedBenchmark.of(
            _with_doubt(judgement, row),
            trace=row.trace,
            unit=row.unit,
            better=row.better,
            margin=margin,
            trace_id=row.trace_id,
            past=tuple(row.past[~np.isnan(row.past)][-_SHOWN:].tolist()),
            new=row.values,
            together=together,
        )
        for row, judgement, margin, together in zip(rows, found.judgements, found.margins, found.together, strict=True)
    ]
    return checked, found.commits, found.move.on(difference)


def _with_doubt(judgement: Judgement, row: MeasuredTrace) -> Judgement:
    """Return ``judgement``, whose reason doubts an improvement to a time of exactly 0: no work takes none."""
    if judgement.verdict is not Verdict.IMPROVED or any(row.values) or read_unit(row.unit).dimension != "time":
        return judgement
    doubt = "a time of exactly 0 may mean that the benchmark no longer does its work"
    return replace(judgement, reason=f"{judgement.reason}; {doubt}")
