"""Which machines reach a server: networks that are believed, and its exposure: what they may do, what to correct."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from knickpoint.access.settings import AccessSettings, AnyoneRole, RoleSettings, SignInSettings
from knickpoint.model.access import Token
from knickpoint.model.errors import ConfigError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_MOST_LISTS: Final = 64


def parse_network(text: str) -> Network:
    """Return a network, as in ``10.0.0.0/8``, or an address as a network of its own.

    Raises:
        ValueError: the text is neither, or names an address inside of a network, as in ``10.1.2.3/8``.
    """
    return ipaddress.ip_network(text)


def find_address(text: str) -> Address | None:
    """Return the address in a text, without brackets, port and zone; an IPv4 address inside of IPv6 as IPv4."""
    name = text.strip()
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = name.partition(":")[0]
    try:
        found = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found


def in_networks(address: Address | None, networks: Sequence[str]) -> bool:
    """Return True if ``address`` is known and lies in one of ``networks``."""
    return address is not None and any(address in network for network in _parsed(tuple(networks)))


@lru_cache(maxsize=_MOST_LISTS)
def _parsed(networks: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(parse_network(text) for text in networks)


_EXPIRES_SOON: Final = timedelta(days=14)
_REMEDY: Final = (
    "Configure sign-in in [sign_in.NAME] of knickpoint.toml. Or set anyone of [access] to none, viewer, editor or "
    "admin, the role of whoever reaches the port. --host 127.0.0.1 serves this machine only."
)


@dataclass(frozen=True, slots=True)
class Advice:
    """What a person should know about the access to an instance; without a ``remedy`` all is well."""

    about: str
    observed: str
    remedy: str = ""


def reaches_other_machines(host: str) -> bool:
    """Return True if a server that listens at ``host`` is reached from other machines; a name is looked up.

    A name that cannot be resolved counts as reached.
    """
    try:
        return not ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        pass
    try:
        found = {str(each[4][0]) for each in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return True
    return any(not ipaddress.ip_address(address.partition("%")[0]).is_loopback for address in found)


def check_open_port(host: str, access: AccessSettings, sign_in: Mapping[str, SignInSettings]) -> None:
    """Check that a port that other machines reach has sign-in, or a setting that says that it is meant to be open.

    Raises:
        ConfigError: it has neither.
    """
    if not sign_in and access.anyone is AnyoneRole.UNSET and reaches_other_machines(host):
        raise ConfigError(
            f"other machines reach {host}, and no sign-in is configured", where="[access] anyone", remedy=_REMEDY
        )


def open_port_notice(access: AccessSettings) -> str:
    """Return the notice about a port that other machines reach without sign-in."""
    role = access.anyone.value or AnyoneRole.NONE.value
    return f"This server is open to other machines without sign-in. Whoever reaches it has the role {role}."


def advise(
    host: str,
    access: AccessSettings,
    sign_in: Mapping[str, SignInSettings],
    *,
    roles: Iterable[RoleSettings],
    tokens: Iterable[Token],
    now: datetime,
) -> list[Advice]:
    """Return the advice about access to an instance whose server listens at ``host``."""
    return [
        *_about_the_port(host, access, sign_in),
        *_about_sign_in(sign_in, list(roles)),
        *_about_tokens(tokens, now),
    ]


def _about_the_port(host: str, access: AccessSettings, sign_in: Mapping[str, SignInSettings]) -> Iterator[Advice]:
    deciding = access.anyone in {AnyoneRole.EDITOR, AnyoneRole.ADMIN}
    if not sign_in and reaches_other_machines(host):
        if access.anyone is AnyoneRole.UNSET:
            yield Advice("open port", f"the server at {host} does not start: there is no sign-in", _REMEDY)
        else:
            yield Advice("open port", open_port_notice(access), "Configure sign-in in [sign_in.NAME].")
    elif deciding:
        yield Advice(
            "anyone",
            f"callers who have not signed in have the role {access.anyone.value}",
            "Set anyone of [access] to none or viewer, and give roles to people in [roles.NAME].",
        )
    elif access.anyone is AnyoneRole.VIEWER:
        yield Advice("anyone", "callers who have not signed in may read")


def _about_sign_in(sign_in: Mapping[str, SignInSettings], roles: list[RoleSettings]) -> Iterator[Advice]:
    for name in sign_in:
        if not any(name in role.sign_in or not role.sign_in for role in roles):
            yield Advice(
                f"sign-in {name}",
                "no section of [roles] names it: who signs in there has no role",
                "Give a role in [roles.NAME], as in people, groups or domains.",
            )


def _about_tokens(tokens: Iterable[Token], now: datetime) -> Iterator[Advice]:
    for token in tokens:
        if token.expires is not None and token.is_valid(now) and token.expires - now < _EXPIRES_SOON:
            yield Advice(
                f"token {token.name}",
                f"expires at {token.expires:%Y-%m-%d %H:%M} UTC",
                "Create one under a new name: knick tokens create NAME.",
            )
