"""Let replicas of the store answer what is read, and let everybody see their own writes at once.

The answer to a write sets a cookie with the position of the log behind that write. A read that brings the cookie is
answered by a replica that has come that far, else by the primary. The cookie outlives the time that a replica may be behind.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knickpoint.instance import Instance
from knickpoint.model.errors import StoreError
from knickpoint.store.replicas import MOST_BEHIND_SECONDS

__all__ = ["POSITION_COOKIE", "OwnWrites", "reading_instance"]

POSITION_COOKIE: Final = "knickpoint_position"
_COOKIE_SECONDS: Final = round(3 * MOST_BEHIND_SECONDS)
_DIGITS: Final = 19
_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_LOG: Final = logging.getLogger("knickpoint.server")


async def reading_instance(request: Request, instance: Instance) -> Instance:
    """Return ``instance`` with the store that answers ``request``: a replica's for a read, where one has come far enough."""
    if not instance.config.store.replicas or request.method not in _READS:
        return instance
    store = await run_in_threadpool(instance.replicas.store_for, _position(request))
    return instance if store is None else dataclasses.replace(instance, store=store)


def _position(request: HTTPConnection) -> int:
    """Return the position that a read must see; 0 for a cookie that is no number, which this server never sets."""
    given = request.cookies.get(POSITION_COOKIE, "")
    return int(given) if given.isascii() and given.isdigit() and len(given) <= _DIGITS else 0


class OwnWrites:
    """Tell the browser that wrote something how far a replica must have come to answer it."""

    def __init__(self, app: ASGIApp, instance: Instance) -> None:
        self._app = app
        self._instance = instance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] in _READS:
            await self._app(scope, receive, send)
            return

        async def send_position(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._add_position(message)
            await send(message)

        await self._app(scope, receive, send_position)

    async def _add_position(self, message: Message) -> None:
        try:
            position = await run_in_threadpool(self._instance.replicas.written)
        except StoreError as error:
            _LOG.warning("a replica may answer without what was just written: %s", error)
            return
        cookie = f"{POSITION_COOKIE}={position}; Path=/; Max-Age={_COOKIE_SECONDS}; HttpOnly; SameSite=Lax"
        MutableHeaders(scope=message).append("set-cookie", cookie)
