"""Ask an application without a network."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from fastapi import FastAPI

__all__ = ["ERROR_FIELDS", "Client", "error_of"]

ERROR_FIELDS = {"error", "where", "remedy", "request"}
"""What every error says."""


def error_of(answer: httpx.Response) -> dict[str, Any]:
    """Return what an error says, without the id of its request."""
    found: dict[str, Any] = answer.json()
    return {name: value for name, value in found.items() if name != "request"}


class Client:
    """Send requests to ``app`` as if it were served at ``base``, from the address ``peer``."""

    def __init__(self, app: FastAPI, base: str = "http://127.0.0.1:8765", *, peer: str = "127.0.0.1") -> None:
        self._app = app
        self._base = base
        self._peer = peer

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.ask("POST", path, **options)

    def ask(self, method: str, path: str, *, follow: bool = True, **options: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app, raise_app_exceptions=False, client=(self._peer, 50_000))
            async with httpx.AsyncClient(transport=transport, base_url=self._base) as client:
                return await client.request(method, path, follow_redirects=follow, **options)

        with ThreadPoolExecutor(1) as thread:  # a browser's test may keep a loop running in this one
            return thread.submit(lambda: asyncio.run(ask())).result()
