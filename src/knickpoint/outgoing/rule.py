"""Decide which addresses the program may contact: hosts of the public Internet, and what the operator allows.

Addresses in the configuration are the word of the operator; those in results, events, requests and redirects are not, and
must not turn the server into a way to machines that only it can reach.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network
from typing import Final
from urllib.parse import urlsplit

from knickpoint.model.errors import AddressError, ConfigError
from knickpoint.outgoing.address_ranges import IPAddress, IPNetwork, special_range, unwrap

__all__ = ["OutgoingAddress", "OutgoingRule", "check_address", "check_hosts"]

_CHARACTERS: Final = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]{1,8192}")
"""What RFC 3986 has in an address, so that no two parsers read it differently; a host in other letters is given as xn--…."""

_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST: Final = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORTS: Final = {"http": 80, "https": 443}
_REMEDY: Final = "If this is meant, add the network or the host name to allow in [outgoing] of knickpoint.toml."


@dataclass(frozen=True)
class OutgoingRule:
    """Say which hosts may be contacted beside those of the public Internet.

    ``allowed`` has networks and addresses, as in ``10.1.0.0/16``, and host names, as in ``tracker.internal``. A host name is
    allowed whatever addresses it has.

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
        """Return whether ``host`` may be contacted whatever addresses it has."""
        return host in self._hosts

    def refusal(self, host: str, address: IPAddress) -> str:
        """Return why ``host`` must not be reached at ``address``, "" where it may."""
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
        AddressError: it is not ``http`` or ``https``, has a user or a password, can be read in two ways, or is an IP address
            that ``rule`` does not allow.
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
    """Return what a message may show of an address that cannot be read: scheme and host, for the rest may be secret."""
    begin = re.match(r"(?:[A-Za-z][\w+.-]*:)?/*[^/?#]{0,200}", url, re.ASCII)
    shown = begin[0] if begin else ""
    return ascii(re.sub(r"[^/]*@", "…@", shown))[1:-1].replace("\\u2026", "…")
