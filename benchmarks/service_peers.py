"""Peers of the service: Skia's narrow table on the same PostgreSQL, and one process with one thread."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.instance import open_instance
from knickpoint.model.alert import Alert
from knickpoint.model.query import parse_query
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.work import Runner, Serial
from service_world import COMMITS, REPOSITORY, World
from stopwatch import fastest
from table import Reach, Row

__all__ = ["dask_rows", "narrow_rows"]

_REPEATS: Final = 3


def narrow_rows(world: World) -> list[Row]:
    """Read a twentieth of the traces, neighbours and scattered ones, and all traces, from the tiles and from a table with a row for each value.

    The table is that of Skia Perf: ``TraceValues`` with the MD5 of the key and the number of the commit as primary key. Both know
    the traces already; the answers are compared.
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


def dask_rows(world: World) -> list[Row]:
    """Run a full pass with one thread in this process, and on Dask with two workers of one thread."""
    from knickpoint.work import Dask

    with _cluster() as address:
        dask = Dask(address)
        try:
            seconds, found = {}, {}
            _full_pass(world, dask)  # writes the findings, and has the workers import what they need
            for name, runner in (("one", _OneThread()), ("dask", dask)):
                seconds[name], found[name] = _full_pass(world, runner)
        finally:
            dask.close()
    assert found["one"] == found["dask"], "the findings differ"
    cores = f"load {os.getloadavg()[0]:.1f}"
    measure = f"full pass over {world.traces:,} × 250, Dask with two workers of one thread ({cores})"
    return [Row(measure, "s", seconds["dask"], seconds["one"], "one thread", Reach.TIMES_LESS, 1.7)]


def _full_pass(world: World, runner: Runner) -> tuple[float, list[object]]:
    """Judge all traces afresh by the default method; return the seconds and what was found."""
    with open_instance(world.directory) as instance:
        start = time.perf_counter()
        run_alerts(instance.store, [Alert("default")], names=["default"], runner=runner, afresh=True, as_work=True)
        seconds = time.perf_counter() - start
        repository = instance.store.commits.repository(REPOSITORY)
        found = [
            (each.id, [(point.id, repr(point.numbers)) for point in instance.store.findings.live_members(each.id)])
            for each in instance.store.findings.regressions(repository)
        ]
    return seconds, sorted(found, key=str)


@contextmanager
def _cluster() -> Iterator[str]:
    """Start a scheduler of Dask and two workers of one thread, and give the address."""
    import distributed

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    local: Any = distributed.LocalCluster
    cluster = local(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    try:
        cluster.wait_for_workers(2)
        yield str(cluster.scheduler_address)
    finally:
        cluster.close()
