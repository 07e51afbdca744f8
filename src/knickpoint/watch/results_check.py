"""Check new results against history: the verdict on a commit, a patch or a pull request.

Three stages: gather one value a run and benchmark, read the history of the same benchmarks up to the base, and judge all of
them by one decision. Benchmarks that fail, vanish or change their unit have no values to compare; they get a verdict with a
reason. Only the main value of a benchmark decides; its other statistics are judged apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family import judge_family
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import HistoryError
from knickpoint.model.frame import Trace
from knickpoint.model.judgement import Judgement
from knickpoint.model.params import decode_key
from knickpoint.model.report import Outcome, RunReport
from knickpoint.model.step import Verdict
from knickpoint.model.unit import Better, convert, read_unit
from knickpoint.store import Store
from knickpoint.watch.absence.vanished_traces import Vanished, failed_positions, find_vanished
from knickpoint.watch.deciding_statistics import deciding_keys

__all__ = ["CheckReport", "CheckedTrace", "check_results"]

_LONGEST_MESSAGE: Final = 200
"""Characters of the output of a failed benchmark that a reason quotes."""

_NEWEST: Final = 200
"""Measured commits of the history that count."""

_BENCHMARK: Final = "benchmark"
_SUBJECT: Final = frozenset({_BENCHMARK, "metric", "stat"})
"""Params that name what was measured; the others name where and how."""


@dataclass(frozen=True, slots=True)
class CheckedTrace:
    """The verdict on one trace.

    ``values`` has one value a run, in ``unit``, the unit of the history where there is one; none where the benchmark
    failed, was skipped or vanished. ``trace`` is None where the history does not know the key. ``failed`` has the
    messages of failed runs. ``better`` is the direction that the verdict took, and ``margin`` the half-width of the 95 %
    interval of the change, nan without one. ``decides`` is false for a statistic beside the main value.
    """

    key: str
    trace: Trace | None
    unit: str
    values: tuple[float, ...]
    judgement: Judgement
    failed: tuple[str, ...] = ()
    better: Better = Better.UNKNOWN
    margin: float = math.nan
    decides: bool = True

    @property
    def vanished(self) -> bool:
        """Whether the base has the trace and the new results lack it."""
        return not self.values and self.judgement.verdict is Verdict.REGRESSED and not self.has_failed

    @property
    def has_failed(self) -> bool:
        """Whether the benchmark failed in any run."""
        return bool(self.failed)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The verdicts on all traces of the new results, and on those that vanished, by key.

    ``counts`` are those of the traces that decide. ``false_positives`` is the share of unchanged commits at which any of
    them regresses by its values, set from ``replayed`` past commits.

    ``base`` is the slot of the last commit that counted as history, None where there is no history at all. ``measured``
    counts the commits of that history at which a benchmark of the new results was measured, and ``newest`` is the slot
    of the last one, None without any. ``left_out`` counts the traces of other benchmarks that the base has: where the
    new results hold a single benchmark, the others did not vanish; it may have been measured alone on purpose.
    """

    line: str
    base: int | None
    traces: tuple[CheckedTrace, ...]
    counts: Mapping[Verdict, int] = field(default_factory=dict)
    measured: int = 0
    newest: int | None = None
    left_out: int = 0
    false_positives: float = 0.01
    replayed: int = 0

    @property
    def verdict(self) -> Verdict:
        """The verdict on the whole: regressed if any trace is, no data if none could be judged."""
        worst = (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.UNCHANGED, Verdict.UNSTABLE)
        return next((verdict for verdict in worst if self.counts.get(verdict)), Verdict.NO_DATA)


@dataclass(slots=True)
class _NewResults:
    """The new results of one key: by dimension, a value and its unit for each run; messages of failures and skips."""

    measured: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    better: Better = Better.UNKNOWN
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def runs(self) -> int:
        """The number of runs that measured it, or failed."""
        return max((len(values) for values in self.measured.values()), default=0) + len(self.failed)


@dataclass(frozen=True)
class _History:
    """What the store knows of some keys on a line up to and including a position.

    ``traces`` are those of the keys, sorted by id, and ``values`` their traces x positions.
    """

    store: Store
    line: Line
    last: int
    traces: tuple[Trace, ...]
    values: NDArray[np.float64]

    @classmethod
    def read(cls, store: Store, line: Line, last: int, keys: Iterable[str]) -> _History:
        ids = sorted(number for found in store.traces.find_ids(line.repository, keys).values() for number in found)
        values = np.empty((len(ids), 0))
        if ids and last >= 0:
            values = np.asarray(store.frames.values(line, ids, last=last), dtype=np.float64)
        return cls(store, line, last, tuple(store.traces.get(ids)), values)

    @cached_property
    def measured(self) -> NDArray[np.int64]:
        """The positions at which any of the traces was measured."""
        return np.flatnonzero((~np.isnan(self.values)).any(axis=0))

    @cached_property
    def newest(self) -> list[int]:
        """The last position at which each trace was measured, -1 for never."""
        return [int(np.flatnonzero(~np.isnan(row)).max(initial=-1)) for row in self.values]

    @cached_property
    def rows(self) -> dict[str, list[int]]:
        """Key → rows of its traces, one for each dimension."""
        found: dict[str, list[int]] = {}
        for row, trace in enumerate(self.traces):
            found.setdefault(trace.key, []).append(row)
        return found

    @cached_property
    def failures(self) -> Mapping[str, int]:
        """Key → the newest position at which it failed."""
        return failed_positions(self.store, self.line, self.last) if self.last >= 0 else {}

    def of(self, key: str) -> dict[str, int]:
        """Return dimension → row of the traces of a key that were measured, the last measured one first."""
        rows = [row for row in self.rows.get(key, []) if self.newest[row] >= 0]
        rows.sort(key=lambda row: -self.newest[row])
        return {self.traces[row].dimension: row for row in rows}

    def name(self, position: int) -> str:
        """Return the short hash of the commit at a position."""
        return self.name_of(self.line.slots[position])

    def name_of(self, slot: int) -> str:
        """Return the short hash of the commit at a slot."""
        return self.store.commits.get(self.line.repository, [slot])[0].commit.hash[:12]


def check_results(
    store: Store,
    repository: Repository | None,
    runs: Sequence[RunReport],
    *,
    base: int | None = None,
    line: str = "",
    partial: bool = False,
    false_positives: float = 0.01,
    minimum_effect: float = 0.0,
) -> CheckReport:
    """Judge the results of ``runs`` against the history of ``line`` up to and including ``base`` (a slot).

    Several runs of one benchmark are several samples; the samples within a run are one value, their median, as the
    points of the history are. Without a ``repository`` or a ``base`` there is no history. Nothing is written. The values are
    judged together (:func:`knickpoint.detect.family.judge_family`): at most a share of ``false_positives`` of unchanged
    commits has any regression. Besides, a benchmark is *regressed*, with the reason,

    - when it failed in any of the runs, unless it failed at the base, too: then there are no data;
    - when it vanished, unless ``partial``: the base has it with the params that all new results share
      (:func:`knickpoint.watch.absence.vanished_traces.find_vanished`), and the new results lack it;
    - when it has another unit now, into which that of the history does not convert.

    Raises:
        HistoryError: no such line, or the base is not on it.
        InputError: ``false_positives`` or ``minimum_effect`` cannot be.
    """
    # Gather the new results, and read the history of their keys.
    new = _gather(runs)
    history = None
    if repository is not None:
        chosen = store.commits.line(repository, line)
        history = _History.read(store, chosen, _position(chosen, base), new)

    # Judge what was measured, then what was not.
    rows = [row for key, results in new.items() for row in _check_key(key, results, history)]
    waiting = [row for row in rows if isinstance(row, _Measured)]
    checked = [row for row in rows if isinstance(row, CheckedTrace)]
    names = {row.key for row in rows}
    vanished, left_out = ([], 0) if partial else _vanished(history, new, [row.trace for row in rows if row.trace])
    deciding = deciding_keys({*names, *(row.key for row in vanished)})
    settings = _Settings(false_positives, minimum_effect)
    judged, replayed = _judge([row for row in waiting if row.key in deciding], settings)
    beside, _ = _judge([row for row in waiting if row.key not in deciding], settings)
    everything = [replace(row, decides=row.key in deciding) for row in (*checked, *vanished, *judged, *beside)]
    everything.sort(key=lambda row: (row.key, row.unit))

    # Sum it up.
    counts = Counter(row.judgement.verdict for row in everything if row.decides)
    report = CheckReport(line, None, tuple(everything), counts, false_positives=false_positives, replayed=replayed)
    if history is None:
        return report
    measured = history.measured
    newest = history.line.slots[int(measured[-1])] if measured.size else None
    return replace(
        report, line=history.line.name, base=base, measured=int(measured.size), newest=newest, left_out=left_out
    )


@dataclass(frozen=True, slots=True)
class _Settings:
    """How :func:`knickpoint.detect.family.judge_family` decides."""

    false_positives: float
    minimum_effect: float


@dataclass(frozen=True, slots=True)
class _Measured:
    """New values of a trace that are not judged yet, and their history, in ``unit``."""

    key: str
    trace: Trace | None
    unit: str
    values: tuple[float, ...]
    past: NDArray[np.float64]
    better: Better


def _judge(rows: Sequence[_Measured], settings: _Settings) -> tuple[list[CheckedTrace], int]:
    """Return the verdicts of one decision over all ``rows``, and the number of past commits behind it."""
    if not rows:
        return [], 0
    columns = max(row.past.size for row in rows)
    histories = np.full((len(rows), columns), math.nan)
    for place, row in enumerate(rows):
        histories[place, : row.past.size] = row.past
    found = judge_family(
        histories[:, np.flatnonzero((~np.isnan(histories)).any(axis=0))[-_NEWEST:]],
        [row.values for row in rows],
        better=[row.better for row in rows],
        kinds=[_kind(row) for row in rows],
        false_positives=settings.false_positives,
        minimum_effect=settings.minimum_effect,
    )
    checked = [
        CheckedTrace(row.key, row.trace, row.unit, row.values, judgement, better=row.better, margin=margin)
        for row, judgement, margin in zip(rows, found.judgements, found.margins, strict=True)
    ]
    return checked, found.commits


def _kind(row: _Measured) -> tuple[str, str, str]:
    """Return what the noise of a trace is like: that of one dimension, metric and statistic is comparable."""
    params = decode_key(row.key)
    return read_unit(row.unit).dimension, params.get("metric", ""), params.get("stat", "")


def _gather(runs: Sequence[RunReport]) -> dict[str, _NewResults]:
    """Gather one value a run and key: the median of the run's samples, as a point of the history is."""
    found: dict[str, _NewResults] = {}
    for run in runs:
        samples: dict[tuple[str, str], list[float]] = {}
        for key, result in zip(run.results.keys, run.results, strict=True):
            new = found.setdefault(key, _NewResults())
            if result.outcome is Outcome.FAILED:
                new.failed.append(result.message)
            if result.outcome is Outcome.SKIPPED:
                new.skipped.append(result.message)
            if result.samples:
                samples.setdefault((key, result.unit), []).extend(result.samples)
                new.better = result.better if new.better is Better.UNKNOWN else new.better
        for (key, unit), values in samples.items():
            measured = found[key].measured.setdefault(read_unit(unit).dimension, [])
            measured.append((float(np.median(values)), unit))
    return found


def _position(line: Line, base: int | None) -> int:
    """Return the position of the base on the line, -1 for none."""
    if base is None:
        return -1
    if base not in line.positions:
        raise HistoryError(
            f"the base commit (slot {base}) is not on the line {line.name!r}",
            where=line.repository.name,
            remedy="Name a commit of that line, such as the merge base.",
        )
    return line.positions[base]


def _check_key(key: str, new: _NewResults, history: _History | None) -> list[CheckedTrace | _Measured]:
    """Return the verdicts on the new results of one key, or what is to be judged: one, or one for each dimension."""
    if new.failed or not new.measured:
        return [_without_value(key, new, history)]
    return [_check_values(key, dimension, new, history) for dimension in new.measured]


def _check_values(key: str, dimension: str, new: _NewResults, history: _History | None) -> CheckedTrace | _Measured:
    """Return the values of one dimension with their history, or the verdict where the unit changed."""
    measured = new.measured[dimension]
    rows = history.of(key) if history else {}
    row = rows.get(dimension)
    if history and (former := _replaced_row(history, rows, row, new)) is not None:
        return _of_another_unit(key, measured, history.traces[former])

    # Compare in the unit of the history, where there is one.
    trace = history.traces[row] if history and row is not None else None
    past = history.values[row] if history and row is not None else np.empty(0)
    better = _better(history, trace) or new.better
    unit = trace.unit if trace else measured[0][1]
    values = tuple(convert(value, read_unit(source), read_unit(unit)) for value, source in measured)
    return _Measured(key, trace, unit, values, past, better)


def _replaced_row(history: _History, rows: Mapping[str, int], row: int | None, new: _NewResults) -> int | None:
    """Return the row of another dimension that was measured later than ``row``, and is not measured any more.

    Then the unit of the benchmark changed.
    """
    gone = next((other for dimension, other in rows.items() if dimension not in new.measured), None)
    if gone is None:
        return None
    return gone if row is None or history.newest[gone] > history.newest[row] else None


def _better(history: _History | None, trace: Trace | None) -> Better | None:
    """Return the direction that the history has of ``trace``, None where the new results may state it."""
    if history is None or trace is None:
        return None
    decided = trace.better is not Better.UNKNOWN or history.store.traces.has_configured_direction(trace)
    return trace.better if decided else None


def _of_another_unit(key: str, measured: Sequence[tuple[float, str]], trace: Trace) -> CheckedTrace:
    """Return the verdict on values whose unit does not convert into that of ``trace``, the history of the key."""
    unit = measured[0][1]
    reason = f"the unit changed from {trace.unit or 'none'} to {unit or 'none'}"
    judgement = Judgement.without_numbers(Verdict.REGRESSED, reason, samples=len(measured))
    values = tuple(convert(value, read_unit(source), read_unit(unit)) for value, source in measured)
    return CheckedTrace(key, trace, unit, values, judgement)


def _without_value(key: str, new: _NewResults, history: _History | None) -> CheckedTrace:
    """Return the verdict on a benchmark that failed or was skipped."""
    row = next(iter(history.of(key).values()), None) if history else None
    newest = history.newest[row] if history and row is not None else -1
    verdict, reason = _verdict_without_value(key, new, history, newest)
    trace = next((history.traces[each] for each in history.rows.get(key, [])), None) if history else None
    judgement = Judgement.without_numbers(verdict, reason)
    return CheckedTrace(key, trace, trace.unit if trace else "", (), judgement, tuple(new.failed))


def _verdict_without_value(key: str, new: _NewResults, history: _History | None, newest: int) -> tuple[Verdict, str]:
    """Return verdict and reason; ``newest`` is the last position at which the benchmark was measured, -1 for never."""
    if not new.failed:
        return Verdict.NO_DATA, _with_message("skipped", new.skipped)
    extent = f"failed in {len(new.failed)} of {new.runs} runs" if new.measured else "failed"
    reason = _with_message(extent, new.failed)
    broken = history.failures.get(key, -1) if history else -1
    if history and broken > newest:
        return Verdict.NO_DATA, f"{reason}; it failed at {history.name(broken)}, too"
    return Verdict.REGRESSED, reason if newest >= 0 else f"{reason}; it was never measured before"


def _with_message(what: str, messages: Sequence[str]) -> str:
    """Return what happened, with the first line of the messages that is not empty."""
    lines = (line.strip() for message in messages for line in message.splitlines())
    first = next((line for line in lines if line), "")
    return f"{what}: {first[:_LONGEST_MESSAGE]}" if first else what


def _vanished(
    history: _History | None, new: Mapping[str, _NewResults], checked: Sequence[Trace]
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
    history: _History, new: Mapping[str, _NewResults], shared: Mapping[str, str], judged: Collection[int]
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
