"""Listening, and the files of the dashboard."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from tests.server.client import Client

from knickpoint.access.settings import AccessSettings, AnyoneRole
from knickpoint.instance import Instance
from knickpoint.model.errors import ConfigError, ServiceError
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
    meant = replace(instance, config=replace(instance.config, access=AccessSettings(anyone=AnyoneRole.NONE)))
    with pytest.raises(ServiceError) as caught:
        serve(meant, host, port)
    assert caught.value.remedy


def test_a_served_instance_answers_and_ends(instance: Instance) -> None:
    with serving(instance) as address:
        assert httpx.get(f"{address}api/v1/health").json()["status"] == "ok"
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}api/v1/health")


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # it is refused
def test_a_port_that_other_machines_reach_is_refused_without_sign_in(instance: Instance, host: str) -> None:
    with pytest.raises(ConfigError, match="no sign-in is configured"):
        serve(instance, host, 0)
    with pytest.raises(ConfigError), serving(instance, host):
        pass


class _ReadyError(Exception):
    """Stop a server that is about to serve."""


def test_an_open_port_that_is_meant_is_warned_of_and_printed_as_others_reach_it(instance: Instance) -> None:
    access = AccessSettings(anyone=AnyoneRole.VIEWER)
    meant = replace(instance, config=replace(instance.config, access=access))
    said: list[str] = []

    def ready(address: str) -> None:
        said.append(address)
        raise _ReadyError

    with pytest.raises(_ReadyError):
        serve(meant, "0.0.0.0", 0, ready=ready, warn=said.append)  # that is what is tested
    warning, address = said
    assert "without sign-in" in warning
    assert "role viewer" in warning
    assert "0.0.0.0" not in address


def test_a_port_for_this_machine_is_not_warned_of(instance: Instance) -> None:
    said: list[str] = []

    def ready(_address: str) -> None:
        raise _ReadyError

    with pytest.raises(_ReadyError):
        serve(instance, "127.0.0.1", 0, ready=ready, warn=said.append)
    assert said == []


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


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("BR; q=0.5", "br"),
        ("gzip, br;q=0", None),
        ("gzip, br;q=0.0", None),
        ("*", None),
    ],
)
def test_browsers_that_accept_brotli_get_what_the_build_compressed(
    pages: Client, tmp_path: Path, accepted: str, encoding: str | None
) -> None:
    (tmp_path / "assets" / "index-1.js.br").write_bytes(brotli_of_the_digit_one())
    answer = pages.get("/assets/index-1.js", headers={"accept-encoding": accepted})
    assert answer.headers.get("content-encoding") == encoding
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "accept-encoding" in answer.headers["vary"].lower()


def brotli_of_the_digit_one() -> bytes:
    """Return a stream of Brotli with one uncompressed block."""
    return bytes([0x0B, 0x00, 0x80]) + b"1" + bytes([0x03])


def test_without_the_built_dashboard_the_server_says_how_to_build_it(tmp_path: Path) -> None:
    app = FastAPI()
    add_pages(app, tmp_path)
    answer = Client(app).get("/triage")
    assert answer.status_code == 503
    assert "make setup" in answer.text
