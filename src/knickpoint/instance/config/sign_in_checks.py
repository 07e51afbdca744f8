"""Check the settings of sign-in, sessions, roles and proxies, as far as their types cannot."""

from __future__ import annotations

import math
import re
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

from knickpoint.access.exposure import find_address, parse_network
from knickpoint.access.sessions import check_secret
from knickpoint.access.settings import RoleSettings, SignInKind, SignInSettings
from knickpoint.instance.config.settings import Config
from knickpoint.model.errors import ConfigError

_WEBSITE: Final = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:]+\])(?::\d{1,5})?", re.IGNORECASE)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HEADER: Final = re.compile(r"[A-Za-z0-9-]+")
_MOST_HOURS: Final = 24 * 366.0


def check_sign_in(config: Config, path: Path) -> None:
    """Check what ``config``, read from the file at ``path``, says about who may do what.

    Raises:
        ConfigError: a setting is missing, cannot be used, or names a section that does not exist.
    """
    _check_server(config, f"{path}, [server]")
    _check_sessions(config, f"{path}, [access]")
    for name, settings in config.sign_in.items():
        where = f"{path}, [sign_in.{name}]"
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} cannot be part of an address", where=where, remedy="Use letters, digits, '.', '_' and '-'."
            )
        if settings.kind is SignInKind.OPENID:
            _check_openid(settings, where)
        else:
            _check_proxy(settings, where)
    for name, role in config.roles.items():
        _check_role(config, role, f"{path}, [roles.{name}]")


def _check_server(config: Config, where: str) -> None:
    _check_networks(config.server.proxies, "proxies", where)
    if not re.fullmatch(r"[ -~]*", config.server.upload_token):
        raise ConfigError(
            "upload_token has characters that a header cannot carry",
            where=where,
            remedy="Use letters, digits and signs of ASCII.",
        )
    for website in config.server.embed:
        if not _WEBSITE.fullmatch(website):
            raise ConfigError(
                f"embed has {website!r}",
                where=where,
                remedy="Give scheme and host of each website without a path, as in https://wiki.example.org.",
            )
    address = config.server.address
    if not address:
        return
    parts = _split(address)
    if (
        parts is None
        or parts.scheme not in {"http", "https"}
        or parts.path not in {"", "/"}
        or parts.query
        or parts.fragment
    ):
        raise ConfigError(
            f"address is {address!r}",
            where=where,
            remedy="Give it without path and query, as in https://perf.example.org.",
        )


def _check_sessions(config: Config, where: str) -> None:
    hours = config.access.session_hours
    if not (math.isfinite(hours) and 0 < hours <= _MOST_HOURS):
        raise ConfigError(
            f"session_hours is {hours:g}", where=where, remedy=f"Give a number greater than 0, up to {_MOST_HOURS:g}."
        )
    check_secret(config.access, where)


def _check_openid(settings: SignInSettings, where: str) -> None:
    for name, value in (("issuer", settings.issuer), ("client_id", settings.client_id)):
        if not value:
            raise ConfigError(
                f"{name!r} is missing",
                where=where,
                remedy=f'Add {name} = "…", or kind = "proxy" if a proxy signs people in.',
            )
    parts = _split(settings.issuer)
    if parts is None or parts.query or parts.fragment or not (parts.scheme == "https" or _is_loopback(parts)):
        raise ConfigError(
            f"issuer is {settings.issuer!r}",
            where=where,
            remedy="Give the https address of the provider, without '?' and '#'; http is for this machine only.",
        )
    if "openid" not in settings.scopes:
        raise ConfigError("scopes lacks 'openid'", where=where, remedy='Give scopes = ["openid", "email", "profile"].')


def _check_proxy(settings: SignInSettings, where: str) -> None:
    if not settings.networks:
        raise ConfigError(
            "'networks' is missing",
            where=where,
            remedy='Add the addresses that the proxy sends from, as in networks = ["10.1.2.3"].',
        )
    _check_networks(settings.networks, "networks", where)
    for name in ("user_header", "title_header", "groups_header"):
        header = getattr(settings, name)
        if not _HEADER.fullmatch(header) and (header or name == "user_header"):
            raise ConfigError(
                f"{name} is {header!r}", where=where, remedy="Give the name of a header: letters, digits and '-'."
            )


def _check_networks(networks: Sequence[str], name: str, where: str) -> None:
    for text in networks:
        try:
            network = parse_network(text)
        except ValueError as error:
            raise ConfigError(
                f"{name} has {text!r}, which is not a network ({error})",
                where=where,
                remedy="Give addresses and networks, as in 10.1.2.3 and 10.0.0.0/8.",
            ) from error
        if network.prefixlen == 0:
            raise ConfigError(
                f"{name} has {text!r}, which is every address there is",
                where=where,
                remedy="Name the addresses of the proxy only: whoever sends from them is believed.",
            )


def _check_role(config: Config, role: RoleSettings, where: str) -> None:
    if not (role.people or role.groups or role.domains):
        raise ConfigError(
            "the section matches nobody",
            where=where,
            remedy='Add people, groups or domains; people = ["*"] matches everyone.',
        )
    _check_names(role.sign_in, config.sign_in, "sign_in", where)
    if config.repositories:
        _check_names(role.repositories, config.repositories, "repositories", where)
    for domain in role.domains:
        if "@" in domain or not domain:
            raise ConfigError(
                f"domains has {domain!r}", where=where, remedy="Give the part after the @, as in example.org."
            )


def _check_names(names: Sequence[str], sections: Container[str], kind: str, where: str) -> None:
    unknown = next((name for name in names if name not in sections), None)
    if unknown is not None:
        raise ConfigError(
            f"{kind} names {unknown!r}, and there is no section [{kind}.{unknown}]",
            where=where,
            remedy="Correct the name, or add the section.",
        )


def _split(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.hostname and "@" not in parts.netloc else None


def _is_loopback(parts: SplitResult) -> bool:
    address = find_address(parts.hostname or "")
    return parts.scheme == "http" and (parts.hostname == "localhost" or (address is not None and address.is_loopback))
