"""Time runs of alerts over large instances, of all traces, of one event and with nothing changed, and a backtest.

Parts of ``make bench-watch``. A dense instance has 400,000 traces × 250 commits of noise, in which one trace in a
hundred steps; a sparse one has traces of about one value, and some of 30. Quick runs have a quarter of the dense and a
fifth of the sparse traces, and a quarter of the time of a pass. Memory is that of a process of its own.
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
from knickpoint.watch.backtest.backtest import backtest
from store import all_keys, begin, fill, put, report, sparse_keys
from table import Reach, Row

__all__ = ["backtest_rows", "dense_rows", "sparse_rows"]

_TRACES: Final = 400_000
_QUICK_TRACES: Final = 100_000
_BACKTEST_TRACES: Final = 40_000
_BACKTEST_SECONDS: Final = 180
_SPARSE: Final = (500_000, 5_000_000)
_QUICK_SPARSE: Final = (100_000, 1_000_000)
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


def dense_rows(*, quick: bool = False) -> list[Row]:
    """Measure an instance of 400,000 traces × 250 commits, of 100,000 where ``quick``."""
    traces = _QUICK_TRACES if quick else _TRACES
    share = traces / _TRACES
    with _place() as place:
        _fill_dense(place / "store.db", traces)
        whole = _elsewhere(_run_all, place / "store.db", [Alert("default")])
        idle = _elsewhere(_run_all, place / "store.db", [Alert("default")])
        clusters = _elsewhere(_run_all, place / "store.db", [Alert("clusters", method="cluster", group_by=("model",))])
    with _place() as place:
        _fill_dense(place / "store.db", traces)
        _elsewhere(_run_all, place / "store.db", _fifty_alerts())
        event = _elsewhere(_run_event, place / "store.db", _fifty_alerts(), traces)
    name = f"{traces:,} × {_COMMITS}"
    return [
        Row(f"{name}: full pass, default method", "s", whole.seconds, reach=Reach.AT_MOST, bound=60 * share),
        Row(f"{name}: full pass, k-means of each device", "s", clusters.seconds, reach=Reach.AT_MOST, bound=30 * share),
        Row(
            f"{name}: a further run, nothing changed",
            "s",
            idle.seconds,
            whole.seconds,
            "the full pass",
            Reach.AT_MOST,
            2 * share,
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


def backtest_rows() -> list[Row]:
    """Measure the backtest of one alert over 40,000 traces × 250 commits, all of which it replays from the first on."""
    with _place() as place:
        _fill_dense(place / "store.db", _BACKTEST_TRACES)
        taken = _elsewhere(_run_backtest, place / "store.db", Alert("default"))
    name = f"{_BACKTEST_TRACES:,} × {_COMMITS}: backtest of one alert"
    return [
        Row(name, "s", taken.seconds, reach=Reach.AT_MOST, bound=_BACKTEST_SECONDS),
        Row(f"{name}, most memory", "GiB", taken.memory, reach=Reach.AT_MOST, bound=2),
    ]


def sparse_rows(*, quick: bool = False) -> list[Row]:
    """Measure events among 500,000 and 5,000,000 sparse traces, a fifth of them where ``quick``, and the work they save."""
    fewest, most = _QUICK_SPARSE if quick else _SPARSE
    times: dict[int, tuple[float, float, float]] = {}
    for traces in (fewest, most):
        with _place() as place:
            _fill_sparse(place / "store.db", traces)
            alerts = [Alert("default")]
            whole = _elsewhere(_run_all, place / "store.db", alerts).seconds
            large = _elsewhere(_run_sparse, place / "store.db", alerts, _TOUCHED).seconds
            small = _elsewhere(_run_sparse, place / "store.db", alerts, _TOUCHED // 10).seconds
            times[traces] = (whole, large, small)
    few, many = times[fewest], times[most]
    return [
        Row(
            f"{most:,} sparse: {_TOUCHED:,} values from durable write to findings",
            "s",
            many[1],
            few[1],
            f"{fewest:,} sparse",
            Reach.AT_MOST_TIMES,
            1.3,
        ),
        Row(f"{most:,} sparse: full pass", "s", many[0]),
        *(
            Row(
                f"{most:,} sparse: full pass beside an event of {touched:,}",
                "s",
                seconds,
                many[0],
                "full pass",
                Reach.TIMES_LESS,
                0.8 * most / touched,
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


def _run_backtest(store: Store, alert: Alert) -> float:
    start = time.perf_counter()
    backtest(store, store.commits.repositories()[0], alert)
    return time.perf_counter() - start


def _run_event(store: Store, alerts: Sequence[Alert], traces: int) -> float:
    """Write one value of each of 20,000 traces, and run the alerts over these; return the median of three turns."""
    keys = all_keys(traces)[:_TOUCHED]
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


def _fill_dense(place: Path, traces: int) -> None:
    random = np.random.default_rng(6)
    matrix: NDArray[np.float32] = random.normal(100, 1, (traces, _COMMITS)).astype(np.float32)
    for trace in random.choice(traces, traces // 100, replace=False).tolist():
        matrix[trace, random.integers(30, 240) :] += random.choice([-1, 1]) * random.uniform(3, 15)
    with create_store(place) as store:
        fill(store, all_keys(traces), matrix)


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
