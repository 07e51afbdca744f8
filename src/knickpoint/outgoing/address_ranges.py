"""Know the ranges of IP addresses that are no hosts of the public Internet, and which IPv4 address an IPv6 address stands for.

The ranges are those of the registries of special-purpose addresses of IANA (RFC 6890), with multicast, and with one public
address that clouds answer on locally. They are listed here, because those of the standard library differ from one release of
Python to the next.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Final

__all__ = ["IPAddress", "IPNetwork", "special_range", "unwrap"]

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
    """Return what an unwrapped address is, as in "a private address"; "" for a host of the public Internet."""
    for network, what in _SPECIAL:
        if address in network:
            return what
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return "a reserved address"
    return ""
