"""Processes, database and NATS are killed at random while results arrive and people decide; the end is as without a kill."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from tests.instance.conftest import NatsServer, NewServer
from tests.instance.test_worker import Clock
from tests.store.conftest import Cluster
from tests.store.conftest import cluster as cluster  # noqa: PLC0414  # a fixture

from knickpoint.ingest.context.sidecar import Sidecar
from knickpoint.ingest.file_import import import_data
from knickpoint.instance import CONFIG_FILE, Instance, Worker, create_instance, open_instance
from knickpoint.model.regression import Status
from knickpoint.store import EventKind

_ROUNDS = int(os.environ.get("KNICKPOINT_KILLS", "5"))
_FILES = 8 * _ROUNDS + 40
_STEP = 20
_CODE = "from knickpoint.cli import main; main()"
_PATIENCE_SECONDS = 120.0
_PAUSE = threading.Event()
"""Is never set: what waits for it lets time pass."""


def results(number: int) -> bytes:
    """Return the file of the commit ``number``: six traces, of which three step."""
    chance = random.Random(number)
    level = {name: 150.0 if number >= _STEP and name < "d" else 100.0 for name in "abcdef"}
    rows = [{"key": {"benchmark": n, "unit": "ms"}, "measurement": v + chance.random()} for n, v in level.items()]
    return json.dumps({"version": 1, "git_hash": f"CP:{1000 + number}", "results": rows}).encode()


def live(instance: Instance) -> list[tuple[str, int]]:
    """Return the trace and the position of each change point that is there, in order."""
    repository = instance.store.commits.repository("main")
    found = [
        point
        for regression in instance.store.findings.regressions(repository)
        for point in instance.store.findings.live_members(regression.id)
    ]
    order = list(instance.store.commits.line(repository).slots)
    keys = {trace.id: trace.key for trace in instance.store.traces.get([point.trace_id for point in found])}
    return sorted((keys[point.trace_id], order.index(point.suspect_range.slot)) for point in found)


def values(instance: Instance) -> list[list[float]]:
    """Return all values, traces by name × commits in order."""
    from knickpoint.model.query import Query

    store = instance.store
    repository = store.commits.repository("main")
    ids = store.traces.select(repository, Query())
    keys = {trace.id: trace.key for trace in store.traces.get(ids.tolist())}
    matrix = store.frames.read(store.commits.line(repository), ids).values
    rows = sorted(zip([keys[each] for each in ids.tolist()], matrix.tolist(), strict=True))
    return [row for _, row in rows]


@pytest.fixture
def undisturbed(tmp_path: Path) -> Iterator[Instance]:
    """Import the same files into an instance of this process, and judge them."""
    with create_instance(tmp_path / "calm", repositories={"main": ""}, as_work=True) as instance:
        for number in range(_FILES):
            import_data(instance, results(number), source=f"upload:{number}", stated=Sidecar(repository="main"))
        Worker(instance, clock=Clock()).step()
        yield instance


@dataclass
class Service:
    """The processes of an instance, each of which may be killed and started again."""

    directory: Path
    cluster: Cluster
    nats: NatsServer
    port: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    def start(self, part: str) -> None:
        port = ["--port", str(self.port)] if part == "api" else []
        command = [sys.executable, "-c", _CODE, "serve", "--only", part, *port]
        with (self.directory / f"{part}.log").open("ab") as log:
            self.processes[part] = subprocess.Popen(command, cwd=self.directory, stdout=log, stderr=log)

    def kill(self, what: str) -> None:
        """End ``what`` without a warning, and start it again."""
        if what == "nats":
            self.nats.kill()
            self.nats.start()
        elif what == "postgres":
            os.kill(int((self.cluster.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
            self._start_database()
        else:
            self.processes[what].kill()
            self.processes[what].wait()
            self.start(what)

    def _start_database(self) -> None:
        """Start it as soon as the processes of the killed one have noticed."""
        for _ in range(100):
            with suppress(subprocess.CalledProcessError):
                self.cluster.start()
                return
            _PAUSE.wait(0.2)
        raise AssertionError("PostgreSQL does not start again")

    def revive(self) -> None:
        """Start again the parts that gave up by themselves, as a service manager does."""
        for part, process in list(self.processes.items()):
            if process.poll() is not None:
                self.start(part)

    def end(self) -> list[int]:
        for process in self.processes.values():
            process.terminate()
        return [process.wait(60) for process in self.processes.values()]


@pytest.fixture
def service(tmp_path: Path, cluster: Cluster, new_nats_server: NewServer) -> Iterator[Service]:
    """Start an API, a worker and imports on PostgreSQL and NATS of their own."""
    nats = new_nats_server()
    nats.start()
    cluster.execute("CREATE DATABASE killed")
    directory = tmp_path / "killed"
    create_instance(directory, store=cluster.url("killed"), repositories={"main": ""}, as_work=True).close()
    with (directory / CONFIG_FILE).open("a", encoding="utf-8") as config:
        config.write(f'[nats]\nurl = "{nats.url}"\n[worker]\nlease_seconds = 3\npoll_seconds = 0.1\n')
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        made = Service(directory, cluster, nats, probe.getsockname()[1])
    for part in ("api", "worker", "ingest"):
        made.start(part)
    yield made
    for process in made.processes.values():
        process.kill()
        process.wait()
    cluster.execute("DROP DATABASE killed WITH (FORCE)")


def feed(service: Service, stored: list[int]) -> None:
    """Send each file until it is answered as stored."""
    for number in range(_FILES):
        while True:
            with suppress(httpx.HTTPError):
                parameters = {"name": str(number), "repository": "main"}
                answer = httpx.post(f"{service.api}/results", params=parameters, content=results(number), timeout=30)
                if answer.status_code == 200:
                    break
            _PAUSE.wait(0.2)
        stored.append(number)
        _PAUSE.wait(0.1)


def decide(service: Service, decided: set[int], stop: threading.Event) -> None:
    """Acknowledge what is found, one finding at a time, and keep what was answered."""
    while not stop.wait(0.3):
        with suppress(httpx.HTTPError, KeyError):
            groups = httpx.get(f"{service.api}/regressions", timeout=30).json()["groups"]
            ids = [member["id"] for group in groups for member in group["members"]]
            if not ids:
                continue
            body = {"ids": ids[:1], "status": "acknowledged"}
            if httpx.post(f"{service.api}/triage", json=body, timeout=30).status_code == 200:
                decided.add(ids[0])


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.timeout(1800)
def test_kills_at_any_moment_leave_what_an_undisturbed_run_leaves(service: Service, undisturbed: Instance) -> None:
    stored: list[int] = []
    decided: set[int] = set()
    stop, chance = threading.Event(), random.Random(16)
    feeding = threading.Thread(target=feed, args=(service, stored), daemon=True)
    deciding = threading.Thread(target=decide, args=(service, decided, stop), daemon=True)
    feeding.start()
    deciding.start()
    killed: list[str] = []
    for number in range(_ROUNDS):
        _PAUSE.wait(1 + 2 * chance.random())
        what = ("api", "worker", "postgres", "nats", "ingest")[(number + chance.randrange(5) * (number >= 5)) % 5]
        service.kill(what)
        service.revive()
        killed.append(what)
    for _ in range(int(_PATIENCE_SECONDS)):
        service.revive()
        feeding.join(1)
        if not feeding.is_alive():
            break
    assert len(stored) == _FILES
    with open_instance(service.directory) as instance:
        for _ in range(int(_PATIENCE_SECONDS)):
            service.revive()
            pending = {each.kind: each.count for each in instance.store.outbox.pending() if each.consumer == "main"}
            if not pending.get(EventKind.TRACES_CHANGED) and len(decided) >= 3:
                break
            _PAUSE.wait(1)
        stop.set()
        deciding.join()
        health = httpx.get(f"{service.api}/health", timeout=30).json()
        assert service.end() == [0, 0, 0]
        found = live(instance)
        assert (values(instance), found) == (values(undisturbed), live(undisturbed))
        assert len(found) == len(set(found)) == 3
        statuses = {point.id: point.status for point in instance.store.findings.points(sorted(decided))}
        assert statuses == dict.fromkeys(decided, Status.ACKNOWLEDGED)
        assert not [each for each in health["troubles"] if "fails" in each]
        assert instance.store.outbox.dead() == []
