"""Both sides of a check: the new results by key, and the history of the same keys up to the base."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.family import FEWEST, NEWEST
from knickpoint.detect.samples import summary_of
from knickpoint.model.commit import Line
from knickpoint.model.direction import DirectionRule, configured_better
from knickpoint.model.errors import HistoryError
from knickpoint.model.frame import Trace
from knickpoint.model.params import decode_key
from knickpoint.model.query import Query, QueryTerm
from knickpoint.model.report import Outcome, RunReport
from knickpoint.model.summary import MEDIAN, Summary
from knickpoint.model.unit import convert, read_unit
from knickpoint.model.unit_names import Better
from knickpoint.store import Store
from knickpoint.store.points.environments import environments_at
from knickpoint.watch.detection.commit_values import read_summaries

# Find the benchmarks that a base commit has and new results lack, and those that failed there.


_PAST: Final = 200
"""Measured commits before the newest one at which a new benchmark has no value."""

_BLOCK_BYTES: Final = 32 * 2**20


@dataclass(frozen=True, slots=True)
class Vanished:
    """A benchmark that the base has and new results lack; ``slot`` is the commit that last measured it."""

    trace: Trace
    slot: int


def is_held(held: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the traces that are measured as a rule.

    ``held`` is true where traces x measured commits, in order, have a value. A trace counts where the newest commit has
    it, and so has the one before, or half of all. So one run that broke off does not hide a benchmark, and a benchmark
    that is measured every tenth time does not vanish each time.
    """
    usual = 2 * np.count_nonzero(held, axis=1) >= held.shape[1]
    found: NDArray[np.bool_] = held[:, -1] & (usual | held[:, -2:].all(axis=1))
    return found


def find_vanished(
    store: Store,
    line: Line,
    last: int,
    *,
    shared: Mapping[str, str],
    submitted: Collection[int],
    measured: NDArray[np.int64],
) -> list[Vanished]:
    """Return the traces that the base has with all params of ``shared`` and that are not ``submitted``, by key.

    The base has the traces that :func:`is_held` accepts for the last twenty commits at which the benchmarks of the new
    results were measured, and those measured for the first time at the newest of them. What stopped before the base did
    not vanish now. The catalogue and a few columns are read, however long the history is.

    Args:
        store: where the history is.
        line: the line that is compared with.
        last: the position of the base.
        shared: the params that all new results have in common; an empty mapping means every benchmark.
        submitted: the ids of the traces that appear in the new results.
        measured: the positions up to ``last`` at which benchmarks of the new results were measured, sorted. Where all
            of them are new it is empty; then the newest commits count at which a candidate was measured.
    """
    # The candidates, and the commits at which they should have been measured.
    query = Query.of(*(QueryTerm(name, values=(value,)) for name, value in shared.items()))
    ids = np.setdiff1d(store.traces.select(line.repository, query), np.array(sorted(submitted), dtype=np.int64))
    columns = measured if measured.size else _with_runs(store, line, last)
    window = columns[-_WINDOW:]
    held = _held(store, line, window, ids)
    if not measured.size:
        window, held = window[held.any(axis=0)], held[:, held.any(axis=0)]
    if not held.size:
        return []

    # Those measured as a rule, and those measured for the first time at the newest commit.
    present = is_held(held)
    lone = np.flatnonzero(held[:, -1] & ~present)
    present[lone] = ~_ever_held(store, line, columns[columns < window[-1]][-_PAST:], ids[lone])
    slot = line.slots[int(window[-1])]
    found = [Vanished(trace, slot) for trace in store.traces.get(ids[present])]
    return sorted(found, key=lambda vanished: (vanished.trace.key, vanished.trace.id))


def failed_positions(store: Store, line: Line, last: int) -> dict[str, int]:
    """Return key → newest position at which a run failed, for the last twenty commits up to ``last`` with any run."""
    positions = _with_runs(store, line, last).tolist()
    failures = store.runs.failures(line.repository, [line.slots[position] for position in positions])
    return {key: position for position in positions for key in failures[line.slots[position]]}


def _with_runs(store: Store, line: Line, last: int) -> NDArray[np.int64]:
    """Return the last twenty positions up to ``last`` that have a run, sorted."""
    slots = store.runs.slots(line.repository)
    found = [position for position in range(last + 1) if line.slots[position] in slots]
    return np.array(found[-_WINDOW:], dtype=np.int64)


def _held(store: Store, line: Line, positions: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of traces x positions that have a value."""
    some = replace(line, slots=tuple(line.slots[position] for position in positions.tolist()))
    found: NDArray[np.bool_] = ~np.isnan(store.frames.values(some, ids))
    return found


def _ever_held(store: Store, line: Line, positions: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return the traces with a value at any of the positions, read in blocks."""
    found = np.zeros(len(ids), dtype=np.bool_)
    rows = max(1, _BLOCK_BYTES // max(1, 8 * len(positions)))
    for begin in range(0, len(ids), rows):
        block = slice(begin, begin + rows)
        found[block] = _held(store, line, positions, ids[block]).any(axis=1)
    return found


@dataclass(slots=True)
class NewResults:
    """The new results of one key: by dimension, a value and its unit for each run; messages of failures and skips.

    Values are ``nan`` where a run has too few samples for the summary that is asked for; ``most`` is the largest number
    of samples of a run.
    """

    measured: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    better: Better = Better.UNKNOWN
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    most: int = 0

    @property
    def runs(self) -> int:
        """The number of runs that measured it, or failed."""
        return max((len(values) for values in self.measured.values()), default=0) + len(self.failed)


def gather(runs: Sequence[RunReport], summary: Summary = MEDIAN) -> dict[str, NewResults]:
    """Gather one value a run and key: the ``summary`` of the run's samples; a point of the history is their median."""
    found: dict[str, NewResults] = {}
    for run in runs:
        samples: dict[tuple[str, str], list[float]] = {}
        for key, result in zip(run.results.keys, run.results, strict=True):
            new = found.setdefault(key, NewResults())
            if result.outcome is Outcome.FAILED:
                new.failed.append(result.message)
            if result.outcome is Outcome.SKIPPED:
                new.skipped.append(result.message)
            if result.samples:
                samples.setdefault((key, result.unit), []).extend(result.samples)
                new.better = result.better if new.better is Better.UNKNOWN else new.better
        for (key, unit), values in samples.items():
            measured = found[key].measured.setdefault(read_unit(unit).dimension, [])
            found[key].most = max(found[key].most, len(values))
            measured.append((summary_of(np.asarray(values, dtype=np.float64), summary), unit))
    return found


@dataclass(frozen=True)
class History(ABC):
    """What is known of some keys up to the base.

    ``traces`` are those of the keys, and ``values`` their traces x points, oldest first: a point is a commit of a line,
    or a run of a file. ``judged`` are the values that new results are compared with: the same, unless a summary of the
    samples is, or samples stand for runs.
    """

    traces: tuple[Trace, ...]
    values: NDArray[np.float64]
    judged: NDArray[np.float64]

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether there is no base at all."""

    @abstractmethod
    def failed_at(self, key: str) -> int:
        """Return the newest point at which ``key`` failed, -1 for none."""

    @abstractmethod
    def at(self, point: int) -> str:
        """Name the place of a point: "at 1a2b3c4d5e6f", "in before.json"."""

    @abstractmethod
    def better(self, trace: Trace) -> Better | None:
        """Return the direction that the history has of ``trace``, None where the new results may state it."""

    @abstractmethod
    def lacking(self, shared: Mapping[str, str], submitted: Collection[int]) -> list[tuple[Trace, str]]:
        """Return the traces that the base has with all params of ``shared`` and that are not ``submitted``, by key.

        Each comes with the place where it was last measured, in words.
        """

    @abstractmethod
    def machines(self, points: Sequence[int]) -> list[Mapping[str, str]]:
        """Return the facts of the machine that measured each of ``points``, which are those of :attr:`judged`."""

    @cached_property
    def measured(self) -> NDArray[np.int64]:
        """The points at which any of the traces was measured."""
        return np.flatnonzero((~np.isnan(self.values)).any(axis=0))

    @cached_property
    def newest(self) -> list[int]:
        """The last point at which each trace was measured, -1 for never."""
        return [int(np.flatnonzero(~np.isnan(row)).max(initial=-1)) for row in self.values]

    @cached_property
    def rows(self) -> dict[str, list[int]]:
        """Key → rows of its traces, one for each dimension."""
        found: dict[str, list[int]] = {}
        for row, trace in enumerate(self.traces):
            found.setdefault(trace.key, []).append(row)
        return found

    def of(self, key: str) -> dict[str, int]:
        """Return dimension → row of the traces of a key that were measured, the last measured one first."""
        rows = [row for row in self.rows.get(key, []) if self.newest[row] >= 0]
        rows.sort(key=lambda row: -self.newest[row])
        return {self.traces[row].dimension: row for row in rows}


@dataclass(frozen=True)
class StoredHistory(History):
    """What the store knows of some keys on ``line`` up to and including the position ``last``; points are positions."""

    store: Store
    line: Line
    last: int

    @classmethod
    def read(cls, store: Store, line: Line, last: int, keys: Iterable[str], summary: Summary = MEDIAN) -> StoredHistory:
        """Read the history of ``keys`` on ``line`` up to and including the position ``last``, -1 for none."""
        ids = sorted(number for found in store.traces.find_ids(line.repository, keys).values() for number in found)
        values = judged = np.empty((len(ids), 0))
        if ids and last >= 0 and summary != MEDIAN:
            frame = store.frames.read(line, ids, last=last)
            values, judged = np.asarray(frame.values, dtype=np.float64), read_summaries(store, frame, summary)
        elif ids and last >= 0:
            values = judged = np.asarray(store.frames.values(line, ids, last=last), dtype=np.float64)
        return cls(tuple(store.traces.get(ids)), values, judged, store, line, last)

    @property
    def is_empty(self) -> bool:
        """Whether there is no base at all."""
        return self.last < 0

    def failed_at(self, key: str) -> int:
        """Return the newest point at which ``key`` failed, -1 for none."""
        return self._failures.get(key, -1)

    @cached_property
    def _failures(self) -> Mapping[str, int]:
        return failed_positions(self.store, self.line, self.last) if self.last >= 0 else {}

    def at(self, point: int) -> str:
        """Name the place of a point: its commit."""
        return self._at_slot(self.line.slots[point])

    def _at_slot(self, slot: int) -> str:
        return f"at {self.store.commits.get(self.line.repository, [slot])[0].commit.hash[:12]}"

    def better(self, trace: Trace) -> Better | None:
        """Return the direction that the history has of ``trace``, None where the new results may state it."""
        decided = trace.better is not Better.UNKNOWN or self.store.traces.has_configured_direction(trace)
        return trace.better if decided else None

    def lacking(self, shared: Mapping[str, str], submitted: Collection[int]) -> list[tuple[Trace, str]]:
        """Return the traces that the base has with all params of ``shared`` and that are not ``submitted``, by key."""
        found = find_vanished(
            self.store, self.line, self.last, shared=shared, submitted=submitted, measured=self.measured
        )
        names = {slot: self._at_slot(slot) for slot in {vanished.slot for vanished in found}}
        return [(vanished.trace, names[vanished.slot]) for vanished in found]

    def machines(self, points: Sequence[int]) -> list[Mapping[str, str]]:
        """Return the facts of the runs that measured the longest of the traces at each point."""
        longest = int(np.count_nonzero(~np.isnan(self.values), axis=1).argmax())
        return machines_at(self.store, self.line, self.traces[longest].id, points)


def machines_at(store: Store, line: Line, trace_id: int, positions: Sequence[int]) -> list[Mapping[str, str]]:
    """Return the facts of the runs that measured a trace at each of ``positions``."""
    slots = [line.slots[position] for position in positions]
    facts = environments_at(store.runs, line, trace_id, slots)
    return [facts.get(slot, {}) for slot in slots]


def base_position(line: Line, base: int | None) -> int:
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


# The runs of a results file as the history that other results are compared with.
#
# A point of this history is a run; where the runs are of several commits, it is a commit, as in the store. Where no
# benchmark has as many runs as a verdict needs, the samples of the runs stand for them: they tell how single values
# scatter, and nothing of what differs between runs.


_WINDOW: Final = 20
"""How many of the newest points show whether a benchmark is measured as a rule, as in the history of the store."""


@dataclass(frozen=True)
class FileHistory(History):
    """What the results file ``name`` says; points are its runs, or the commits that they measured.

    ``by_samples`` says that samples stand for runs. ``rules`` say which direction is better in ``repository``.
    ``facts`` are those of the machine of each run, or of the first run of each commit.
    """

    name: str
    failed: Mapping[str, int]
    by_samples: bool
    rules: Sequence[DirectionRule]
    repository: str
    facts: Sequence[Mapping[str, str]] = ()

    @classmethod
    def from_runs(
        cls,
        runs: Sequence[RunReport],
        name: str,
        *,
        summary: Summary = MEDIAN,
        rules: Sequence[DirectionRule] = (),
        repository: str = "",
    ) -> FileHistory:
        """Return the history that the ``runs`` of a file are, in their order."""
        points = [gather(point, summary) for point in _points(runs)]
        traces, values = _traces(points)
        counts = np.count_nonzero(~np.isnan(values), axis=1)
        judged, by_samples = values, False
        if summary == MEDIAN and counts.max(initial=0) < FEWEST:
            samples = _samples(runs, traces)
            if np.count_nonzero(~np.isnan(samples), axis=1).max(initial=0) >= FEWEST:
                judged, by_samples = samples, True
        failed = {key: at for at, point in enumerate(points) for key, results in point.items() if results.failed}
        facts = [point[0].environment for point in _points(runs)]
        return cls(tuple(traces), values, judged, name, failed, by_samples, rules, repository, facts)

    def machines(self, points: Sequence[int]) -> list[Mapping[str, str]]:
        """Return the facts of the run at each point; where samples stand for runs, those of the last one."""
        return [self.facts[-1 if self.by_samples else point] for point in points]

    @property
    def is_empty(self) -> bool:
        """Whether there is no base at all."""
        return not self.traces

    def failed_at(self, key: str) -> int:
        """Return the newest point at which ``key`` failed, -1 for none."""
        return self.failed.get(key, -1)

    def at(self, point: int) -> str:  # noqa: ARG002 - a file is one place
        """Name the place of a point: the file."""
        return f"in {self.name}"

    def better(self, trace: Trace) -> Better | None:
        """Return the direction that the history has of ``trace``, None where the new results may state it."""
        configured = configured_better(self.rules, self.repository, decode_key(trace.key))
        stated = trace.better if trace.better is not Better.UNKNOWN else None
        return stated if configured is None else configured

    def lacking(self, shared: Mapping[str, str], submitted: Collection[int]) -> list[tuple[Trace, str]]:
        """Return the traces that the base has with all params of ``shared`` and that are not ``submitted``, by key."""
        held = ~np.isnan(self.values[:, self.measured[-_WINDOW:]])
        present = is_held(held) if held.size else np.zeros(len(self.traces), dtype=np.bool_)
        found = [
            trace
            for trace, is_present in zip(self.traces, present.tolist(), strict=True)
            if is_present and trace.id not in submitted and shared.items() <= decode_key(trace.key).items()
        ]
        return [(trace, self.at(0)) for trace in sorted(found, key=lambda trace: (trace.key, trace.id))]


def _points(runs: Sequence[RunReport]) -> list[list[RunReport]]:
    """Return the runs of each point: of each commit where they name several, else each run by itself."""
    commits: dict[str, list[RunReport]] = {}
    for run in runs:
        commits.setdefault(run.revision, []).append(run)
    several = len(commits) > 1 and "" not in commits
    return list(commits.values()) if several else [[run] for run in runs]


def _traces(points: Sequence[Mapping[str, NewResults]]) -> tuple[list[Trace], NDArray[np.float64]]:
    """Return the traces of a file, one for each key and dimension, and their traces x points; ids are rows."""
    traces: dict[tuple[str, str], Trace] = {}
    cells: list[tuple[int, int, float]] = []
    for at, point in enumerate(points):
        for key, results in point.items():
            for dimension, measured in results.measured.items():
                unit = read_unit(measured[0][1])
                better = results.better if results.better is not Better.UNKNOWN else unit.better
                trace = traces.setdefault((key, dimension), Trace(len(traces), key, unit.text, dimension, better))
                values = [convert(value, read_unit(text), read_unit(trace.unit)) for value, text in measured]
                known = [value for value in values if not np.isnan(value)]
                cells.append((trace.id, at, float(np.median(known)) if known else np.nan))
    table = np.full((len(traces), len(points)), np.nan)
    for row, column, value in cells:
        table[row, column] = value
    return list(traces.values()), table


def _samples(runs: Sequence[RunReport], traces: Sequence[Trace]) -> NDArray[np.float64]:
    """Return the samples of each trace in their order, traces x samples; of very many, evenly spaced ones."""
    found: list[list[float]] = [[] for _ in traces]
    rows = {(trace.key, trace.dimension): trace for trace in traces}
    for run in runs:
        for key, result in zip(run.results.keys, run.results, strict=True):
            if result.samples:
                unit = read_unit(result.unit)
                trace = rows[key, unit.dimension]
                found[trace.id] += [convert(value, unit, read_unit(trace.unit)) for value in result.samples]
    table = np.full((len(traces), min(NEWEST, max(map(len, found), default=0))), np.nan)
    for row, samples in enumerate(found):
        count = min(len(samples), table.shape[1])
        chosen = np.linspace(0, len(samples) - 1, count).round().astype(np.intp)
        table[row, :count] = np.array(samples, dtype=np.float64)[chosen]
    return table


# Which statistic of a benchmark decides about a commit: its main value, and no other one; and whose noise is alike.
#
# A median, a mean, a maximum and a 99th percentile of the same samples are one piece of evidence, and the extreme ones
# are the noisiest. The main value decides; the other statistics have verdicts of their own that decide nothing.


_STATISTIC: Final = "stat"

_MAIN: Final = ("", "value", "median", "p50", "typical", "mean", "avg", "average", "geomean", "trimmed_mean", "min")
"""Statistics that say where the values lie, the best one first; "" is the value without a statistic."""

_SPREAD: Final = frozenset(
    {"stddev", "std", "sd", "stdev", "variance", "var", "mad", "iqr", "range", "error", "cv", "sem"}
)
"""Statistics of the spread: they say how noisy a benchmark is, never how fast."""

_PERCENTILE: Final = re.compile(r"p(?P<percent>\d+(?:\.\d+)?)")

_LAST: Final = 1_000.0


def deciding_keys(keys: Iterable[str]) -> frozenset[str]:
    """Return those of ``keys`` that decide: for each benchmark and configuration, the key of its main statistic.

    Where a benchmark has no plain value, the best location decides, then the lowest percentile, then the maximum. A
    spread never does.
    """
    best: dict[frozenset[tuple[str, str]], tuple[float, str]] = {}
    for key in keys:
        params = dict(decode_key(key))
        statistic = params.pop(_STATISTIC, "")
        if statistic.lower() in _SPREAD:
            continue
        ranked = (_rank(statistic.lower()), key)
        subject = frozenset(params.items())
        best[subject] = min(best.get(subject, ranked), ranked)
    return frozenset(key for _, key in best.values())


def noise_kind(key: str, unit: str) -> tuple[str, str, str]:
    """Return the kind of noise of a trace: that of one dimension, metric and statistic is comparable."""
    params = decode_key(key)
    return read_unit(unit).dimension, params.get("metric", ""), params.get(_STATISTIC, "")


def _rank(statistic: str) -> float:
    """Return the distance of a statistic from the main one."""
    if statistic in _MAIN:
        return _MAIN.index(statistic)
    percentile = _PERCENTILE.fullmatch(statistic)
    return len(_MAIN) + (float(percentile["percent"]) if percentile else _LAST)
