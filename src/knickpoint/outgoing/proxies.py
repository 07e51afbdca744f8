"""Find the proxy that the environment names for an address, and open a tunnel through it."""

from __future__ import annotations

import socket
from base64 import b64encode
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from knickpoint.model.errors import ServiceError
from knickpoint.outgoing.rule import Deadline, OutgoingAddress

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
            "it holds no address of an HTTP proxy",
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
            raise OSError("the proxy ends the connection")
        received += byte
    return bytes(received)


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
