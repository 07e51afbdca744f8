"""Give the audit entries of a request the address that it came from."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from knickpoint.access.proxy import client_address
from knickpoint.store import acting_from

__all__ = ["AuditAddress"]


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
