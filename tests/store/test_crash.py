"""Kill writers and sealers at random moments; let several processes write and read at once."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from knickpoint.model.commit import Repository
from knickpoint.model.errors import StoreError
from knickpoint.model.query import Query
from knickpoint.store import FileState, Store, open_store

from .conftest import Bench, Cluster
from .writer import TRACES, values_of

WRITER = Path(__file__).with_name("writer.py")

sqlite_first = pytest.mark.parametrize(
    "location", ["sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.long])], indirect=True
)
"""For processes that die or race: starting them takes seconds, and on a server they do what others do there."""

only_sqlite = pytest.mark.parametrize("location", ["sqlite"], indirect=True)
"""For what a server decides by itself: its disk and its roles."""


def start(location: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), location, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def kill_after(process: subprocess.Popen[str], lines: int, pause: float) -> list[str]:
    """Read some lines, wait a moment, kill; return all lines that came."""
    assert process.stdout is not None
    seen = [process.stdout.readline() for _ in range(lines)]
    try:
        process.wait(pause)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    rest, errors = process.communicate()
    assert process.returncode in {-signal.SIGKILL, 0}, errors
    return [*seen, *rest.splitlines()]


def check(store: Store, repository: Repository, acknowledged: set[int]) -> set[int]:
    """Return the files that are in; every acknowledged one is, and none is half there or there twice."""
    line = store.commits.line(repository)
    ids = store.traces.select(repository, Query())
    assert len(ids) in {0, TRACES}
    values = store.frames.values(line, ids)
    present = set(np.flatnonzero(~np.isnan(values).any(axis=0)).tolist()) if len(ids) else set()
    partial = set(np.flatnonzero(~np.isnan(values).all(axis=0)).tolist()) if len(ids) else set()
    assert present == partial
    assert acknowledged <= present
    for number in present:
        assert (values[:, number] == values_of(number)).all()
        assert [run.identity for run in store.runs.at(repository, [number])] == [f"a-{number}"]
    return present


def survive(location: str, rounds: int) -> None:
    chance = random.Random(7)
    with open_store(location) as store:
        repository = store.commits.repository("main")
    done: set[int] = set()
    for number in range(rounds):
        with_sealer = number % 2 == 1
        first = max(done, default=-1) + 1
        processes = [start(location, "write", "a", str(first), "1")]
        if with_sealer:
            processes.append(start(location, "seal"))
        lines = kill_after(processes[0], 1, chance.uniform(0, 0.3))
        if with_sealer:
            kill_after(processes[1], 0, chance.uniform(0, 0.05))
        done |= {int(line) for line in lines if line.strip()}
        with open_store(location) as store:
            done = check(store, repository, done)
            if max(done, default=0) > 350:
                return


@pytest.mark.long
@sqlite_first
@pytest.mark.usefixtures("repository")
def test_a_killed_writer_or_sealer_loses_and_doubles_nothing(location: str) -> None:
    survive(location, 2)


@pytest.mark.long
@pytest.mark.usefixtures("repository")
@pytest.mark.timeout(1800)
def test_a_hundred_kills_lose_and_double_nothing(location: str) -> None:
    survive(location, 100)


def run_together(location: str, seconds: float, reading: int) -> None:
    writers = [start(location, "write", name, "0", "1") for name in ("a", "b")]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline().strip()
    readers = [start(location, "read", str(seconds)) for _ in range(reading)]
    for reader in readers:
        output, errors = reader.communicate()
        assert reader.returncode == 0, errors
        assert int(output) > 0
    for writer in writers:
        writer.send_signal(signal.SIGKILL)
        _, errors = writer.communicate()
        assert errors == ""


@pytest.mark.long
@sqlite_first
@pytest.mark.usefixtures("repository")
def test_two_writers_and_two_readers_never_meet_a_torn_read(location: str) -> None:
    run_together(location, 0.2, 2)


@pytest.mark.long
@pytest.mark.usefixtures("repository")
@pytest.mark.timeout(300)
def test_two_writers_and_four_readers_for_a_minute(location: str) -> None:
    run_together(location, 60, 4)


@pytest.mark.postgres
@pytest.mark.parametrize("location", ["postgresql"], indirect=True)
def test_a_connection_that_the_server_closed_is_not_used_again(bench: Bench, cluster: Cluster) -> None:
    bench.put(0, Bench.report({"a": 1.0}), "before")
    name = bench.store.database.url.database
    cluster.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    with suppress(StoreError):
        bench.put(1, Bench.report({"a": 2.0}), "lost")
    bench.put(1, Bench.report({"a": 2.0}), "after")
    assert bench.point("a", 1) == 2.0


@only_sqlite
def test_a_full_disk_is_reported_and_breaks_nothing(bench: Bench) -> None:
    bench.put(0, Bench.report({"a": 1.0}), "before")
    with bench.store.database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    many = Bench.report({f"name {number}": [0.1, 0.2] for number in range(20_000)})
    with pytest.raises(StoreError, match="disk is full"):
        bench.put(1, many, "too much")
    assert bench.point("a", 0) == 1.0
    assert bench.store.traces.count(bench.repository) == 1
    assert bench.store.runs.get(bench.repository, "too much") is None


_SMALL_DISK = 'mount -t tmpfs -o size=4m none "$1" && shift && exec "$@"'


def _on_a_small_disk(directory: Path, *arguments: str) -> str:
    """Run Python with ``arguments`` where ``directory`` has 4 MB; return what it prints."""
    unshare = shutil.which("unshare")
    inside = [unshare or "unshare", "--map-root-user", "--mount", "sh", "-c", _SMALL_DISK, "sh", str(directory)]
    if unshare is None or subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    finished = subprocess.run([*inside, sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.long
def test_a_full_disk_stops_writers_until_there_is_room(tmp_path: Path) -> None:
    printed = _on_a_small_disk(tmp_path, str(WRITER), str(tmp_path / "store.db"), "crowded")
    assert "disk is full" in printed
    assert printed.endswith("went on\n")


_FILL = """
import sys
from contextlib import suppress
from pathlib import Path
from knickpoint.model.errors import StoreError
from knickpoint.store import create_store, open_store
place = Path(sys.argv[1])
create_store(place / "store.db").close()
with suppress(OSError), (place / "filling").open("wb", buffering=0) as file:
    while file.write(b"x" * 1024):
        pass
try:
    open_store(place / "store.db")
except StoreError as error:
    print(error)
"""


@pytest.mark.long
def test_a_store_that_a_full_disk_keeps_from_being_read_is_not_called_broken(tmp_path: Path) -> None:
    printed = _on_a_small_disk(tmp_path, "-c", _FILL, str(tmp_path))
    assert "The disk is full" in printed
    assert "Make room" in printed


@only_sqlite
def test_an_error_in_the_middle_leaves_the_transaction_whole(bench: Bench) -> None:
    with bench.store.database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    many = Bench.report({f"name {number}": [0.1, 0.2] for number in range(20_000)})
    with suppress(StoreError), bench.store.transaction():
        bench.store.ledger.record("before", "a", FileState.STORED)
        with suppress(StoreError):
            bench.put(1, many, "too much")
        bench.store.ledger.record("after", "b", FileState.STORED)
    kept = [bool(bench.store.ledger.known_as("", [content])) for content in ("a", "b")]
    assert kept in ([True, True], [False, False])
    assert bench.store.runs.get(bench.repository, "too much") is None


def test_a_transaction_that_the_database_gave_up_takes_nothing_more(store: Store) -> None:
    def give_up() -> None:
        with store.transaction() as connection:
            connection.exec_driver_sql("ROLLBACK")  # what SQLite does by itself when a write to the disk fails
            raise StoreError("the disk is full")

    def go_on() -> None:
        with store.transaction():
            with suppress(StoreError):
                give_up()
            store.ledger.record("after", "b", FileState.STORED)

    with pytest.raises(StoreError):
        go_on()
    assert store.ledger.known_as("", ["b"]) == []


@pytest.mark.long
@only_sqlite
def test_a_store_that_cannot_be_written_is_reported(location: str) -> None:
    with tempfile.TemporaryDirectory() as room:
        place = Path(room) / "store.db"
        shutil.copy(location, place)
        Path(room).chmod(0o755)
        command = [sys.executable, str(WRITER), str(place), "powerless"]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "cannot be" in finished.stdout, finished.stderr
