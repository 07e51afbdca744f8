"""Decide which addresses the program may contact: hosts of the public Internet, and what the operator allows.

Addresses in the configuration are the word of the operator; those in results, events, requests and redirects are not,
and must not turn the server into a way to machines that only it can reach.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final
from urllib.parse import urlsplit

from knickpoint.model.errors import AddressError, ConfigError

# Know the ranges of IP addresses that are not hosts of the public Internet, and which IPv4 address an IPv6 address
# stands for.
#
# The ranges are those of the registries of special-purpose addresses of IANA (RFC 6890), with multicast, and with one
# public address that clouds answer on locally. They are listed here, because those of the standard library differ from
# one release of Python to the next.


IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network

_SPECIAL: Final[tuple[tuple[IPNetwork, str], ...]] = tuple(
    (ip_network(network), what)
    for network, what in (
        ("0.0.0.0/8", "an unspecified address"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "an address behind a carrier's NAT"),
        ("127.0.0.0/8", "a loopback address"),
        ("168.63.129.16/32", "an address of a cloud's own services"),
        ("169.254.0.0/16", "a link-local address"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "a reserved address"),
        ("192.0.2.0/24", "an address for documentation"),
        ("192.88.99.0/24", "a reserved address"),
        ("192.168.0.0/16", "a private address"),
        ("198.18.0.0/15", "an address for benchmarks of networks"),
        ("198.51.100.0/24", "an address for documentation"),
        ("203.0.113.0/24", "an address for documentation"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
        ("::/128", "an unspecified address"),
        ("::1/128", "a loopback address"),
        ("fc00::/7", "a private address"),
        ("fe80::/10", "a link-local address"),
        ("ff00::/8", "a multicast address"),
        ("2001::/23", "a reserved address"),
        ("2001:db8::/32", "an address for documentation"),
        ("2002::/16", "an address of a 6to4 tunnel"),
        ("3fff::/20", "an address for documentation"),
    )
)
_GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
_NAT64: Final = IPv6Network("64:ff9b::/96")


def unwrap(address: IPAddress) -> IPAddress:
    """Return the IPv4 address that an IPv4-mapped or NAT64 address reaches; other addresses as they are."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def special_range(address: IPAddress) -> str:
    """Name the range of an unwrapped address, as in "a private address"; "" for a host of the public Internet."""
    for network, what in _SPECIAL:
        if address in network:
            return what
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return "a reserved address"
    return ""


_CHARACTERS: Final = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]{1,8192}")
"""What RFC 3986 has in an address, so that no two parsers read it differently.

A host in other letters is given as xn--….
"""

_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORTS: Final = {"http": 80, "https": 443}
_REMEDY: Final = "If this is meant, add the network or the host name to allow in [outgoing] of knickpoint.toml."


@dataclass(frozen=True)
class OutgoingRule:
    """The hosts that may be contacted beside those of the public Internet.

    ``allowed`` has networks and addresses, as in ``10.1.0.0/16``, and host names, as in ``tracker.internal``. A host
    name is allowed whatever addresses it has.

    Raises:
        ConfigError: an item is neither.
    """

    allowed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _ = self._networks, self._hosts  # refuses what cannot be read

    @cached_property
    def _networks(self) -> tuple[IPNetwork, ...]:
        return tuple(network for text in self.allowed if (network := _network(text)) is not None)

    @cached_property
    def _hosts(self) -> frozenset[str]:
        return frozenset(_host_name(text) for text in self.allowed if _network(text) is None)

    def also(self, url: str) -> OutgoingRule:
        """Return the rule that allows the host of ``url`` as well: an address that stands in the configuration."""
        host = urlsplit(url).hostname
        return OutgoingRule((*self.allowed, host)) if host else self

    def allows_name(self, host: str) -> bool:
        """Return True if ``host`` may be contacted whatever addresses it has."""
        return host in self._hosts

    def refusal(self, host: str, address: IPAddress) -> str:
        """Return the reason not to reach ``host`` at ``address``, "" if it may be reached."""
        reached = unwrap(address)
        what = special_range(reached)
        if not what or host in self._hosts or any(reached in network for network in self._networks):
            return ""
        return f"{host} is {what}" if host == str(address) else f"{host} has {what} ({address})"


@dataclass(frozen=True, slots=True)
class OutgoingAddress:
    """An address that has been read and found in order; ``host`` is lower case, without a dot at its end.

    ``target`` is the path with the query, as a request names it. ``ip`` is the host where it is an IP address.
    """

    scheme: str
    host: str
    port: int
    target: str
    ip: IPAddress | None = None

    @property
    def origin(self) -> str:
        """The address without path and query, which may hold secrets; what messages and logs show."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" if self.port == _PORTS[self.scheme] else f"{self.scheme}://{host}:{self.port}"

    @property
    def url(self) -> str:
        """The whole address."""
        return self.origin + self.target


def check_address(url: str, rule: OutgoingRule) -> OutgoingAddress:
    """Read an address that the program is to contact, without looking its host up.

    Raises:
        AddressError: it is not ``http`` or ``https``, has a user or a password, can be read in two ways, or is an IP
            address that ``rule`` does not allow.
    """
    if not _CHARACTERS.fullmatch(url):
        raise _refused(url, "the address has characters that belong percent-encoded, or is too long")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise _refused(url, f"the address cannot be read ({error})") from error
    if parts.scheme not in _PORTS:
        raise AddressError(
            "only http and https addresses are contacted", where=_beginning(url), remedy="Give an https address."
        )
    if "@" in parts.netloc:
        raise AddressError(
            "the address has a user or a password", where=f"{parts.scheme}://…@…", remedy="Give it without them."
        )
    if port == 0:
        raise _refused(url, "the address has port 0")
    host, address = _read_host(parts.netloc, parts.hostname or "", url)
    checked = OutgoingAddress(
        parts.scheme,
        host,
        _PORTS[parts.scheme] if port is None else port,
        (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
        address,
    )
    if address is not None:
        check_hosts(checked, [address], rule)
    return checked


def check_hosts(address: OutgoingAddress, found: Iterable[IPAddress], rule: OutgoingRule) -> None:
    """Check the IP addresses that the host of ``address`` has: one that is not allowed refuses them all.

    Raises:
        AddressError: ``rule`` does not allow one of them.
    """
    for ip in found:
        why = rule.refusal(address.host, ip)
        if why:
            raise AddressError(f"this address must not be contacted: {why}", where=address.origin, remedy=_REMEDY)


def _read_host(netloc: str, host: str, url: str) -> tuple[str, IPAddress | None]:
    """Return the host in its one spelling, and as an IP address where it is one."""
    if netloc.startswith("["):
        try:
            address = IPv6Address(host)
        except AddressValueError as error:
            raise _refused(url, f"the address cannot be read ({error})") from error
        if address.scope_id is not None:
            raise _refused(url, "the address names a network interface")
        return str(address), address
    name = host.removesuffix(".")
    if not _HOST.fullmatch(name):
        raise _refused(url, "the address has no valid host name")
    # Some resolvers read 127.1, 0x7f.1, 0177.0.0.1 and 2130706433 as 127.0.0.1; only the usual spelling is taken.
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        try:
            return name, IPv4Address(name)
        except AddressValueError as error:
            raise _refused(url, "the address has an IP address in an unusual spelling") from error
    return name, None


def _network(text: str) -> IPNetwork | None:
    try:
        return ip_network(text)
    except ValueError as error:
        if "/" in text or ":" in text:
            raise _not_allowable(text, f" ({error})") from error
        return None


def _host_name(text: str) -> str:
    name = text.lower().removesuffix(".")
    if not _HOST.fullmatch(name) or _NUMBER.fullmatch(name.rpartition(".")[2]):
        raise _not_allowable(text)
    return name


def _not_allowable(text: str, reason: str = "") -> ConfigError:
    return ConfigError(
        f"{text!r} is neither a network nor a host name{reason}",
        where="[outgoing] allow",
        remedy='Give networks and host names, as in ["10.1.0.0/16", "tracker.internal"].',
    )


def _refused(url: str, why: str) -> AddressError:
    return AddressError(why, where=_beginning(url), remedy="Correct the address.")


def _beginning(url: str) -> str:
    """Return the part of an unreadable address that a message may show: scheme and host, for the rest may be secret."""
    begin = re.match(r"(?:[A-Za-z][\w+.-]*:)?/*[^/?#]{0,200}", url, re.ASCII)
    shown = begin[0] if begin else ""
    return ascii(re.sub(r"[^/]*@", "…@", shown))[1:-1].replace("\\u2026", "…")


# The moment by which a request has to be done.


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment by which everything has to be done; ``end`` is of the monotonic clock, in seconds."""

    end: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the moment ``seconds`` from now."""
        return cls(time.monotonic() + seconds)

    def remaining(self) -> float:
        """Return the seconds that are left. Raises ``TimeoutError`` where there are none."""
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError("it does not answer in time")
        return left


@dataclass(frozen=True, slots=True)
class OutgoingSettings:
    """The hosts that the program may contact beside those of the public Internet; ``[outgoing]``.

    It applies to addresses from elsewhere: events, requests, redirects, what a provider names. Addresses in this file
    are always contacted.

    Attributes:
        allow: networks and host names, as in `["10.1.0.0/16", "tracker.internal"]`. Other private, loopback and
            link-local addresses are refused.
    """

    allow: tuple[str, ...] = ()

    @property
    def rule(self) -> OutgoingRule:
        """The rule that every outgoing request follows."""
        return OutgoingRule(self.allow)
