"""``knick serve`` as processes: their parts, and how they end."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from tests.cli.conftest import Knick

from knickpoint.instance import CONFIG_FILE

Start = Callable[..., subprocess.Popen[str]]
_CODE = "from knickpoint.cli import main; main()"


@pytest.fixture
def start(instance: Path) -> Iterator[Start]:
    """Return a function that starts ``knick`` in the instance, as a process that ends with the test."""
    processes: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-u", "-c", _CODE, *arguments]
        made = subprocess.Popen(command, cwd=instance, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        processes.append(made)
        return made

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """Read what ``process`` prints up to a line with ``text``."""
    assert process.stdout is not None
    seen: list[str] = []
    for line in process.stdout:
        seen.append(line)
        if text in line:
            return line
    raise AssertionError(f"no line with {text!r}: {seen}")


def test_a_worker_answers_about_its_state_alone_and_ends_in_order(start: Start, instance: Path) -> None:
    process = start("serve", "--only", "worker,ingest", "--port", "0")
    found = re.search(r"http://\S+", line_with(process, "The state of this process is at"))
    assert found
    api = f"{found[0]}api/v1"
    assert httpx.get(f"{api}/ready").json() == {"ready": True, "parts": ["worker", "ingest"]}
    statuses = [
        httpx.get(f"{api}/{path}").status_code for path in ("version", "health", "metrics", "traces", "results")
    ]
    assert statuses == [200, 200, 200, 404, 404]
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    with closing(sqlite3.connect(instance / "knickpoint.db")) as store:
        assert store.execute("SELECT count(*) FROM worker").fetchone() == (0,)


def test_a_worker_that_does_not_finish_in_time_is_ended(start: Start, instance: Path) -> None:
    path = instance / CONFIG_FILE
    path.write_text(path.read_text(encoding="utf-8") + "\n[server]\ndrain_seconds = 0\n", encoding="utf-8")
    with closing(sqlite3.connect(instance / "knickpoint.db", isolation_level=None)) as store:
        store.execute("BEGIN IMMEDIATE")  # the worker waits for this writer when it first reports
        process = start("serve", "--only", "worker")
        line_with(process, "This process runs: worker")
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=30)[0]
    assert (process.returncode, "did not finish within 0 seconds" in output) == (2, True)


@pytest.mark.usefixtures("instance")
def test_a_part_that_does_not_exist_is_named(knick: Knick) -> None:
    ran = knick("serve", "--only", "api,web")
    assert (ran.code, "'web' is no part" in ran.errors) == (2, True)
