"""Write, read or seal a store until killed, or try to write without the right to.

Run as a process of its own by the tests beside it.

``writer.py LOCATION write NAME`` prints the number of each file after it was acknowledged.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from knickpoint.model.commit import Commit
from knickpoint.model.errors import StoreError
from knickpoint.model.query import Query
from knickpoint.model.report import ResultTable, RunReport
from knickpoint.store import RunWrite, create_store, open_store

TRACES = 4_500
"""More than 4 chunks: a strip a file, until the sealer makes tiles of them."""
ROUNDS = 100_000
_NOBODY = 65534


def values_of(number: int) -> float:
    """Return the value that every trace has in file ``number``."""
    return number + 0.25


def write(location: str, name: str, first: int, step: int) -> None:
    keys = tuple(f",name={name},number={number}," for number in range(TRACES))
    codes, small = np.zeros(TRACES, dtype=np.uint16), np.zeros(TRACES, dtype=np.uint8)
    with open_store(location) as store:
        repository = store.commits.repository("main")
        slots = len(store.commits.line(repository).slots)
        for number in range(first, slots, step):
            samples = np.full(TRACES, values_of(number))
            table = ResultTable(keys, samples, np.arange(TRACES + 1), ("ms",), codes, small, small)
            identity = f"{name}-{number}"
            store.runs.write(repository, [RunWrite(number, RunReport(table), identity, identity, "writer")])
            report(number)


def seal(location: str) -> None:
    with open_store(location) as store:
        for _ in range(ROUNDS):
            store.seal(everything=True)
            report("sealed")


def read(location: str, seconds: float) -> None:
    """Read again and again; every commit must have all traces of a name, with one value, or none of them."""
    end = time.monotonic() + seconds
    reads = 0
    with open_store(location) as store:
        repository = store.commits.repository("main")
        line = store.commits.line(repository)
        while not reads or time.monotonic() < end:
            names: dict[str, list[int]] = {}
            for trace in store.traces.get(store.traces.select(repository, Query())):
                names.setdefault(trace.key.split(",")[1], []).append(trace.id)
            for ids in names.values():
                values = store.frames.values(line, ids)
                torn = np.isnan(values).any(axis=0) & ~np.isnan(values).all(axis=0)
                if torn.any() or len(ids) != TRACES:
                    sys.exit(f"torn read at {np.flatnonzero(torn)}, {len(ids)} traces")
            reads += 1
    report(reads)


def crowded(location: str) -> None:
    """Fill the disk that holds a new store, try to write, make room, and write again; say what came of it."""
    keys = tuple(f",name={number}," for number in range(TRACES))
    codes, small = np.zeros(TRACES, dtype=np.uint16), np.zeros(TRACES, dtype=np.uint8)

    def put(number: int) -> None:
        samples = np.full(TRACES, values_of(number) + 0.1)
        table = ResultTable(keys, samples, np.arange(TRACES + 1), ("ms",), codes, small, small)
        store.runs.write(repository, [RunWrite(number, RunReport(table), f"{number}", "", "writer")])

    with create_store(location) as store:
        repository = store.commits.add_repository("main")
        commits = [Commit(f"{number:040x}", "", "", datetime(2026, 1, 1, tzinfo=UTC), "") for number in range(400)]
        store.commits.set_line(repository, "main", list(store.commits.add(repository, commits).values()))
        line = store.commits.line(repository)
        put(0)
        filler = Path(location).with_name("filler")
        done = 0
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        try:
            for number in range(1, 400):
                put(number)
                done = number
        except StoreError as error:
            report(error)
        values = store.frames.values(line, store.traces.select(repository, Query()))
        measured = np.flatnonzero(~np.isnan(values).all(axis=0)).tolist()
        assert measured == list(range(done + 1)), measured
        filler.unlink()
        put(done + 1)
        values = store.frames.values(line, store.traces.select(repository, Query()), first=done + 1, last=done + 1)
        assert (values == values_of(done + 1) + 0.1).all()
    with open_store(location) as again:
        assert len(again.runs.at(repository, range(400))) == done + 2
    report("went on")


def powerless(location: str) -> None:
    """Print the error of a write by a user who may only read the file; root becomes the user ``nobody`` first.

    That user may be unable to read the files of Python, so everything that is needed is imported and used before.
    """
    with open_store(location) as store:
        store.commits.add_repository("main")
    Path(location).chmod(0o444)
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(_NOBODY)
        os.setuid(_NOBODY)
    try:
        with open_store(location) as store:
            store.commits.add_repository("other")
    except StoreError as error:
        report(error)


def report(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    match sys.argv[2:]:
        case ["write", name, first, step]:
            write(sys.argv[1], name, int(first), int(step))
        case ["seal"]:
            seal(sys.argv[1])
        case ["crowded"]:
            crowded(sys.argv[1])
        case ["powerless"]:
            powerless(sys.argv[1])
        case ["read", seconds]:
            read(sys.argv[1], float(seconds))
