"""Admit a request: how often its caller may ask, how many costly requests are worked on, and what one may cost.

:func:`limit_request` is a dependency of every route of the API. A route is costly unless it stands in a list of light
ones here, so that a new route is limited without a further line. Static files and pages of sign-in are not: the first
are cheap, and the guard counts attempts to sign in.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from itertools import count
from typing import Final, NamedTuple

from fastapi import Request
from starlette.types import Scope

from knickpoint.access.proxy import client_address
from knickpoint.answers.visible_repositories import BacklogError, OverloadedError, TooManyRequestsError
from knickpoint.budget import Budget, spending
from knickpoint.instance.config import LimitSettings
from knickpoint.model.access import CallerKind
from knickpoint.server.callers import RequestIdentity

# Bound how often a caller may do something, and how much of it at the same time.
#
# A :class:`RateLimit` is a bucket for each caller that fills up steadily, and that each request takes one token from. A
# caller who was away may send a whole minute's requests at once. :class:`Turns` has some work wait while too much of it
# is under way, and lets the callers that wait take turns: next comes one with the least work under way and, of these,
# the one whose last turn was longest ago. A :class:`Backlog` refuses uploads at once where too many are under way or
# wait.


_MINUTE: Final = 60.0
_MOST_KEYS: Final = 20_000
"""Callers that a rate limit remembers; beyond that, it forgets the one that was seen longest ago."""

_PACE_OF: Final = 50
"""Uploads by which a backlog knows its pace."""

_LEAST_FOR_PACE: Final = 2
_FIRST_RETRY_SECONDS: Final = 5.0
_LONGEST_RETRY_SECONDS: Final = 120.0
_NETWORK_BITS: Final = 64
"""An owner of IPv6 addresses has at least a network of these, so that its addresses count as one caller."""


def address_key(address: str) -> str:
    """Return the key under which requests of an IP address are counted: the address, or its network with IPv6."""
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
        """Take one token from the bucket of ``caller``.

        What was under way when it got empty is owed, so that the rate holds.
        """
        self._buckets[caller] = (self._left(caller) - 1.0, self._clock())
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _MOST_KEYS:
            self._buckets.popitem(last=False)

    def _left(self, caller: str) -> float:
        now = self._clock()
        left, seen = self._buckets.get(caller, (self._most, now))
        return min(self._most, left + (now - seen) * self._most / _MINUTE)


class _Waiting(NamedTuple):
    """A caller that waits, which part of its work, and what it waits for."""

    caller: str
    part: str
    turn: asyncio.Future[None]


class Turns:
    """Let at most ``at_once`` pieces of work be under way, ``per_caller`` of them of one caller. For one event loop.

    The parts of a caller's work take turns as callers do.
    """

    def __init__(self, what: str, at_once: int, per_caller: int, wait_seconds: float) -> None:
        self._what = what
        self._at_once = at_once
        self._per_caller = per_caller
        self._wait_seconds = wait_seconds
        self._working: Counter[tuple[str, str]] = Counter()
        self._waiting: deque[_Waiting] = deque()
        self._turns = count(1)
        self._last: dict[tuple[str, str], int] = {}

    @property
    def working(self) -> int:
        """How many pieces of work are under way."""
        return self._working.total()

    @asynccontextmanager
    async def turn(self, caller: str, part: str = "") -> AsyncIterator[None]:
        """Wait for a turn, and hold it while an ``async with`` lasts.

        Raises:
            TooManyRequestsError: the caller has too many pieces of work under way, and none ended in time.
            OverloadedError: all callers together have too many.
        """
        await self._begin(caller, part)
        try:
            yield
        finally:
            self._end(caller, part)

    async def _begin(self, caller: str, part: str) -> None:
        if self._may_begin(caller):
            self._take(caller, part)
            return
        waiting = _Waiting(caller, part, asyncio.get_running_loop().create_future())
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
                self._end(caller, part)

    def _end(self, caller: str, part: str) -> None:
        self._working[caller, part] -= 1
        if not self._working[caller, part]:
            del self._working[caller, part]
        while (waiting := self._next()) is not None:
            self._waiting.remove(waiting)
            self._take(waiting.caller, waiting.part)
            if not waiting.turn.done():
                waiting.turn.set_result(None)
        if not self._waiting:
            self._last.clear()  # with nothing that waits, the order is of no use

    def _take(self, caller: str, part: str) -> None:
        self._working[caller, part] += 1
        self._last[caller, part] = next(self._turns)

    def _next(self) -> _Waiting | None:
        """Return the next request in turn, None if none may begin."""
        able = (waiting for waiting in self._waiting if self._may_begin(waiting.caller))
        return min(able, key=lambda each: (self._working[each[:2]], self._last.get(each[:2], 0)), default=None)

    def _may_begin(self, caller: str) -> bool:
        return self.working < self._at_once and self._of(caller) < self._per_caller

    def _of(self, caller: str) -> int:
        return sum(count for (name, _), count in self._working.items() if name == caller)

    def _refusal(self, caller: str) -> TooManyRequestsError | OverloadedError:
        if self._of(caller) >= self._per_caller:
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


class Backlog:
    """Bound the uploads of all callers that are under way or wait, by their number and by the bytes that they declare.

    Where too many are there, a caller is refused at once, with the time after which about half of them have gone by the
    pace of the last ones. A caller that has less than an equal share is admitted all the same, so that one caller
    cannot keep out the others; the number stays below twice the bound.
    """

    def __init__(self, most_files: int, most_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_files = most_files
        self._most_bytes = most_bytes
        self._clock = clock
        self._of: Counter[str] = Counter()
        self._ended: deque[float] = deque(maxlen=_PACE_OF)
        self.bytes = 0

    @property
    def files(self) -> int:
        """How many uploads are under way or wait."""
        return self._of.total()

    @contextmanager
    def holding(self, caller: str, size: int) -> Iterator[None]:
        """Count an upload of ``size`` bytes while a ``with`` lasts.

        Raises:
            BacklogError: too many uploads or bytes are there already.
        """
        full = self.files >= self._most_files or self.bytes + size > self._most_bytes
        if full and self._of[caller] >= self._share(caller):
            raise BacklogError(
                f"{self.files:,} uploads of {self.bytes:,} bytes are under way",
                where=caller,
                remedy="Send the file again after the seconds of Retry-After; nothing of it was stored.",
                seconds=self._seconds(),
            )
        self._of[caller] += 1
        self.bytes += size
        try:
            yield
        finally:
            self._of[caller] -= 1
            if not self._of[caller]:
                del self._of[caller]
            self.bytes -= size
            self._ended.append(self._clock())

    def _share(self, caller: str) -> float:
        """Return the uploads that ``caller`` may have when there are too many: a fair share, or one large file."""
        callers = len(self._of.keys() | {caller})
        return self._most_files / callers if self.bytes <= self._most_bytes else 1

    def _seconds(self) -> float:
        if len(self._ended) < _LEAST_FOR_PACE:
            return _FIRST_RETRY_SECONDS
        pace = (self._clock() - self._ended[0]) / len(self._ended)
        return min(_LONGEST_RETRY_SECONDS, max(1.0, pace * self.files / 2))


UPLOADS: Final = frozenset({"/api/v1/results", "/api/v1/arrivals"})
"""Paths of uploads: they check the size of their bodies, and their time begins with the import."""

_MEGABYTE: Final = 1_000_000
_LIGHT: Final = frozenset({"/api/v1/health", "/api/v1/me", "/api/v1/ready", "/api/v1/reference", "/api/v1/version"})
"""Paths that answer also while all turns are taken."""


class RequestLimits:
    """The limits of one server, with what its callers have used of them."""

    def __init__(self, settings: LimitSettings, proxies: Sequence[str] = ()) -> None:
        self.settings = settings
        self._proxies = proxies
        self._requests = RateLimit(settings.requests_per_minute, "requests")
        self._refused = RateLimit(settings.sign_ins_per_minute, "requests with wrong credentials")
        self._large_bodies = RateLimit(settings.large_bodies_per_minute, "large bodies")
        self._sign_ins = RateLimit(settings.sign_ins_per_minute, "attempts to sign in")
        self._costly = Turns(
            "costly requests", settings.costly_at_once, settings.costly_per_caller, settings.wait_seconds
        )
        self._receiving = Turns(
            "uploads",
            settings.uploads_at_once + 2 * settings.uploads_per_caller,
            settings.uploads_per_caller,
            settings.upload_wait_seconds,
        )
        self.backlog = Backlog(settings.uploads_waiting, settings.upload_megabytes_waiting * _MEGABYTE)
        self._importing = Turns(
            "imports",
            settings.uploads_at_once,
            max(1, settings.uploads_at_once - 1),  # the files of one caller must not take all places
            settings.upload_wait_seconds,
        )

    def address_of(self, scope: Scope) -> str:
        """Return the address under which a request of an unknown caller is counted."""
        return address_key(client_address(scope, self._proxies))

    def admit_unknown(self, address: str, *, sign_in: bool) -> None:
        """Admit a request before its caller is known.

        Raises:
            TooManyRequestsError: the address sent too many wrong credentials, or tried too often to sign in.
        """
        self._refused.check(address)
        if sign_in:
            self._sign_ins.take(address)

    def admit_large_body(self, address: str) -> None:
        """Admit a large body before it is read: it is parsed before the caller is known, between other requests.

        Raises:
            TooManyRequestsError: the address sent too many.
        """
        self._large_bodies.take(address)

    def count_refused_credential(self, address: str) -> None:
        """Count a credential from ``address`` that was refused."""
        self._refused.count(address)

    def admit(self, caller: str) -> None:
        """Admit a request of a caller.

        Raises:
            TooManyRequestsError: the caller sent too many.
        """
        self._requests.take(caller)

    def costly_turn(self, caller: str) -> AbstractAsyncContextManager[None]:
        """Return the turn of a costly request; see :class:`Turns`."""
        return self._costly.turn(caller)

    def upload_turn(self, caller: str) -> AbstractAsyncContextManager[None]:
        """Return the turn in which an upload is received."""
        return self._receiving.turn(caller)

    def import_turn(self, caller: str, repository: str) -> AbstractAsyncContextManager[None]:
        """Return the turn in which an upload is imported; the repositories of a caller take turns, too."""
        return self._importing.turn(caller, repository)

    def import_budget(self) -> Budget:
        """Return the budget of an import that begins now."""
        return Budget.begin(self.settings.import_seconds, self.settings.request_values)

    def budget(self) -> Budget:
        """Return the budget of a request that begins now."""
        return Budget.begin(self.settings.request_seconds, self.settings.request_values)


def limits_of(request: Request) -> RequestLimits:
    """Return the limits of the server of a request."""
    limits = request.app.state.limits
    assert isinstance(limits, RequestLimits)
    return limits


async def limit_request(request: Request, identity: RequestIdentity) -> AsyncIterator[None]:
    """Admit a request, and hold its turn until it is answered.

    Raises:
        TooManyRequestsError: the caller sends too many requests, or too many costly ones at the same time; or too many
            uploads of all callers wait.
        OverloadedError: all callers together send too many costly ones.
    """
    limits, caller = limits_of(request), identity.caller
    path = request.url.path
    known = caller.kind is not CallerKind.ANYONE
    key = f"{caller.kind.value} {caller.name}" if known else limits.address_of(request.scope)
    limits.admit(key)
    if path in _LIGHT:
        yield
    elif path in UPLOADS:
        with limits.backlog.holding(key, _declared_bytes(request)):
            async with limits.upload_turn(key):
                yield
    else:
        async with limits.costly_turn(key):
            with spending(limits.budget()):
                yield


def _declared_bytes(request: Request) -> int:
    """Return the length of the body that a request declares, 0 where it declares none."""
    length = request.headers.get("content-length", "")
    return int(length[:20]) if length.isdecimal() else 0
