"""A whole instance as processes: PostgreSQL, NATS, an API, workers; what they weigh, and how long one takes to be ready."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.instance import CONFIG_FILE, create_instance, open_instance
from knickpoint.model.commit import Commit
from knickpoint.model.report import ResultTable, RunReport
from knickpoint.store import RunWrite, Store
from store import room, server

__all__ = [
    "BOTS",
    "COMMITS",
    "REPOSITORY",
    "Process",
    "World",
    "keys_of",
    "last_levels",
    "processor_seconds",
    "revision",
    "values_of",
    "world",
]

COMMITS: Final = 250
BOTS: Final = 20
REPOSITORY: Final = "bench"
_KNICK: Final = Path(sys.executable).with_name("knick")
_SYSTEMS: Final = ("Android", "iOS", "Linux", "Mac")
_CONFIGS: Final = ("gpu", "8888", "gles", "vk", "pdf")
_RARELY: Final = 100
"""One trace in so many steps."""

_START_SECONDS: Final = 120.0
_AS_A_WORKER: Final = ("nice", "--adjustment=10", "chrt", "--batch", "0")
_ADDRESS: Final = re.compile(r"http://[^ ]+/")


@dataclass(frozen=True, slots=True)
class Process:
    """A running ``knick serve``, and the address where it answers."""

    process: subprocess.Popen[str]
    address: str

    @property
    def memory(self) -> float:
        """The memory that it holds now, in MB."""
        return self._status("VmRSS")

    @property
    def memory_of_all(self) -> float:
        """The memory that it and the processes that it started hold now, in MB."""
        children = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        started = [child for listed in children for child in listed.read_text(encoding="ascii").split()]
        return self.memory + sum(_memory(int(child), "VmRSS") for child in started)

    @property
    def most_memory(self) -> float:
        """The most memory that it held, in MB."""
        return self._status("VmHWM")

    @property
    def processor_seconds(self) -> float:
        """The processor time that it has taken, which does not depend on what else the machine does."""
        return processor_seconds(self.process.pid)

    def _status(self, name: str) -> float:
        return _memory(self.process.pid, name)


@dataclass(frozen=True)
class World:
    """An instance on PostgreSQL with its processes."""

    directory: Path
    location: str
    traces: int
    stack: ExitStack

    def serve(self, *arguments: str) -> Process:
        """Start ``knick serve``; it ends with the world. Workers have the priority of the shipped units."""
        return self.stack.enter_context(_served(self.directory, *arguments))


def _memory(process: int, name: str) -> float:
    """Return a figure of the memory of a process in MB, 0 for one that has ended."""
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except FileNotFoundError:
        return 0.0
    found = re.search(rf"{name}:\s+(\d+) kB", text)
    return int(found[1]) / 1000 if found else 0.0


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has taken, by its id."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def keys_of(bot: int, count: int) -> tuple[str, ...]:
    """Return the keys of the traces that one bot measures."""
    return tuple(
        f",arch=arm64,benchmark=draw_rect_{number},bot=device_{bot},config={_CONFIGS[number % 5]},"
        f"os={_SYSTEMS[bot % 4]},unit=ms,"
        for number in range(count)
    )


def values_of(traces: int) -> NDArray[np.float32]:
    """Return noise in which one trace in a hundred steps by 10 %."""
    random = np.random.default_rng(16)
    values = random.normal(100, 0.5, (traces, COMMITS)).astype(np.float32)
    rows = np.arange(0, traces, _RARELY)
    for row, slot in zip(rows, random.integers(30, COMMITS - 30, rows.size), strict=True):
        values[row, slot:] *= np.float32(1.1)
    return values


def last_levels(first: int, count: int) -> NDArray[np.float64]:
    """Return the levels on which :func:`values_of` ends, of ``count`` traces from the number ``first`` on."""
    return np.where(np.arange(first, first + count) % _RARELY == 0, 110.0, 100.0)


def revision(number: int) -> str:
    """Return the revision of the commit ``number``, as results name it."""
    return str(1_000_000 + number)


@contextmanager
def world(traces: int, *, alerts: int = 50) -> Iterator[World]:
    """Fill an instance of ``traces`` × 250 on a new PostgreSQL, with NATS and ``alerts``; its processes end with it."""
    with ExitStack() as stack:
        location = stack.enter_context(server(stack.enter_context(room())))
        directory = stack.enter_context(room()) / "instance"
        with create_instance(directory, store=location, repositories={REPOSITORY: ""}) as instance:
            _fill(instance.store, traces)
        _configure(directory, stack.enter_context(_nats()), alerts)
        with open_instance(directory) as instance:
            from knickpoint.watch.alert_run.run import run_alerts

            run_alerts(instance.store, instance.alerts, as_work=True)
        yield World(directory, location, traces, stack)


def _fill(store: Store, traces: int) -> None:
    repository = store.commits.add_repository(REPOSITORY)
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    made = (Commit(revision(n), "Ada", "", begin + timedelta(hours=5 * n), f"Change {n}") for n in range(COMMITS))
    slots = list(store.commits.add(repository, made).values())
    store.commits.set_line(repository, "main", slots)
    keys = tuple(key for bot in range(BOTS) for key in keys_of(bot, traces // BOTS))
    values = values_of(traces)
    codes, small, offsets = np.zeros(traces, np.uint16), np.zeros(traces, np.uint8), np.arange(traces + 1)
    for position, slot in enumerate(slots):
        table = ResultTable(keys, values[:, position].astype(np.float64), offsets, ("ms",), codes, small, small)
        name = f"file-{position}"
        store.runs.write(repository, [RunWrite(slot, RunReport(table), name, name, name)])
    store.outbox.forget(0.0, 0)  # the first run is about everything
    store.seal(everything=True)


def _configure(directory: Path, nats: str, alerts: int) -> None:
    """Write alerts of one bot or one configuration each, and limits for readers that all come from one address."""
    names = [f'[alerts.bot_{n}]\nquery = "bot=device_{n % BOTS}&config={_CONFIGS[n // BOTS]}"' for n in range(alerts)]
    limits = "[limits]\nrequests_per_minute = 1000000\ncostly_per_caller = 64"
    more = "connections = 5000\nconnections_per_address = 5000"
    text = (directory / CONFIG_FILE).read_text(encoding="utf-8")
    sections = [text, *names, limits, more, f'[nats]\nurl = "{nats}"', "[worker]\npoll_seconds = 0.2"]
    (directory / CONFIG_FILE).write_text("\n".join(sections) + "\n", encoding="utf-8")


@contextmanager
def _nats() -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = tempfile.mkdtemp(prefix="knickpoint-nats-")
    program = shutil.which("nats-server") or "/usr/sbin/nats-server"
    process = subprocess.Popen(
        [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", place],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"nats://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _served(directory: Path, *arguments: str) -> Iterator[Process]:
    command = [str(_KNICK), "serve", "--instance", str(directory), "--port", "0", *arguments]
    if "worker" in arguments:
        command = [*_AS_A_WORKER, *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        address = next((found[0] for line in process.stdout if (found := _ADDRESS.search(line))), "")
        assert address, "knick serve did not start"
        threading.Thread(target=process.stdout.read, daemon=True).start()
        _wait_until_ready(address)
        yield Process(process, address)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait_until_ready(address: str) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{address}api/v1/ready") as answer:  # noqa: S310
                if answer.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.01)
    raise AssertionError("the server was not ready in time")
