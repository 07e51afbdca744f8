"""``knick serve`` as processes: their parts, their log and metrics, and how they end."""

from __future__ import annotations

import json
import platform
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from tests.cli.conftest import Knick
from tests.examples import in_the_long_run

from knickpoint.instance import CONFIG_FILE, create_instance

_CODE = "from knickpoint.cli import main; main()"


@contextmanager
def started(directory: Path, *arguments: str, code: str = _CODE) -> Iterator[subprocess.Popen[str]]:
    """Start ``knick`` in a directory, as a process that ends with the ``with``."""
    command = [sys.executable, "-u", "-c", code, *arguments]
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
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


def configure(directory: Path, text: str) -> None:
    create_instance(directory).close()
    path = directory / CONFIG_FILE
    path.write_text(f"{path.read_text(encoding='utf-8')}\n{text}\n", encoding="utf-8")


@dataclass(frozen=True)
class Life:
    """What a process of worker and imports, with a log in JSON and a Graphite server, answered, wrote and left behind."""

    answers: Mapping[str, httpx.Response]
    log: Sequence[Mapping[str, object]]
    graphite: str
    code: int
    workers: int


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Start such a process, ask it, and end it with SIGTERM."""
    directory = tmp_path_factory.mktemp("serving") / "instance"
    with socket.create_server(("127.0.0.1", 0)) as graphite:
        port = graphite.getsockname()[1]
        configure(
            directory,
            f'[monitoring]\nlog = "json"\ngraphite = "127.0.0.1:{port}"\ngraphite_prefix = "perf.{{host}}.{{process}}"',
        )
        with started(directory, "serve", "--only", "worker,ingest", "--port", "0") as process:
            found = re.search(r"http://[^ ]+", line_with(process, "The state of this process is at"))
            assert found
            base = found[0].rstrip("/")
            paths = ("ready", "version", "health", "metrics", "traces", "results")
            answers = {
                path: httpx.get(f"{base}/api/v1/{path}", headers={"X-Request-Id": f"of-{path}"}) for path in paths
            }
            connection, _ = graphite.accept()
            with connection, connection.makefile(encoding="ascii") as sent:
                values = sent.read()
            process.send_signal(signal.SIGTERM)
            lines = process.communicate(timeout=60)[0].splitlines()
    with closing(sqlite3.connect(directory / "knickpoint.db")) as store:
        (workers,) = store.execute("SELECT count(*) FROM worker").fetchone()
    return Life(answers, [json.loads(line) for line in lines], values, process.returncode, workers)


def test_a_process_without_the_api_answers_about_its_state_alone(life: Life) -> None:
    assert life.answers["ready"].json() == {"ready": True, "parts": ["worker", "ingest"]}
    statuses = {path: answer.status_code for path, answer in life.answers.items()}
    assert statuses == {"ready": 200, "version": 200, "health": 200, "metrics": 200, "traces": 404, "results": 404}


def test_a_process_that_is_ended_leaves_no_worker_behind(life: Life) -> None:
    assert (life.code, life.workers) == (0, 0)


def test_a_process_says_when_it_begins_and_ends_to_drain(life: Life) -> None:
    first, last = (line for line in life.log if line.get("event") in {"draining", "drained"})
    assert (first["event"], first["requests"], first["seconds"]) == ("draining", 0, 30)
    assert (last["event"], last["cut_off"]) == ("drained", 0)
    assert str(first["message"]).startswith("Draining: no new work is accepted; ")
    assert re.fullmatch(r"Drained after [0-9.]+ s", str(last["message"]))
    assert life.log[-1] == last


@pytest.mark.long
def test_a_process_that_drains_says_for_how_many_requests_it_waits_and_how_many_it_cut_off(tmp_path: Path) -> None:
    directory = tmp_path / "instance"
    configure(directory, "[server]\ndrain_seconds = 1")
    with started(directory, "serve", "--only", "api", "--port", "0") as process:
        found = re.search(r"http://([^ /]+)", line_with(process, "The dashboard is at"))
        assert found
        host, _, port = found[1].partition(":")
        line_with(process, "This process runs: api")
        with socket.create_connection((host, int(port))) as upload:
            upload.sendall(b"POST /api/v1/results?name=a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")
            httpx.get(f"http://{found[1]}/api/v1/ready")  # the upload is under way once a later request is answered
            process.send_signal(signal.SIGTERM)
            output = process.communicate(timeout=60)[0]
    assert process.returncode == 2
    assert "Draining: no new work is accepted; waits up to 1 s for 1 request\n" in output
    assert re.search(r"Drained after [0-9.]+ s; 1 request was cut off\n", output)


_BUSY = """
import ctypes, subprocess, sys, time
from knickpoint.cli import main
from knickpoint.server.routes import instance

def busy(*_):
    subprocess.Popen(["sleep", "600"])
    print("a child runs", flush=True)
    while True:
        WORK

instance.health.read_health = busy
main()
"""
"""``knick`` whose answer about its health never comes."""


@pytest.mark.long
@pytest.mark.parametrize("work", ["ctypes.CDLL(None).sleep(600)", *in_the_long_run("pass")])
def test_a_thread_that_stays_busy_ends_with_its_children_after_the_drain_time_and_the_code_is_2(
    tmp_path: Path, work: str
) -> None:
    directory = tmp_path / "instance"
    configure(directory, "[server]\ndrain_seconds = 1")
    with started(directory, "serve", "--port", "0", code=_BUSY.replace("WORK", work)) as process:
        found = re.search(r"http://([^ /]+)", line_with(process, "The dashboard is at"))
        assert found
        host, _, port = found[1].partition(":")
        with socket.create_connection((host, int(port))) as asking:
            asking.sendall(b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            line_with(process, "a child runs")
            process.send_signal(signal.SIGTERM)
            output = process.communicate(timeout=60)[0]  # which ends when the child has closed its output, too
    assert process.returncode == 2
    assert "1 request was cut off" in output
    assert "did not finish within 1 seconds (drain_seconds of [server]); it is undone" in output


def test_each_request_is_a_line_of_json_with_its_id(life: Life) -> None:
    lines = {line["request"]: line for line in life.log if line["logger"] == "knickpoint.requests"}
    assert set(lines) == {f"of-{path}" for path in life.answers}
    assert (lines["of-traces"]["status"], lines["of-traces"]["path"]) == (404, "/api/v1/traces")


def test_the_answer_of_an_error_names_the_request(life: Life) -> None:
    answer = life.answers["traces"]
    assert (answer.json()["request"], answer.headers["x-request-id"]) == ("of-traces", "of-traces")


def test_graphite_gets_the_metrics_of_the_instance_and_of_the_process(life: Life) -> None:
    names = {line.split()[0] for line in life.graphite.splitlines()}
    begin = f"perf.{re.sub('[^A-Za-z0-9_-]+', '-', platform.node())}.worker-ingest-0"
    assert {f"{begin}.knickpoint_store_bytes", f"{begin}.process_resident_memory_bytes"} <= names
    assert f"{begin}.knickpoint_finding_delay_seconds_bucket.le.4_0" in names


@pytest.mark.long
def test_a_worker_that_does_not_finish_in_time_is_ended(tmp_path: Path) -> None:
    directory = tmp_path / "instance"
    configure(directory, "[server]\ndrain_seconds = 0")
    with closing(sqlite3.connect(directory / "knickpoint.db", isolation_level=None)) as store:
        store.execute("BEGIN IMMEDIATE")  # the worker waits for this writer when it reports
        with started(directory, "serve", "--only", "worker") as process:
            line_with(process, "This process runs: worker")
            process.send_signal(signal.SIGTERM)
            output = process.communicate(timeout=60)[0]
    assert (process.returncode, "did not finish within 0 seconds" in output) == (2, True)


@pytest.mark.usefixtures("instance")
def test_a_part_that_does_not_exist_is_named(knick: Knick) -> None:
    ran = knick("serve", "--only", "api,web")
    assert (ran.code, "'web' is not part" in ran.errors) == (2, True)
