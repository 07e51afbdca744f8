"""Admit a request: how often its caller may ask, how many costly requests are worked on, and what one may cost.

:func:`limit_request` is a dependency of every route of the API. A route is costly unless it stands in a list of light ones
here, so that a new route is limited without a further line. Static files and pages of sign-in are not: the first are
cheap, and the guard counts attempts to sign in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from fastapi import Request
from starlette.types import Scope

from knickpoint.access.proxy import client_address
from knickpoint.budget import Budget, spending
from knickpoint.instance.config import LimitSettings
from knickpoint.model.access import CallerKind
from knickpoint.server.callers import RequestIdentity
from knickpoint.server.rate_limits import Backlog, RateLimit, Turns, address_key

__all__ = ["UPLOADS", "RequestLimits", "limit_request", "limits_of"]

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
        """Return what a request is counted under where its caller is not known: the address that it came from."""
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
        """Admit a body that is large, before it is read: it is parsed before the caller is known, between other requests.

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
        TooManyRequestsError: the caller sends too many requests, or too many costly ones at the same time; or too many uploads
            of all callers wait.
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
