"""``knick open``: the page of a change or trace, shown by a browser where there is one."""

from __future__ import annotations

import importlib
import socket
import threading
import webbrowser
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
    assert knick("open", "--print", "R1").output == f"{served}/change/R1\n"
    assert knick("open", "--print", "r1").output == f"{served}/change/R1\n"
    assert "?" not in knick("open", "--print", "benchmark=parse_csv").output


@pytest.fixture
def _browsers_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let Python look for browsers anew."""
    monkeypatch.delenv("DISPLAY", raising=False)
    importlib.reload(webbrowser)
    yield
    importlib.reload(webbrowser)


@pytest.mark.usefixtures("_browsers_of_the_environment")
@pytest.mark.parametrize("there", [True, False], ids=["there", "missing"])
def test_a_browser_gets_the_address(
    knick: Knick, served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, there: bool
) -> None:
    browser, shown = tmp_path / "browser", tmp_path / "shown"
    if there:
        browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {shown}\n')
        browser.chmod(0o755)
    else:
        monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("BROWSER", str(browser))
    assert knick("open").output == ("" if there else f"{served}/triage\n")
    assert not there or shown.read_text() == f"{served}/triage"


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
