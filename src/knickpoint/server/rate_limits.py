"""Bound how often a caller may do something, and how much of it at the same time.

A :class:`RateLimit` is a bucket for each caller that fills up steadily, and that each request takes one token from. A
caller who was away may send a whole minute's requests at once. :class:`Turns` has some work wait while too much of it is
under way, and serves the callers that wait in their order; a caller with many requests waits for its own ones only.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

from knickpoint.server.errors import OverloadedError, TooManyRequestsError

__all__ = ["RateLimit", "Turns", "address_key"]

_MINUTE: Final = 60.0
_MOST_KEYS: Final = 20_000
"""Callers that a rate limit remembers; beyond that, it forgets the one that was seen longest ago."""

_NETWORK_BITS: Final = 64
"""An owner of IPv6 addresses has at least a network of these, so that its addresses count as one caller."""


def address_key(address: str) -> str:
    """Return what the requests of an IP address are counted under: the address, or its network with IPv6."""
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv6Address):
        if known.ipv4_mapped is not None:
            return str(known.ipv4_mapped)
        return str(ipaddress.ip_network((known, _NETWORK_BITS), strict=False))
    return str(known)


class RateLimit:
    """Allow each caller ``per_minute`` requests a minute."""

    def __init__(self, per_minute: int, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._what = what
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, caller: str) -> None:
        """Refuse where the bucket of ``caller`` is empty, and take nothing from it.

        Raises:
            TooManyRequestsError: it is empty; the error says when it has a token again.
        """
        left = self._left(caller)
        if left < 1.0:
            raise TooManyRequestsError(
                f"more than {self._most:g} {self._what} a minute",
                where=caller,
                remedy="Send them more slowly, or have an admin raise the limit in [limits] of knickpoint.toml.",
                seconds=(1.0 - left) * _MINUTE / self._most,
            )

    def take(self, caller: str) -> None:
        """Take one token from the bucket of ``caller``.

        Raises:
            TooManyRequestsError: as :meth:`check`.
        """
        self.check(caller)
        self.count(caller)

    def count(self, caller: str) -> None:
        """Take one token from the bucket of ``caller`` if there is one."""
        self._buckets[caller] = (max(0.0, self._left(caller) - 1.0), self._clock())
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _MOST_KEYS:
            self._buckets.popitem(last=False)

    def _left(self, caller: str) -> float:
        now = self._clock()
        left, seen = self._buckets.get(caller, (self._most, now))
        return min(self._most, left + (now - seen) * self._most / _MINUTE)


class _Waiting(NamedTuple):
    """A caller that waits, and what it waits for."""

    caller: str
    turn: asyncio.Future[None]


class Turns:
    """Let at most ``at_once`` pieces of work be under way, ``per_caller`` of them of one caller. For one event loop."""

    def __init__(self, what: str, at_once: int, per_caller: int, wait_seconds: float) -> None:
        self._what = what
        self._at_once = at_once
        self._per_caller = per_caller
        self._wait_seconds = wait_seconds
        self._working: Counter[str] = Counter()
        self._waiting: deque[_Waiting] = deque()

    @property
    def working(self) -> int:
        """How many pieces of work are under way."""
        return self._working.total()

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Wait for a turn, and hold it while an ``async with`` lasts.

        Raises:
            TooManyRequestsError: the caller has too many pieces of work under way, and none ended in time.
            OverloadedError: all callers together have too many.
        """
        await self._begin(caller)
        try:
            yield
        finally:
            self._end(caller)

    async def _begin(self, caller: str) -> None:
        if self._may_begin(caller):
            self._working[caller] += 1
            return
        waiting = _Waiting(caller, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        begun = False
        try:
            async with asyncio.timeout(self._wait_seconds):
                await waiting.turn
            begun = True
        except TimeoutError:
            raise self._refusal(caller) from None
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            elif not begun:  # the turn came and the wait ended in the same moment
                self._end(caller)

    def _end(self, caller: str) -> None:
        self._working[caller] -= 1
        if not self._working[caller]:
            del self._working[caller]
        for waiting in [*self._waiting]:
            if self._may_begin(waiting.caller):
                self._waiting.remove(waiting)
                self._working[waiting.caller] += 1
                if not waiting.turn.done():
                    waiting.turn.set_result(None)

    def _may_begin(self, caller: str) -> bool:
        return self.working < self._at_once and self._working[caller] < self._per_caller

    def _refusal(self, caller: str) -> TooManyRequestsError | OverloadedError:
        if self._working[caller] >= self._per_caller:
            return TooManyRequestsError(
                f"{self._per_caller} {self._what} of this caller are under way",
                where=caller,
                remedy="Wait until they end, or ask for less at a time.",
                seconds=self._wait_seconds,
            )
        return OverloadedError(
            f"{self._at_once} {self._what} are under way",
            remedy="The server is busy; try again.",
            seconds=self._wait_seconds,
        )
