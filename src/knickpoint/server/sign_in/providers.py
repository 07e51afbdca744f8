"""Open the OpenID providers of an instance; none of them is contacted before a person signs in."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from knickpoint.access.settings import SignInKind
from knickpoint.instance import Instance
from knickpoint.model.errors import ConfigError

if TYPE_CHECKING:
    from knickpoint.access.openid import OpenIdProvider

__all__ = ["open_providers"]


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
