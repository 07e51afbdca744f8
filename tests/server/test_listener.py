"""Listening, and the files of the dashboard."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from tests.server.client import Client

from knickpoint.instance import Instance
from knickpoint.model.errors import ServiceError
from knickpoint.server import serve, serving
from knickpoint.server.dashboard import add_pages


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def test_a_port_in_use_is_named_with_a_remedy(instance: Instance, taken_port: int) -> None:
    with pytest.raises(ServiceError, match=f"port {taken_port} is in use") as caught:
        serve(instance, "127.0.0.1", taken_port)
    assert "--port" in caught.value.remedy


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 70_000), ("203.0.113.7", 8765), ("no such name", 8765)])
def test_an_address_that_cannot_be_listened_at_is_refused(instance: Instance, host: str, port: int) -> None:
    with pytest.raises(ServiceError) as caught:
        serve(instance, host, port)
    assert caught.value.remedy


def test_a_served_instance_answers_and_ends(instance: Instance) -> None:
    with serving(instance) as address:
        assert httpx.get(f"{address}api/v1/health").json()["status"] == "ok"
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}api/v1/health")


@pytest.fixture
def pages(tmp_path: Path) -> Client:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<kp-app></kp-app>")
    (tmp_path / "icon.svg").write_text("<svg/>")
    (tmp_path / "assets" / "index-1.js").write_text("1")
    app = FastAPI()
    add_pages(app, tmp_path)
    return Client(app)


@pytest.mark.parametrize("view", ["/", "/triage", "/explore", "/trace/12"])
def test_every_view_has_an_address(pages: Client, view: str) -> None:
    assert "<kp-app>" in pages.get(view).text


def test_files_named_by_their_content_are_kept_by_browsers(pages: Client) -> None:
    assert "immutable" in pages.get("/assets/index-1.js").headers["cache-control"]
    assert pages.get("/triage").headers["cache-control"] == "no-cache"


def test_without_the_built_dashboard_the_server_says_how_to_build_it(tmp_path: Path) -> None:
    app = FastAPI()
    add_pages(app, tmp_path)
    answer = Client(app).get("/triage")
    assert answer.status_code == 503
    assert "make setup" in answer.text
