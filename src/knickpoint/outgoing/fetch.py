"""Request an address of the web by the rule: hosts checked and pinned, redirects checked anew, size and time bounded.

A proxy of the environment (``HTTPS_PROXY`` and the like) is asked for a tunnel to the address that was checked, so that it
looks no name up. Only hosts that are allowed whatever addresses they have are given to it by name.
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cache
from http.client import HTTPException, HTTPResponse
from typing import Final
from urllib.parse import urldefrag, urljoin

from knickpoint.model.errors import AddressError, ServiceError
from knickpoint.outgoing.address_ranges import IPAddress
from knickpoint.outgoing.connection import PinnedConnection
from knickpoint.outgoing.deadline import Deadline
from knickpoint.outgoing.proxies import proxy_for
from knickpoint.outgoing.resolution import Resolver, resolve_in_time, system_resolver
from knickpoint.outgoing.rule import OutgoingAddress, OutgoingRule, check_address, check_hosts

__all__ = ["Fetched", "Network", "NoAnswerError", "fetch"]

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

    ``largest`` bounds the body, in bytes, as sent and as unpacked; ``seconds`` bound the whole: lookup, redirects and body.
    At most ``redirects`` are followed, and only for GET and HEAD: the redirect of another method is the answer.

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
            f"it cannot be reached, or does not answer as it should: {_reason(error)}",
            where=address.origin,
            remedy="Check the address, and that this machine reaches it, directly or through the proxy of its environment.",
            sent=connected,
        ) from error


def _checked_hosts(
    address: OutgoingAddress, rule: OutgoingRule, deadline: Deadline, network: Network
) -> Sequence[IPAddress]:
    hosts = [address.ip] if address.ip else resolve_in_time(network.resolver, address.host, deadline.remaining())
    check_hosts(address, hosts, rule)
    return hosts


def _redirected(request: _Request, answer: Fetched, rule: OutgoingRule) -> _Request | None:
    """Return the request that a redirect asks for; None where the answer is no redirect."""
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
    """Return why a request failed, without what the peer may have put into the words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.verify_message})"
    if isinstance(error, OSError):
        return error.strerror or str(error) or type(error).__name__
    return ascii(str(error) or type(error).__name__)[1:-1][:200]
