"""Time the store beside its peers, and print and write the table (``make bench-store``).

    python benchmarks/store.py                   # everything: a quarter of an hour, 6 GB of disk
    python benchmarks/store.py dense ingest      # some parts only

Every ratio compares figures of one run on one machine. What is written includes provenance, ledger and outbox, in
one transaction with one fsync. Files lie in the directory for temporary files (``TMPDIR``), those of a peer too.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Commit, Line, Repository
from knickpoint.model.query import parse_query
from knickpoint.model.report import ResultTable, RunReport
from knickpoint.store import FileState, Receipt, RunWrite, Store, create_store
from peers import peer_python
from served_process import served
from stopwatch import fastest
from table import Reach, Row, finish

_COMMITS: Final = 250
_PARTS: Final = ("dense", "large", "ingest", "history", "sparse", "postgres", "growth", "huge")
_PEER: Final = Path(__file__).with_name("store_peers.py")
_HUGE: Final = Path(__file__).with_name("store_huge.py")
_KNICK: Final = Path(sys.executable).with_name("knick")
_BOTS: Final = 20
_REPEATS: Final = 7


def bot_keys(bot: int, count: int) -> tuple[str, ...]:
    """Return the keys that one bot's file holds: 12 params, about 170 bytes each."""
    system = ("Android", "iOS", "Linux", "Mac")[bot % 4]
    configs = ("gpu", "8888", "gles", "vk", "pdf")
    return tuple(
        f",arch=arm64,bench=draw_rect_{i // 10},branch_kind=main,compiler=Clang,config={configs[i % 5]},cpu_or_gpu=GPU,"
        f"extra_config=none,model=device_{bot},os={system},source_type=skp,"
        f"sub_result={'min_ms' if i // 5 % 2 else 'max_ms'},test_kind=bench,"
        for i in range(count)
    )


def all_keys(count: int) -> tuple[str, ...]:
    """Return the keys of all bots, bot after bot."""
    return tuple(key for bot in range(_BOTS) for key in bot_keys(bot, count // _BOTS))


def report(keys: tuple[str, ...], values: NDArray[np.float64]) -> RunReport:
    """Return a run with one sample of each key."""
    count = len(keys)
    codes = np.zeros(count, dtype=np.uint16)
    small = np.zeros(count, dtype=np.uint8)
    return RunReport(ResultTable(keys, values, np.arange(count + 1), ("ms",), codes, small, small))


def begin(store: Store, commits: int) -> tuple[Repository, Line]:
    """Make a repository with a line of ``commits``."""
    repository = store.commits.add_repository("bench")
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    slots = store.commits.add(repository, (Commit(f"{n + 1:040x}", "", "", moment, "") for n in range(commits)))
    store.commits.set_line(repository, "main", list(slots.values()))
    return repository, store.commits.line(repository)


def put(store: Store, repository: Repository, slot: int, run: RunReport, name: str) -> Receipt:
    """Write a file as an import does: the run, its event and its entry in the ledger in one transaction."""
    with store.transaction():
        receipt = store.runs.write(repository, [RunWrite(slot, run, name, name, name)])[0]
        store.ledger.record(name, name, FileState.STORED, format="bench", runs=1)
    return receipt


@contextmanager
def room() -> Iterator[Path]:
    """Give a directory that is gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="knickpoint-bench-"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def fill(
    store: Store, keys: tuple[str, ...], matrix: NDArray[np.float32], beside: Callable[[int], object] | None = None
) -> tuple[Repository, Line, list[float]]:
    """Write a matrix commit by commit, and do something ``beside`` each; return also the seconds of each write."""
    repository, line = begin(store, matrix.shape[1])
    seconds = []
    for slot in range(matrix.shape[1]):
        if beside is not None:
            beside(slot)
        run = report(keys, matrix[:, slot].astype(np.float64))
        start = time.perf_counter()
        put(store, repository, slot, run, f"file-{slot}")
        seconds.append(time.perf_counter() - start)
    store.seal(everything=True)
    return repository, line, seconds


class Flat:
    """A flat file to which each commit is appended with an fsync: the least that a durable write takes."""

    def __init__(self, place: Path, matrix: NDArray[np.float32]) -> None:
        self.seconds: list[float] = []
        self._matrix = matrix
        self._file = place.open("wb")

    def append(self, slot: int) -> None:
        """Write a commit as float32: as many bytes as the values take in the store."""
        data = np.ascontiguousarray(self._matrix[:, slot]).tobytes()
        start = time.perf_counter()
        self._file.write(data)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.seconds.append(time.perf_counter() - start)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def raw_read(place: Path, shape: tuple[int, int]) -> NDArray[np.float32]:
    """Read that file back as traces × commits."""
    return np.ascontiguousarray(np.fromfile(place, dtype=np.float32).reshape(shape[1], shape[0]).T)


def duckdb(place: Path, matrix: NDArray[np.float32], ids: NDArray[np.int64], repeats: int) -> dict[str, float]:
    """Return DuckDB's seconds, an empty dict where it cannot be had."""
    python = peer_python("duckdb")
    if python is None:
        return {}
    np.save(place / "matrix.npy", matrix)
    np.save(place / "ids.npy", ids)
    paths = [place / "matrix.npy", place / "ids.npy", place / "duck.db"]
    command = [str(python), str(_PEER), *map(str, paths), str(repeats)]
    outcome = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(outcome.stdout)
    return found


def milliseconds(seconds: float | None) -> float | None:
    """Return seconds as milliseconds."""
    return None if seconds is None else seconds * 1e3


def dense() -> list[Row]:
    """40,000 traces × 250 commits."""
    matrix = np.random.default_rng(1).normal(100, 1, (40_000, _COMMITS)).astype(np.float32)
    keys = all_keys(40_000)
    with room() as place:
        raw = Flat(place / "flat", matrix)
        with create_store(place / "store.db") as store:
            repository, line, seconds = fill(store, keys, matrix, raw.append)
            raw.close()
            flat = fastest(lambda: raw_read(place / "flat", matrix.shape), _REPEATS)[0]
            ids = store.traces.select(repository, parse_query(""))
            found = store.frames.values(line, ids)
            assert np.array_equal(found, matrix)
            del found
            own = fastest(lambda: store.frames.values(line, ids), _REPEATS)[0]
            flat = min(flat, fastest(lambda: raw_read(place / "flat", matrix.shape), _REPEATS)[0])
        peer = duckdb(place, matrix, np.arange(0, 40_000, 20), 5)
    write, plain = (float(np.median(times[2:])) * 1e3 for times in (seconds, raw.seconds))
    mean, plain_mean = (float(np.mean(times[2:])) * 1e3 for times in (seconds, raw.seconds))
    own_ms = milliseconds(own)
    measure = "durable write of 40,000 values"
    return [
        Row(measure, "ms", write, plain, "write + fsync", Reach.AT_MOST_TIMES, 3),
        Row(f"{measure}, mean with checkpoints", "ms", mean, plain_mean, "write + fsync"),
        Row("dense 40,000 × 250", "ms", own_ms, flat * 1e3, "np.fromfile + transpose", Reach.AT_MOST_TIMES, 1.3),
        Row("dense 40,000 × 250", "ms", own_ms, milliseconds(peer.get("dense")), "DuckDB", Reach.TIMES_LESS, 10),
    ]


def large() -> list[Row]:
    """400,000 traces × 250 commits."""
    matrix = np.random.default_rng(2).normal(100, 1, (400_000, _COMMITS)).astype(np.float32)
    keys = all_keys(400_000)
    query = parse_query("os=Android config=gpu")
    with room() as place:
        with create_store(place / "store.db") as store:
            repository, line, _ = fill(store, keys, matrix)
            ids = store.traces.select(repository, query)
            assert len(ids) == len(matrix) // 20
            assert np.array_equal(store.frames.values(line, ids), matrix[ids])
            values = fastest(lambda: store.frames.values(line, ids), _REPEATS)[0]
            picker = fastest(
                lambda: (store.traces.select(repository, query), store.traces.facets(repository, query)), _REPEATS
            )[0]
        (place / "store.db").unlink()
        peer = duckdb(place, matrix, ids, 3)
    measure = "5 % query of 400,000 × 250, values"
    peer_ms = milliseconds(peer.get("some"))
    return [
        Row(measure, "ms", values * 1e3, reach=Reach.AT_MOST, bound=30),
        Row(measure, "ms", values * 1e3, peer_ms, "DuckDB", Reach.TIMES_LESS, 8),
        Row("query + facets at 400,000 traces", "ms", picker * 1e3, reach=Reach.AT_MOST, bound=2),
    ]


def ingest() -> list[Row]:
    """Read a JSON file of 40,000 values and write it, durable."""
    from knickpoint.formats import read_report

    keys = all_keys(40_000)
    rng = np.random.default_rng(3)

    def file_of(slot: int) -> bytes:
        values = rng.normal(100, 1, len(keys)).astype(np.float32).tolist()
        results: list[dict[str, Any]] = []
        for number in range(0, len(keys), 2):
            params = dict(pair.split("=") for pair in keys[number][1:-1].split(","))
            params["test_number"] = str(number)
            measured = [{"value": kind, "measurement": values[number + n]} for n, kind in enumerate(("min", "median"))]
            results.append({"key": params, "measurements": {"ms": measured}})
        whole = {"version": 1, "git_hash": f"{slot + 1:040x}", "key": {"bot": "one"}, "results": results}
        return json.dumps(whole).encode()

    own, plain = [], []
    with room() as place, create_store(place / "store.db") as store:
        repository, _ = begin(store, 20)
        for slot in range(20):
            data = file_of(slot)
            gc.collect()
            start = time.perf_counter()
            read, _ = read_report(data, format="skia")
            assert read is not None
            put(store, repository, slot, read.runs[0], f"file-{slot}")
            own.append(time.perf_counter() - start)
            start = time.perf_counter()
            json.loads(data)
            plain.append(time.perf_counter() - start)
    ours, peer = (float(np.median(times[2:])) * 1e3 for times in (own, plain))
    return [Row("JSON of 40,000 values to durable", "ms", ours, peer, "json.loads", Reach.AT_MOST_TIMES, 2)]


def history() -> list[Row]:
    """Import a data.js of 440 commits × 27 benchmarks from the start of a process."""
    rng = np.random.default_rng(4)
    entries = [
        {
            "commit": {
                "id": f"{n + 1:040x}",
                "message": f"Change {n}",
                "timestamp": f"2026-01-{1 + n // 24:02}T{n % 24:02}:00:00Z",
            },
            "date": 1_767_225_600_000 + n * 3_600_000,
            "tool": "customSmallerIsBetter",
            "benches": [{"name": f"bench {b}", "value": float(rng.normal(100, 1)), "unit": "ms"} for b in range(27)],
        }
        for n in range(440)
    ]
    with room() as place:
        (place / "data.js").write_text(
            f"window.BENCHMARK_DATA = {json.dumps({'repoUrl': '', 'entries': {'B': entries}})}"
        )
        seconds = []
        for number in range(3):
            instance = place / str(number)
            subprocess.run([str(_KNICK), "init", str(instance)], check=True, capture_output=True)
            command = [str(_KNICK), "import", "--instance", str(instance), str(place / "data.js")]
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds.append(time.perf_counter() - start)
    return [Row("data.js of 440 × 27 from process start", "s", min(seconds), reach=Reach.AT_MOST, bound=1.5)]


def sparse() -> list[Row]:
    """Events of 20,000 among 5,000,000 traces: one more event, and the histories of its traces."""
    rows = []
    for scattered, bound in ((False, 40), (True, 120)):
        with room() as place, create_store(place / "store.db") as store:
            seconds = sparse_event(store, 5_000_000, 240, scattered=scattered)
        what = "scattered" if scattered else "neighbouring"
        measure = f"event of 20,000 of 5,000,000 traces, {what}: write + histories"
        rows.append(Row(measure, "ms", seconds * 1e3, reach=Reach.AT_MOST, bound=bound))
    return rows


def sparse_event(store: Store, traces: int, events: int, *, scattered: bool) -> float:
    """Write ``events`` among traces that came 20,000 a file; return the best seconds of eight further ones.

    Each event is a file of 20,000 traces that was seen before: as they came, or of traces from everywhere.
    """
    rng = np.random.default_rng(5)
    size = 20_000
    repository, line = begin(store, traces // size + events + 8)

    def values() -> NDArray[np.float64]:
        return rng.normal(100, 1, size).astype(np.float32).astype(np.float64)

    for slot in range(traces // size):
        keys = sparse_keys(range(slot * size, (slot + 1) * size))
        put(store, repository, slot, report(keys, values()), f"first-{slot}")
    groups = []
    for group in range(8):
        chosen = rng.choice(traces, size, replace=False) if scattered else np.arange(group * size, (group + 1) * size)
        groups.append(sparse_keys(np.sort(chosen).tolist()))
    seconds = []
    for number in range(events + 8):
        run = report(groups[number % len(groups)], values())
        if number == events:
            store.seal()
        slot = traces // size + number
        start = time.perf_counter()
        receipt = put(store, repository, slot, run, f"event-{number}")
        store.frames.values(line, receipt.trace_ids)
        seconds.append(time.perf_counter() - start)
    return min(seconds[events:])


def sparse_keys(numbers: Iterable[int]) -> tuple[str, ...]:
    """Return the keys of made-up traces."""
    return tuple(f",benchmark=test_{n // 1000},bot=bot_{n % 50},case=case_{n % 1000},unit=ms," for n in numbers)


@contextmanager
def server(place: Path) -> Iterator[str]:
    """Run a PostgreSQL of our own; give the address of an empty database."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4])).parent
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = place / "cluster"
    prefix = []
    if os.getuid() == 0:
        shutil.chown(place, "postgres", "postgres")
        place.chmod(0o755)
        prefix = ["runuser", "-u", "postgres", "--"]

    def run(program: str, *arguments: str) -> None:
        subprocess.run(
            [*prefix, str(programs / program), *arguments],
            check=True,
            capture_output=False,
            stdout=subprocess.DEVNULL,
            cwd="/",
        )

    run("initdb", "-D", str(data), "-A", "trust", "-U", "postgres", "-E", "UTF8")
    options = (
        f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c shared_buffers=1GB -c max_wal_size=4GB"
    )
    run("pg_ctl", "-D", str(data), "-w", "-l", str(data / "log"), "-o", options, "start")
    try:
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")


def postgres() -> list[Row]:
    """400,000 × 250 dense on PostgreSQL."""
    measure = "400,000 × 250 dense on PostgreSQL"
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        return [Row(measure, "s", None, reach=Reach.AT_MOST, bound=3.5)]
    matrix = np.random.default_rng(6).normal(100, 1, (400_000, _COMMITS)).astype(np.float32)
    with room() as place, server(place) as address, create_store(address) as store:
        repository, line, _ = fill(store, all_keys(400_000), matrix)
        ids = store.traces.select(repository, parse_query(""))
        assert np.array_equal(store.frames.values(line, ids), matrix)
        seconds = fastest(lambda: store.frames.values(line, ids), 3)[0]
    return [Row(measure, "s", seconds, reach=Reach.AT_MOST, bound=3.5)]


def growth(files: int = 100_000) -> list[Row]:
    """Compare the time of one ingest after 1,000 files with that after ``files``, in turn in two stores."""
    keys = bot_keys(0, 27)
    rng = np.random.default_rng(7)
    turns = 1_000
    with room() as place, create_store(place / "old.db") as old, create_store(place / "young.db") as young:
        times: dict[int, list[float]] = {1_000: [], files: []}
        stores = {count: (store, begin(store, count + turns)[0]) for store, count in ((young, 1_000), (old, files))}

        def one(count: int, slot: int) -> float:
            store, repository = stores[count]
            run = report(keys, rng.normal(100, 1, len(keys)))
            start = time.perf_counter()
            put(store, repository, slot, run, f"file-{slot}")
            return time.perf_counter() - start

        for count in stores:
            for slot in range(count):
                one(count, slot)
        for turn in range(turns):
            for count in stores:
                times[count].append(one(count, count + turn))
    first, last = (float(np.median(times[count])) * 1e3 for count in stores)
    first_mean, last_mean = (float(np.mean(times[count])) * 1e3 for count in stores)
    measure = f"one ingest after {files:,} files"
    return [
        Row(measure, "ms", last, first, "after 1,000 files", Reach.AT_MOST_TIMES, 1.2),
        Row(f"{measure}, mean with sealing", "ms", last_mean, first_mean, "after 1,000 files"),
    ]


def huge(traces: int = 40_000_000) -> list[Row]:
    """40,000,000 sparse traces, made by a generator."""
    with room() as place:
        instance = place / "instance"
        subprocess.run([str(_KNICK), "init", str(instance)], check=True, capture_output=True)
        arguments = [str(instance / "knickpoint.db"), str(traces)]
        subprocess.run([sys.executable, str(_HUGE), "fill", *arguments], check=True)
        lived = subprocess.run([sys.executable, str(_HUGE), "live", *arguments], check=True, capture_output=True)
        found = json.loads(lived.stdout)
        commands = (["changes"], ["ingest", "status"])
        short = max(fastest(partial(knick, instance, *said), 3)[0] for said in commands)
        ready = min(start_seconds(instance) for _ in range(3))
    among = f"of 20,000 of {traces:,} traces"
    return [
        Row(f"event {among}: write", "s", found["write"], reach=Reach.AT_MOST, bound=0.5),
        Row(f"event {among}: write + histories", "s", found["write"] + found["read"]),
        Row(f"event {among}: write, in a combination not seen before", "s", found["unseen"]),
        Row(f"two queries over {traces:,} traces, without the catalogue in memory", "s", found["queries"]),
        Row(f"resident memory at {traces:,} traces", "GB", found["memory"], reach=Reach.AT_MOST, bound=4),
        Row(f"short command at {traces:,} traces", "s", short, reach=Reach.AT_MOST, bound=1),
        Row(f"start of a server at {traces:,} traces to ready", "s", ready, reach=Reach.AT_MOST, bound=10),
    ]


def start_seconds(instance: Path) -> float:
    """Start a server, wait until it is ready, and end it; return how long it took until it was ready."""
    start = time.perf_counter()
    with served(instance, "--only", "api"):
        return time.perf_counter() - start


def knick(instance: Path, *arguments: str) -> None:
    """Run a command on an instance."""
    command = [str(_KNICK), *arguments, "--instance", str(instance)]
    subprocess.run(command, check=True, capture_output=True)


def main(asked: Sequence[str]) -> None:
    """Run the parts that were asked for."""
    chosen = [part for part in _PARTS if part in asked or not asked]
    rows: list[Row] = []
    for part in chosen:
        print(f"measuring {part} …", file=sys.stderr)
        rows.extend(globals()[part]())
    finish("store", rows, only=list(asked))


if __name__ == "__main__":
    main(sys.argv[1:])
