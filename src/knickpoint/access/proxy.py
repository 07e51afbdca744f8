"""Proxies in front of the server: headers are believed only from the networks that the configuration names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Scope

from knickpoint.access.exposure import find_address, in_networks
from knickpoint.access.roles import checked_name, is_plain
from knickpoint.access.sessions import person_caller
from knickpoint.access.settings import AccessConfig, SignInKind, SignInSettings
from knickpoint.model.access import Caller, SignedIn
from knickpoint.model.errors import NotSignedInError

_MOST_HOPS: Final = 32
_MOST_GROUPS: Final = 500
_REMEDY: Final = "Have the proxy set the header itself, once, and drop the one that a client sends."


def client_address(scope: Scope, proxies: Sequence[str]) -> str:
    """Return the address that a request of an ASGI ``scope`` came from, "" where it is not known.

    ``X-Forwarded-For`` is believed as far as each hop lies in ``proxies``: from the right, the first address that does
    not is the client. What stands left of it may be made up.
    """
    peer = find_address(str((scope.get("client") or ("",))[0]))
    client = peer
    for hop in reversed(_hops(scope)):
        if not in_networks(client, proxies):
            break
        before = find_address(hop)
        if before is None:
            break
        client = before
    return "" if client is None else str(client)


def _hops(scope: Scope) -> list[str]:
    lines = Headers(scope=scope).getlist("x-forwarded-for")
    return [hop for line in lines for hop in line.split(",")][-_MOST_HOPS:]


def proxy_caller(peer: str, headers: Headers, config: AccessConfig) -> Caller | None:
    """Return the person that a proxy names in its headers, or nothing where it names none.

    Headers of a ``peer`` outside of the networks of the proxy are not looked at.

    Raises:
        NotSignedInError: the proxy sends a header twice, empty, or with a value that is not a name.
    """
    address = find_address(peer)
    for settings in config.sign_in.values():
        if settings.kind is SignInKind.PROXY and in_networks(address, settings.networks):
            person = _person(headers, settings)
            if person is not None:
                return person_caller(person, config)
    return None


def _person(headers: Headers, settings: SignInSettings) -> SignedIn | None:
    name = _value(headers, settings.user_header)
    if name is None:
        return None
    if "," in name:
        raise NotSignedInError(f"{settings.user_header} has several values", remedy=_REMEDY)
    checked_name(name, source=f"the proxy of [sign_in.{settings.name}]")
    is_mail = "@" in name
    title = _value(headers, settings.title_header) or ""
    groups = _value(headers, settings.groups_header) or ""
    return SignedIn(
        provider=settings.name,
        name=name,
        title=title if is_plain(title) else "",
        mail=name if is_mail else "",
        mail_verified=is_mail,
        groups=tuple(group for part in groups.split(",") if is_plain(group := part.strip()))[:_MOST_GROUPS],
    )


def _value(headers: Headers, name: str) -> str | None:
    """Return the value of a header in UTF-8, or nothing where it is not sent."""
    values = headers.getlist(name) if name else []
    if not values:
        return None
    if len(values) > 1:
        raise NotSignedInError(f"{name} is sent {len(values)} times", remedy=_REMEDY)
    try:
        text = values[0].encode("latin-1").decode("utf-8")
    except UnicodeDecodeError as error:
        raise NotSignedInError(f"{name} is not UTF-8", remedy=_REMEDY) from error
    if not text:
        raise NotSignedInError(f"{name} is empty", remedy=_REMEDY)
    return text
