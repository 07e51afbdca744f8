"""A whole instance as processes: PostgreSQL, NATS, an API, workers.

What they weigh, and how long one takes to be ready.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
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
from served_process import Process, served
from store import room, server

__all__ = [
    "BOTS",
    "COMMITS",
    "REPOSITORY",
    "World",
    "keys_of",
    "last_levels",
    "revision",
    "values_of",
    "world",
]

COMMITS: Final = 250
BOTS: Final = 20
REPOSITORY: Final = "bench"
_SYSTEMS: Final = ("Android", "iOS", "Linux", "Mac")
_CONFIGS: Final = ("gpu", "8888", "gles", "vk", "pdf")
_RARELY: Final = 100
"""One trace in so many steps."""


@dataclass(frozen=True)
class World:
    """An instance on PostgreSQL with its processes."""

    directory: Path
    location: str
    traces: int
    stack: ExitStack

    def serve(self, *arguments: str) -> Process:
        """Start ``knick serve``; it ends with the world. Workers have the priority of the shipped units."""
        return self.stack.enter_context(served(self.directory, *arguments))


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
