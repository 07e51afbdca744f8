"""Measure a running instance: its answers, findings and uploads, beside its peers (``make bench-service``).

    python benchmarks/service.py                     # 40,000 traces × 250, 10 readers for a minute: five minutes on two
    cores python benchmarks/service.py --full              # 400,000 traces, 50 readers for ten minutes, 100 uploads a
    second for ten python benchmarks/service.py readers uploads     # some parts only python benchmarks/service.py pages
    # each page of the dashboard in a real Chromium python benchmarks/service.py --full --seconds 120 readers    # 50
    readers at 400,000 traces for two minutes python benchmarks/service.py --in-step readers   # readers who all ask for
    the same at the same moment

API and workers are processes of their own, on a PostgreSQL of this run, with NATS and 50 alerts. Everything shares the
cores of this machine, readers and uploads included. The load of the machine is a row of the table, as figures of wall
time depend on it.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from dashboard_page import page_rows
from served_process import Process
from service_peers import dask_rows, narrow_rows
from service_readers import processor_milliseconds, reading
from service_uploads import arriving, large_file, upload_at_rate
from service_waiting import waiting_rows
from service_world import COMMITS, World, world
from table import Reach, Row, finish, one_line

_PARTS: Final = ("start", "answers", "pages", "readers", "uploads", "waiting", "narrow", "dask", "capacity")


@dataclass(frozen=True, slots=True)
class Size:
    """How much a run measures.

    Attributes:
        traces: traces of the instance, of 20 machines.
        readers: people who read, each an answer a second in the mean.
        read_seconds: how long they read.
        every_seconds: pauses between the files that arrive meanwhile, each of all traces of a machine at a commit. With
            400,000 traces, a file every ten seconds is 173 million values a day: 432 commits that are measured whole.
        rate: uploads a second.
        upload_seconds: how long they go on.
        large: values of one large file.
        waiting: files that wait in a folder.
        in_step: whether readers pause for just a second, and so all ask for the same at the same moment.
    """

    traces: int
    readers: int
    read_seconds: float
    every_seconds: float
    rate: float
    upload_seconds: float
    large: int
    waiting: int
    in_step: bool = False


_ANSWERS: Final = 100
"""Answers of each kind whose processor time is measured; the clock of processes ticks every 10 ms."""

_VALUE_BYTES: Final = 2_500
"""Memory that the import of one file of new traces may take for each of its values."""

_CAPACITY_SECONDS: Final = 10.0

_IDLE_SECONDS: Final = 3.0
_IDLE_SHARE: Final = 0.5
"""Workers are idle when all together take less than this share of a core for so many seconds."""

_USUAL: Final = Size(40_000, 10, 60.0, 2.0, 100.0, 10.0, 200_000, 1_000)
_FULL: Final = Size(400_000, 50, 600.0, 10.0, 100.0, 600.0, 1_000_000, 10_000)


def _start_rows(place: World, _size: Size) -> list[Row]:
    """Start a server, and wait until it is ready."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        place.serve("--only", "api")
        seconds.append(time.perf_counter() - start)
    measure = f"start of a server at {place.traces:,} traces to ready (median of 3)"
    return [Row(measure, "s", float(np.median(seconds)), reach=Reach.AT_MOST, bound=2.0)]


def _answer_rows(place: World, _size: Size) -> list[Row]:
    """Ask for one answer after the other: as two cores serve all readers, what counts is what an answer takes of one."""
    api = place.serve("--only", "api")
    return [
        Row(f"processor time of the API for an answer at {place.traces:,} × {COMMITS}: {name}", "ms", taken)
        for name, taken in processor_milliseconds(api, place.traces, _ANSWERS).items()
    ]


def _reader_rows(place: World, size: Size) -> list[Row]:
    """Have people read while results arrive and two workers judge them."""
    api = place.serve("--only", "api")
    workers = [place.serve("--only", "worker") for _ in range(2)]
    _wait_until_idle(workers)  # a worker that starts judges everything once
    with (
        _delays(place) as delays,
        reading(api.address, place.traces, size.readers, in_step=size.in_step) as readings,
    ):
        time.sleep(5)
        readings.seconds.clear()  # the first answers fill caches
        begun = [each.processor_seconds for each in (api, *workers)]
        with arriving(api.address, place.traces, size.every_seconds) as statuses:
            time.sleep(size.read_seconds / 4)
            before = api.memory
            time.sleep(3 * size.read_seconds / 4)
            after = api.memory
            taken = [each.processor_seconds - first for each, first in zip((api, *workers), begun, strict=True)]
            answers = len(readings.all)
        time.sleep(3)
    milliseconds = np.array(readings.all) * 1000
    p50, p95, p99 = np.percentile(milliseconds, [50, 95, 99])
    readers = f"{size.readers} readers in step" if size.in_step else f"{size.readers} readers"
    name = f"{readers} at {place.traces:,} × {COMMITS}, {len(statuses)} files arriving"
    slowest = {asked: float(np.percentile(each, 95)) * 1000 for asked, each in readings.seconds.items()}
    worst = max(slowest, key=slowest.__getitem__)
    for problem in sorted(set(readings.errors)):
        print(f"an answer failed: {problem}", file=sys.stderr)
    assert set(statuses) == {200}, f"an upload failed: {statuses}"
    return [
        Row(f"answers to {name}: p50 of {milliseconds.size:,}", "ms", float(p50)),
        Row("… p95", "ms", float(p95), reach=Reach.AT_MOST, bound=150),
        Row("… p99", "ms", float(p99), reach=Reach.AT_MOST, bound=400),
        Row(f"… p95 of the slowest ({worst})", "ms", slowest[worst]),
        Row("… processor time of the API for an answer, arriving files included", "ms", 1000 * taken[0] / answers),
        Row("… processor time of the workers for a file", "ms", 1000 * sum(taken[1:]) / max(1, len(delays))),
        Row("… memory of the larger worker", "MB", max(each.memory for each in workers)),
        Row("… errors", "", float(len(readings.errors)), reach=Reach.AT_MOST, bound=0),
        Row("memory of the API at the end / after a quarter", "MB", after, before, "before", Reach.AT_MOST_TIMES, 1.05),
        Row(f"arrival → finding, p50 of {len(delays)} files", "s", float(np.median(delays)) if delays else None),
        Row("… p95", "s", _p95(delays), reach=Reach.AT_MOST, bound=4.0),
    ]


def _wait_until_idle(workers: Sequence[Process]) -> None:
    """Wait until workers do no more than look for work."""
    busy = True
    while busy:
        begun = sum(each.processor_seconds for each in workers)
        time.sleep(_IDLE_SECONDS)
        busy = sum(each.processor_seconds for each in workers) - begun > _IDLE_SHARE * _IDLE_SECONDS


def _p95(values: Sequence[float]) -> float | None:
    return float(np.percentile(values, 95)) if values else None


@contextmanager
def _delays(place: World) -> Iterator[list[float]]:
    """Watch the outbox, and give the seconds for which each event about new values waited for its findings."""
    import psycopg

    delays, stop = list[float](), threading.Event()
    statement = (
        "SELECT id, created FROM outbox_event WHERE consumer = 'main' AND kind = 'traces-changed' AND state = 'ready'"
    )

    def watch() -> None:
        known: dict[int, float] = {}
        with psycopg.connect(place.location, autocommit=True) as connection:
            while not stop.wait(0.05):
                now: dict[int, float] = dict(connection.execute(statement).fetchall())
                delays.extend(time.time() - created for number, created in known.items() if number not in now)
                known = now

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield delays
    finally:
        stop.set()
        thread.join()


def _upload_rows(place: World, size: Size) -> list[Row]:
    """Upload more than the server takes at once, then one large file."""
    api = place.serve("--only", "api")
    arrived = upload_at_rate(api.address, size.rate, size.upload_seconds, 2 * COMMITS)
    wanted = int(size.rate * size.upload_seconds)
    most = api.most_memory
    large = _large_rows(place.serve("--only", "api"), size)
    refused = arrived.statuses[429] + arrived.statuses[503]
    name = f"{size.rate:g} uploads a second for {size.upload_seconds:g} s"
    return [
        Row(f"{name}: stored of {wanted:,}", "", float(arrived.stored), float(wanted), "sent", Reach.TIMES_MORE, 1.0),
        Row("… seconds until all were stored", "s", arrived.lasted),
        Row("… refused at first, and sent again after Retry-After", "", float(refused)),
        Row("… refused without Retry-After", "", float(arrived.missing_retry_after), reach=Reach.AT_MOST, bound=0),
        Row("… p95 from the first attempt to stored", "s", _p95(arrived.seconds)),
        Row("… most memory of the API", "MB", most),
        *large,
    ]


def _large_rows(api: Process, size: Size) -> list[Row]:
    before = api.most_memory
    upload = large_file(api, size.large, 3 * COMMITS)
    assert upload.status == 200, f"the large file was answered with {upload.status}"
    return [
        Row(f"one file of {size.large:,} new traces", "s", upload.seconds),
        Row("… longest answer to another request meanwhile", "ms", 1000 * upload.longest_answer),
        Row(
            "… memory of the API and its importing process above that before",
            "MB",
            upload.most_memory - before,
            reach=Reach.AT_MOST,
            bound=_VALUE_BYTES * size.large / 1e6,
        ),
    ]


def _capacity_rows(place: World, _size: Size) -> list[Row]:
    """Ask for each kind of answer, and have results of a bot arrive at one commit after the other: what all this takes."""
    import psycopg

    api, worker = place.serve("--only", "api"), place.serve("--only", "worker")
    asked = processor_milliseconds(api, place.traces, _ANSWERS // 5)
    with _delays(place) as delays, arriving(api.address, place.traces, 1.0):
        time.sleep(_CAPACITY_SECONDS)
    time.sleep(_CAPACITY_SECONDS)  # the worker finishes what has arrived
    with psycopg.connect(place.location) as connection:
        ((size,),) = connection.execute("SELECT pg_database_size(current_database())").fetchall()
    name = f"{place.traces:,} × {COMMITS}"
    return [
        Row(f"{name}: disk of the database", "MB", size / 1e6),
        Row("… most memory of the API", "MB", api.most_memory),
        Row(f"… most memory of a worker that judged {len(delays)} files", "MB", worker.most_memory),
        Row("… answers a second for a core, each kind as often", "", 1000 / float(np.mean(list(asked.values())))),
    ]


_MEASURES: Final[dict[str, Callable[[World, Size], list[Row]]]] = {
    "start": _start_rows,
    "answers": _answer_rows,
    "pages": lambda place, _size: page_rows(place.serve("--only", "api").address),
    "readers": _reader_rows,
    "uploads": _upload_rows,
    "waiting": lambda place, size: waiting_rows(place, size.waiting),
    "narrow": lambda place, _size: narrow_rows(place),
    "dask": lambda place, _size: dask_rows(place),
    "capacity": _capacity_rows,
}


def main() -> None:
    """Measure the parts that were asked for, print a line at a time, and the table at the end."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(_PARTS)}; all without any")
    parser.add_argument(
        "--full", action="store_true", help="the size of a large instance: an hour, and 12 GB of memory"
    )
    parser.add_argument("--traces", type=int, default=0, help="another number of traces")
    parser.add_argument("--readers", type=int, default=0, help="another number of readers")
    parser.add_argument("--seconds", type=float, default=0.0, help="how long readers read and files are uploaded")
    parser.add_argument("--in-step", action="store_true", help="readers who all ask for the same at the same moment")
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(_PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    size = replace(_FULL if asked.full else _USUAL, in_step=asked.in_step)
    if asked.seconds:
        size = replace(size, read_seconds=asked.seconds, upload_seconds=asked.seconds)
    if asked.readers:
        size = replace(size, readers=asked.readers)
    rows = [Row("load of the machine before", "", os.getloadavg()[0])]
    begun = time.perf_counter()
    with world(asked.traces or size.traces) as place:
        rows.append(
            Row(f"an instance of {place.traces:,} × {COMMITS}, filled and judged", "s", time.perf_counter() - begun)
        )
        for part in asked.parts or _PARTS:
            for row in _MEASURES[part](place, size):
                print(one_line(row), flush=True)
                rows.append(row)
    rows.append(Row("load of the machine after", "", os.getloadavg()[0]))
    print()
    finish("service", rows, only=asked.parts)


if __name__ == "__main__":
    main()
