"""Find out who sends a request, and check what the caller may do: the parameters that every route chooses from.

A route declares its need by the type of one parameter: ``RequestCaller`` for everybody, ``Reader``, ``Uploader``,
``Editor``, ``Measurer`` and ``Admin`` for callers that have the permission for at least one repository. Which
repositories a caller sees is decided by the visible repositories, through which answers read the store.

The caller is the first of: the token of the ``Authorization`` header; the person whose session the browser has; the
person whom a proxy names; the person of this machine, where no sign-in is configured; anyone. A credential that is
present and wrong is refused, and never counts as no credential.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Depends, Query, Request

from knickpoint.access.local_user import local_caller
from knickpoint.access.proxy import client_address, proxy_caller
from knickpoint.access.roles import grants_of_anyone
from knickpoint.access.sessions import session_caller
from knickpoint.access.settings import SignInKind
from knickpoint.access.tokens import verify_token
from knickpoint.answers.visible_repositories import require, require_everywhere
from knickpoint.instance import Instance
from knickpoint.model.access import Caller, CallerKind, Grants, Permission
from knickpoint.model.errors import NotSignedInError
from knickpoint.server.request_origin import is_https, is_local_request, serves_this_machine_only

if TYPE_CHECKING:
    from knickpoint.access.identity_token import KeySource

_IDENTITY_TOKEN: Final = "ey"  # noqa: S105  # how they begin, not one
"""How every JSON Web Token begins: a brace and a quotation mark or a space, in base64url."""
_UPLOAD_TOKEN: Final = "token:upload_token"  # noqa: S105  # the name of the caller, not the secret
_WRONG_TOKEN: Final = "Send Authorization: Bearer TOKEN with a token that is valid; knick tokens lists them."  # noqa: S105


def caller_of(request: Request) -> Caller:
    """Return who sends ``request``.

    Raises:
        NotSignedInError: a credential is present and wrong, expired or revoked.
    """
    known = getattr(request.state, "caller", None)
    if isinstance(known, Caller):
        return known
    instance = request.app.state.instance
    assert isinstance(instance, Instance)
    found = next(filter(None, (identify(request, instance) for identify in _WAYS)), None)
    request.state.caller = caller = found or _anyone(request, instance)
    return caller


@dataclass(frozen=True, slots=True)
class Identity:
    """The caller of a request, and whether it has a sign-in that is not valid any more; then the caller is anyone."""

    caller: Caller
    ended: bool = False


def _identity(request: Request) -> Identity:
    try:
        return Identity(caller_of(request))
    except NotSignedInError:
        if "authorization" in request.headers:
            raise
        return Identity(_anyone(request, request.app.state.instance), ended=True)


def _bearer(request: Request, instance: Instance) -> Caller | None:
    """Return the caller of the ``Authorization`` header."""
    given = request.headers.getlist("authorization")
    if not given:
        return None
    kind, _, secret = given[0].partition(" ")
    if len(given) > 1 or kind.lower() != "bearer":
        if len(given) == 1 and any(settings.kind is SignInKind.PROXY for settings in instance.config.sign_in.values()):
            return None  # the header is between the person and the proxy, which sends its own headers
        raise NotSignedInError("expected a bearer token", where="Authorization", remedy=_WRONG_TOKEN)
    ci_job_keys = request.app.state.ci_job_keys
    if ci_job_keys is not None and _is_identity_token(secret.strip()):
        return _ci_job(instance, secret.strip(), ci_job_keys)
    return caller_of_token(instance, secret.strip())


def _is_identity_token(secret: str) -> bool:
    return secret.count(".") == 2 and secret.startswith(_IDENTITY_TOKEN)


def _ci_job(instance: Instance, text: str, keys: KeySource) -> Caller:
    """Return the CI job that sends an identity token."""
    from knickpoint.access.identity_token import ci_job_caller  # needs the extra sign-in

    config = instance.config
    return ci_job_caller(text, config.ci_jobs, audience=config.server.address, keys=keys, now=datetime.now(UTC))


def caller_of_token(instance: Instance, secret: str) -> Caller:
    """Return the caller that sends the token ``secret``.

    Raises:
        NotSignedInError: the token is unknown, expired or revoked.
    """
    upload_token = instance.config.server.upload_token
    if upload_token and hmac.compare_digest(secret.encode(), upload_token.encode()):
        return Caller(CallerKind.TOKEN, _UPLOAD_TOKEN, Grants.of([Permission.UPLOAD]))
    return verify_token(instance.store, secret)


def _session(request: Request, instance: Instance) -> Caller | None:
    """Return the person whose session the cookies hold."""
    state, config = request.app.state, instance.config
    https = is_https(request, config.server)
    return session_caller(request.cookies, config, instance.store, state.clock(), key=state.session_key, https=https)


def _proxy(request: Request, instance: Instance) -> Caller | None:
    """Return the person that a proxy in front of the server names."""
    return proxy_caller(request.client.host if request.client else "", request.headers, instance.config)


def _local(request: Request, instance: Instance) -> Caller | None:
    """Return the person at this machine, where no other machine can reach the server."""
    config = instance.config
    private = not (config.sign_in or request.app.state.open_port) and serves_this_machine_only(config.server)
    return local_caller() if private and is_local_request(request.scope) else None


def _anyone(request: Request, instance: Instance) -> Caller:
    config = instance.config
    address = client_address(request.scope, config.server.proxies) or "unknown address"
    return Caller(CallerKind.ANYONE, f"anyone ({address})", grants_of_anyone(config.access), title="Anyone")


_WAYS: Final[tuple[Callable[[Request, Instance], Caller | None], ...]] = (_bearer, _session, _proxy, _local)
"""The ways to know a caller, in order. Each returns None where the request has no such credential."""


_RequestCaller = Annotated[Caller, Depends(caller_of)]


_PERMISSIONS: Final[dict[Callable[..., object], Permission]] = {}
"""Dependency → the permission that it checks."""


def _needs(permission: Permission) -> Callable[[Caller], Awaitable[Caller]]:
    async def check(caller: _RequestCaller) -> Caller:
        require(caller, permission)
        return caller

    _PERMISSIONS[check] = permission
    return check


async def _instance_admin(caller: _RequestCaller) -> Caller:
    require_everywhere(caller, Permission.ADMIN)
    return caller


def _notifier(
    request: Request,
    token: Annotated[str, Query(description="A token, for senders that cannot set a header.")] = "",
) -> Caller:
    """Return the caller of a notification, whose token may stand in the address."""
    given = token and "authorization" not in request.headers
    caller = caller_of_token(request.app.state.instance, token) if given else caller_of(request)
    require_everywhere(caller, Permission.UPLOAD)  # the files of an event may be of any repository
    return caller


_PERMISSIONS.update({_instance_admin: Permission.ADMIN, _notifier: Permission.UPLOAD})


def needed_permission(dependency: Callable[..., object] | None) -> Permission | None:
    """Return the permission that a dependency checks, None where it checks none."""
    return _PERMISSIONS.get(dependency) if dependency is not None else None


IDENTIFYING: Final = frozenset({caller_of, _identity, _notifier})
"""The dependencies that find the caller; every route of the API has one of them."""

RequestCaller = _RequestCaller
"""Whoever asks, also one without any permission."""
RequestIdentity = Annotated[Identity, Depends(_identity)]
"""Whoever asks, also with a sign-in that has ended."""

Reader = Annotated[Caller, Depends(_needs(Permission.READ))]
Notifier = Annotated[Caller, Depends(_notifier)]
Uploader = Annotated[Caller, Depends(_needs(Permission.UPLOAD))]
Editor = Annotated[Caller, Depends(_needs(Permission.DECIDE))]
Measurer = Annotated[Caller, Depends(_needs(Permission.MEASURE))]
Admin = Annotated[Caller, Depends(_needs(Permission.ADMIN))]
InstanceAdmin = Annotated[Caller, Depends(_instance_admin)]
"""An admin of every repository, for what is about the whole instance."""
