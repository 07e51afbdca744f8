"""Refuse requests of other sites' pages and oversized bodies, and set the security headers of every response.

Any page in a browser on this machine can send requests to 127.0.0.1, so listening there only is not enough. The guard
refuses a Host name that it does not know, because another site may have its own name resolve to this machine (DNS
rebinding), and a request that changes something from a page of another site (cross-site request forgery).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Final

from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["RequestGuard", "is_known_host", "is_own_origin"]

_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_LARGEST_BYTES: Final = 4_000_000
"""Bytes of a body; a decision about 100,000 findings takes a quarter of it."""

_TOO_LARGE: Final = f"The body is larger than {_LARGEST_BYTES:,} bytes"
_STREAMED: Final = frozenset({"/api/v1/results", "/api/v1/arrivals"})
"""Paths whose routes check the size of the body; the limit of results is in the configuration."""

_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def _name(host: str) -> str:
    """Return the name in a Host header, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def is_known_host(host: str, known: Collection[str]) -> bool:
    """Whether ``host`` names this server: an IP address, localhost, or a name of ``known``.

    Any other name may belong to a site that has it resolve to this machine.
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
    """Whether a request comes from a page of this server, or from no page."""
    origin = headers.get("origin")
    if origin is not None:
        return origin.partition("://")[2] == headers.get("host", "")
    return headers.get("sec-fetch-site", "none") in {"none", "same-origin"}


class RequestGuard:
    """Check the host, the origin and the length of each request, and set the headers of each response."""

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
        if scope["method"] not in _SAFE_METHODS and not is_own_origin(headers):
            return _refused(
                f"a page of {headers.get('origin', 'another site')!r} may not change anything here",
                "Open the dashboard under the address that the server printed.",
            )
        length = headers.get("content-length", "0")
        if scope["path"] not in _STREAMED and not (length.isdecimal() and int(length) <= _LARGEST_BYTES):
            return _refused(_TOO_LARGE, "Decide about fewer findings at a time.", 413)
        return None


def _bounded(receive: Receive) -> Receive:
    """Return ``receive`` with a limit: a request need not announce the length of its body."""
    received = 0

    async def receive_bounded() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > _LARGEST_BYTES:
            raise HTTPException(413, _TOO_LARGE)
        return message

    return receive_bounded


def _refused(error: str, remedy: str, code: int = 403) -> JSONResponse:
    return JSONResponse({"error": error, "where": "", "remedy": remedy}, status_code=code)
