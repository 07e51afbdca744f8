"""Build the answer to the caller who asks: who am I, and what may I do."""

from __future__ import annotations

from collections.abc import Collection

from knickpoint.access.exposure import open_port_notice
from knickpoint.access.settings import SignInKind
from knickpoint.instance.config import Config
from knickpoint.model.access import Caller, CallerKind, Grants, Permission
from knickpoint.server.schemas.me import MeAnswer, PermissionsAnswer, SignInAnswer

__all__ = ["SIGN_IN", "SIGN_OUT", "describe_caller"]

SIGN_IN = "/sign-in"
SIGN_OUT = "/sign-out"


def describe_caller(config: Config, caller: Caller, *, open_port: bool, ended: bool) -> MeAnswer:
    """Describe ``caller`` and the ways to sign in.

    Args:
        config: the configuration of the instance.
        caller: who asks.
        open_port: whether the server listens to other machines.
        ended: whether the request has a sign-in that is not valid any more.
    """
    is_open = open_port and not config.sign_in
    through = config.sign_in.get(caller.provider)
    return MeAnswer.of(
        caller,
        title=caller.title or caller.name,
        permissions=_permissions(caller.grants),
        sign_in=[
            SignInAnswer(name=name, title=way.title or name, address=f"{SIGN_IN}/{name}")
            for name, way in config.sign_in.items()
            if way.kind is SignInKind.OPENID
        ],
        sign_out=SIGN_OUT if through is not None and through.kind is SignInKind.OPENID else "",
        open=is_open,
        notice=_notice(config, caller, is_open=is_open, ended=ended),
    )


def _permissions(grants: Grants) -> PermissionsAnswer:
    return PermissionsAnswer(
        everywhere=_listed(grants.everywhere),
        repositories={name: _listed(some) for name, some in sorted(grants.repositories.items())},
    )


def _listed(permissions: Collection[Permission]) -> list[Permission]:
    return [permission for permission in Permission if permission in permissions]


def _notice(config: Config, caller: Caller, *, is_open: bool, ended: bool) -> str:
    if ended:
        return "Your sign-in has ended. Sign in again."
    if is_open:
        return open_port_notice(config.access)
    if caller.kind is CallerKind.LOCAL:
        return f"No sign-in is configured. You act as {caller.name}, the user of this machine."
    if caller.kind is CallerKind.ANYONE and not config.sign_in and not caller.grants.everywhere:
        return (
            "No sign-in is configured, and this request does not come from this machine alone. "
            "Configure [sign_in] or set anyone of [access] in knickpoint.toml."
        )
    return ""
