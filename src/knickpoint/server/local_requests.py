"""Say which requests come from the person at this machine, where no sign-in is configured.

A connection from a loopback address alone proves little: a reverse proxy on the same machine connects from there for
the whole world. A request is local only if nothing hints at another machine, in the configuration or in the request. A proxy
that adds no header and speaks HTTP/1.1 gives no hint; the guide asks to name it in the configuration.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Scope

from knickpoint.instance.config import ServerSettings
from knickpoint.server.host_names import host_of_address, is_loopback_name, name_of_host

__all__ = ["is_local_request", "serves_this_machine_only"]

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
"""Browsers and clients speak HTTP/1.1. nginx before 1.29.7 speaks HTTP/1.0 to the servers behind it, and gives no other hint."""


def serves_this_machine_only(settings: ServerSettings) -> bool:
    """Return whether the configuration names no address under which other machines reach the server.

    A public ``address`` and other ``names`` than those of loopback say that there is a proxy in front.
    """
    named = [*settings.names, *([host_of_address(settings.address)] if settings.address else [])]
    return not settings.proxies and all(is_loopback_name(name) for name in named)


def is_local_request(scope: Scope) -> bool:
    """Return whether a request was sent by a program on this machine to a loopback name, without a proxy between."""
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
