"""Slow and silent clients, on real connections.

The limits are so small that the server is the one that ends the wait.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import pytest

from knickpoint.instance import Instance
from knickpoint.instance.config import LimitSettings
from knickpoint.server import serving

_PATIENCE: Final = 30.0
"""Seconds that a test waits for the server to end a connection; it fails after that."""

_HEAD: Final = b"GET /api/v1/version HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
_POST: Final = b"POST /api/v1/triage HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"


@contextmanager
def served(instance: Instance, **limits: Any) -> Iterator[tuple[str, int]]:
    """Serve ``instance`` with other limits, and give the host and the port."""
    changed = replace(instance, config=replace(instance.config, limits=LimitSettings(**limits)))
    with serving(changed) as address:
        parts = urlsplit(address)
        assert parts.hostname
        assert parts.port
        yield parts.hostname, parts.port


@contextmanager
def connected(address: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(address, timeout=_PATIENCE) as client:
        yield client


def everything(client: socket.socket) -> bytes:
    """Return what the server sends until it closes the connection."""
    received = bytearray()
    try:
        while piece := client.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return bytes(received)


def trickle(client: socket.socket, data: bytes) -> int:
    """Send bytes one by one while the server takes them, and return how many it took."""
    client.settimeout(0.02)
    sent = 0
    while sent < len(data):
        try:
            client.sendall(data[sent : sent + 1])
            sent += 1
            client.recv(1, socket.MSG_PEEK)
        except TimeoutError:  # the server has said nothing, and waits for more
            continue
        except ConnectionError:
            pass
        break
    client.settimeout(_PATIENCE)
    return sent


def status_of(response: bytes) -> int:
    return int(response.split(b" ", 2)[1])


def body_of(response: bytes) -> Any:
    return json.loads(response.partition(b"\r\n\r\n")[2])


def test_a_connection_without_a_request_is_closed(instance: Instance) -> None:
    with served(instance, head_seconds=0.05) as address, connected(address) as client:
        assert everything(client) == b""


def test_a_head_that_comes_byte_by_byte_is_refused(instance: Instance) -> None:
    endless = b"GET /api/v1/version HTTP/1.1\r\nhost: 127.0.0.1\r\n" + b"x-many: 1\r\n" * 1000
    with served(instance, head_seconds=0.2) as address, connected(address) as client:
        assert trickle(client, endless) < len(endless)
        response = everything(client)
    assert status_of(response) == 408
    assert set(body_of(response)) == {"error", "where", "remedy"}


def test_a_connection_that_stays_open_after_a_request_is_closed(instance: Instance) -> None:
    with served(instance, idle_seconds=1) as address, connected(address) as client:
        client.sendall(_HEAD)
        assert status_of(everything(client)) == 200


def test_a_second_head_that_does_not_end_is_refused(instance: Instance) -> None:
    with served(instance, head_seconds=0.1, idle_seconds=600) as address, connected(address) as client:
        client.sendall(_HEAD + b"GET /api/v1/version HTT")
        responses = everything(client)
    assert responses.count(b"HTTP/1.1 200") == 1
    assert b"HTTP/1.1 408" in responses


@pytest.mark.parametrize(
    "begin", [_POST + b"content-length: 1000\r\n\r\n{", _POST + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n"]
)
def test_a_body_that_does_not_come_is_refused(instance: Instance, begin: bytes) -> None:
    with served(instance, body_seconds=0.1) as address, connected(address) as client:
        client.sendall(begin)
        response = everything(client)
    assert status_of(response) == 408
    assert body_of(response)["error"] == "The body arrived too slowly."


def test_an_upload_that_comes_byte_by_byte_is_refused(instance: Instance) -> None:
    server = replace(instance.config.server, upload_token="secret")
    head = (
        b"POST /api/v1/results?name=a HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer secret\r\n"
        b"content-length: 100000\r\n\r\n"
    )
    config = replace(instance.config, server=server)
    with served(replace(instance, config=config), body_seconds=0.2) as address, connected(address) as client:
        client.sendall(head)
        assert trickle(client, b" " * 1000) < 1000
        assert status_of(everything(client)) == 408


def test_the_rest_of_a_body_that_is_not_read_is_not_taken_for_ever(instance: Instance) -> None:
    with served(instance, body_seconds=0.2, body_bytes=10) as address, connected(address) as client:
        client.sendall(_POST + b"content-length: 100000\r\n\r\n")
        assert status_of(client.recv(65536)) == 413
        assert trickle(client, b"1" * 1000) < 1000


@pytest.mark.long
def test_a_client_that_does_not_take_its_response_is_disconnected(instance: Instance) -> None:
    request = b"GET /api/v1/reference HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    with served(instance, body_seconds=0.1, requests_per_minute=100_000) as address, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(_PATIENCE)
        client.connect(address)
        # The server reads no further request of a connection while it waits to write, so this ends when it disconnects.
        with pytest.raises(ConnectionError):
            client.sendall(request * 1_000_000)


def test_further_connections_of_an_address_are_refused(instance: Instance) -> None:
    with (
        served(instance, connections_per_address=2, head_seconds=600) as address,
        connected(address),
        connected(address) as second,
        connected(address) as third,
    ):
        response = everything(third)
        second.sendall(_HEAD)
        assert status_of(second.recv(65536)) == 200
    assert status_of(response) == 503
    assert b"retry-after: " in response
    assert "connections" in body_of(response)["error"]


def test_a_closed_connection_makes_room_for_another(instance: Instance) -> None:
    with served(instance, connections=1, head_seconds=600) as address:
        with connected(address) as first:
            first.sendall(_HEAD + b"")
            assert status_of(first.recv(65536)) == 200
            with connected(address) as second:
                assert status_of(everything(second)) == 503
        url = f"http://{address[0]}:{address[1]}/api/v1/version"
        end = time.monotonic() + _PATIENCE
        codes = (_code(url) for _ in range(100_000) if time.monotonic() < end)
        assert next(code for code in codes if code == 200)


def _code(url: str) -> int:
    try:
        return httpx.get(url).status_code
    except httpx.TransportError:
        return 0


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: " + b"a" * 300_000, 431),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400),
    ],
)
def test_what_is_no_request_gets_an_error_like_any_other(instance: Instance, request_: bytes, code: int) -> None:
    with served(instance) as address, connected(address) as client:
        client.sendall(request_)
        response = everything(client)
    assert status_of(response) == code
    assert set(body_of(response)) == {"error", "where", "remedy"}
