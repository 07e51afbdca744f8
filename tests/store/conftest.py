"""A fresh store for every test, on SQLite and on PostgreSQL."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.model.commit import Commit, Line, Repository
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import Receipt, RunWrite, Store, create_store, open_store

if TYPE_CHECKING:
    import psycopg

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
_COMMITS = 400
_NUMBERS = count()


@dataclass(frozen=True)
class Cluster:
    """A PostgreSQL server for these tests, on loopback."""

    programs: Path
    data: Path
    port: int

    def run(self, program: str, *arguments: str) -> None:
        own = self.programs / program
        command = [str(own) if own.exists() else program, *arguments]
        if os.getuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/")

    def start(self) -> None:
        # A server that is killed loses nothing without the waits for the disk: what it has written, the kernel keeps.
        # With synchronous_commit=off it would confirm what it has not written. What is copied here is never vacuumed.
        settings = ("fsync=off", "full_page_writes=off", "autovacuum=off")
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= "
        options += " ".join(f"-c {setting}" for setting in settings)
        log = self.data / "log"
        try:
            self.run("pg_ctl", "-D", str(self.data), "-w", "-l", str(log), "-o", options, "start")
        except subprocess.CalledProcessError as error:
            said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else error.stderr.decode()
            error.add_note(f"PostgreSQL does not start: {said[-4000:]}")
            raise

    def stop(self) -> None:
        self.run("pg_ctl", "-D", str(self.data), "-m", "immediate", "stop")

    def standby(self, data: Path) -> Cluster:
        """Copy this server, and start the copy as a standby that follows it."""
        copy = replace(self, data=data, port=free_port())
        source = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres")
        self.run("pg_basebackup", *source, "-D", str(data), "-R", "-c", "fast", "--no-sync")
        copy.start()
        return copy

    def promote(self) -> None:
        self.run("pg_ctl", "-D", str(self.data), "-w", "promote")

    def execute(self, statement: str, database: str = "postgres") -> None:
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement.encode())

    @contextmanager
    def databases(self) -> Iterator[Databases]:
        """Connect once to make and drop many databases: a connection costs as much as dropping one."""
        import psycopg

        with psycopg.connect(self.url(), autocommit=True) as connection:
            yield Databases(connection)

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"


@dataclass(frozen=True)
class Databases:
    """The databases of a server, over a connection that stays open."""

    connection: psycopg.Connection[Any]

    def create(self, name: str) -> None:
        self.connection.execute(f"CREATE DATABASE {name}".encode())

    def copy(self, template: str, name: str) -> None:
        """Copy a database file by file: writing it to the log, as PostgreSQL 15 does by default, takes twice the time."""
        strategy = "" if self.connection.info.server_version < 150_000 else "STRATEGY FILE_COPY"
        self.connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} {strategy}".encode())

    def drop(self, name: str) -> None:
        self.connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def free_port() -> int:
    """Return a port of loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@cache
def _initialised(programs: Path) -> Path:
    """Make the directory of a server once in this process, to be copied: that takes a tenth of the time."""
    place = Path(tempfile.mkdtemp(prefix="knickpoint-postgres-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    if os.getuid() == 0:
        shutil.chown(place, "postgres", "postgres")
    made = Cluster(programs, place / "data", 0)
    made.run("initdb", "-D", str(made.data), "-A", "trust", "-U", "postgres", "-N", "-E", "UTF8")
    return made.data


@contextmanager
def temporary_cluster() -> Iterator[Cluster]:
    """Start a PostgreSQL; skip where it is not installed, fail where CI promises it."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda place: int(place.parts[4]))
    on_path = shutil.which("initdb")
    programs = found[-1].parent if found else Path(on_path).parent if on_path else None
    if programs is None:
        message = "PostgreSQL is not installed: the store is tested on SQLite only"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    place = Path(tempfile.mkdtemp(prefix="knickpoint-postgres-"))
    if os.getuid() == 0:
        shutil.chown(place, "postgres", "postgres")
    made = Cluster(programs, place / "data", free_port())
    try:
        made.run("cp", "-a", str(_initialised(programs)), str(made.data))
        made.start()
        yield made
    finally:
        for server in place.glob("*/postmaster.pid"):
            with suppress(subprocess.CalledProcessError):  # it was killed, and only its file is left
                replace(made, data=server.parent).stop()
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Start the PostgreSQL that tests share."""
    with temporary_cluster() as made:
        yield made


@pytest.fixture(scope="session")
def databases(cluster: Cluster) -> Iterator[Databases]:
    """Make and drop databases of the PostgreSQL that tests share."""
    with cluster.databases() as made:
        yield made


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """Start a PostgreSQL for one test alone, which may copy it beside itself, and kill it."""
    with temporary_cluster() as made:
        yield made


def _add_repository(store: Store) -> None:
    made = store.commits.add_repository("main")
    slots = store.commits.add(made, [Commit(f"{number:040x}", "", "", MOMENT, "") for number in range(_COMMITS)])
    store.commits.set_line(made, "main", list(slots.values()))


@pytest.fixture(scope="session")
def _sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("template") / "store.db"
    create_store(place).close()
    return place


@pytest.fixture(scope="session")
def _sqlite_repository(_sqlite_template: Path) -> Path:
    place = _sqlite_template.with_name("repository.db")
    shutil.copy(_sqlite_template, place)
    with open_store(place) as store:
        _add_repository(store)
    return place


@pytest.fixture(scope="session")
def _postgres_template(cluster: Cluster, databases: Databases) -> str:
    databases.create("template_store")
    create_store(cluster.url("template_store")).close()
    return "template_store"


@pytest.fixture(scope="session")
def _postgres_repository(cluster: Cluster, databases: Databases, _postgres_template: str) -> str:
    databases.copy(_postgres_template, "template_repository")
    with open_store(cluster.url("template_repository")) as store:
        _add_repository(store)
    return "template_repository"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Name a fresh store that has its tables already, and the repository where the test asks for one."""
    holds = "repository" if "repository" in request.fixturenames else "template"
    template = request.getfixturevalue(f"_{request.param}_{holds}".replace("postgresql", "postgres"))
    if request.param == "sqlite":
        place = tmp_path / "store.db"
        shutil.copy(template, place)
        yield str(place)
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    databases: Databases = request.getfixturevalue("databases")
    name = f"store_{next(_NUMBERS)}"
    databases.copy(template, name)
    yield cluster.url(name)
    databases.drop(name)


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    with open_store(location) as opened:
        yield opened


@pytest.fixture
def repository(store: Store) -> Repository:
    """Return a repository with 400 commits; it is in the copied store already."""
    return store.commits.repository("main")


@pytest.fixture
def line(store: Store, repository: Repository) -> Line:
    return store.commits.line(repository)


@dataclass
class Bench:
    """Write runs and read points with little code."""

    store: Store
    repository: Repository
    line: Line
    names: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def report(values: Mapping[str, float | Sequence[float]], unit: str = "ms") -> RunReport:
        results = [
            Result({"name": name}, tuple(value) if isinstance(value, Sequence) else (value,), unit)
            for name, value in values.items()
        ]
        return RunReport(ResultTable.of(results))

    def put(self, slot: int, run: RunReport, identity: str, content: str = "") -> Receipt:
        return self.store.runs.write(self.repository, [RunWrite(slot, run, identity, content or identity, "file")])[0]

    def id(self, name: str) -> int:
        if name not in self.names:
            self.names[name] = self.store.traces.find(self.repository, f",name={name},")[0].id
        return self.names[name]

    def point(self, name: str, slot: int) -> float:
        return float(self.store.frames.values(self.line, [self.id(name)], first=slot, last=slot)[0, 0])

    def values(self, names: Sequence[str]) -> NDArray[np.floating]:
        return self.store.frames.values(self.line, [self.id(name) for name in names])


@pytest.fixture
def bench(store: Store, repository: Repository, line: Line) -> Bench:
    return Bench(store, repository, line)
