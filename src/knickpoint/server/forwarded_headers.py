"""Take the scheme and the host of a request from the headers of a proxy that is believed; from others, they mean nothing.

The address of the peer stays what it is: :func:`knickpoint.access.proxy.client_address` finds the client.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Receive, Scope, Send

from knickpoint.access.networks import find_address, in_networks
from knickpoint.server.host_names import is_host

__all__ = ["ForwardedHeaders"]

_SCHEMES: Final = frozenset({"http", "https"})


class ForwardedHeaders:
    """Apply ``X-Forwarded-Proto`` and ``X-Forwarded-Host`` of requests from ``proxies``."""

    def __init__(self, app: ASGIApp, proxies: Sequence[str] = ()) -> None:
        self._app = app
        self._proxies = tuple(proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._proxies and scope["type"] == "http":
            peer = find_address((scope.get("client") or ("",))[0])
            if in_networks(peer, self._proxies):
                scope = _as_forwarded(scope)
        await self._app(scope, receive, send)


def _as_forwarded(scope: Scope) -> Scope:
    headers = Headers(scope=scope)
    changed = {**scope, "headers": list(scope["headers"])}
    scheme = _last(headers, "x-forwarded-proto").lower()
    if scheme in _SCHEMES:
        changed["scheme"] = scheme
    host = _last(headers, "x-forwarded-host")
    if is_host(host):
        MutableHeaders(scope=changed)["host"] = host
    return changed


def _last(headers: Headers, name: str) -> str:
    """Return what the nearest proxy wrote: the last value; what stands left of it may come from the client."""
    values = headers.getlist(name)
    return values[-1].rpartition(",")[2].strip() if values else ""
