"""Where a request comes from: hosts, proxies that are trusted, loopback, the address in the audit log; and its id.

The id is in the header ``X-Request-Id`` of its answer, in the answer of an error, and in the log.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import secrets
import time
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knickpoint.access.exposure import find_address, in_networks
from knickpoint.access.proxy import client_address
from knickpoint.instance.config import ServerSettings
from knickpoint.notify.links import LINK_PATH
from knickpoint.store import acting_from

# Under which address people reach the server, and whether cookies may rely on https there.


def origin_of(request: HTTPConnection, settings: ServerSettings) -> str:
    """Return the public address of the server without a final slash: the configured one, else that of the request."""
    return (settings.address or str(request.base_url)).rstrip("/")


def is_https(request: HTTPConnection, settings: ServerSettings) -> bool:
    """Return True if people reach the server over https only."""
    return origin_of(request, settings).startswith("https://")


# Read the names of hosts in addresses and headers, and recognise those of loopback.


_HOST: Final = re.compile(r"(?:([A-Za-z0-9._-]{1,253})|\[([0-9A-Fa-f:.]{2,45})\])(?::[0-9]{1,5})?")
"""A name or an address, with or without a port; addresses of IPv6 stand in brackets."""


def is_host(text: str) -> bool:
    """Return True if ``text`` can stand in a Host header."""
    return _HOST.fullmatch(text) is not None


def name_of_host(host: str) -> str:
    """Return the name in a Host header in lower case, without port and brackets; "" for what is not a host."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


def host_of_address(address: str) -> str:
    """Return the host in an address such as ``https://perf.example.org``, "" where there is none."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def is_loopback_name(name: str) -> bool:
    """Return True if ``name`` is localhost, a name below it, or a loopback address; no name is looked up."""
    lower = name.lower()
    if lower == "localhost" or lower.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(lower).is_loopback
    except ValueError:
        return False


# Take the scheme and the host of a request from the headers of a proxy that is believed; from others, they mean
# nothing.
#
# The address of the peer stays what it is: :func:`knickpoint.access.proxy.client_address` finds the client.


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
    """Return the value of the nearest proxy: the last one; what stands left of it may come from the client."""
    values = headers.getlist(name)
    return values[-1].rpartition(",")[2].strip() if values else ""


# Recognise requests from the person at this machine, if no sign-in is configured.
#
# A connection from a loopback address alone proves little: a reverse proxy on the same machine connects from there for
# the whole world. A request is local only if nothing hints at another machine, in the configuration or in the request.
# A proxy that adds no header and speaks HTTP/1.1 gives no hint; the guide asks to name it in the configuration.


_FORWARDING: Final = frozenset(
    {
        "forwarded",
        "via",
        "x-real-ip",
        "x-client-ip",
        "x-cluster-client-ip",
        "client-ip",
        "true-client-ip",
        "x-original-host",
    }
)
_FORWARDING_PREFIXES: Final = ("x-forwarded-", "cf-", "fly-", "tailscale-", "x-envoy-")
_OLD_PROTOCOL: Final = "1.0"
"""Browsers and clients speak HTTP/1.1. nginx before 1.29.7 speaks HTTP/1.0 to the servers behind it, and gives no other
hint.
"""


def serves_this_machine_only(settings: ServerSettings) -> bool:
    """Return True if the configuration names no address under which other machines reach the server.

    A public ``address`` and other ``names`` than those of loopback say that there is a proxy in front.
    """
    named = [*settings.names, *([host_of_address(settings.address)] if settings.address else [])]
    return not settings.proxies and all(is_loopback_name(name) for name in named)


def is_local_request(scope: Scope) -> bool:
    """Return True if a request was sent by a program on this machine to a loopback name, without a proxy between."""
    peer = scope.get("client")
    headers = Headers(scope=scope)
    return (
        peer is not None
        and _is_loopback_address(peer[0])
        and scope.get("http_version") != _OLD_PROTOCOL
        and is_loopback_name(name_of_host(headers.get("host", "")))
        and not _is_forwarded(headers.keys())
    )


def _is_loopback_address(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_loopback
    except ValueError:
        return False


def _is_forwarded(names: Iterable[str]) -> bool:
    return any(name in _FORWARDING or name.startswith(_FORWARDING_PREFIXES) for name in names)


# Give the audit entries of a request the address that it came from.


class AuditAddress:
    """Answer each request with its client's address for the audit log; ``proxies`` are believed about the client."""

    def __init__(self, app: ASGIApp, proxies: Sequence[str] = ()) -> None:
        self._app = app
        self._proxies = tuple(proxies)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with acting_from(client_address(scope, self._proxies)):
            await self._app(scope, receive, send)


HEADER: Final = "x-request-id"
REQUESTS_LOG: Final = "knickpoint.requests"
"""The logger that gets a record for each request."""

_LOG: Final = logging.getLogger(REQUESTS_LOG)
_USABLE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CURRENT: Final[ContextVar[str]] = ContextVar("request_id", default="")


def request_id() -> str:
    """Return the id of the request that is worked on, "" outside of one."""
    return _CURRENT.get()


class RequestIds:
    """Take the id that a proxy or a client gave to a request, or make one, and log the request when it is answered.

    What is not a plain id (letters, digits, ``.``, ``_``, ``-``, up to 64) is replaced. The id is never reset: each
    request has a context of its own, and the handler of unexpected errors stands outside of this one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        current = given if _USABLE.fullmatch(given) else secrets.token_hex(8)
        _CURRENT.set(current)
        begin, status = time.monotonic(), 500

        async def send_named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = current
            await send(message)

        try:
            await self._app(scope, receive, send_named)
        finally:
            if _LOG.isEnabledFor(logging.INFO):
                path = _logged(scope["path"])
                milliseconds = round(1000 * (time.monotonic() - begin), 1)
                about = {
                    "method": scope["method"],
                    "path": path,
                    "status": status,
                    "milliseconds": milliseconds,
                }
                _LOG.info("%s %s: %s", scope["method"], path, status, extra={"about": about})


def _logged(path: str) -> str:
    """Return ``path`` as the log shows it; that of a signed link is a secret."""
    return f"{LINK_PATH}…" if path.startswith(LINK_PATH) else path
