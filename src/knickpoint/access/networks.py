"""Networks that are believed, and whether an address lies in one of them."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_MOST_LISTS: Final = 64


def parse_network(text: str) -> Network:
    """Return a network, as in ``10.0.0.0/8``, or an address as a network of its own.

    Raises:
        ValueError: the text is neither, or names an address inside of a network, as in ``10.1.2.3/8``.
    """
    return ipaddress.ip_network(text)


def find_address(text: str) -> Address | None:
    """Return the address in a text, without brackets, port and zone; an IPv4 address inside of IPv6 as IPv4."""
    name = text.strip()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = name.partition(":")[0]
    try:
        found = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def in_networks(address: Address | None, networks: Sequence[str]) -> bool:
    """Return True if ``address`` is known and lies in one of ``networks``."""
    return address is not None and any(address in network for network in _parsed(tuple(networks)))


@lru_cache(maxsize=_MOST_LISTS)
def _parsed(networks: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(parse_network(text) for text in networks)
