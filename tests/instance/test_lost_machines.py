"""Machines of an instance lose power or network at random while results arrive and people decide.

The end is as without.
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg
import pytest
from tests.instance.disturbance import Reader, Visitors, assert_decided, live, undisturbed_instance, values
from tests.instance.machines.network import Machine, Network, check_namespaces
from tests.instance.programs import KNICK
from tests.store.conftest import Cluster
from tests.store.conftest import own_cluster as own_cluster  # noqa: PLC0414  # a fixture
from tests.waiting import wait_until

from knickpoint.access.tokens import create_token
from knickpoint.bisect.pool.access import make_certificate_files
from knickpoint.instance import CONFIG_FILE, Instance, create_instance, open_instance
from knickpoint.model.access import Permission
from knickpoint.store import EventKind
from knickpoint.store.replicas import MOST_BEHIND_SECONDS

_ROUNDS = int(os.environ.get("KNICKPOINT_KILLS", "8"))
_FILES = 30 * _ROUNDS + 40
_PATIENCE_SECONDS = 120.0
_DASK = (sys.executable, "-m", "dask")

_FIRST = (
    ("primary", "kill"),
    ("standby", "cut"),
    ("worker-1", "cut"),
    ("nats", "kill"),
    ("standby", "hold"),
    ("dask", "kill"),
    ("standby", "kill"),
    ("primary", "cut"),
)
"""What a short run loses; a longer one goes on at random."""

_PARTS = ("api", "worker-1", "worker-2", "primary", "standby", "nats", "dask")

_LIMITS = "connect_timeout=2&keepalives_idle=1&keepalives_interval=1&keepalives_count=3&tcp_user_timeout=4000"


def in_time(what: str, is_so: Callable[[], bool]) -> None:
    """Wait as long as a lost machine may take to come back."""
    wait_until(what, is_so, seconds=_PATIENCE_SECONDS, every=0.2)


@dataclass
class Databases:
    """Two PostgreSQL servers, of which one follows the other; nothing is answered before both have it."""

    cluster: Cluster
    machines: dict[str, Machine]
    primary: str = "db-1"
    standby: str = "db-2"

    @property
    def url(self) -> str:
        hosts = ",".join(machine.address for machine in self.machines.values())
        return f"postgresql://postgres@{hosts}/lost?{_LIMITS}"

    def data(self, name: str) -> Path:
        return self.cluster.data.with_name(name)

    def start(self, name: str) -> None:
        settings = (
            "listen_addresses=*",
            "unix_socket_directories=",
            "fsync=off",
            "synchronous_standby_names=walreceiver",
            "wal_sender_timeout=2s",
            "wal_receiver_timeout=2s",
            "wal_retrieve_retry_interval=200ms",
        )
        options = [part for setting in settings for part in ("-c", setting)]
        user = ("setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups")
        program = str(self.cluster.programs / "postgres")
        self.machines[name].start(*user, program, "-D", str(self.data(name)), "-p", "5432", *options)

    def follow(self) -> None:
        """Make the standby anew from the primary, and wait until it keeps up."""
        in_time("the primary answers", lambda: self._asks("SELECT NOT pg_is_in_recovery()"))
        shutil.rmtree(self.data(self.standby), ignore_errors=True)
        source = ("-h", self.machines[self.primary].address, "-U", "postgres")
        copy = ("-D", str(self.data(self.standby)), "-R", "-c", "fast", "--no-sync")
        self.cluster.run("pg_basebackup", *source, *copy)
        self.start(self.standby)
        self.wait_for_standby()

    def wait_for_standby(self) -> None:
        question = "SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'"
        in_time("the standby keeps up", lambda: self._asks(question))

    def hold(self, *, on: bool) -> None:
        """Have the standby repeat nothing of what it gets, or go on: what it answers is old then."""
        what = "pause" if on else "resume"
        address = self.machines[self.standby].address
        with psycopg.connect(f"postgresql://postgres@{address}/postgres?connect_timeout=2") as connection:
            connection.execute(f"SELECT pg_wal_replay_{what}()".encode())

    def promote(self) -> None:
        """Make the standby the primary. The old primary is off before, and follows afterwards."""
        self.machines[self.primary].kill()
        self.cluster.run("pg_ctl", "-D", str(self.data(self.standby)), "-w", "promote")
        self.primary, self.standby = self.standby, self.primary
        self.machines[self.standby].plug()
        self.follow()

    def _asks(self, question: str) -> bool:
        with suppress(psycopg.Error):
            address = self.machines[self.primary].address
            with psycopg.connect(f"postgresql://postgres@{address}/postgres?connect_timeout=2") as connection:
                (answer,) = connection.execute(question.encode()).fetchone() or (False,)
                return bool(answer)
        return False


@dataclass
class Company:
    """An instance on many machines."""

    network: Network
    databases: Databases
    directory: Path
    token: str = ""
    unreadable: list[tuple[float, float]] = field(default_factory=list)
    chance: random.Random = field(default_factory=lambda: random.Random(16))

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def address(self, name: str) -> str:
        return f"http://{self.network.machines[name].address}:8765/api/v1"

    def start(self, name: str) -> None:
        machine = self.network.machines[name]
        match name.partition("-")[0]:
            case "db":
                self.databases.start(name)
            case "nats":
                nodes = [each.address for key, each in self.network.machines.items() if key.startswith("nats")]
                routes = ",".join(f"nats://{address}:6222" for address in nodes)
                kept = ("-js", "-sd", str(self.network.folder / name), "-n", name)
                program = shutil.which("nats-server") or "/usr/sbin/nats-server"
                listens = ("-a", machine.address, "-p", "4222", "--cluster", f"nats://{machine.address}:6222")
                machine.start(program, *kept, *listens, "--cluster_name", "lost", "--routes", routes)
            case "dask":
                certificates = [f"--tls-{what}={self.directory / file}" for what, file in _TLS.items()]
                serves = ("--host", machine.address, "--protocol", "tls", "--port", "8786", "--no-dashboard")
                machine.start(*_DASK, "scheduler", *serves, *certificates)
                worker = (f"tls://{machine.address}:8786", "--nthreads", "1", "--no-nanny", "--no-dashboard")
                machine.start(*_DASK, "worker", *worker, *certificates)
            case part:
                parts = "api" if part == "api" else "worker,ingest"
                address = ("--host", machine.address, "--port", "8765")
                machine.start(*KNICK, "serve", "--only", parts, *address, directory=self.directory)

    def machines_of(self, part: str) -> list[str]:
        """Return the machines that a loss of ``part`` is about: of NATS two of three, so that it stands still."""
        if part in ("primary", "standby"):
            return [getattr(self.databases, part)]
        if part == "nats":
            return self.chance.sample(["nats-1", "nats-2", "nats-3"], 2)
        return [part]

    def is_ready(self, name: str) -> bool:
        with suppress(httpx.HTTPError):
            return httpx.get(f"{self.address(name)}/ready", headers=self.headers, timeout=5).status_code == 200
        return False

    def troubles(self) -> list[str] | None:
        """Return what is wrong with the instance, None where it does not answer."""
        with suppress(httpx.HTTPError):
            answer = httpx.get(f"{self.address('api')}/health", headers=self.headers, timeout=15)
            return list(answer.json()["troubles"]) if answer.status_code == 200 else None
        return None

    def shows(self, part: str) -> bool:
        """Return whether readiness, or health, shows that ``part`` is lost."""
        if part in ("nats", "dask", "standby"):
            word = {"nats": "NATS", "dask": "Dask"}.get(part, f"replica {self.address_of_standby} ")
            return any(word in trouble for trouble in self.troubles() or [])
        return not self.is_ready("api" if part == "primary" else part)

    @property
    def address_of_standby(self) -> str:
        return self.databases.machines[self.databases.standby].address

    def lose(self, part: str, how: str) -> None:
        """Lose a part, see that this shows, bring it back, and see that all is well.

        Only while the API or the primary is lost, reads may fail.
        """
        names, begun = self.machines_of(part), time.monotonic()
        machines = [self.network.machines[name] for name in names]
        for machine in machines:
            match how:
                case "kill":
                    machine.kill()
                case "cut":
                    machine.cut()
                case _:
                    self.databases.hold(on=True)
        in_time(f"{part} is shown as lost ({how})", lambda: self.shows(part))
        if part == "primary":
            self.databases.promote()
        else:
            for name, machine in zip(names, machines, strict=True):
                match how:
                    case "kill":
                        self.start(name)
                    case "cut":
                        machine.plug()
                    case _:
                        self.databases.hold(on=False)
        self.wait_for_peace()
        if part in ("api", "primary"):
            self.unreadable.append((begun, time.monotonic()))

    def wait_for_peace(self) -> None:
        for name in ("api", "worker-1", "worker-2"):
            in_time(f"{name} is ready", lambda name=name: self.is_ready(name))  # type: ignore[misc]
        self.databases.wait_for_standby()
        in_time("nothing is wrong", lambda: self.troubles() == [])


_TLS = {"ca-file": "authority.pem", "cert": "cluster.pem", "key": "cluster-key.pem"}


def configuration(network: Network) -> str:
    nodes = ",".join(f"nats://{network.machines[f'nats-{number}'].address}:4222" for number in (1, 2, 3))
    return f"""
[access]
anyone = "none"
[nats]
url = "{nodes}"
replicas = 3
[worker]
lease_seconds = 5
poll_seconds = 0.1
[limits]
request_seconds = 10
[work]
runner = "dask"
scheduler = "tls://{network.machines["dask"].address}:8786"
certificate = "cluster.pem"
private_key = "cluster-key.pem"
authorities = "authority.pem"
"""


@pytest.fixture
def company(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Company]:
    """Start an API, two workers, PostgreSQL with a standby, three nodes of NATS and a cluster of Dask."""
    check_namespaces()
    pytest.importorskip("distributed")
    own_cluster: Cluster = request.getfixturevalue("own_cluster")
    own_cluster.stop()
    network = Network(tmp_path)
    try:
        databases = Databases(own_cluster, {name: network.add(name) for name in ("db-1", "db-2")})
        for name in ("nats-1", "nats-2", "nats-3", "dask", "api", "worker-1", "worker-2"):
            network.add(name)
        own_cluster.data.rename(databases.data("db-1"))
        with (databases.data("db-1") / "pg_hba.conf").open("a", encoding="utf-8") as rules:
            rules.write("host all all samenet trust\nhost replication all samenet trust\n")
        databases.start("db-1")
        databases.follow()
        own_cluster.run("createdb", "-h", databases.machines["db-1"].address, "-U", "postgres", "lost")
        made = Company(network, databases, tmp_path / "instance")
        with create_instance(made.directory, store=databases.url, repositories={"main": ""}, as_work=True) as instance:
            made.token = create_token(instance.store, "visitor", list(Permission), by="test").secret
        make_certificate_files(made.directory, ("cluster",))
        config = made.directory / CONFIG_FILE
        replicas = ", ".join(f'"{machine.address}"' for machine in databases.machines.values())
        known = config.read_text(encoding="utf-8").replace("[store]\n", f"[store]\nreplicas = [{replicas}]\n")
        config.write_text(known + configuration(network), encoding="utf-8")
        for name in ("nats-1", "nats-2", "nats-3", "dask", "api", "worker-1", "worker-2"):
            made.start(name)
        made.wait_for_peace()
        yield made
    finally:
        network.remove()


@pytest.fixture
def undisturbed(tmp_path: Path) -> Iterator[Instance]:
    """Import the same files into an instance of this process, and judge them."""
    with undisturbed_instance(tmp_path / "calm", _FILES) as instance:
        yield instance


@pytest.mark.long
@pytest.mark.postgres
@pytest.mark.nats
@pytest.mark.timeout(3600)
def test_lost_machines_leave_what_an_undisturbed_run_leaves(company: Company, undisturbed: Instance) -> None:
    visitors = Visitors(company.address("api"), _FILES, 0.3, company.headers)
    reader = Reader(company.address("api"), company.headers)
    for each in (visitors, reader):
        each.start()
    for number in range(_ROUNDS):
        part, how = _FIRST[number] if number < len(_FIRST) else (company.chance.choice(_PARTS), "")
        ways = ("kill", "cut", "hold") if part == "standby" else ("kill", "cut")
        company.lose(part, how or company.chance.choice(ways))
    while (known := len(visitors.stored)) < _FILES:  # a slow machine stores them slowly
        in_time(f"result {known} is stored", lambda known=known: len(visitors.stored) > known)  # type: ignore[misc]
    with open_instance(company.directory) as instance:
        outbox = instance.store.outbox
        in_time(
            "all results are judged",
            lambda: all(
                each.kind is not EventKind.TRACES_CHANGED or each.consumer != "main" for each in outbox.pending()
            ),
        )
        visitors.stop()
        reader.stop()
        codes = [company.network.machines[name].end() for name in ("api", "worker-1", "worker-2")]
        assert codes == [[0], [0], [0]]
        found = live(instance)
        assert (values(instance), found) == (values(undisturbed), live(undisturbed))
        assert len(found) == len(set(found)) == 3
        assert len(visitors.decided) >= 3
        assert_decided(instance, visitors)
        assert outbox.dead() == []
    assert visitors.unseen == []
    assert reader.went_back(MOST_BEHIND_SECONDS) == []
    assert reader.failures(company.unreadable) == []
