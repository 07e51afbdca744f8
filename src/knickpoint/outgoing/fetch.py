"""Request an address of the web by the rule: hosts checked and pinned, redirects checked anew, size and time bounded.

A proxy of the environment (``HTTPS_PROXY`` and the like) is asked for a tunnel to the address that was checked, so that
it looks no name up. Only hosts that are allowed whatever addresses they have are given to it by name.
"""

from __future__ import annotations

import io
import socket
import ssl
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from knickpoint.model.errors import AddressError, ServiceError
from knickpoint.outgoing.rule import Deadline, IPAddress, OutgoingAddress, OutgoingRule, check_address, check_hosts

_MOST_HEADER_BYTES: Final = 16_384


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy; ``credentials`` is the value of its header ``Proxy-Authorization``, "" without any."""

    host: str
    port: int
    credentials: str = field(default="", repr=False)


def proxy_for(address: OutgoingAddress) -> Proxy | None:
    """Return the proxy of ``HTTPS_PROXY``, ``HTTP_PROXY`` or ``ALL_PROXY``, in small letters as well; None for none.

    ``NO_PROXY`` names the hosts that are reached directly; this machine always is.

    Raises:
        ServiceError: the variable holds no address of an HTTP proxy.
    """
    proxies = getproxies_environment()
    name = address.scheme if address.scheme in proxies else "all"
    text = proxies.get(name, "")
    if not text or _is_this_machine(address.host) or proxy_bypass_environment(address.host, proxies):
        return None
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        parts, host, port = urlsplit(""), None, 0
    if parts.scheme != "http" or not host:
        raise ServiceError(
            "not the address of an HTTP proxy",
            where=f"{name.upper()}_PROXY",
            remedy="Write http://HOST:PORT, or unset it.",
        )
    user = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return Proxy(host, port, f"Basic {b64encode(user.encode()).decode()}" if user else "")


def open_tunnel(proxy: Proxy, host: str, port: int, deadline: Deadline) -> socket.socket:
    """Return a connection through ``proxy`` to ``host``, a name or an IP address.

    Raises:
        OSError: the proxy does not answer, or does not connect.
    """
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    credentials = f"Proxy-Authorization: {proxy.credentials}\r\n" if proxy.credentials else ""
    tunnel = socket.create_connection((proxy.host, proxy.port), timeout=deadline.remaining())
    try:
        tunnel.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{credentials}\r\n".encode("ascii"))
        _check_answer(_read_headers(tunnel, deadline), proxy, target)
    except BaseException:
        tunnel.close()
        raise
    return tunnel


def _check_answer(headers: bytes, proxy: Proxy, target: str) -> None:
    version, _, rest = headers.partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/1.") or not status.isdigit():
        raise OSError(f"the proxy {proxy.host}:{proxy.port} does not speak HTTP")
    if not status.startswith(b"2"):
        raise OSError(f"the proxy {proxy.host}:{proxy.port} answers {status.decode()} to CONNECT {target}")


def _read_headers(tunnel: socket.socket, deadline: Deadline) -> bytes:
    """Return the headers of an answer, byte by byte: what follows them belongs to the host behind the proxy."""
    received = bytearray()
    while not received.endswith(b"\r\n\r\n"):
        tunnel.settimeout(deadline.remaining())
        byte = tunnel.recv(1)
        if not byte or len(received) > _MOST_HEADER_BYTES:
            raise OSError("the proxy closed the connection")
        received += byte
    return bytes(received)


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


# Connect to an address that was looked up and checked before, with a deadline for all that follows.


class PinnedConnection(HTTPConnection):
    """A connection for one request to the host of ``address``, at one of the ``hosts`` that were checked.

    The name is not looked up again, so that another answer of the DNS changes nothing; it still counts for the ``Host``
    header, for the server name of TLS and for the certificate. A ``proxy`` is asked to connect to these addresses, not
    to the name; only a host that may have any address is given to it by name, as a text among ``hosts``.
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
    """The received bytes.

    It keeps the socket open: an HTTP connection that ends with its answer is closed before the body.
    """

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


# Look up the IP addresses of a host, within a time.


Resolver = Callable[[str], Sequence[IPAddress]]
"""Return the IP addresses of a host, the preferred ones first. It raises ``OSError`` where there are none."""


def system_resolver(host: str) -> Sequence[IPAddress]:
    """Return the addresses that the system has for ``host``. Raises ``OSError``."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(str(address[0]).partition("%")[0]) for *_, address in found))


def resolve_in_time(resolver: Resolver, host: str, seconds: float) -> Sequence[IPAddress]:
    """Return the addresses that ``resolver`` finds for ``host``.

    The system's lookup takes no time limit, so it is waited for.

    Raises:
        OSError: there is no address, or none within ``seconds`` (``TimeoutError``).
    """
    answers: SimpleQueue[Sequence[IPAddress] | OSError] = SimpleQueue()

    def look_up() -> None:
        try:
            answers.put(resolver(host))
        except (OSError, UnicodeError) as error:
            answers.put(error if isinstance(error, OSError) else OSError(str(error)))

    Thread(target=look_up, daemon=True, name=f"lookup of {host}").start()
    try:
        answer = answers.get(timeout=seconds)
    except Empty:
        raise TimeoutError("its name was not resolved in time") from None
    if isinstance(answer, OSError):
        raise answer
    if not answer:
        raise OSError("it has no address")
    return answer


_MOST_REDIRECTS: Final = 3
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_KEPT_ELSEWHERE: Final = frozenset({"accept", "accept-language", "user-agent"})
"""The headers that a redirect to another origin gets as well; the others may hold secrets."""

_GZIP_OR_ZLIB: Final = zlib.MAX_WBITS | 32
_BLOCK: Final = 1 << 16


class NoAnswerError(ServiceError):
    """Raised when a host gives no whole answer.

    Attributes:
        sent: whether the host may have got the request: the connection was there.
    """

    def __init__(self, message: str, *, where: str = "", remedy: str = "", sent: bool = False) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.sent = sent


@cache
def _system_trust() -> ssl.SSLContext:
    return ssl.create_default_context()


@dataclass(frozen=True, slots=True)
class Network:
    """How hosts are looked up, and whose certificates count; those of the system unless given."""

    resolver: Resolver = system_resolver
    tls: ssl.SSLContext = field(default_factory=_system_trust)


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer: its status, its headers by their names in lower case, its whole body, and the address that gave it."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    address: OutgoingAddress
    headers: Mapping[str, str]
    body: bytes | None


def fetch(
    url: str,
    rule: OutgoingRule,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    largest: int = 1 << 20,
    seconds: float = 10.0,
    redirects: int = _MOST_REDIRECTS,
    network: Network | None = None,
) -> Fetched:
    """Request ``url`` and return the answer, whatever its status.

    ``largest`` bounds the body, in bytes, as sent and as unpacked; ``seconds`` bound the whole: lookup, redirects and
    body. At most ``redirects`` are followed, and only for GET and HEAD: the redirect of another method is the answer.

    Raises:
        AddressError: the address, or that of a redirect, must not be contacted.
        NoAnswerError: the host is not found, does not answer in time, sends too much, or sends what is not HTTP.
        ServiceError: it redirects too often.
    """
    network = network or Network()
    deadline = Deadline.after(seconds)
    request = _Request(method, check_address(url, rule), headers or {}, body)
    for _ in range(redirects + 1):
        answer = _send(request, rule, deadline, largest, network)
        if not redirects or method not in {"GET", "HEAD"}:
            return answer
        following = _redirected(request, answer, rule)
        if following is None:
            return answer
        request = following
    raise ServiceError(
        f"it redirects more than {redirects} times",
        where=request.address.origin,
        remedy="Give the address where the redirects end.",
    )


def _send(request: _Request, rule: OutgoingRule, deadline: Deadline, largest: int, network: Network) -> Fetched:
    address = request.address
    connected = False
    try:
        proxy = proxy_for(address)
        by_name = proxy is not None and rule.allows_name(address.host)
        hosts: Sequence[IPAddress | str] = (
            [address.host] if by_name else _checked_hosts(address, rule, deadline, network)
        )
        with closing(PinnedConnection(address, hosts, deadline, network.tls, proxy)) as connection:
            connection.connect()
            connected = True
            connection.request(
                request.method,
                address.target,
                body=request.body,
                headers={
                    "User-Agent": "Knickpoint",
                    **request.headers,
                    "Accept-Encoding": "identity",
                    "Connection": "close",
                },
            )
            with connection.getresponse() as response:
                received = {name.lower(): value for name, value in response.getheaders()}
                return Fetched(response.status, received, _read_body(response, address, largest), address.url)
    except (OSError, HTTPException, zlib.error) as error:
        raise NoAnswerError(
            f"unreachable, or an invalid answer: {_reason(error)}",
            where=address.origin,
            remedy="Check the address, and that this machine reaches it, directly or through the proxy of its "
            "environment.",
            sent=connected,
        ) from error


def _checked_hosts(
    address: OutgoingAddress, rule: OutgoingRule, deadline: Deadline, network: Network
) -> Sequence[IPAddress]:
    hosts = [address.ip] if address.ip else resolve_in_time(network.resolver, address.host, deadline.remaining())
    check_hosts(address, hosts, rule)
    return hosts


def _redirected(request: _Request, answer: Fetched, rule: OutgoingRule) -> _Request | None:
    """Return the request that a redirect asks for; None where the answer is not a redirect."""
    location = answer.headers.get("location")
    if answer.status not in _REDIRECTS or not location:
        return None
    before = request.address
    try:
        target = urldefrag(urljoin(before.url, location)).url
    except ValueError as error:
        raise AddressError(
            "it redirects to an address that cannot be read", where=before.origin, remedy="Give another address."
        ) from error
    address = check_address(target, rule)
    if before.scheme == "https" and address.scheme != "https":
        raise AddressError(
            "it redirects from https to http", where=before.origin, remedy="Give an address that stays with https."
        )
    kept = request.headers
    if address.origin != before.origin:
        kept = {name: value for name, value in kept.items() if name.lower() in _KEPT_ELSEWHERE}
    return replace(request, address=address, headers=kept)


def _read_body(response: HTTPResponse, address: OutgoingAddress, largest: int) -> bytes:
    """Return the body, unpacked; it is unpacked block by block, so that a bomb takes no more than ``largest`` bytes."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
        raise HTTPException(f"it sends the encoding {encoding[:40]!a}, which was not asked for")
    packed = None if encoding in {"", "identity"} else zlib.decompressobj(_GZIP_OR_ZLIB)
    received, body = 0, bytearray()
    while received <= largest >= len(body) and (block := response.read1(_BLOCK)):
        received += len(block)
        body += packed.decompress(block, largest + 1 - len(body)) if packed else block
    if received > largest or len(body) > largest:
        raise NoAnswerError(
            f"it answers with more than {largest:,} bytes",
            where=address.origin,
            remedy="Give another address.",
            sent=True,
        )
    if response.length or (packed is not None and received and not packed.eof):
        raise HTTPException("its answer ends early")
    return bytes(body)


def _reason(error: Exception) -> str:
    """Return the reason for which a request failed, without what the peer may have put into the words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.verify_message})"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return ascii(str(error) or type(error).__name__)[1:-1][:200]
