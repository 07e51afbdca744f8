"""Sign a person in and out: send the browser to a provider, take what it brings back, and end sessions.

What happens is an entry of the audit log. The log never has codes, states or tokens.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from knickpoint.access.pending_sign_in import (
    PENDING_SECONDS,
    PendingSignIn,
    begin_sign_in,
    read_pending,
    return_path,
    sign_pending,
)
from knickpoint.access.proxy import client_address
from knickpoint.access.roles import log_name
from knickpoint.access.sessions import Session, find_session, new_session, session_cookie, sign_session
from knickpoint.answers.visible_repositories import UnknownError
from knickpoint.instance import Instance
from knickpoint.model.access import AuditKind, SignedIn
from knickpoint.model.errors import NotSignedInError
from knickpoint.model.plain_text import plain_line
from knickpoint.server.request_origin import is_https, origin_of

if TYPE_CHECKING:
    from knickpoint.access.openid import OpenIdProvider


# Bound how many refused sign-ins the audit log keeps: anyone can have one refused, and the log is only appended to.


_HOUR: Final = timedelta(hours=1)


@dataclass
class RefusalCount:
    """Count the refused sign-ins that are recorded, ``most`` an hour. One server process has one of these."""

    most: int = 200
    _since: datetime | None = None
    _recorded: int = 0

    def remark(self, now: datetime) -> str | None:
        """Count a refusal, and return what its entry says beside the reason; None where it gets no entry.

        The last entry of an hour says that further ones are missing.
        """
        if self._since is None or not timedelta(0) <= now - self._since < _HOUR:
            self._since, self._recorded = now, 0
        if self._recorded >= self.most:
            return None
        self._recorded += 1
        return "" if self._recorded < self.most else "; further ones within an hour are not recorded"


_LOG: Final = logging.getLogger("knickpoint.access")

_PENDING_COOKIE: Final = "knick_sign_in"
_SEE_OTHER: Final = 303
_LONGEST_CODE: Final = 4_096
_ERRORS: Final = frozenset(
    {
        "access_denied",
        "account_selection_required",
        "consent_required",
        "interaction_required",
        "invalid_request",
        "invalid_scope",
        "login_required",
        "server_error",
        "temporarily_unavailable",
        "unauthorized_client",
        "unsupported_response_type",
    }
)
"""The errors of OAuth 2.0 and OpenID Connect; a page shows no other text that an address brings."""


@dataclass(frozen=True, slots=True)
class ProviderAnswer:
    """The parameters with which a provider sends the browser back, "" where there is none."""

    state: str = ""
    code: str = ""
    error: str = ""
    issuer: str = ""


@dataclass(frozen=True, slots=True)
class SignInFlow:
    """The ways to sign in to an instance."""

    instance: Instance
    providers: Mapping[str, OpenIdProvider]
    key: bytes
    clock: Callable[[], datetime]
    refusals: RefusalCount = field(default_factory=RefusalCount)

    def provider(self, name: str) -> OpenIdProvider:
        """Return the OpenID provider of the section ``name``.

        Raises:
            UnknownError: there is none.
        """
        if name not in self.providers:
            raise UnknownError(
                "no such way to sign in is configured", remedy="See /sign-in for the ways that there are."
            )
        return self.providers[name]

    def begin(self, request: Request, name: str, path: str) -> Response:
        """Send the browser to a provider; afterwards it returns to ``path``, where that is a path of this server.

        Raises:
            UnknownError: the provider is not configured.
            ServiceError: the provider does not answer.
        """
        provider = self.provider(name)
        pending = begin_sign_in(name, return_path(path), self.clock())
        address = provider.authorization_address(pending, self.key, self._callback(request, name))
        response = RedirectResponse(address, _SEE_OTHER, {"cache-control": "no-store"})
        self._set_cookie(
            request, response, self._pending_cookie(request), sign_pending(pending, self.key), PENDING_SECONDS
        )
        return response

    def finish(self, request: Request, name: str, answer: ProviderAnswer) -> tuple[SignedIn, Response]:
        """Return who signed in, and the response that starts a session and sends the browser to where it was.

        Raises:
            NotSignedInError: the sign-in was not begun in this browser, or the provider's answer is not for it.
            ServiceError: the provider does not answer.
        """
        provider = self.provider(name)
        try:
            pending = self._take_pending(request, name, answer.state)
            self._check_answer(provider, answer)
            person = provider.finish(pending, self.key, answer.code, self._callback(request, name), self.clock())
            config = self.instance.config
            issuer, hours = config.sign_in[name].issuer, config.access.session_hours
            session = new_session(person, issuer=issuer, hours=hours, now=self.clock())
            text = sign_session(session, self.key, self._named_groups())
        except NotSignedInError as error:
            self._record_refusal(self._address(request), f"through {name}: {plain_line(error.message, 500)}")
            raise
        self._end_session(request)
        self.instance.store.audit.append(AuditKind.SIGNED_IN, log_name(person), f"through {name}")
        response = RedirectResponse(pending.path, _SEE_OTHER, {"cache-control": "no-store"})
        seconds = int((session.expires - session.started).total_seconds())
        self._set_cookie(request, response, session_cookie(https=self._is_https(request)), text, seconds)
        self.forget_pending(request, response)
        return person, response

    def sign_out(self, request: Request) -> Response:
        """End the session of the browser, and send it to the page that says so."""
        session = self._end_session(request)
        query = ""
        if session is not None:
            query = f"?provider={session.person.provider}"
            person = session.person
            self.instance.store.audit.append(AuditKind.SIGNED_OUT, log_name(person), f"through {person.provider}")
        response = RedirectResponse(f"/signed-out{query}", _SEE_OTHER, {"cache-control": "no-store"})
        self._delete_cookie(request, response, session_cookie(https=self._is_https(request)))
        self.forget_pending(request, response)
        return response

    def forget_pending(self, request: Request, response: Response) -> None:
        """Have the browser drop what it keeps of a sign-in that is finished or refused."""
        self._delete_cookie(request, response, self._pending_cookie(request))

    def _take_pending(self, request: Request, name: str, state: str) -> PendingSignIn:
        """Return the sign-in that the browser began with ``state``, once."""
        text = request.cookies.get(self._pending_cookie(request), "")
        pending = read_pending(text, self.key, self.clock()) if text else None
        if (
            pending is None
            or pending.provider != name
            or not pending.is_of(state)
            or not self.instance.store.sessions.end(pending.state, pending.expires)
        ):
            raise NotSignedInError(
                "this sign-in was not begun in this browser, took more than 10 minutes, or was finished before",
                remedy="Sign in again.",
            )
        return pending

    def _record_refusal(self, address: str, about: str) -> None:
        remark = self.refusals.remark(self.clock())
        if remark is not None:
            who = f"anyone ({address or 'unknown address'})"
            self.instance.store.audit.append(AuditKind.SIGN_IN_REFUSED, who, about + remark)

    def _check_answer(self, provider: OpenIdProvider, answer: ProviderAnswer) -> None:
        if answer.issuer and answer.issuer != provider.settings.issuer:
            raise NotSignedInError("the answer comes from another provider", remedy="Sign in again.")
        if answer.error:
            error = answer.error if answer.error in _ERRORS else "an unknown error"
            raise NotSignedInError(f"{provider.title} did not sign you in: {error}", remedy="Sign in again.")
        if not 0 < len(answer.code) <= _LONGEST_CODE:
            raise NotSignedInError("the answer of the provider has no code", remedy="Sign in again.")

    def _end_session(self, request: Request) -> Session | None:
        """End the session that the browser has, so that no copy of its cookie stays valid."""
        store, now = self.instance.store, self.clock()
        try:
            session = find_session(
                request.cookies, self.instance.config, store, now, key=self.key, https=self._is_https(request)
            )
        except NotSignedInError:
            return None
        if session is not None:
            store.sessions.end(session.id, session.expires)
            store.sessions.forget(now)
        return session

    def _named_groups(self) -> frozenset[str]:
        return frozenset(group for role in self.instance.config.roles.values() for group in role.groups)

    def _callback(self, request: Request, name: str) -> str:
        return f"{origin_of(request, self.instance.config.server)}/sign-in/{name}/callback"

    def _address(self, request: Request) -> str:
        return client_address(request.scope, self.instance.config.server.proxies)

    def _is_https(self, request: Request) -> bool:
        return is_https(request, self.instance.config.server)

    def _pending_cookie(self, request: Request) -> str:
        return session_cookie(_PENDING_COOKIE, https=self._is_https(request))

    def _set_cookie(self, request: Request, response: Response, name: str, value: str, seconds: int) -> None:
        https = self._is_https(request)
        response.set_cookie(name, value, max_age=seconds, path="/", secure=https, httponly=True, samesite="lax")

    def _delete_cookie(self, request: Request, response: Response, name: str) -> None:
        https = self._is_https(request)
        response.delete_cookie(name, path="/", secure=https, httponly=True, samesite="lax")
