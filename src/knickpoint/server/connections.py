"""Keep slow and silent clients from holding connections: uvicorn's HTTP/1.1 connection with deadlines.

uvicorn closes a connection that is idle between two requests. It waits without end for the first request, for the rest
of a request's head, for the rest of a body that no one reads any more, and for a client that does not take its
response. A :class:`Connection` ends each of these waits, and bounds the number of connections. The pace of a body that
is being read is checked where it is read (:mod:`knickpoint.server.request_guard`).
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from knickpoint.access.networks import find_address, in_networks
from knickpoint.instance.config import LimitSettings
from knickpoint.server.request_limits import address_key

_TOO_LARGE: Final = 431
_REASONS: Final = {
    400: "Bad Request",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """What the connections of one server share: the limits, the networks of proxies, and connections by address."""

    limits: LimitSettings
    proxies: Sequence[str] = ()
    by_address: Counter[str] = field(default_factory=Counter)

    def counts(self, address: str) -> bool:
        """Return True if connections from ``address`` count against the limit of an address.

        Those of a proxy do not.
        """
        known = find_address(address)
        return known is not None and not in_networks(known, self.proxies)


def limited_connections(limits: LimitSettings, proxies: Sequence[str]) -> type[asyncio.Protocol]:
    """Return the class of connections that uvicorn makes: those of one server share ``limits``.

    ``proxies`` are the networks of proxies in front of the server.
    """
    shared = ConnectionBounds(limits, proxies)

    class Limited(Connection):
        bounds = shared

    return Limited


class Connection(H11Protocol):
    """One connection of a client."""

    bounds: ConnectionBounds

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._head_timer: asyncio.TimerHandle | None = None
        self._body_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._counted = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request, or refuse the connection where there are too many."""
        super().connection_made(cast("asyncio.Transport", transport))
        limits = self.bounds.limits
        address = self.client[0] if self.client else ""
        if self.bounds.counts(address):
            self._counted = address_key(address)
            self.bounds.by_address[self._counted] += 1
        if len(self.connections) > limits.connections:
            self._refuse(503, "too many connections are open", "Try again later.")
        elif self._counted and self.bounds.by_address[self._counted] > limits.connections_per_address:
            self._refuse(503, f"too many connections from {address} are open", "Close some of them.")
        else:
            self._watch_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """End all waits."""
        super().connection_lost(exc)
        for timer in (self._head_timer, self._body_timer, self._write_timer):
            if timer is not None:
                timer.cancel()
        if self._counted:
            self.bounds.by_address[self._counted] -= 1
            if not self.bounds.by_address[self._counted]:
                del self.bounds.by_address[self._counted]
            self._counted = ""

    def data_received(self, data: bytes) -> None:
        """Take what the client sent."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._watch_head()
        self._watch_body()

    def on_response_complete(self) -> None:
        """Wait for the next request, and no longer than the limit for the rest of a body that was not read."""
        super().on_response_complete()
        self._watch_head()
        self._watch_body()

    @property
    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _watch_head(self) -> None:
        """Have the timer of the head run exactly while the first request, or the rest of a head, is awaited."""
        pending = not self._busy and (self.cycle is None or bool(self.conn.trailing_data[0]))
        self._head_timer = self._watch(
            self._head_timer, self.bounds.limits.head_seconds, self._end_head, pending=pending
        )

    def _watch_body(self) -> None:
        """Start the timer of the body while the rest of one is thrown away, as its request was answered without it."""
        unread = self.cycle is not None and self.cycle.response_complete and self.conn.their_state is h11.SEND_BODY
        seconds = self.bounds.limits.body_seconds
        self._body_timer = self._watch(self._body_timer, seconds, self.transport.abort, pending=unread)

    def _watch(
        self, timer: asyncio.TimerHandle | None, seconds: float, end: Callable[[], None], *, pending: bool
    ) -> asyncio.TimerHandle | None:
        if pending and timer is None:
            return self.loop.call_later(seconds, end)
        if not pending and timer is not None:
            timer.cancel()
            return None
        return timer

    def _end_head(self) -> None:
        if self.transport.is_closing() or self._busy:
            return
        if self.conn.trailing_data[0]:
            self._refuse(408, "the head of the request did not come in time", "Send it at once.")
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        """Begin to watch that the client takes its response."""
        super().pause_writing()
        if self._write_timer is None:
            self._watch_writing(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """End the watch: the client took nearly all."""
        super().resume_writing()
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _watch_writing(self, left: int) -> None:
        seconds = self.bounds.limits.body_seconds
        self._write_timer = self.loop.call_later(seconds, self._end_writing, left)

    def _end_writing(self, before: int) -> None:
        """Disconnect a client that took less than the least rate since the last look, and look again otherwise."""
        limits = self.bounds.limits
        left = self.transport.get_write_buffer_size()
        # More may have been written meanwhile. Then the buffer had room, so that the client took enough.
        if before - left < min(before, limits.body_bytes_per_second * limits.body_seconds) and left <= before:
            self.transport.abort()
        else:
            self._watch_writing(left)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not a request, or has a head that is too large."""
        error = sys.exception()
        if isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == _TOO_LARGE:
            self._refuse(_TOO_LARGE, "the head of the request is too large", "Send fewer or shorter headers.")
        else:
            self._refuse(400, msg.rstrip("."), "Send a request of HTTP/1.1.")

    def _refuse(self, status: int, error: str, remedy: str) -> None:
        """Answer without a request that could be read, and close the connection."""
        body = json.dumps({"error": f"{error[:1].upper()}{error[1:]}.", "where": "", "remedy": remedy}).encode()
        head = (
            f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nx-content-type-options: nosniff\r\nretry-after: 10\r\nconnection: "
            "close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
