"""Both transports, with the SDK's own client: a program's standard streams, and the address of the server."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError
from starlette.types import Message
from tests.agents.client import Called, call, with_http, with_stdio
from tests.server.client import Client as ServerClient
from tests.server.two_repositories import CLOSED, HIDDEN, credentials, find_closed, make_two_repositories

from knickpoint.access.local_user import local_caller
from knickpoint.agents import answer_http, read_instructions
from knickpoint.agents.server import TOOLS
from knickpoint.agents.tool import Session
from knickpoint.instance import Instance, open_instance
from knickpoint.model.access import AuditKind, Permission
from knickpoint.server import create_app, serving
from knickpoint.server.routes import instance as routes

KNICK: Final = str(Path(sys.executable).with_name("knick"))


async def names(client: Client) -> list[str]:
    return [each.name for each in (await client.list_tools()).tools]


def reading_tools(*allowed: Permission) -> list[str]:
    return [each.name for each in TOOLS.values() if each.permission in {Permission.READ, *allowed}]


# Over stdio


def test_a_local_agent_reads_by_default_and_is_told_how_to_work(finished: Path) -> None:
    async def work(client: Client) -> tuple[list[str], str | None, Called, Called]:
        found = await call(client, "list_changes", {})
        refused = await call(client, "decide", {"changes": ["R1"], "status": "hidden"})
        return await names(client), client.instructions, found, refused

    listed, told, found, refused = with_stdio(KNICK, finished, work)
    assert listed == reading_tools()
    assert told == read_instructions()
    assert [each["change"] for each in found.reply["changes"]] == ["R1", "R2"]
    assert refused.is_error


@pytest.mark.long
def test_a_local_agent_that_may_decide_does_so_under_the_name_of_the_user(instance: Instance) -> None:
    async def work(client: Client) -> tuple[list[str], Called]:
        return await names(client), await call(client, "decide", {"changes": ["R1"], "status": "hidden"})

    listed, done = with_stdio(KNICK, instance.directory, work, "--allow", "decide,measure")
    assert listed == reading_tools(Permission.DECIDE, Permission.MEASURE)
    assert not done.is_error
    (entry, *_) = instance.store.audit.entries(kind=AuditKind.DECIDED)
    assert entry.who == local_caller().name


def run_knick(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [KNICK, "mcp", *arguments], capture_output=True, text=True, check=False, timeout=60, stdin=subprocess.DEVNULL
    )


def test_the_instructions_are_printed_without_an_instance(tmp_path: Path) -> None:
    printed = run_knick("--instructions", "--instance", str(tmp_path))
    assert (printed.returncode, printed.stdout) == (0, read_instructions())


@pytest.mark.parametrize("name", ["admin", "upload", "read,decide", ""])
def test_nothing_else_can_be_allowed(finished: Path, name: str) -> None:
    refused = run_knick("--allow", name, "--instance", str(finished))
    assert refused.returncode == 2
    assert "Allow decide or measure" in refused.stderr


@pytest.mark.long
def test_the_program_ends_when_the_client_closes_its_input(finished: Path) -> None:
    ended = run_knick("--instance", str(finished))
    assert (ended.returncode, ended.stdout) == (0, "")


# Over HTTP


@dataclass(frozen=True)
class Served:
    """A server of two repositories, one of which is closed, and what each caller sends."""

    instance: Instance
    address: str
    credentials: Mapping[str, Mapping[str, str]]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("served") / "instance"
    make_two_repositories(directory)
    with open_instance(directory) as instance, serving(instance) as address:
        yield Served(instance, address, credentials(instance))


READERS: Final = {
    "viewer": (),
    "editor": (),
    "admin": (),
    "neighbour": (),
    "token read": (),
    "token decide": (Permission.DECIDE,),
    "token measure": (Permission.MEASURE,),
    "token admin": (Permission.DECIDE, Permission.MEASURE),
}
"""Caller → what it may do beside reading: only a token says that the agent may do more."""


@pytest.mark.parametrize("caller", READERS)
def test_a_caller_has_the_tools_of_its_token(served: Served, caller: str) -> None:
    assert with_http(served.address, names, served.credentials[caller]) == reading_tools(*READERS[caller])


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_clients_of_the_old_and_the_new_protocol_are_answered(served: Served, mode: str) -> None:
    async def work(client: Client) -> Called:
        return await call(client, "list_repositories", {})

    found = with_http(served.address, work, served.credentials["viewer"], mode=mode)
    assert [each["repository"] for each in found.reply["repositories"]] == ["«ada/engine»", f"«{CLOSED}»"]


@pytest.mark.parametrize(
    ("caller", "code"), [("no one", 401), ("wrong token", 401), ("revoked token", 401), ("token upload", 403)]
)
def test_who_may_not_read_is_refused_before_any_tool(served: Served, caller: str, code: int) -> None:
    headers = {"accept": "application/json, text/event-stream", **served.credentials[caller]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    answer = httpx.post(f"{served.address.rstrip('/')}/mcp", json=body, headers=headers)
    assert answer.status_code == code
    assert answer.json()["remedy"]
    with pytest.raises((MCPError, ExceptionGroup)):
        with_http(served.address, names, served.credentials[caller])


def test_a_closed_repository_does_not_exist_for_a_neighbour(served: Served) -> None:
    closed = find_closed(served.instance.store)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("list_repositories", {}),
        ("list_changes", {"which": "all"}),
        ("explain_change", {"change": closed.change}),
        ("check_evidence", {"trace": closed.trace}),
        ("trace_values", {"trace": closed.trace}),
        ("find_traces", {}),
        ("compare_commits", {"base": "newest"}),
        ("list_missing", {}),
        ("list_bisections", {}),
    ]

    async def work(client: Client) -> list[Called]:
        return [await call(client, name, arguments) for name, arguments in asked]

    for found in with_http(served.address, work, served.credentials["neighbour"]):
        assert not any(word in found.text for word in HIDDEN)


def test_a_decision_over_http_is_in_the_audit_log_with_token_and_address(served: Served) -> None:
    closed = find_closed(served.instance.store)

    async def work(client: Client) -> Called:
        done = await call(client, "decide", {"changes": [closed.change], "status": "acknowledged"})
        entries = {name: done.reply[name] for name in ("first_entry", "last_entry")}
        return await call(client, "undo_decision", entries)

    assert not with_http(served.address, work, served.credentials["token decide"]).is_error
    (entry, *_) = served.instance.store.audit.entries(kind=AuditKind.DECIDED)
    assert (entry.who, entry.address) == ("token:decide", "127.0.0.1")


def test_a_page_of_another_site_cannot_use_the_tools(served: Served) -> None:
    headers = {"origin": "https://elsewhere.example", **served.credentials["viewer"]}
    assert httpx.post(f"{served.address.rstrip('/')}/mcp", json={}, headers=headers).status_code == 403


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"jsonrpc": "2.0"}', b"\xff" * 50])
def test_a_body_that_is_no_message_is_refused(served: Served, body: bytes) -> None:
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        **served.credentials["viewer"],
    }
    answer = httpx.post(f"{served.address.rstrip('/')}/mcp", content=body, headers=headers)
    assert 400 <= answer.status_code < 500


def test_a_client_that_disconnects_before_its_message_ends_is_not_a_defect(reading: Session) -> None:
    headers = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]
    headers.append((b"mcp-protocol-version", b"2099-01-01"))
    scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "headers": headers}

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    status, _, _ = asyncio.run(answer_http(reading, scope, receive, body_bytes=1_000))
    assert status == 400


@pytest.mark.long
def test_only_post_is_answered(served: Served) -> None:
    for method in ("GET", "DELETE"):
        answer = httpx.request(
            method, f"{served.address.rstrip('/')}/mcp", headers=served.credentials["viewer"], timeout=60
        )
        assert answer.status_code == 405


def test_messages_count_as_requests(finished: Path, tmp_path: Path) -> None:
    directory = tmp_path / "instance"
    shutil.copytree(finished, directory)
    file = directory / "knickpoint.toml"
    file.write_text(f"{file.read_text()}\n[limits]\nrequests_per_minute = 2\n")
    with open_instance(directory) as opened:
        client = ServerClient(create_app(opened))
        codes = [client.post("/mcp", json={}).status_code for _ in range(3)]
    assert codes[:2] != [429, 429]
    assert codes[2] == 429


def test_a_server_without_the_package_says_what_to_install(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "find_spec", lambda _: None)
    answer = ServerClient(create_app(instance)).post("/mcp", json={})
    assert (answer.status_code, "knickpoint[mcp]" in answer.json()["remedy"]) == (404, True)
