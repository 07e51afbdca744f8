"""Peers of the service: Skia's narrow table on the same PostgreSQL, and one process with one thread."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.instance import open_instance
from knickpoint.model.alert import Alert
from knickpoint.model.query import parse_query
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.work import Processes, Runner, Serial
from served_process import processor_seconds
from service_world import COMMITS, REPOSITORY, World
from stopwatch import fastest
from table import Reach, Row

__all__ = ["dask_rows", "narrow_rows"]

_REPEATS: Final = 3


def narrow_rows(world: World) -> list[Row]:
    """Read a twentieth of the traces, neighbours and scattered ones, and all traces, from the tiles and from a table with a row for each value.

    The table is that of Skia Perf: ``TraceValues`` with the MD5 of the key and the number of the commit as primary key.
    Both know the traces already; the answers are compared.
    """
    import psycopg

    with open_instance(world.directory) as instance, psycopg.connect(world.location) as connection:
        store = instance.store
        repository = store.commits.repository(REPOSITORY)
        line = store.commits.line(repository)
        ids = store.traces.select(repository, parse_query(""))[: world.traces]
        names = [
            hashlib.md5(trace.key.encode(), usedforsecurity=False).digest() for trace in store.traces.get(ids.tolist())
        ]
        matrix = store.frames.values(line, ids)[:, :COMMITS]
        _fill_narrow(connection, names, matrix)
        rows = []
        choices = (
            ("the traces of one of twenty bots × 250", slice(0, world.traces // 20)),
            ("every twentieth trace × 250", slice(0, None, 20)),
            ("all traces × 250", slice(None)),
        )
        for measure, choice in choices:
            wanted, chosen = ids[choice], names[choice]
            ours, tiles = fastest(partial(store.frames.values, line, wanted), _REPEATS)
            peer, table = fastest(partial(_read_narrow, connection, chosen), _REPEATS)
            assert np.array_equal(tiles[:, :COMMITS], table, equal_nan=True)
            name = f"read {measure} of {world.traces:,}"
            rows.append(Row(name, "s", ours, peer, "narrow table", Reach.TIMES_LESS, 10))
    return rows


def _fill_narrow(connection: Any, names: list[bytes], matrix: NDArray[Any]) -> None:
    connection.execute(
        "CREATE TABLE tracevalues (trace_id bytea, commit_number int, val real, source_file_id int,"
        " PRIMARY KEY (trace_id, commit_number))"
    )
    with connection.cursor().copy("COPY tracevalues FROM STDIN (FORMAT BINARY)") as copy:
        copy.set_types(["bytea", "int4", "float4", "int4"])
        for name, values in zip(names, matrix.tolist(), strict=True):
            for commit, value in enumerate(values):
                copy.write_row((name, commit, value, commit))
    connection.execute("ANALYZE tracevalues")
    connection.commit()


def _read_narrow(connection: Any, names: list[bytes]) -> NDArray[np.float32]:
    position = {name: row for row, name in enumerate(names)}
    values = np.full((len(names), COMMITS), np.nan, dtype=np.float32)
    statement = "SELECT trace_id, commit_number, val FROM tracevalues WHERE trace_id = ANY(%s)"
    with connection.cursor(binary=True) as cursor:
        cursor.execute(statement, [names])
        for name, commit, value in cursor:
            values[position[name], commit] = value
    return values


class _OneThread(Serial):
    """One thread of this process."""

    cores = 1


@dataclass(frozen=True, slots=True)
class _Pass:
    """A full pass: its seconds, the processor seconds of this process and of the workers, and what was found."""

    seconds: float
    here: float
    workers: float
    found: list[object]


def dask_rows(world: World) -> list[Row]:
    """Run a full pass with one thread in this process, in two processes, and on Dask with two workers of one thread.

    The scheduler of Dask is a thread of this process, so its processor time counts with what runs the alert.
    """
    from knickpoint.work import Dask

    one = _full_pass(world, _OneThread(), [])
    with Processes(2) as processes:
        _full_pass(world, processes, [])  # starts them, and has them import what they need
        children = [each.pid for each in multiprocessing.active_children() if each.pid]
        rows = _rows_beside("two processes", one, _full_pass(world, processes, children), world)
    with _cluster() as (address, pids):
        dask = Dask(address)
        try:
            _full_pass(world, dask, pids)
            rows += _rows_beside("Dask, two workers of one thread", one, _full_pass(world, dask, pids), world)
        finally:
            dask.close()
    return rows


def _rows_beside(name: str, one: _Pass, other: _Pass, world: World) -> list[Row]:
    assert one.found == other.found, "the findings differ"
    load = f"load {os.getloadavg()[0]:.1f}"
    measure = f"full pass over {world.traces:,} × 250, {name} ({load})"
    return [
        Row(measure, "s", other.seconds, one.seconds, "one thread", Reach.TIMES_LESS, 1.7),
        Row("… processor time of the process that runs the alert", "s", other.here, one.here, "one thread"),
        Row("… of all processes together", "s", other.here + other.workers, one.here, "one thread"),
    ]


def _full_pass(world: World, runner: Runner, workers: Sequence[int]) -> _Pass:
    """Judge all traces afresh by the default method; ``workers`` are the ids of the processes that do so."""
    with open_instance(world.directory) as instance:
        begun = sum(processor_seconds(each) for each in workers)
        start, here = time.perf_counter(), time.process_time()
        run_alerts(instance.store, [Alert("default")], names=["default"], runner=runner, afresh=True, as_work=True)
        seconds, here = time.perf_counter() - start, time.process_time() - here
        taken = sum(processor_seconds(each) for each in workers) - begun
        repository = instance.store.commits.repository(REPOSITORY)
        found = [
            (each.id, [(point.id, repr(point.numbers)) for point in instance.store.findings.live_members(each.id)])
            for each in instance.store.findings.changes(repository)
        ]
    return _Pass(seconds, here, taken, sorted(found, key=str))


@contextmanager
def _cluster() -> Iterator[tuple[str, list[int]]]:
    """Start a scheduler of Dask and two workers of one thread; give the address, and the ids of their processes.

    The workers keep memory that they need again soon, as docs/deployment.md advises.
    """
    import dask
    import distributed

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    environment = "distributed.nanny.pre-spawn-environ"
    kept = {"MALLOC_TRIM_THRESHOLD_": 256 << 20, "MALLOC_MMAP_THRESHOLD_": 32 << 20}
    local: Any = distributed.LocalCluster
    with dask.config.set({f"{environment}.{name}": size for name, size in kept.items()}):
        cluster = local(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    try:
        cluster.wait_for_workers(2)
        yield str(cluster.scheduler_address), [worker.pid for worker in cluster.workers.values()]
    finally:
        cluster.close()
