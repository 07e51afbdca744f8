"""The SDK's own client: in this process, over the standard streams of a program, and over HTTP."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import mcp_types
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from knickpoint.agents.server import build_server
from knickpoint.agents.tool import Session

__all__ = ["Called", "call_here", "tools_here", "with_http", "with_stdio"]

_Found = TypeVar("_Found")
Work = Callable[[Client], Awaitable[_Found]]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(pairs)) == len(pairs), "a name occurs twice in an object"
    return dict(pairs)


@dataclass(frozen=True)
class Called:
    """What a call of a tool answered."""

    text: str
    is_error: bool
    pictures: tuple[bytes, ...] = ()

    @property
    def reply(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text, object_pairs_hook=_unique)
        return found


async def call(client: Client, name: str, arguments: Mapping[str, Any]) -> Called:
    answer = await client.call_tool(name, dict(arguments))
    content, *others = answer.content
    assert isinstance(content, mcp_types.TextContent)
    pictures = tuple(b64decode(each.data) for each in others if isinstance(each, mcp_types.ImageContent))
    return Called(content.text, answer.is_error, pictures)


def _run(make: Callable[[], Awaitable[_Found]]) -> _Found:
    async def work() -> _Found:
        return await make()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


def call_here(session: Session, name: str, /, **arguments: Any) -> Called:
    """Call one tool of a server in this process."""

    async def work() -> Called:
        async with Client(build_server(session)) as client:
            return await call(client, name, arguments)

    return _run(work)


def tools_here(session: Session) -> list[mcp_types.Tool]:
    """List the tools of a server in this process."""

    async def work() -> list[mcp_types.Tool]:
        async with Client(build_server(session)) as client:
            return (await client.list_tools()).tools

    return _run(work)


def with_stdio(program: str, directory: Path, work: Work[_Found], *options: str) -> _Found:
    """Do ``work`` with a client of ``knick mcp`` in a process of its own."""

    async def connected() -> _Found:
        arguments = ["mcp", "--instance", str(directory), *options]
        async with Client(StdioServerParameters(command=program, args=arguments)) as client:
            return await work(client)

    return _run(connected)


def with_http(address: str, work: Work[_Found], headers: Mapping[str, str] = {}, *, mode: str = "auto") -> _Found:
    """Do ``work`` with a client of the server at ``address``, by one of the versions of the protocol."""

    async def connected() -> _Found:
        async with (
            httpx2.AsyncClient(headers=dict(headers), timeout=60) as sender,
            Client(streamable_http_client(f"{address.rstrip('/')}/mcp", http_client=sender), mode=mode) as client,
        ):
            return await work(client)

    return _run(connected)
