"""Read the names of hosts in addresses and headers, and recognise those of loopback."""

from __future__ import annotations

import ipaddress
import re
from typing import Final
from urllib.parse import urlsplit

__all__ = ["host_of_address", "is_host", "is_loopback_name", "name_of_host"]

_HOST: Final = re.compile(r"(?:([A-Za-z0-9._-]{1,253})|\[([0-9A-Fa-f:.]{2,45})\])(?::[0-9]{1,5})?")
"""A name or an address, with or without a port; addresses of IPv6 stand in brackets."""


def is_host(text: str) -> bool:
    """Return whether ``text`` can stand in a Host header."""
    return _HOST.fullmatch(text) is not None


def name_of_host(host: str) -> str:
    """Return the name in a Host header in lower case, without port and brackets; "" for what is no host."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


def host_of_address(address: str) -> str:
    """Return the host in an address such as ``https://perf.example.org``, "" where there is none."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def is_loopback_name(name: str) -> bool:
    """Return whether ``name`` is localhost, a name below it, or a loopback address; no name is looked up."""
    lower = name.lower()
    if lower == "localhost" or lower.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(lower).is_loopback
    except ValueError:
        return False
