"""``knick open``: the page of a change or trace, shown by a browser where there is one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from knickpoint.instance import open_instance
from knickpoint.server import create_app

from .conftest import Knick


def _configure(place: Path, port: int) -> None:
    with (place / "knickpoint.toml").open("a") as file:
        file.write(f"\n[server]\nport = {port}\n")


@pytest.fixture
def served(judged: Path) -> Iterator[str]:
    """Serve the example, and return the address of the server."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        _configure(judged, port)
        with open_instance(judged) as instance:
            server = uvicorn.Server(uvicorn.Config(create_app(instance), log_level="critical"))
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
            listening.listen()
            thread.start()
            yield f"http://127.0.0.1:{port}"
            server.should_exit = True
            thread.join()


def test_the_address_is_that_of_the_change_or_trace(knick: Knick, served: str) -> None:
    assert knick("open", "--print").output == f"{served}/triage\n"
    assert knick("open", "--print", "R1").output.startswith(f"{served}/trace/")
    assert "?commit=" in knick("open", "--print", "r1").output
    assert "?" not in knick("open", "--print", "benchmark=parse_csv").output


def test_a_browser_gets_the_address(served: str, judged: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {tmp_path}/shown\n')
    browser.chmod(0o755)
    command = [sys.executable, "-m", "knickpoint.cli", "open"]
    for variables, output in (
        ({"BROWSER": str(browser)}, ""),
        ({"BROWSER": str(tmp_path / "none"), "PATH": ""}, f"{served}/triage\n"),
    ):
        kept = {name: text for name, text in os.environ.items() if name not in {"DISPLAY", "KNICKPOINT_INSTANCE"}}
        done = subprocess.run(command, cwd=judged, env=kept | variables, capture_output=True, text=True, check=True)
        assert done.stdout == output
    assert (tmp_path / "shown").read_text() == f"{served}/triage"


def test_without_a_server_it_says_what_to_start(knick: Knick, judged: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        _configure(judged, free.getsockname()[1])
        ran = knick("open", "R1")
    assert (ran.code, ran.output) == (2, "")
    assert "no server answers" in ran.errors
    assert ran.errors.endswith("Start it: knick serve.\n")


@pytest.mark.usefixtures("judged")
def test_a_change_that_is_not_there_is_no_page(knick: Knick) -> None:
    assert "there is no change 999" in knick("open", "R999").errors
