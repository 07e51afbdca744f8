"""Look up the IP addresses of a host, within a time."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from threading import Thread

from knickpoint.outgoing.address_ranges import IPAddress

__all__ = ["Resolver", "resolve_in_time", "system_resolver"]

Resolver = Callable[[str], Sequence[IPAddress]]
"""Return the IP addresses of a host, the preferred ones first. It raises ``OSError`` where there are none."""


def system_resolver(host: str) -> Sequence[IPAddress]:
    """Return the addresses that the system has for ``host``. Raises ``OSError``."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(str(address[0]).partition("%")[0]) for *_, address in found))


def resolve_in_time(resolver: Resolver, host: str, seconds: float) -> Sequence[IPAddress]:
    """Return what ``resolver`` finds for ``host``; the system's own lookup takes no time limit, so it is waited for.

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
        raise TimeoutError("its name is not found in time") from None
    if isinstance(answer, OSError):
        raise answer
    if not answer:
        raise OSError("it has no address")
    return answer
