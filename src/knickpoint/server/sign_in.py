"""Sign people in and out: the addresses, the way to a provider and back, and the end of sessions.

What happens is an entry of the audit log. The log never has codes, states or tokens. Errors are pages for browsers and
JSON for programs; the pages work without script and while a provider is down.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response

from knickpoint.access.proxy import client_address
from knickpoint.access.roles import log_name
from knickpoint.access.sessions import (
    PENDING_SECONDS,
    PendingSignIn,
    Session,
    begin_sign_in,
    find_session,
    new_session,
    person_caller,
    read_pending,
    return_path,
    session_cookie,
    session_key,
    sign_pending,
    sign_session,
)
from knickpoint.access.settings import SignInKind
from knickpoint.answers.visible_repositories import UnknownError
from knickpoint.instance import Instance
from knickpoint.model.access import NO_GRANTS, AuditKind, SignedIn
from knickpoint.model.errors import ConfigError, KnickpointError, NotSignedInError, ServiceError
from knickpoint.model.plain_text import plain_line
from knickpoint.server.error_responses import message_of, status_of
from knickpoint.server.plain_pages import STYLE, STYLE_PATH, Link, SignOutButton, page
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
            raise UnknownError("no such sign-in is configured", remedy="/sign-in lists the configured ones.")
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
                "this sign-in was started in another browser, took more than 10 minutes, or was already completed",
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


# Open the OpenID providers of an instance; none of them is contacted before a person signs in.


def open_providers(instance: Instance) -> Mapping[str, OpenIdProvider]:
    """Return the OpenID providers that the configuration names.

    Raises:
        ConfigError: a library that they need is not installed.
    """
    config = instance.config
    openid = {name: settings for name, settings in config.sign_in.items() if settings.kind is SignInKind.OPENID}
    if not openid:
        return {}
    if not (find_spec("authlib") and find_spec("joserfc")):
        raise ConfigError(
            "sign-in through an OpenID provider needs libraries that are not installed",
            where=f"[sign_in.{next(iter(openid))}]",
            remedy="Run pip install 'knickpoint[server]'.",
        )
    from knickpoint.access.identity_token import KeySource
    from knickpoint.access.openid import OpenIdProvider

    rule = config.outgoing.rule
    keys = KeySource(rule)
    return {name: OpenIdProvider(settings, rule, keys) for name, settings in openid.items()}


_TITLES: Final[Sequence[tuple[type[KnickpointError], str]]] = (
    (NotSignedInError, "You are not signed in"),
    (ServiceError, "Signing in does not work at the moment"),
    (UnknownError, "There is no such page"),
)


def add_sign_in(app: FastAPI, instance: Instance, *, clock: Callable[[], datetime]) -> None:
    """Serve the pages of signing in and out, and keep the key of sessions in the state of ``app``.

    Raises:
        ConfigError: a library is missing, or the key of the sessions cannot be used.
    """
    providers = open_providers(instance)
    key = session_key(instance.directory, instance.config.access) if providers else b""
    app.state.session_key = key
    pages = _SignInPages(SignInFlow(instance, providers, key, clock))
    for path, answer in (
        ("/sign-in", pages.choose),
        ("/sign-in/{name}", pages.begin),
        ("/sign-in/{name}/callback", pages.finish),
        ("/signed-out", pages.signed_out),
        (STYLE_PATH, pages.style),
    ):
        app.add_api_route(path, answer, include_in_schema=False)
    app.add_api_route("/sign-out", pages.sign_out, methods=["POST"], include_in_schema=False)


class _SignInPages:
    """The pages of one instance."""

    def __init__(self, flow: SignInFlow) -> None:
        self._flow = flow
        self._config = flow.instance.config
        self._title = self._config.name or "Knickpoint"

    def choose(self, request: Request, next: str = "/") -> Response:  # noqa: A002  # the name in the address
        """Go on to the only provider, or show those that there are."""
        ways = [
            Link(f"Sign in through {provider.title}", _address(name, next))
            for name, provider in self._flow.providers.items()
        ]
        proxies = [each for each in self._config.sign_in.values() if each.kind is SignInKind.PROXY]
        if len(ways) == 1 and not proxies:
            (name,) = self._flow.providers
            return self.begin(request, name, next)
        if not (ways or proxies):
            return self._failed(
                request,
                UnknownError("no sign-in is configured", remedy="Add a section [sign_in.NAME] to knickpoint.toml."),
            )
        lines = [f"{each.title or each.name}: open the address of this proxy, which signs you in." for each in proxies]
        return page(self._title, "Sign in", lines, ways)

    def begin(self, request: Request, name: str, next: str = "/") -> Response:  # noqa: A002  # the name in the address
        """Go on to a provider."""
        try:
            return self._flow.begin(request, name, next)
        except KnickpointError as error:
            return self._failed(request, error, _address(name, next))

    def finish(
        self, request: Request, name: str, *, state: str = "", code: str = "", error: str = "", iss: str = ""
    ) -> Response:
        """Take what the provider sends the browser back with, and return to where the browser was."""
        try:
            person, response = self._flow.finish(request, name, ProviderAnswer(state, code, error, iss))
        except KnickpointError as failure:
            response = self._failed(request, failure, _address(name))
            self._flow.forget_pending(request, response)
            return response
        return response if self._may_enter(person) else self._without_role(person, response)

    def sign_out(self, request: Request) -> Response:
        """End the session."""
        return self._flow.sign_out(request)

    def signed_out(self, provider: str = "") -> Response:
        """Say that the session has ended, and what has not."""
        lines = ["Your session in this browser has ended; copies of its cookie have ended with it."]
        ways: list[Link | SignOutButton] = [Link("Sign in again", "/sign-in")]
        known = self._flow.providers.get(provider)
        if known is not None:
            lines.append(f"You may still be signed in at {known.title} itself.")
            address = known.sign_out_address()
            ways += [Link(f"Sign out of {known.title} as well", address)] if address else []
        return page(self._title, "You are signed out", lines, ways)

    def style(self) -> Response:
        """Return the style of these pages."""
        return Response(STYLE, media_type="text/css", headers={"cache-control": "public, max-age=3600"})

    def _may_enter(self, person: SignedIn) -> bool:
        return person_caller(person, self._config).grants != NO_GRANTS

    def _without_role(self, person: SignedIn, signed_in: Response) -> Response:
        """Say who signed in without a role; the session starts all the same, so that a role counts once it is given."""
        shown = page(
            self._title,
            "You have no role here",
            [
                f"You are signed in as {person.name}. No section of [roles] in knickpoint.toml is about you.",
                (
                    "Ask an admin of this instance for a role, then reload the dashboard; or sign out, and sign in as "
                    "someone else."
                ),
            ],
            [Link("Open the dashboard", "/"), SignOutButton()],
            status=403,
        )
        for name, value in signed_in.raw_headers:
            if name == b"set-cookie":
                shown.raw_headers.append((name, value))
        return shown

    def _failed(self, request: Request, error: KnickpointError, again: str = "/sign-in") -> Response:
        """Return the page about an error; a program gets JSON."""
        status = status_of(error)
        if isinstance(error, ServiceError):
            _LOG.warning("%s", error)
        if "text/html" not in request.headers.get("accept", ""):
            raise error
        title = next((title for kind, title in _TITLES if isinstance(error, kind)), "This does not work")
        ways = [Link("Try again", again), Link("Open the dashboard", "/")]
        return page(self._title, title, [message_of(error), error.remedy], ways, status=status)


def _address(name: str, path: str = "/") -> str:
    """Return the address at which a sign-in begins that ends at ``path``."""
    return f"/sign-in/{quote(name, safe='')}?next={quote(return_path(path), safe='')}"
