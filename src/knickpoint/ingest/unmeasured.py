"""Keep results without a value apart where nobody ever measured their benchmark: they would make empty traces."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

import numpy as np

from knickpoint.model.commit import Repository
from knickpoint.model.params import decode_key
from knickpoint.model.report import Outcome, Problem, RunReport, Severity
from knickpoint.store import Store

__all__ = ["count_outcomes", "failure_warning", "keys_without_trace", "take_apart"]

_OUTCOMES: Final = tuple(Outcome)
_MEASURED: Final = _OUTCOMES.index(Outcome.MEASURED)
_FAILED: Final = _OUTCOMES.index(Outcome.FAILED)
_SHOWN: Final = 3


def keys_without_trace(store: Store, repository: Repository, runs: Sequence[RunReport]) -> set[str]:
    """Return the keys that have no value in any of ``runs``, and no trace in the store."""
    tables = [run.results for run in runs]
    empty = {
        table.keys[place] for table in tables for place in np.flatnonzero(table.outcome_codes != _MEASURED).tolist()
    }
    if not empty:
        return empty
    measured = {
        table.keys[place] for table in tables for place in np.flatnonzero(table.outcome_codes == _MEASURED).tolist()
    }
    empty -= measured
    return empty - store.traces.find_ids(repository, empty).keys()


def take_apart(run: RunReport, keys: Collection[str]) -> RunReport:
    """Return ``run`` with the results of ``keys`` among those that make no trace."""
    table = run.results
    if not keys or not table.outcome_codes.any():
        return run
    apart = np.array([key in keys for key in table.keys], dtype=np.bool_)
    if not apart.any():
        return run
    return replace(run, results=table.only(~apart), unmeasured=tuple(table.only(apart)))


def count_outcomes(runs: Iterable[RunReport]) -> tuple[int, int]:
    """Return how many results failed, and how many were skipped."""
    counts = np.zeros(len(_OUTCOMES), dtype=np.int64)
    for run in runs:
        counts += np.bincount(run.results.outcome_codes, minlength=len(_OUTCOMES))
    return int(counts[_FAILED]), int(counts.sum() - counts[_FAILED] - counts[_MEASURED])


def failure_warning(runs: Sequence[RunReport], failed: int, where: str) -> Problem:
    """Return the warning that names the first of the results that ``failed``."""
    names = (
        _told(run, place) for run in runs for place in np.flatnonzero(run.results.outcome_codes == _FAILED).tolist()
    )
    shown = "; ".join(islice(names, _SHOWN))
    more = f"; and {failed - _SHOWN:,} more" if failed > _SHOWN else ""
    noun = "1 result" if failed == 1 else f"{failed:,} results"
    return Problem(f"{noun} failed: {shown}{more}", where=where, severity=Severity.WARNING)


def _told(run: RunReport, place: int) -> str:
    name = " ".join(f"{key}={value}" for key, value in decode_key(run.results.keys[place]).items())
    said = next(iter(run.results.messages.get(place, "").strip().splitlines()), "")
    return f"{name} ({said[:100]})" if said else name
