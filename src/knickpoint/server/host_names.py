"""Read the names of hosts in addresses and headers, and recognise those of loopback."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

__all__ = ["host_of_address", "is_loopback_name", "name_of_host"]


def name_of_host(host: str) -> str:
    """Return the name in a Host header in lower case, without port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return (host.rpartition(":")[0] if host.count(":") == 1 else host).lower()


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
