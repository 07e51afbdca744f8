"""What every test may ask for, and what a run says about the parts that were not there."""

from __future__ import annotations

import gc
import os
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from _pytest.unraisableexception import gc_collect_iterations_key
from hypothesis import settings
from sqlalchemy import Compiled, Engine, create_engine
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache
from tests.examples import examples
from tests.repositories import GitRepository

from knickpoint.store import database_engine, schema
from knickpoint.store.database import Database

pytest_plugins = ["tests.processor_time"]

settings.register_profile("calm", deadline=None, derandomize=True, max_examples=min(examples(80), 100))
settings.load_profile("calm")

_MINUTES = {
    "tests/instance/test_lost_machines.py",
    "tests/instance/test_service_kills.py",
    "tests/store/test_crash.py",
    "tests/server/test_api_fuzz.py",
    "tests/notify/test_kills.py",
    "tests/bisect/pool/test_kills.py",
}
"""Modules of the long run that take minutes: the last one to begin would run alone at the end."""

_IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}


def pytest_configure(config: pytest.Config) -> None:
    """Look once for errors in what nobody closed, at the end: each of five times takes a second of each process."""
    config.stash[gc_collect_iterations_key] = 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what collection makes, some hundred thousand objects that stay, out of the garbage collector.

    It runs a hundredth as often as usual: what tests import later stays as well, and it would visit that again and
    again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the long run what is alike on both kinds of store on PostgreSQL, and what is not the core of the browser's tests.

    It begins with what takes minutes.
    """
    for item in items:
        twice = item.get_closest_marker("alike") and item.get_closest_marker("postgres")
        beside = item.nodeid.startswith("tests/browser/") and not item.get_closest_marker("core")
        if twice or beside:
            item.add_marker(pytest.mark.long)
    items.sort(key=lambda item: item.nodeid.partition("::")[0] not in _MINUTES)


@pytest.fixture(scope="session", autouse=True)
def _new_stores_are_copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run the migrations of an empty SQLite store once, and let each further one of this process begin as a copy.

    The migrations take a tenth of a second, and hundreds of tests begin with a new store.
    """
    template = tmp_path_factory.mktemp("migrated") / "store.db"
    migrate = schema.migrate

    def copy(database: Database) -> None:
        with database.reading() as connection:
            is_new = schema.current_revision(connection) == ""
        if not database.embedded or not is_new:
            migrate(database)
            return
        if not template.exists():
            made = Database(template)
            migrate(made)
            made.close()
        with database.engine.connect() as connection, closing(sqlite3.connect(template)) as source:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            source.backup(driver)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "migrate", copy)
        yield


@pytest.fixture(scope="session", autouse=True)
def _stores_do_not_wait_for_the_disk() -> Iterator[None]:
    """Switch off fsync for the SQLite stores of this process: a process that dies loses nothing without it."""
    prepare = database_engine._prepare_sqlite

    def prepare_without_fsync(connection: sqlite3.Connection, record: object) -> None:
        prepare(connection, record)
        connection.execute("PRAGMA synchronous = OFF")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database_engine, "_prepare_sqlite", prepare_without_fsync)
        yield


@pytest.fixture(scope="session", autouse=True)
def _statements_are_compiled_once() -> Iterator[None]:
    """Let all engines of this process share the statements that they have compiled: each test has engines of its own.

    SQLAlchemy keeps them by dialect. Those of one class are alike here, as there is one version of each server.
    """
    compiled: LRUCache[Any, Compiled] = LRUCache(5_000)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DefaultDialect, "__hash__", lambda self: hash(type(self)))
        patch.setattr(DefaultDialect, "__eq__", lambda self, other: type(self) is type(other))

        def engine_of(*arguments: Any, **options: Any) -> Engine:
            made = create_engine(*arguments, **options)
            made._compiled_cache = compiled
            return made

        patch.setattr(database_engine, "create_engine", engine_of)
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give this process a cache of its own: in that of the user, its probes would wait for those of other processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module", autouse=True)
def _applications_are_freed() -> Iterator[None]:
    """Free the applications of the tests of a module.

    FastAPI remembers what kind of callable each endpoint is, and with a bound method it remembers the whole instance.
    """
    yield
    for each in vars(sys.modules.get("fastapi.dependencies.models", object)).values():
        if hasattr(each, "cache_clear"):
            each.cache_clear()


@pytest.fixture
def new_repository(tmp_path: Path) -> Callable[[str], GitRepository]:
    """Make real git repositories under the test's own directory, by name."""
    return lambda name: GitRepository.make(tmp_path / name)


@pytest.fixture
def git_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that gets the command line of every git program from now on."""
    log = tmp_path / "git-commands"
    log.touch()
    folder = tmp_path / "git-program"
    folder.mkdir()
    program = folder / "git"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return log


def _reason(report: pytest.TestReport) -> str:
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count what was skipped, by reason."""
    reasons = Counter(_reason(report) for report in terminalreporter.getreports("skipped"))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} skipped: {reason}", yellow=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run in CI that skipped anything: there, every part is installed."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if _IN_CI and exitstatus == pytest.ExitCode.OK and terminal is not None and terminal.getreports("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
