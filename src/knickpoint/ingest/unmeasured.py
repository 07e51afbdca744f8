"""Keep the results of benchmarks that only failed or were skipped apart from traces.

A failure of a benchmark that has a trace is a gap in that trace. A benchmark that never had a value has no trace, and
must not get an empty one: the store keeps such results with their run, and lists them from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Final

import numpy as np

from knickpoint.model.commit import Repository
from knickpoint.model.params import decode_key, encode_key
from knickpoint.model.plain_text import counted
from knickpoint.model.report import Outcome, Problem, Result, RunReport, Severity
from knickpoint.store import Run, Store

_OUTCOMES: Final = tuple(Outcome)
_MEASURED: Final = _OUTCOMES.index(Outcome.MEASURED)
_FAILED: Final = _OUTCOMES.index(Outcome.FAILED)
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class NeverMeasured:
    """A benchmark without a trace, as it only failed or was skipped, with what its newest run reports.

    ``runs`` counts the runs, among the newest, that report it without a value.
    """

    params: Mapping[str, str]
    outcome: Outcome
    message: str
    commit: str
    time: datetime
    source: str
    runs: int


def list_never_measured(store: Store, repository: Repository, *, most_runs: int = 1000) -> list[NeverMeasured]:
    """Return the benchmarks of the newest runs that have no trace, sorted by their key."""
    # The newest result of each, and how many runs have one; the runs come newest first.
    runs = store.runs.never_measured(repository, limit=most_runs)
    newest: dict[str, tuple[Result, Run]] = {}
    counts: Counter[str] = Counter()
    for run in runs:
        for result in run.unmeasured:
            key = encode_key(result.params)
            newest.setdefault(key, (result, run))
            counts[key] += 1
    # Those that were measured later have a trace now.
    measured = store.traces.find_ids(repository, newest.keys())
    slots = sorted({run.slot for _, run in newest.values()})
    commits = {slotted.slot: slotted.commit.hash for slotted in store.commits.get(repository, slots)}
    return [
        NeverMeasured(
            result.params,
            result.outcome,
            result.message,
            commits.get(run.slot, ""),
            run.time or run.created,
            run.source,
            counts[key],
        )
        for key, (result, run) in sorted(newest.items())
        if key not in measured
    ]


def keys_without_trace(store: Store, repository: Repository, runs: Sequence[RunReport]) -> set[str]:
    """Return the keys that have no value in any of ``runs``, and no trace in the store."""
    tables = [run.results for run in runs]
    empty = {
        table.keys[place] for table in tables for place in np.flatnonzero(table.outcome_codes != _MEASURED).tolist()
    }
    if not empty:
        return empty
    # A value in another run of the file makes the trace; so does one in the store.
    measured = {
        table.keys[place] for table in tables for place in np.flatnonzero(table.outcome_codes == _MEASURED).tolist()
    }
    empty -= measured
    return empty - store.traces.find_ids(repository, empty).keys()


def take_apart(run: RunReport, keys: Collection[str]) -> RunReport:
    """Return ``run`` with the results of ``keys`` moved to those that make no trace."""
    table = run.results
    if not keys or not table.outcome_codes.any():
        return run
    apart = np.array([key in keys for key in table.keys], dtype=np.bool_)
    if not apart.any():
        return run
    return replace(run, results=table.only(~apart), unmeasured=tuple(table.only(apart)))


def count_outcomes(runs: Iterable[RunReport]) -> tuple[int, int]:
    """Return the numbers of failed and of skipped results."""
    counts = np.zeros(len(_OUTCOMES), dtype=np.int64)
    for run in runs:
        counts += np.bincount(run.results.outcome_codes, minlength=len(_OUTCOMES))
    return int(counts[_FAILED]), int(counts.sum() - counts[_FAILED] - counts[_MEASURED])


def count_empty(run: RunReport) -> int:
    """Return the number of traces of ``run`` with a failure or a skip and no value, and so no point."""
    measured = run.results.outcome_codes == _MEASURED
    keys = run.results.keys
    without = {keys[place] for place in np.flatnonzero(~measured).tolist()}
    return len(without - {keys[place] for place in np.flatnonzero(measured).tolist()}) if without else 0


def failure_warning(runs: Sequence[RunReport], failed: int, where: str) -> Problem:
    """Return the warning that names the first of the results that ``failed``."""
    names = (
        _failure(run, place) for run in runs for place in np.flatnonzero(run.results.outcome_codes == _FAILED).tolist()
    )
    shown = "; ".join(islice(names, _SHOWN))
    more = f"; and {failed - _SHOWN:,} more" if failed > _SHOWN else ""
    return Problem(f"{counted(failed, 'result')} failed: {shown}{more}", where=where, severity=Severity.WARNING)


def _failure(run: RunReport, place: int) -> str:
    """Return the params of the result at ``place``, with the first line of its message."""
    name = " ".join(f"{key}={value}" for key, value in decode_key(run.results.keys[place]).items())
    message = next(iter(run.results.messages.get(place, "").strip().splitlines()), "")
    return f"{name} ({message[:100]})" if message else name
