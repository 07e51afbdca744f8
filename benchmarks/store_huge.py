"""Fill an instance with tens of millions of sparse traces, or live in it, each in a process of its own.

``python store_huge.py fill STORE TRACES`` makes the traces, a million a file, and some events of 20,000 traces
from everywhere. ``live`` opens the store, takes in further events, reads the histories of their traces, asks
queries, and prints what it took as JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from knickpoint.model.query import parse_query
from knickpoint.store import Store, open_store
from store import begin, put, report, sparse_keys

_FILE = 1_000_000
_EVENT = 20_000
_GROUPS = 8
_BEFORE = 32
_AFTER = 16


def main() -> None:
    """Do one of the two."""
    task, location, traces = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tasks: dict[str, Callable[[Store, int], None]] = {"fill": fill, "live": live}
    with open_store(location) as store:
        tasks[task](store, traces)


def groups_of(traces: int) -> list[tuple[str, ...]]:
    """Return the keys of events that come again: traces from everywhere, the same ones each time."""
    rng = np.random.default_rng(8)
    return [sparse_keys(np.sort(rng.choice(traces, _EVENT, replace=False)).tolist()) for _ in range(_GROUPS)]


def fill(store: Store, traces: int) -> None:
    """Make the traces and some events."""
    rng = np.random.default_rng(9)
    files = -(-traces // _FILE)
    repository, _ = begin(store, files + _BEFORE + _AFTER + 1)
    for slot in range(files):
        start = time.perf_counter()
        numbers = range(slot * _FILE, min(traces, (slot + 1) * _FILE))
        values = rng.normal(100, 1, len(numbers)).astype(np.float32).astype(np.float64)
        put(store, repository, slot, report(sparse_keys(numbers), values), f"first-{slot}")
        print(f"{numbers.stop:,} traces, {time.perf_counter() - start:.1f} s", file=sys.stderr)
    groups = groups_of(traces)
    for number in range(_BEFORE):
        values = rng.normal(100, 1, _EVENT).astype(np.float32).astype(np.float64)
        put(store, repository, files + number, report(groups[number % _GROUPS], values), f"event-{number}")
    start = time.perf_counter()
    store.seal(everything=True)
    print(f"sealed, {time.perf_counter() - start:.1f} s", file=sys.stderr)


def live(store: Store, traces: int) -> None:
    """Take in events, read histories, ask queries; print the seconds and the memory."""
    rng = np.random.default_rng(10)
    repository = store.commits.repository("bench")
    line = store.commits.line(repository)
    groups = groups_of(traces)
    first = -(-traces // _FILE) + _BEFORE
    writes, reads = [], []
    for number in range(_AFTER):
        values = rng.normal(100, 1, _EVENT).astype(np.float32).astype(np.float64)
        run = report(groups[number % _GROUPS], values)
        start = time.perf_counter()
        receipt = put(store, repository, first + number, run, f"late-{number}")
        writes.append(time.perf_counter() - start)
        start = time.perf_counter()
        store.frames.values(line, receipt.trace_ids)
        reads.append(time.perf_counter() - start)
    unseen = sparse_keys(np.sort(rng.choice(traces, _EVENT, replace=False)).tolist())
    start = time.perf_counter()
    put(store, repository, first + _AFTER, report(unseen, np.ones(_EVENT)), "unseen")
    new = time.perf_counter() - start
    start = time.perf_counter()
    found = store.traces.select(repository, parse_query("bot=bot_7 benchmark=test_1*"))
    facets = store.traces.facets(repository, parse_query("benchmark=test_17"))
    queries = time.perf_counter() - start
    assert len(found)
    assert facets["bot"]
    said = {
        "write": float(np.median(writes[_GROUPS:])),
        "read": float(np.median(reads[_GROUPS:])),
        "first_write": float(np.median(writes[:_GROUPS])),
        "unseen": new,
        "queries": queries,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main()
