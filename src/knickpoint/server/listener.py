"""Listen at an address, and serve an instance there until the process is interrupted.

Slow and silent clients do not hold connections: uvicorn closes one that is idle between two requests, but waits without
end for the first request, for the rest of a request's head, for the rest of a body that no one reads any more, and for
a client that does not take its response. A :class:`Connection` ends each of these waits, and bounds the number of
connections. The pace of a body that is being read is checked where it is read (:mod:`knickpoint.server.request_guard`).
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import json
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final, cast

import h11
import uvicorn
from uvicorn.config import LOGGING_CONFIG
from uvicorn.protocols.http.h11_impl import H11Protocol

from knickpoint.access.exposure import check_open_port, find_address, in_networks, open_port_notice
from knickpoint.instance import Instance
from knickpoint.instance.config import Config, LimitSettings
from knickpoint.instance.config.settings import LogChoice
from knickpoint.model.errors import ServiceError
from knickpoint.model.service_part import ALL_PARTS, ServicePart
from knickpoint.server.app import create_app
from knickpoint.server.process_metrics import ProcessMetrics
from knickpoint.server.request_limits import address_key
from knickpoint.server.request_origin import is_loopback_name

_TOO_LARGE: Final = 431
_STATUS_REASONS: Final = {
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
            f"HTTP/1.1 {status} {_STATUS_REASONS[status]}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nx-content-type-options: nosniff\r\nretry-after: 10\r\nconnection: "
            "close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


_GREATEST_PORT: Final = 65_535
_START_SECONDS: Final = 30.0
_OTHER_HEAD_BYTES: Final = 4096
"""Bytes of the head of a request beside its address and its headers: method, version, signs."""

_ELSEWHERE: Final = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses of no machine, for examples: the route to them shows which address this machine sends from."""

_PORT_REASONS: Final = {
    errno.EADDRINUSE: ("is in use", "Stop the other program, or choose another port with --port."),
    errno.EACCES: ("needs more permissions", "Choose a port of 1024 or higher with --port."),
    errno.EADDRNOTAVAIL: ("is not an address of this machine", "Listen at 127.0.0.1, or at 0.0.0.0 for all of them."),
}


def _listen(config: Config, host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free port.

    Raises:
        ConfigError: other machines reach the address, there is no sign-in, and no setting says that this is meant.
        ServiceError: the address cannot be used.
    """
    where = f"{host}:{port}"
    if not 0 <= port <= _GREATEST_PORT:
        raise ServiceError(f"{port} is not a port", where=where, remedy=f"Choose one from 1 to {_GREATEST_PORT}.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise ServiceError(
            f"the name {host!r} cannot be resolved ({error})", where=where, remedy="Correct it, or use 127.0.0.1."
        ) from error
    check_open_port(str(address[0]), config.access, config.sign_in)
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        reason, remedy = _PORT_REASONS.get(error.errno or 0, (f"cannot be used ({error.strerror})", "Choose another."))
        raise ServiceError(f"port {port} {reason}", where=where, remedy=remedy) from error
    return listener


def _address(listener: socket.socket) -> str:
    """Return an address under which the server is reached; of all addresses of the machine, the one of its network."""
    host, port = listener.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = _address_in_the_network(listener.family)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _address_in_the_network(family: socket.AddressFamily) -> str:
    """Return the address that this machine sends from; connecting a datagram socket sends nothing."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((_ELSEWHERE[family], 9))
        except OSError:  # there is no network
            return {socket.AF_INET6: "::1"}.get(family, "127.0.0.1")
        return str(probe.getsockname()[0])


def _is_open(listener: socket.socket) -> bool:
    return not is_loopback_name(listener.getsockname()[0])


def _names(host: str, hosts: Collection[str]) -> frozenset[str]:
    return frozenset({host, socket.gethostname(), *hosts})


@dataclass(frozen=True, slots=True)
class Ending:
    """What is called while a server ends.

    Attributes:
        stopping: called at the signal.
        draining: called when no more requests are taken, with how many are under way.
        drained: called when these have ended, with how many were cut off.
    """

    stopping: Callable[[], None] = lambda: None
    draining: Callable[[int], None] = lambda _requests: None
    drained: Callable[[int], None] = lambda _requests: None


class _Server(uvicorn.Server):
    """A server that says at once when a signal is to end it, and for how many requests it waits then."""

    def __init__(self, config: uvicorn.Config, ending: Ending) -> None:
        super().__init__(config)
        self._ending = ending

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more requests, and wait for those that are under way."""
        self._ending.draining(len(self.server_state.tasks))
        await super().shutdown(sockets)
        self._ending.drained(len(self.server_state.tasks))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        self._ending.stopping()
        super().handle_exit(sig, frame)


_NO_ENDING: Final = Ending()


def _server(
    instance: Instance,
    listener: socket.socket,
    names: frozenset[str],
    *,
    parts: Collection[ServicePart] = ALL_PARTS,
    process_metrics: ProcessMetrics | None = None,
    ending: Ending = _NO_ENDING,
) -> uvicorn.Server:
    settings = instance.config
    config = uvicorn.Config(
        create_app(instance, hosts=names, open_port=_is_open(listener), parts=parts, process_metrics=process_metrics),
        proxy_headers=False,  # which forwarding headers are believed is in the configuration, and no default of a library
        http=limited_connections(settings.limits, settings.server.proxies),
        h11_max_incomplete_event_size=settings.limits.address_bytes + settings.limits.header_bytes + _OTHER_HEAD_BYTES,
        timeout_keep_alive=settings.limits.idle_seconds,
        log_config=LOGGING_CONFIG if settings.monitoring.log is LogChoice.TEXT else None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=settings.server.drain_seconds,
        ws="none",
        lifespan="off",
    )
    return _Server(config, ending)


def serve(
    instance: Instance,
    host: str = "",
    port: int | None = None,
    *,
    hosts: Collection[str] = (),
    parts: Collection[ServicePart] = ALL_PARTS,
    process_metrics: ProcessMetrics | None = None,
    ready: Callable[[str], None] | None = None,
    warn: Callable[[str], None] | None = None,
    ending: Ending = _NO_ENDING,
) -> None:
    """Serve ``instance`` until SIGINT or SIGTERM; then take no more requests, and finish those that are under way.

    Args:
        instance: what to serve.
        host: where to listen. Default: the configuration.
        port: which port; 0 takes any free one. Default: the configuration.
        hosts: names under which people reach the server, in addition to its addresses and localhost.
        parts: the parts of the instance that this process runs.
        process_metrics: what this process counts and measures.
        ready: called with the address of the dashboard when the server accepts connections.
        warn: called before that with a warning, where other machines reach the server and there is no sign-in.
        ending: what is called while the server ends.

    Raises:
        ConfigError: other machines reach the address, there is no sign-in, and no setting says that this is meant.
        ServiceError: the address cannot be used.
    """
    config, settings = instance.config, instance.config.server
    address = host or settings.host
    listener = _listen(config, address, settings.port if port is None else port)
    with listener:
        server = _server(
            instance,
            listener,
            _names(address, (*settings.names, *hosts)),
            parts=parts,
            process_metrics=process_metrics,
            ending=ending,
        )
        if warn and not config.sign_in and _is_open(listener):
            warn(open_port_notice(config.access))
        if ready:
            ready(_address(listener))
        server.run(sockets=[listener])


@contextmanager
def serving(instance: Instance, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve ``instance`` in a thread while a ``with`` lasts, and give it the address.

    Raises:
        ConfigError: other machines reach the address, there is no sign-in, and no setting says that this is meant.
        ServiceError: the address cannot be used, or the server does not start.
    """
    listener = _listen(instance.config, host, port)
    server = _server(instance, listener, _names(host, instance.config.server.names))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="knickpoint-server", daemon=True)
    thread.start()
    limit = time.monotonic() + _START_SECONDS
    while not server.started and thread.is_alive() and time.monotonic() < limit:
        thread.join(0.01)
    address = _address(listener)
    try:
        if not server.started:
            raise ServiceError("the server did not start", where=address, remedy="See the messages above.")
        yield address
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
