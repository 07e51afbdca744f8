"""Listen at an address, and serve an instance there until the process is interrupted."""

from __future__ import annotations

import errno
import ipaddress
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final

import uvicorn
from uvicorn.config import LOGGING_CONFIG

from knickpoint.access.exposure import check_open_port, open_port_notice
from knickpoint.instance import Instance
from knickpoint.instance.config import Config
from knickpoint.instance.config.settings import LogChoice
from knickpoint.model.errors import ServiceError
from knickpoint.model.service_part import ALL_PARTS, ServicePart
from knickpoint.server.app import create_app
from knickpoint.server.connections import limited_connections
from knickpoint.server.process_metrics import ProcessMetrics
from knickpoint.server.request_origin import is_loopback_name

_GREATEST_PORT: Final = 65_535
_START_SECONDS: Final = 30.0
_OTHER_HEAD_BYTES: Final = 4096
"""Bytes of the head of a request beside its address and its headers: method, version, signs."""

_ELSEWHERE: Final = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}
"""Addresses of no machine, for examples: the route to them shows which address this machine sends from."""

_REASONS: Final = {
    errno.EADDRINUSE: ("is in use", "Stop the other program, or choose another port with --port."),
    errno.EACCES: ("needs more permissions", "Choose a port from 1024 on with --port."),
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
        reason, remedy = _REASONS.get(error.errno or 0, (f"cannot be used ({error.strerror})", "Choose another."))
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
