"""Map the addresses of signing in and out to pages and redirects.

Errors are pages for browsers and JSON for programs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import Response

from knickpoint.access.pending_sign_in import return_path
from knickpoint.access.session_key import session_key
from knickpoint.access.sessions import person_caller
from knickpoint.access.settings import SignInKind
from knickpoint.answers.visible_repositories import UnknownError
from knickpoint.instance import Instance
from knickpoint.model.access import NO_GRANTS, SignedIn
from knickpoint.model.errors import ConfigError, KnickpointError, NotSignedInError, ServiceError
from knickpoint.server.error_responses import message_of, status_of
from knickpoint.server.sign_in.flow import ProviderAnswer, SignInFlow
from knickpoint.server.sign_in.pages import STYLE, STYLE_PATH, Link, SignOutButton, page

if TYPE_CHECKING:
    from knickpoint.access.openid import OpenIdProvider


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
    from knickpoint.access.issuer_keys import KeySource
    from knickpoint.access.openid import OpenIdProvider

    rule = config.outgoing.rule
    keys = KeySource(rule)
    return {name: OpenIdProvider(settings, rule, keys) for name, settings in openid.items()}


_LOG: Final = logging.getLogger("knickpoint.access")

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
                UnknownError(
                    "no way to sign in is configured", remedy="Add a section [sign_in.NAME] to knickpoint.toml."
                ),
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
