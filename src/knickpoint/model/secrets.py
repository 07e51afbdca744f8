"""Keep secrets out of what people and logs see: fields that no ``repr`` shows, and addresses without passwords."""

from __future__ import annotations

import re
from dataclasses import MISSING, field
from enum import Enum
from typing import Any, Final

__all__ = ["SECRET", "SecretKind", "address_with_secret", "secret", "secret_options", "without_secrets"]

SECRET: Final = "secret"  # noqa: S105 - a key, not a secret
"""The key of a :class:`SecretKind` in the metadata of a field."""

_USER: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<user>[^\s/?#]*|[^\s/:@]*:(?!\d+(?:/|\Z))\S*)@", re.IGNORECASE
)
"""The user of an address, and a password in which ``/``, ``?`` or ``#`` is not percent-encoded, as it should be."""

_QUERY: Final = re.compile(r"(://[^\s?#'\"]*\?)[^\s#'\",]+")


class SecretKind(Enum):
    """What of a field is secret: all of it, what is within an address, or the values of a table."""

    WHOLE = "whole"
    ADDRESS = "address"
    OPTIONS = "options"


def secret() -> Any:
    """Declare a field of a dataclass that holds a secret: no ``repr`` shows it, and backups leave it out."""
    return field(default="", repr=False, metadata={SECRET: SecretKind.WHOLE})


def address_with_secret(default: Any = MISSING) -> Any:
    """Declare a field that holds an address, which may have a password: no ``repr`` shows it, backups leave that out."""
    return field(default=default, repr=False, metadata={SECRET: SecretKind.ADDRESS})


def secret_options() -> Any:
    """Declare a field that holds a table of texts, some of them secret, as the options of a driver are."""
    return field(default_factory=dict, repr=False, metadata={SECRET: SecretKind.OPTIONS})


def without_secrets(text: str) -> str:
    """Return an address, or a text with addresses, without users, passwords and queries.

    The user of an ``ssh`` address stays, for it is part of the place and no secret.
    """
    return _QUERY.sub(r"\1…", _USER.sub(_place, text))


def _place(found: re.Match[str]) -> str:
    if found["scheme"].lower().endswith("ssh"):
        return f"{found['scheme']}://{found['user'].partition(':')[0]}@"
    return f"{found['scheme']}://"
