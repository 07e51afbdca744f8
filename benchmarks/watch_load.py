"""Time runs of alerts over large instances: all traces, those of one event, and a run that finds nothing changed.

Parts of ``make bench-watch``. A dense instance has 400,000 traces × 250 commits of noise, in which one trace in a hundred
steps; a sparse one has traces of about one value, and some of 30. Memory is that of a process of its own.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert, AlertDirection
from knickpoint.model.commit import Commit
from knickpoint.store import Store, create_store, open_store
from knickpoint.watch.alert_run.run import run_alerts
from store import all_keys, begin, fill, put, report, sparse_keys
from table import Reach, Row

__all__ = ["dense_rows", "sparse_rows"]

_TRACES: Final = 400_000
_COMMITS: Final = 250
_TOUCHED: Final = 20_000
_FILE: Final = 20_000
_GIBIBYTES: Final = 2**20
"""KiB in a GiB, the unit of ``ru_maxrss``."""


@dataclass(frozen=True, slots=True)
class _Timed:
    """What a run took: seconds, and the most memory of its process in GiB."""

    seconds: float
    memory: float


def dense_rows() -> list[Row]:
    """Measure an instance of 400,000 traces × 250 commits."""
    with _place() as place:
        _fill_dense(place / "store.db")
        whole = _elsewhere(_run_all, place / "store.db", [Alert("default")])
        idle = _elsewhere(_run_all, place / "store.db", [Alert("default")])
        clusters = _elsewhere(_run_all, place / "store.db", [Alert("clusters", method="cluster", group_by=("model",))])
    with _place() as place:
        _fill_dense(place / "store.db")
        _elsewhere(_run_all, place / "store.db", _fifty_alerts())
        event = _elsewhere(_run_event, place / "store.db", _fifty_alerts())
    name = f"{_TRACES:,} × {_COMMITS}"
    return [
        Row(f"{name}: full pass, default method", "s", whole.seconds, reach=Reach.AT_MOST, bound=60),
        Row(f"{name}: full pass, k-means of each device", "s", clusters.seconds, reach=Reach.AT_MOST, bound=30),
        Row(
            f"{name}: a further run, nothing changed",
            "s",
            idle.seconds,
            whole.seconds,
            "the full pass",
            Reach.AT_MOST,
            2,
        ),
        Row(
            f"{name}: most memory of these runs",
            "GiB",
            max(whole.memory, idle.memory, clusters.memory),
            reach=Reach.AT_MOST,
            bound=2,
        ),
        Row(
            f"{name}, 50 alerts: {_TOUCHED:,} values from durable write to findings",
            "s",
            event.seconds,
            whole.seconds,
            "the full pass of one alert",
            Reach.AT_MOST,
            4,
        ),
    ]


def sparse_rows() -> list[Row]:
    """Measure events among 500,000 and 5,000,000 sparse traces, and how much work they save."""
    times: dict[int, tuple[float, float, float]] = {}
    for traces in (500_000, 5_000_000):
        with _place() as place:
            _fill_sparse(place / "store.db", traces)
            alerts = [Alert("default")]
            whole = _elsewhere(_run_all, place / "store.db", alerts).seconds
            large = _elsewhere(_run_sparse, place / "store.db", alerts, _TOUCHED).seconds
            small = _elsewhere(_run_sparse, place / "store.db", alerts, _TOUCHED // 10).seconds
            times[traces] = (whole, large, small)
    few, many = times[500_000], times[5_000_000]
    return [
        Row(
            f"5,000,000 sparse: {_TOUCHED:,} values from durable write to findings",
            "s",
            many[1],
            few[1],
            "500,000 sparse",
            Reach.AT_MOST_TIMES,
            1.3,
        ),
        Row("5,000,000 sparse: full pass", "s", many[0]),
        *(
            Row(
                f"5,000,000 sparse: full pass beside an event of {touched:,}",
                "s",
                seconds,
                many[0],
                "full pass",
                Reach.TIMES_LESS,
                0.8 * 5_000_000 / touched,
            )
            for touched, seconds in ((_TOUCHED, many[1]), (_TOUCHED // 10, many[2]))
        ),
    ]


def _fifty_alerts() -> list[Alert]:
    """Return 50 alerts: two for each of 20 devices, and ten for benchmarks on all of them."""
    devices = [f"model=device_{number}" for number in range(20)]
    return [
        *(Alert(f"worse-{query}", query=query, direction=AlertDirection.WORSE) for query in devices),
        *(Alert(f"large-{query}", query=query, minimum_effect=0.05) for query in devices),
        *(Alert(f"bench-{number}", query=f"bench=draw_rect_{number}") for number in range(10)),
    ]


# What is measured, each in a process of its own.


def _run_all(store: Store, alerts: Sequence[Alert]) -> float:
    start = time.perf_counter()
    run_alerts(store, alerts)
    return time.perf_counter() - start


def _run_event(store: Store, alerts: Sequence[Alert]) -> float:
    """Write one value of each of 20,000 traces, and run the alerts over these; return the median of three turns."""
    keys = all_keys(_TRACES)[:_TOUCHED]
    return _median([_turn(store, alerts, keys, number) for number in range(3)])


def _run_sparse(store: Store, alerts: Sequence[Alert], touched: int) -> float:
    keys = sparse_keys(range(touched))
    return _median([_turn(store, alerts, keys, number) for number in range(3)])


def _turn(store: Store, alerts: Sequence[Alert], keys: tuple[str, ...], number: int) -> float:
    repository = store.commits.repositories()[0]
    line = store.commits.line(repository)
    name = f"{len(line.slots) + 1:040x}"
    added = store.commits.add(repository, [Commit(name, "", "", datetime(2026, 1, 1, tzinfo=UTC), "")])
    store.commits.set_line(repository, "main", [*line.slots, *added.values()])
    run = report(keys, np.random.default_rng(number).normal(100, 1, len(keys)))
    start = time.perf_counter()
    receipt = put(store, repository, next(iter(added.values())), run, f"event-{name}")
    run_alerts(store, alerts, traces=receipt.trace_ids)
    return time.perf_counter() - start


def _median(seconds: list[float]) -> float:
    return float(np.median(seconds))


def _elsewhere(call: Callable[..., float], place: Path, *arguments: object) -> _Timed:
    """Call a function with the store at ``place`` in a new process, so that its memory can be seen."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measured, args=(sender, call, place, arguments))
    process.start()
    sender.close()
    seconds, memory = receiver.recv()
    process.join()
    return _Timed(seconds, memory)


def _measured(sender: object, call: Callable[..., float], place: Path, arguments: Sequence[object]) -> None:
    with open_store(place) as store:
        seconds = call(store, *arguments)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _GIBIBYTES
    sender.send((seconds, memory))  # type: ignore[attr-defined]  # one end of a pipe


# The instances.


@contextmanager
def _place() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="knickpoint-bench-") as name:
        yield Path(name)


def _fill_dense(place: Path) -> None:
    random = np.random.default_rng(6)
    matrix: NDArray[np.float32] = random.normal(100, 1, (_TRACES, _COMMITS)).astype(np.float32)
    for trace in random.choice(_TRACES, _TRACES // 100, replace=False).tolist():
        matrix[trace, random.integers(30, 240) :] += random.choice([-1, 1]) * random.uniform(3, 15)
    with create_store(place) as store:
        fill(store, all_keys(_TRACES), matrix)


def _fill_sparse(place: Path, traces: int, rounds: int = 30) -> None:
    """Write one value of each trace, and ``rounds`` more of the first 20,000."""
    random = np.random.default_rng(5)
    files = traces // _FILE
    with create_store(place) as store:
        repository, _ = begin(store, files + rounds)
        for slot in range(files + rounds):
            first = slot * _FILE if slot < files else 0
            run = report(sparse_keys(range(first, first + _FILE)), random.normal(100, 1, _FILE))
            put(store, repository, slot, run, f"file-{slot}")
        store.seal(everything=True)
