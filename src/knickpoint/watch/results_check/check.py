"""Judge new results by one decision: gather one value a run and benchmark, read the history, judge all of them together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from knickpoint.detect.family import FEWEST, judge_family
from knickpoint.model.commit import Repository
from knickpoint.model.direction import DirectionRule
from knickpoint.model.errors import InputError
from knickpoint.model.judged_benchmark import JudgedBenchmark, JudgedResults
from knickpoint.model.judgement import Judgement
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted
from knickpoint.model.query import Query
from knickpoint.model.report import RunReport
from knickpoint.model.step import Verdict
from knickpoint.model.summary import MEDIAN, Summary
from knickpoint.model.unit import read_unit
from knickpoint.store import Store
from knickpoint.watch.deciding_statistics import deciding_keys, noise_kind
from knickpoint.watch.results_check.file_history import FileHistory
from knickpoint.watch.results_check.sides import History, NewResults, StoredHistory, base_position, gather
from knickpoint.watch.results_check.single_traces import MeasuredTrace, check_key
from knickpoint.watch.results_check.vanished import check_vanished

__all__ = ["CheckRules", "check_files", "check_results"]

_NEWEST: Final = 200
"""Measured commits of the history that count."""

_SHOWN: Final = 40
"""Values of the history that are kept with a verdict, to be drawn beside the new ones."""


@dataclass(frozen=True, slots=True)
class CheckRules:
    """What a check compares, and how it decides (:func:`knickpoint.detect.family.judge_family`).

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
    points of the history are. With another ``summary`` they are that, and the values of the history are made of its samples, as far as
    they are stored. Without a ``repository`` or a ``base`` there is no history. Nothing is written. The values are
    judged together (:func:`knickpoint.detect.family.judge_family`): at most a share of ``false_positives`` of unchanged
    commits has any regression. Besides, a benchmark is *regressed*, with the reason,

    - when it failed in any of the runs, unless it failed at the base, too: then there are no data;
    - when it vanished, unless ``partial``: the base has it with the params that all new results share
      (:func:`knickpoint.watch.absence.vanished_traces.find_vanished`), and the new results lack it;
    - when it has another unit now, into which that of the history does not convert.

    Raises:
        HistoryError: no such line, or the base is not on it.
        InputError: ``false_positives`` or ``minimum_effect`` cannot be, or the query selects nothing.
    """
    new = gather(runs, rules.summary)
    if repository is None:
        return _check(new, None, line, rules)
    chosen = store.commits.line(repository, line)
    history = StoredHistory.read(store, chosen, base_position(chosen, base), new, rules.summary)
    measured = history.measured
    newest = chosen.slots[int(measured[-1])] if measured.size else None
    return replace(_check(new, history, chosen.name, rules), base=base, newest=newest)


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

    It is the decision of :func:`check_results` where each run of ``base`` is a commit of the history, or each of its commits where
    it names several. If no benchmark has 5 of them, the samples of the runs stand for them, and each change is conditional:
    what differs from run to run is not among them. ``directions`` are the rules for ``repository`` that say what is better.

    Raises:
        InputError: an option cannot be, or the query selects nothing.
    """
    history = FileHistory.from_runs(base, name, summary=rules.summary, rules=directions, repository=repository)
    found = _check(gather(runs, rules.summary), history, "", rules)
    benchmarks = tuple(_beside_file(each, history) for each in found.benchmarks)
    return replace(found, benchmarks=benchmarks, by_samples=history.by_samples)


def _beside_file(found: JudgedBenchmark, history: FileHistory) -> JudgedBenchmark:
    """Return a verdict on what is no trace of the store, with what it rests on."""
    reason, conditional = found.reason, found.conditional
    if history.by_samples and found.verdict in {Verdict.REGRESSED, Verdict.IMPROVED} and found.past:
        again = "" if conditional else "; measure again to confirm"
        reason += f"{again}; samples of the base stand for runs, which are too few"
        conditional = True
    if found.verdict is Verdict.NO_DATA and found.new and len(found.past) < FEWEST:
        reason = f"{history.name} has {counted(len(found.past), 'value')} of it, and a verdict needs {FEWEST}: runs, or samples of runs"
    return replace(found, trace_id=None, reason=reason, conditional=conditional)


def _check(new: Mapping[str, NewResults], history: History | None, line: str, rules: CheckRules) -> JudgedResults:
    """Judge what was measured, then what was not."""
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
            remedy="Leave it out to see what there is.",
        )
    deciding = deciding_keys({row.trace for row in (*rows, *vanished)})
    judged, replayed = _judge([row for row in waiting if row.trace in deciding], rules)
    beside, _ = _judge([row for row in waiting if row.trace not in deciding], rules)
    everything = [replace(row, decides=row.trace in deciding) for row in (*checked, *vanished, *judged, *beside)]
    everything.sort(key=lambda row: (row.trace, row.unit))
    return JudgedResults(
        tuple(everything),
        rules.false_positives,
        replayed,
        line,
        measured=int(history.measured.size) if history else 0,
        left_out=left_out,
    )


def _judge(rows: Sequence[MeasuredTrace], rules: CheckRules) -> tuple[list[JudgedBenchmark], int]:
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
        )
        for row, judgement, margin in zip(rows, found.judgements, found.margins, strict=True)
    ]
    return checked, found.commits


def _with_doubt(judgement: Judgement, row: MeasuredTrace) -> Judgement:
    """Return ``judgement``, whose reason doubts an improvement to a time of exactly 0: no work takes none."""
    if judgement.verdict is not Verdict.IMPROVED or any(row.values) or read_unit(row.unit).dimension != "time":
        return judgement
    doubt = "a time of exactly 0 may mean that the benchmark no longer does its work"
    return replace(judgement, reason=f"{judgement.reason}; {doubt}")
