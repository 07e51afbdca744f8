"""Processes, database and NATS are killed at random while results arrive and people decide.

The end is as without a kill.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tests.instance.conftest import NatsServer, NewServer
from tests.instance.disturbance import Visitors, assert_decided, live, undisturbed_instance, values
from tests.instance.programs import Programs
from tests.store.conftest import Cluster, free_port
from tests.store.conftest import cluster as cluster  # noqa: PLC0414  # a fixture
from tests.waiting import PAUSE

from knickpoint.instance import CONFIG_FILE, Instance, create_instance, open_instance
from knickpoint.store import EventKind

_ROUNDS = int(os.environ.get("KNICKPOINT_KILLS", "5"))
_FILES = 8 * _ROUNDS + 40
_PATIENCE_SECONDS = 120.0


@pytest.fixture
def undisturbed(tmp_path: Path) -> Iterator[Instance]:
    """Import the same files into an instance of this process, and judge them."""
    with undisturbed_instance(tmp_path / "calm", _FILES) as instance:
        yield instance


@dataclass
class Service:
    """The processes of an instance, each of which may be killed and started again."""

    directory: Path
    cluster: Cluster
    nats: NatsServer
    port: int
    programs: Programs

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    def start(self, part: str) -> None:
        port = ["--port", str(self.port)] if part == "api" else []
        self.programs.serve(part, "--only", part, *port)

    def kill(self, what: str) -> None:
        """End ``what`` without a warning, and start it again."""
        if what == "nats":
            self.nats.kill()
            self.nats.start()
        elif what == "postgres":
            os.kill(int((self.cluster.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
            self._start_database()
        else:
            self.programs.kill(what)
            self.start(what)

    def _start_database(self) -> None:
        """Start it as soon as the processes of the killed one have noticed."""
        for _ in range(100):
            with suppress(subprocess.CalledProcessError):
                self.cluster.start()
                return
            PAUSE.wait(0.2)
        raise AssertionError("PostgreSQL does not start again")

    def revive(self) -> None:
        """Start again the parts that gave up by themselves, as a service manager does."""
        for part, process in list(self.programs.running.items()):
            if process.poll() is not None:
                self.start(part)

    def end(self) -> list[int]:
        for process in self.programs.running.values():
            process.terminate()
        return [self.programs.wait(part) for part in tuple(self.programs.running)]


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
    made = Service(directory, cluster, nats, free_port(), Programs(directory))
    for part in ("api", "worker", "ingest"):
        made.start(part)
    yield made
    made.programs.kill()
    cluster.execute("DROP DATABASE killed WITH (FORCE)")


def _see_all_sent(service: Service, visitors: Visitors) -> None:
    """Wait for the last file, but not long for any of them: how long all take grows with their number."""
    stored, left = 0, _PATIENCE_SECONDS
    while left > 0 and not visitors.wait(1):
        service.revive()
        stored, before = len(visitors.stored), stored
        left = _PATIENCE_SECONDS if stored > before else left - 1


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.timeout(1800)
def test_kills_at_any_moment_leave_what_an_undisturbed_run_leaves(service: Service, undisturbed: Instance) -> None:
    visitors, chance = Visitors(service.api, _FILES), random.Random(16)
    visitors.start()
    killed: list[str] = []
    for number in range(_ROUNDS):
        PAUSE.wait(1 + 2 * chance.random())
        what = ("api", "worker", "postgres", "nats", "ingest")[(number + chance.randrange(5) * (number >= 5)) % 5]
        service.kill(what)
        service.revive()
        killed.append(what)
    _see_all_sent(service, visitors)
    assert len(visitors.stored) == _FILES
    with open_instance(service.directory) as instance:
        for _ in range(int(_PATIENCE_SECONDS)):
            service.revive()
            pending = {each.kind: each.count for each in instance.store.outbox.pending() if each.consumer == "main"}
            if not pending.get(EventKind.TRACES_CHANGED) and len(visitors.decided) >= 3:
                break
            PAUSE.wait(1)
        visitors.stop()
        health = httpx.get(f"{service.api}/health", timeout=30).json()
        assert service.end() == [0, 0, 0]
        found = live(instance)
        assert (values(instance), found) == (values(undisturbed), live(undisturbed))
        assert len(found) == len(set(found)) == 3
        assert_decided(instance, visitors)
        assert not [each for each in health["troubles"] if "fails" in each]
        assert instance.store.outbox.dead() == []
