"""Notice benchmarks that stopped: they were measured as a habit, and are no more while others still are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Repository
from knickpoint.model.frame import Trace
from knickpoint.model.query import parse_query
from knickpoint.store import Store

__all__ = ["MissingTrace", "missing_traces", "silences"]

_HABIT: Final = 5
"""Values that make a habit; a trace with fewer is never missed."""

_RECENT: Final = 20
"""Gaps between values, the newest ones, that tell what is usual."""

_PATIENCE: Final = 2
"""How many times the longest usual gap a trace may be silent."""

_SHORTEST: Final = 3
"""Measured commits that a silence lasts at least."""


@dataclass(frozen=True, slots=True)
class MissingTrace:
    """A trace without results at the newest ``silent`` measured commits; ``usual`` is its longest recent gap."""

    trace: Trace
    last_slot: int
    silent: int
    usual: int


def silences(held: NDArray[np.bool_]) -> list[tuple[int, int, int]]:
    """Return (row, silent, usual) of the traces that are missing, by row.

    ``held`` says which of traces x commits have a value; commits without any do not count. A trace is
    missing when it has at least five values and its silence at the end is at least three commits and more
    than twice the longest of its last twenty gaps.
    """
    active = held[:, held.any(axis=0)]
    found = []
    for row, own in enumerate(active):
        places = np.flatnonzero(own)
        if places.size < _HABIT:
            continue
        silent = own.size - 1 - int(places[-1])
        usual = int(np.diff(places)[-_RECENT:].max())
        if silent >= _SHORTEST and silent > _PATIENCE * usual:
            found.append((row, silent, usual))
    return found


def missing_traces(store: Store, repository: Repository, query: str = "", *, line: str = "") -> list[MissingTrace]:
    """Return the traces of ``query`` that stopped while others of it are still measured, the longest silent first.

    Raises:
        QueryError: the query cannot be read.
        HistoryError: there is no such line.
    """
    own = store.commits.line(repository, line)
    ids = store.traces.select(repository, parse_query(query))
    held = np.zeros((ids.size, len(own.slots)), dtype=np.bool_)
    first = 0
    for frame in store.frames.blocks(own, ids):
        values: NDArray[np.floating[Any]] = frame.values
        held[first : first + len(values)] = ~np.isnan(values)
        first += len(values)
    silent = silences(held)
    traces = store.traces.get(ids[[row for row, _, _ in silent]]) if silent else []
    found = [
        MissingTrace(trace, own.slots[int(np.flatnonzero(held[row])[-1])], quiet, usual)
        for trace, (row, quiet, usual) in zip(traces, silent, strict=True)
    ]
    return sorted(found, key=lambda one: (-one.silent, one.trace.id))
