"""Under which address people reach the server, and whether cookies may rely on https there."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from knickpoint.instance.config import ServerSettings

__all__ = ["is_https", "origin_of"]


def origin_of(request: HTTPConnection, settings: ServerSettings) -> str:
    """Return the public address of the server without a slash at its end: the configured one, else that of the request."""
    return (settings.address or str(request.base_url)).rstrip("/")


def is_https(request: HTTPConnection, settings: ServerSettings) -> bool:
    """Return whether people reach the server over https only."""
    return origin_of(request, settings).startswith("https://")
