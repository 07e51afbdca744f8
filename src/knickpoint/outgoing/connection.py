"""Connect to an address that was looked up and checked before, with a deadline for all that follows."""

from __future__ import annotations

import io
import socket
import ssl
from collections.abc import Sequence
from http.client import HTTPConnection
from typing import Any

from knickpoint.outgoing.address_ranges import IPAddress
from knickpoint.outgoing.deadline import Deadline
from knickpoint.outgoing.proxies import Proxy, open_tunnel
from knickpoint.outgoing.rule import OutgoingAddress

__all__ = ["PinnedConnection"]


class PinnedConnection(HTTPConnection):
    """A connection for one request to the host of ``address``, at one of the ``hosts`` that were checked.

    The name is not looked up again, so that another answer of the DNS changes nothing; it still counts for the ``Host``
    header, for the server name of TLS and for the certificate. A ``proxy`` is asked to connect to these addresses, not to
    the name; only a host that may have any address is given to it by name, as a text among ``hosts``.
    """

    def __init__(
        self,
        address: OutgoingAddress,
        hosts: Sequence[IPAddress | str],
        deadline: Deadline,
        tls: ssl.SSLContext,
        proxy: Proxy | None = None,
    ) -> None:
        super().__init__(address.host, address.port)
        self._address = address
        self._hosts = hosts
        self._deadline = deadline
        self._tls = tls
        self._proxy = proxy
        self.default_port = 443 if address.scheme == "https" else 80  # left out of the Host header

    def connect(self) -> None:
        """Connect to the first of the hosts that answers. Raises ``OSError``."""
        self.sock: Any = _TimedSocket(self._secured(self._connected()), self._deadline)

    def _connected(self) -> socket.socket:
        failures = []
        for host in self._hosts:
            try:
                if self._proxy is not None:
                    return open_tunnel(self._proxy, str(host), self.port, self._deadline)
                return socket.create_connection((str(host), self.port), timeout=self._deadline.remaining())
            except OSError as error:
                failures.append(error)
        raise failures[0]

    def _secured(self, plain: socket.socket) -> socket.socket:
        if self._address.scheme != "https":
            return plain
        try:
            plain.settimeout(self._deadline.remaining())
            return self._tls.wrap_socket(plain, server_hostname=self._address.host)
        except BaseException:
            plain.close()
            raise


class _TimedSocket:
    """A socket, as far as an HTTP connection uses it, that waits no longer than the deadline in all.

    The timeout of a socket is for each read; a server that sends a byte a second would never reach it.
    """

    def __init__(self, inner: socket.socket, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def sendall(self, data: Any) -> None:
        self._inner.settimeout(self._deadline.remaining())
        self._inner.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(_TimedReader(self._inner, self._deadline))

    def close(self) -> None:
        self._inner.close()


class _TimedReader(io.RawIOBase):
    """The received bytes. It keeps the socket open: an HTTP connection that ends with its answer is closed before the body."""

    def __init__(self, inner: socket.socket, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline
        self._received = inner.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._inner.settimeout(self._deadline.remaining())
        return self._received.readinto(buffer)

    def close(self) -> None:
        self._received.close()
        super().close()
