"""Find out who sends a request, and check what the caller may do: the parameters that every route chooses from.

A route declares its need by the type of one parameter: ``RequestCaller`` for everybody, ``Reader``, ``Uploader``,
``Editor`` and ``Admin`` for callers that have the permission for at least one repository. Which repositories a caller
sees is decided by the visible repositories, through which answers read the store.

The caller is the first of: the token of the ``Authorization`` header; the person whom a proxy names; the person of this
machine, where no sign-in is configured; anyone. A credential that is present and wrong is refused, and never counts as no credential.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

from fastapi import Depends, Query, Request

from knickpoint.access.local_user import local_caller
from knickpoint.access.proxy import client_address, proxy_caller
from knickpoint.access.settings import AnyoneRole, SignInKind
from knickpoint.access.tokens import verify_token
from knickpoint.instance import Instance
from knickpoint.model.access import NO_GRANTS, Caller, CallerKind, Grants, Permission, Role
from knickpoint.model.errors import ForbiddenError, NotSignedInError
from knickpoint.server.local_requests import is_local_request, serves_this_machine_only

if TYPE_CHECKING:
    from knickpoint.access.issuer_keys import KeySource

__all__ = [
    "IDENTIFYING",
    "Admin",
    "Editor",
    "Notifier",
    "Reader",
    "RequestCaller",
    "Uploader",
    "caller_of",
    "caller_of_token",
    "require",
]

_IDENTITY_TOKEN: Final = "ey"  # noqa: S105  # how they begin, not one
"""How every JSON Web Token begins: a brace and a quotation mark or a space, in base64url."""
_UPLOAD_TOKEN: Final = "token:upload_token"  # noqa: S105  # the name of the caller, not the secret
_WRONG_TOKEN: Final = "Send Authorization: Bearer TOKEN with a token that is valid; knick tokens lists them."  # noqa: S105


def caller_of(request: Request) -> Caller:
    """Return who sends ``request``.

    Raises:
        NotSignedInError: a credential is present and wrong, expired or revoked.
    """
    instance = request.app.state.instance
    assert isinstance(instance, Instance)
    for identify in _WAYS:
        caller = identify(request, instance)
        if caller is not None:
            return caller
    return _anyone(request, instance)


def _bearer(request: Request, instance: Instance) -> Caller | None:
    """Return the caller of the ``Authorization`` header."""
    given = request.headers.getlist("authorization")
    if not given:
        return None
    kind, _, secret = given[0].partition(" ")
    if len(given) > 1 or kind.lower() != "bearer":
        if any(settings.kind is SignInKind.PROXY for settings in instance.config.sign_in.values()):
            return None  # the header is between the person and the proxy, which sends its own headers
        raise NotSignedInError("the header cannot be used", where="Authorization", remedy=_WRONG_TOKEN)
    ci_job_keys = request.app.state.ci_job_keys
    if ci_job_keys is not None and _is_identity_token(secret.strip()):
        return _ci_job(instance, secret.strip(), ci_job_keys)
    return caller_of_token(instance, secret.strip())


def _is_identity_token(secret: str) -> bool:
    return secret.count(".") == 2 and secret.startswith(_IDENTITY_TOKEN)


def _ci_job(instance: Instance, text: str, keys: KeySource) -> Caller:
    """Return the CI job that sends an identity token."""
    from knickpoint.access.ci_jobs import ci_job_caller  # needs the extra sign-in

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


def _proxy(request: Request, instance: Instance) -> Caller | None:
    """Return the person that a proxy in front of the server names."""
    return proxy_caller(request.client.host if request.client else "", request.headers, instance.config)


def _local(request: Request, instance: Instance) -> Caller | None:
    """Return the person at this machine, where no other machine can reach the server."""
    config = instance.config
    private = not (config.sign_in or request.app.state.open_port) and serves_this_machine_only(config.server)
    return local_caller() if private and is_local_request(request.scope) else None


_ROLES: Final = {
    AnyoneRole.VIEWER: Role.VIEWER,
    AnyoneRole.EDITOR: Role.EDITOR,
    AnyoneRole.ADMIN: Role.ADMIN,
}


def _anyone(request: Request, instance: Instance) -> Caller:
    role = _ROLES.get(instance.config.access.anyone)
    address = client_address(request.scope, instance.config.server.proxies) or "unknown address"
    return Caller(
        CallerKind.ANYONE, f"anyone ({address})", Grants.of(role.permissions) if role else NO_GRANTS, title="Anyone"
    )


_WAYS: Final[tuple[Callable[[Request, Instance], Caller | None], ...]] = (_bearer, _proxy, _local)
"""The ways to know a caller, in order. Each returns None where the request has no such credential."""


def require(caller: Caller, permission: Permission, *, repository: str = "") -> None:
    """Check that ``caller`` has ``permission`` for a repository, or for at least one where none is named.

    Raises:
        NotSignedInError: it has not, and it is not known who asks.
        ForbiddenError: it has not.
    """
    grants = caller.grants
    if grants.allow(permission, repository) if repository else grants.allow_somewhere(permission):
        return
    about = f" in {repository}" if repository else ""
    if caller.kind is CallerKind.ANYONE:
        raise NotSignedInError(
            f"only known callers may {permission.value}{about}",
            where="Authorization",
            remedy="Sign in at /sign-in, or send Authorization: Bearer TOKEN; GET /api/v1/me lists the ways to sign in.",
        )
    raise ForbiddenError(
        f"{caller.name} may not {permission.value}{about}",
        where="permissions",
        remedy="Ask an admin of the instance for the permission; GET /api/v1/me lists yours.",
    )


_RequestCaller = Annotated[Caller, Depends(caller_of)]


def _needs(permission: Permission) -> Callable[[Caller], Caller]:
    def check(caller: _RequestCaller) -> Caller:
        require(caller, permission)
        return caller

    return check


def _notifier(
    request: Request,
    token: Annotated[str, Query(description="A token, for senders that cannot set a header.")] = "",
) -> Caller:
    """Return the caller of a notification, whose token may stand in the address."""
    given = token and "authorization" not in request.headers
    caller = caller_of_token(request.app.state.instance, token) if given else caller_of(request)
    require(caller, Permission.UPLOAD)
    if Permission.UPLOAD not in caller.grants.everywhere:
        raise ForbiddenError(
            f"{caller.name} may upload to some repositories only, and a notification may be about any",
            where="permissions",
            remedy="Send notifications with a token for all repositories.",
        )
    return caller


IDENTIFYING: Final = frozenset({caller_of, _notifier})
"""The dependencies that find the caller; every route of the API has one of them."""

RequestCaller = _RequestCaller
"""Whoever asks, also one without any permission."""
Reader = Annotated[Caller, Depends(_needs(Permission.READ))]
Notifier = Annotated[Caller, Depends(_notifier)]
Uploader = Annotated[Caller, Depends(_needs(Permission.UPLOAD))]
Editor = Annotated[Caller, Depends(_needs(Permission.DECIDE))]
Admin = Annotated[Caller, Depends(_needs(Permission.ADMIN))]
