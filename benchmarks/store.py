"""Time the store beside its peers, and print and write the table (``make bench-store``).

    python benchmarks/store.py                   # everything but the hours-long parts
    python benchmarks/store.py dense ingest      # some parts only
    python benchmarks/store.py everything        # with 40,000,000 traces and 100,000 files

Every ratio compares figures of one run on one machine. What is written includes provenance, ledger and outbox.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Commit, Line, Repository
from knickpoint.model.query import parse_query
from knickpoint.model.report import ResultTable, RunReport
from knickpoint.store import FileState, Store, create_store
from peers import peer_python
from stopwatch import fastest
from table import Reach, Row, finish

_COMMITS: Final = 250
_PARTS: Final = ("dense", "large", "ingest", "history", "sparse", "postgres", "growth", "huge")
_LONG: Final = ("huge",)
_PEER: Final = Path(__file__).with_name("store_peers.py")
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
    slots = store.commits.add(repository, (Commit(f"{n:040x}", "", "", moment, "") for n in range(commits)))
    store.commits.set_line(repository, "main", list(slots.values()))
    return repository, store.commits.line(repository)


def put(store: Store, repository: Repository, slot: int, run: RunReport, name: str) -> None:
    """Write a file as an import does: the run, its event and its entry in the ledger in one transaction."""
    with store.transaction():
        store.runs.put(repository, slot, run, identity=name, content_hash=name, source=name)
        store.ledger.record(name, name, FileState.STORED, format="bench", runs=1)


@contextmanager
def room() -> Iterator[Path]:
    """Give a directory that is gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="knickpoint-bench-"))
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def fill(store: Store, keys: tuple[str, ...], matrix: NDArray[np.float32]) -> tuple[Repository, Line, list[float]]:
    """Write a matrix commit by commit; return also the seconds of each write."""
    repository, line = begin(store, matrix.shape[1])
    seconds = []
    for slot in range(matrix.shape[1]):
        run = report(keys, matrix[:, slot].astype(np.float64))
        start = time.perf_counter()
        put(store, repository, slot, run, f"file-{slot}")
        seconds.append(time.perf_counter() - start)
    store.seal(everything=True)
    return repository, line, seconds


def raw_write(place: Path, matrix: NDArray[np.float32]) -> float:
    """Append each commit to a flat file with an fsync each; return the median seconds."""
    seconds = []
    with place.open("wb") as flat:
        for slot in range(matrix.shape[1]):
            data = np.ascontiguousarray(matrix[:, slot]).tobytes()
            start = time.perf_counter()
            flat.write(data)
            flat.flush()
            os.fsync(flat.fileno())
            seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


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
        raw = raw_write(place / "flat", matrix)
        flat = fastest(lambda: raw_read(place / "flat", matrix.shape), _REPEATS)[0]
        with create_store(place / "store.db") as store:
            repository, line, seconds = fill(store, keys, matrix)
            ids = store.traces.select(repository, parse_query(""))
            found = store.frames.values(line, ids)
            assert np.array_equal(found, matrix)
            del found
            own = fastest(lambda: store.frames.values(line, ids), _REPEATS)[0]
            flat = min(flat, fastest(lambda: raw_read(place / "flat", matrix.shape), _REPEATS)[0])
        peer = duckdb(place, matrix, np.arange(0, 40_000, 20), 5)
    write = float(np.median(seconds[1:]))
    own_ms = milliseconds(own)
    return [
        Row("durable write of 40,000 values", "ms", write * 1e3, raw * 1e3, "write + fsync", Reach.AT_MOST_TIMES, 3),
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
        whole = {"version": 1, "git_hash": f"{slot:040x}", "key": {"bot": "one"}, "results": results}
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
                "id": f"{n:040x}",
                "message": f"Change {n}",
                "timestamp": f"2026-01-{1 + n // 24:02}T{n % 24:02}:00:00Z",
            },
            "date": 1_767_225_600_000 + n * 3_600_000,
            "tool": "customSmallerIsBetter",
            "benches": [{"name": f"bench {b}", "value": float(rng.normal(100, 1)), "unit": "ms"} for b in range(27)],
        }
        for n in range(440)
    ]
    knick = Path(sys.executable).with_name("knick")
    with room() as place:
        (place / "data.js").write_text(
            f"window.BENCHMARK_DATA = {json.dumps({'repoUrl': '', 'entries': {'B': entries}})}"
        )
        seconds = []
        for number in range(3):
            instance = place / str(number)
            subprocess.run([str(knick), "init", str(instance)], check=True, capture_output=True)
            command = [str(knick), "import", "--instance", str(instance), str(place / "data.js")]
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
    """Write ``events`` among traces that came 20,000 a file; return the best seconds of four further ones.

    Each event is a file of 20,000 traces that was seen before: as they came, or of traces from everywhere.
    """
    rng = np.random.default_rng(5)
    size = 20_000
    repository, line = begin(store, traces // size + events + 8)
    for slot in range(traces // size):
        put(
            store,
            repository,
            slot,
            report(sparse_keys(range(slot * size, (slot + 1) * size)), rng.normal(100, 1, size)),
            f"first-{slot}",
        )
    groups = []
    for group in range(8):
        chosen = rng.choice(traces, size, replace=False) if scattered else np.arange(group * size, (group + 1) * size)
        groups.append(sparse_keys(np.sort(chosen).tolist()))
    seconds = []
    for number in range(events + 8):
        keys = groups[number % len(groups)]
        values = rng.normal(100, 1, size).astype(np.float32).astype(np.float64)
        if number == events:
            store.seal()
        run = report(keys, values)
        start = time.perf_counter()
        with store.transaction():
            slot = traces // size + number
            receipt = store.runs.put(
                repository, slot, run, identity=f"event-{number}", content_hash=f"{number}", source="bench"
            )
            store.ledger.record(f"event-{number}", f"{number}", FileState.STORED)
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
    """Compare the time of one ingest after 1,000 files with that after ``files``."""
    keys = bot_keys(0, 27)
    rng = np.random.default_rng(7)
    with room() as place, create_store(place / "store.db") as store:
        repository, _ = begin(store, files)
        medians = []
        for low, high in ((0, 1_200), (1_200, files)):
            seconds = []
            for slot in range(low, high):
                run = report(keys, rng.normal(100, 1, 27))
                start = time.perf_counter()
                put(store, repository, slot, run, f"file-{slot}")
                seconds.append(time.perf_counter() - start)
            medians.append(float(np.median(seconds[-200:])))
    first, last = medians
    return [
        Row(
            f"one ingest after {files:,} files",
            "ms",
            last * 1e3,
            first * 1e3,
            "after 1,000 files",
            Reach.AT_MOST_TIMES,
            1.2,
        )
    ]


def huge() -> list[Row]:
    """40,000,000 sparse traces, made by a generator."""
    with room() as place:
        with create_store(place / "store.db") as store:
            seconds = sparse_event(store, 40_000_000, 240, scattered=True)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        code = f"from knickpoint.store import open_store\nwith open_store({str(place / 'store.db')!r}) as s: s.traces.get([39_999_999])"
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        short = time.perf_counter() - start
    return [
        Row("event of 20,000 of 40,000,000 traces", "s", seconds, reach=Reach.AT_MOST, bound=0.5),
        Row("resident memory at 40,000,000 traces", "GB", memory, reach=Reach.AT_MOST, bound=4),
        Row("short command at 40,000,000 traces", "s", short, reach=Reach.AT_MOST, bound=1),
    ]


def main(asked: Sequence[str]) -> None:
    """Run the parts that were asked for."""
    chosen = [part for part in _PARTS if part in asked or (not asked and part not in _LONG) or "everything" in asked]
    rows: list[Row] = []
    for part in chosen:
        print(f"measuring {part} …", file=sys.stderr)
        rows.extend(globals()[part]())
    finish("store", rows, only=[] if not asked or "everything" in asked else list(asked))


if __name__ == "__main__":
    main(sys.argv[1:])
