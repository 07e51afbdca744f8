"""Let replicas of the store answer what is read, and let everybody see their own writes at once.

The answer to a write sets a cookie with the position of the log behind that write. A read that brings the cookie is
answered by a replica that has come that far, else by the primary. The cookie outlives the time that a replica may be
behind. A read whose replica is lost in the middle is made again, from the primary.
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
from knickpoint.model.errors import KnickpointError, StoreError
from knickpoint.store.replicas import MOST_BEHIND_SECONDS

POSITION_COOKIE: Final = "knickpoint_position"
_COOKIE_SECONDS: Final = round(3 * MOST_BEHIND_SECONDS)
_DIGITS: Final = 19
_NOWHERE: Final = 2**63 - 1
"""A position that no replica reaches: the primary answers."""

_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_LOG: Final = logging.getLogger("knickpoint.server")


async def reading_instance(request: Request, instance: Instance) -> Instance:
    """Return ``instance`` with the store that answers ``request``: for a read, a replica that has come far enough."""
    if not instance.config.store.replicas or request.method not in _READS:
        return instance
    if getattr(request.state, "replica_lost", False):
        return instance
    store = await run_in_threadpool(instance.replicas.store_for, _position(request))
    request.state.of_replica = store is not None
    return instance if store is None else dataclasses.replace(instance, store=store)


def note_lost_replica(request: Request, error: KnickpointError) -> None:
    """Note where ``error`` is that of a replica which could not be read, before the error is answered."""
    if isinstance(error, StoreError) and getattr(request.state, "of_replica", False):
        request.state.replica_lost = True


class PrimaryInstead:
    """Make a read again, from the primary, where its replica was lost before the answer began."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["method"] not in _READS:
            await self._app(scope, receive, send)
            return
        noted = scope.setdefault("state", {})
        again = dict(scope)  # as it was before the routes wrote to it
        begun = False

        async def send_unless_lost(message: Message) -> None:
            nonlocal begun
            if begun or not noted.get("replica_lost"):
                begun = True
                await send(message)

        await self._app(scope, receive, send_unless_lost)
        if not begun and noted.get("replica_lost"):
            _LOG.warning("%s is read from the primary: the connection to a replica was lost", scope["path"])
            await self._app(again, receive, send)


def _position(request: HTTPConnection) -> int:
    """Return the position that a read must see; 0 for a cookie that is not a number, which this server never sets."""
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
            _LOG.warning("the primary answers next, since the replica does not report its position: %s", error)
            position = _NOWHERE
        cookie = f"{POSITION_COOKIE}={position}; Path=/; Max-Age={_COOKIE_SECONDS}; HttpOnly; SameSite=Lax"
        MutableHeaders(scope=message).append("set-cookie", cookie)
