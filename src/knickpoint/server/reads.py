"""Spare the primary of the store: answers that are kept while the data stay the same, and replicas that answer.

A list that many people look at is kept with the id of the *snapshot* of the store that it was read from: equal ids mean
equal data (:meth:`knickpoint.store.database.Database.snapshot_id`). So nobody gets an answer that a read of the store
would not give, and who has just decided sees the decision. Whoever asks the same while it is being read waits for that
answer.

What is kept is compressed once, in the thread of the request, and sent so to browsers, which take that.

The answer to a write sets a cookie with the position of the log behind that write. A read that brings the cookie is
answered by a replica that has come that far, else by the primary. The cookie outlives the time that a replica may be
behind. A read whose replica is lost in the middle is made again, from the primary.
"""

from __future__ import annotations

import dataclasses
import gzip
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knickpoint.budget import remaining_seconds
from knickpoint.instance import Instance
from knickpoint.model.errors import KnickpointError, StoreError
from knickpoint.store import Store
from knickpoint.store.replicas import MOST_BEHIND_SECONDS

_MOST: Final = 512
_MOST_BYTES: Final = 1 << 19
_MOST_TOGETHER: Final = 1 << 25
"""How many answers are kept, and how many bytes each of them and all of them together may have when compressed."""

_LEVEL: Final = 5


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """An answer as JSON, compressed where it is kept."""

    data: bytes
    is_compressed: bool

    @classmethod
    def of(cls, answer: BaseModel, *, compress: bool) -> CachedAnswer:
        """Write an answer."""
        data = answer.model_dump_json(by_alias=True).encode()
        return cls(gzip.compress(data, _LEVEL, mtime=0) if compress else data, compress)

    @property
    def json(self) -> bytes:
        """The answer as JSON."""
        return gzip.decompress(self.data) if self.is_compressed else self.data

    def response(self, request: HTTPConnection) -> Response:
        """Return the response to a client: as it is kept to one that takes that."""
        headers = {"vary": "Accept-Encoding"}
        if not self.is_compressed or "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(self.json, media_type="application/json", headers=headers)
        return Response(self.data, media_type="application/json", headers={**headers, "content-encoding": "gzip"})


class AnswerCache:
    """Keep the newest answer to each question; safe for threads."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, tuple[str, Future[CachedAnswer]]] = OrderedDict()
        self._lock = threading.Lock()
        self._bytes = 0

    def get(self, store: Store, question: Hashable, build: Callable[[], BaseModel]) -> CachedAnswer:
        """Return the answer to ``question``, which ``build`` reads from ``store`` if it is not known.

        ``question`` has all that the answer depends on but the data of the store: what was asked, what the caller may
        read, and a time where the answer depends on one. ``build`` reads from one snapshot.
        """
        with store.database.reading(named=True) as connection:
            snapshot = store.database.snapshot_id(connection)
            if snapshot is None:
                return CachedAnswer.of(build(), compress=False)
            answer, is_known = self._find(question, snapshot)
            if not is_known:
                return self._fill(question, answer, build)
        # Another request reads it, or did.
        try:
            return answer.result(remaining_seconds())
        except (CancelledError, FutureTimeoutError):
            with store.database.reading():
                return CachedAnswer.of(build(), compress=False)

    def _find(self, question: Hashable, snapshot: str) -> tuple[Future[CachedAnswer], bool]:
        """Return the future of the answer, and whether another request builds it or has built it."""
        with self._lock:
            known = self._answers.get(question)
            if known is not None and known[0] == snapshot:
                self._answers.move_to_end(question)
                return known[1], True
            answer: Future[CachedAnswer] = Future()
            if known is not None:
                self._drop(question)
            self._answers[question] = (snapshot, answer)
            if len(self._answers) > _MOST:
                self._drop(next(iter(self._answers)))
            return answer, False

    def _fill(self, question: Hashable, answer: Future[CachedAnswer], build: Callable[[], BaseModel]) -> CachedAnswer:
        """Read the answer; those who wait for one that failed read it for themselves, and get an error of their own."""
        try:
            found = CachedAnswer.of(build(), compress=True)
        except BaseException:
            self._forget(question, answer)
            answer.cancel()
            raise
        with self._lock:
            answer.set_result(found)
            if self._has(question, answer):
                self._bytes += len(found.data)
                if len(found.data) > _MOST_BYTES:
                    self._drop(question)
                while self._bytes > _MOST_TOGETHER:
                    self._drop(next(iter(self._answers)))
        return found

    def _forget(self, question: Hashable, answer: Future[CachedAnswer]) -> None:
        with self._lock:
            if self._has(question, answer):
                self._drop(question)

    def _has(self, question: Hashable, answer: Future[CachedAnswer]) -> bool:
        known = self._answers.get(question)
        return known is not None and known[1] is answer

    def _drop(self, question: Hashable) -> None:
        """Drop an answer; one that is still being read has no bytes yet."""
        _, answer = self._answers.pop(question)
        if answer.done() and not answer.cancelled():
            self._bytes -= len(answer.result().data)


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
