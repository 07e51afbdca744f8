"""What a proxy in front of the server may say about a request, and who counts as one."""

from __future__ import annotations

import asyncio
import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from knickpoint.access.settings import SignInKind, SignInSettings
from knickpoint.instance import Instance
from knickpoint.server import create_app
from knickpoint.server.request_origin import ForwardedHeaders

_PROXIES = ("10.1.0.0/16",)


def _served(*headers: tuple[str, str], peer: str = "10.1.2.3", proxies: tuple[str, ...] = _PROXIES) -> str:
    """Return the address under which the application sees a request."""
    seen: list[str] = []

    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        seen.append(str(Request(scope).url))

    async def receive() -> Message:
        raise AssertionError

    async def send(_message: Message) -> None:
        raise AssertionError

    scope: dict[str, Any] = {
        "type": "http",
        "scheme": "http",
        "path": "/triage",
        "query_string": b"",
        "client": (peer, 50_000),
        "headers": [(b"host", b"inner:8765"), *((name.encode(), value.encode()) for name, value in headers)],
    }
    asyncio.run(ForwardedHeaders(app, proxies)(scope, receive, send))
    assert dict(scope["headers"])[b"host"] == b"inner:8765"
    return seen[0]


def test_a_proxy_names_the_scheme_and_the_host() -> None:
    headers = [("x-forwarded-proto", "https"), ("x-forwarded-host", "perf.example.org")]
    assert _served(*headers) == "https://perf.example.org/triage"


@pytest.mark.parametrize("peer", ["203.0.113.7", "127.0.0.1", ""])
def test_a_stranger_names_neither(peer: str) -> None:
    headers = [("x-forwarded-proto", "https"), ("x-forwarded-host", "perf.example.org")]
    assert _served(*headers, peer=peer) == "http://inner:8765/triage"
    assert _served(*headers, proxies=()) == "http://inner:8765/triage"


def test_what_the_nearest_proxy_wrote_counts() -> None:
    headers = [
        ("x-forwarded-proto", "http, https"),
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-host", "b.example"),
    ]
    assert _served(*headers) == "https://b.example/triage"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-forwarded-proto", "javascript"),
        ("x-forwarded-proto", ""),
        ("x-forwarded-host", ""),
        ("x-forwarded-host", "a/b"),
        ("x-forwarded-host", "user@evil.example"),
        ("x-forwarded-host", "a b"),
    ],
)
def test_what_is_no_scheme_and_no_host_is_left_out(name: str, value: str) -> None:
    assert _served((name, value)) == "http://inner:8765/triage"


def _ask(app: FastAPI, peer: str, path: str, headers: list[tuple[str, str]]) -> httpx.Response:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app, client=(peer, 50_000))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
            return await client.get(path, headers=headers)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(ask())).result()


def _behind_gate(instance: Instance) -> FastAPI:
    gate = SignInSettings("gate", SignInKind.PROXY, networks=_PROXIES, user_header="X-Forwarded-User")
    return create_app(
        dataclasses.replace(instance, config=dataclasses.replace(instance.config, sign_in={"gate": gate}))
    )


def test_the_person_that_a_proxy_names_is_the_caller(instance: Instance) -> None:
    answer = _ask(_behind_gate(instance), "10.1.2.3", "/api/v1/changes", [("x-forwarded-user", "alice")])
    assert (answer.status_code, answer.json()["error"]) == (403, "The caller alice (gate) may not read.")


def test_the_person_that_a_stranger_names_is_not(instance: Instance) -> None:
    answer = _ask(_behind_gate(instance), "127.0.0.1", "/api/v1/changes", [("x-forwarded-user", "alice")])
    assert answer.status_code == 401
    assert "alice" not in answer.text.lower()


def test_a_person_that_a_proxy_names_twice_is_refused(instance: Instance) -> None:
    headers = [("x-forwarded-user", "alice"), ("x-forwarded-user", "boss")]
    answer = _ask(_behind_gate(instance), "10.1.2.3", "/api/v1/changes", headers)
    assert answer.status_code == 401
    assert "2 times" in answer.json()["error"]
