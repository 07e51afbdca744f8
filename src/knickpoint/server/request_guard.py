"""Keep other sites' pages from speaking to the server, our own pages from loading theirs, and bodies from being endless.

A browser sends every page's requests to a server that listens on this machine, so listening on 127.0.0.1 is
not enough: a name that leads here under another site's control, and a form of another site, are refused.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Final

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard", "is_known_host", "is_own_origin"]

_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_LARGEST_BYTES: Final = 4_000_000
"""Bytes of a request; a decision about 100,000 findings takes a quarter of it."""

_TOO_LARGE: Final = f"The body is larger than {_LARGEST_BYTES:,} bytes"
_STREAMED: Final = frozenset({"/api/v1/results", "/api/v1/arrivals"})
"""Addresses that count for themselves: results are larger, and their bound is the configuration's."""

_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def _name(host: str) -> str:
    """Return a Host header without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def is_known_host(host: str, known: Collection[str]) -> bool:
    """Whether a request for ``host`` was meant for us: an address, localhost, or a name that we know.

    An address cannot lead elsewhere, and a name of ``known`` is ours; any other name may belong to a page that
    had its own name point here.
    """
    name = _name(host).lower()
    if name == "localhost" or name.endswith(".localhost") or name in known:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_own_origin(headers: Headers) -> bool:
    """Whether a request that changes something comes from our own page, or from no page at all."""
    origin = headers.get("origin")
    if origin is not None:
        return origin.partition("://")[2] == headers.get("host", "")
    return headers.get("sec-fetch-site", "none") in {"none", "same-origin"}


class Guard:
    """Check who asks, and set the headers that every answer carries."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        bounded = receive if scope["path"] in _STREAMED else _bounded(receive)
        await (refusal or self._app)(scope, bounded, send_guarded)

    def _refusal(self, scope: Scope) -> JSONResponse | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not is_known_host(host, self._hosts):
            return _refused(
                f"the name {_name(host)!r} is not one of this server's",
                "Use its address, or add the name to names of [server] in knickpoint.toml.",
            )
        if scope["method"] not in _READING and not is_own_origin(headers):
            return _refused(
                f"a page of {headers.get('origin', 'another site')!r} may not change anything here",
                "Open the dashboard under the address that the server printed.",
            )
        length = headers.get("content-length", "0")
        if scope["path"] not in _STREAMED and not (length.isdecimal() and int(length) <= _LARGEST_BYTES):
            return _refused(_TOO_LARGE, "Decide about fewer findings at a time.", 413)
        return None


def _bounded(receive: Receive) -> Receive:
    """Return ``receive`` with an end to what it takes: nobody has to say beforehand how long a body is."""
    taken = 0

    async def receive_bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > _LARGEST_BYTES:
            raise HTTPException(413, _TOO_LARGE)
        return message

    return receive_bounded


def _refused(error: str, remedy: str, code: int = 403) -> JSONResponse:
    return JSONResponse({"error": error, "where": "", "remedy": remedy}, status_code=code)
