"""Judge new results by one decision: gather one value a run and benchmark, read the history, judge all of them together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from knickpoint.detect.family import judge_family
from knickpoint.model.commit import Repository
from knickpoint.model.report import RunReport
from knickpoint.model.summary import MEDIAN, Summary
from knickpoint.store import Store
from knickpoint.watch.deciding_statistics import deciding_keys, noise_kind
from knickpoint.watch.results_check.report import CheckedTrace, CheckReport
from knickpoint.watch.results_check.sides import History, base_position, gather
from knickpoint.watch.results_check.single_traces import MeasuredTrace, check_key
from knickpoint.watch.results_check.vanished import check_vanished

__all__ = ["check_results"]

_NEWEST: Final = 200
"""Measured commits of the history that count."""

_SHOWN: Final = 40
"""Values of the history that are kept with a verdict, to be drawn beside the new ones."""


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
    summary: Summary = MEDIAN,
) -> CheckReport:
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
        InputError: ``false_positives`` or ``minimum_effect`` cannot be.
    """
    # Gather the new results, and read the history of their keys.
    new = gather(runs, summary)
    history = None
    if repository is not None:
        chosen = store.commits.line(repository, line)
        history = History.read(store, chosen, base_position(chosen, base), new, summary)

    # Judge what was measured, then what was not.
    rows = [row for key, results in new.items() for row in check_key(key, results, history, summary)]
    waiting = [row for row in rows if isinstance(row, MeasuredTrace)]
    checked = [row for row in rows if isinstance(row, CheckedTrace)]
    names = {row.key for row in rows}
    vanished, left_out = ([], 0) if partial else check_vanished(history, new, [row.trace for row in rows if row.trace])
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


def _judge(rows: Sequence[MeasuredTrace], settings: _Settings) -> tuple[list[CheckedTrace], int]:
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
        kinds=[noise_kind(row.key, row.unit) for row in rows],
        false_positives=settings.false_positives,
        minimum_effect=settings.minimum_effect,
    )
    checked = [
        CheckedTrace(
            row.key,
            row.trace,
            row.unit,
            row.values,
            judgement,
            better=row.better,
            margin=margin,
            past=tuple(row.past[~np.isnan(row.past)][-_SHOWN:].tolist()),
        )
        for row, judgement, margin in zip(rows, found.judgements, found.margins, strict=True)
    ]
    return checked, found.commits
