"""Read who signed in from what a provider or a proxy says, so that a log and a page can show it without harm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from knickpoint.access.settings import SignInSettings
from knickpoint.model.access import SignedIn
from knickpoint.model.errors import NotSignedInError

__all__ = ["checked_name", "is_plain", "person_of_claims"]

_LONGEST: Final = 254
"""Characters of a name; no mail address is longer."""

_MOST_GROUPS: Final = 5_000
_RESERVED: Final = ("token:", "github:", "gitlab:", "anyone (")
"""Beginnings of the names of other callers: tokens, CI jobs, and callers who are not known."""


def is_plain(text: str) -> bool:
    """Return whether a text has only characters that are printed, no space around it, and the length of a name."""
    return 0 < len(text) <= _LONGEST and text.isprintable() and text == text.strip()


def checked_name(name: str, *, source: str) -> str:
    """Return ``name`` as the name of a caller.

    Raises:
        NotSignedInError: it is empty, too long, has characters that are not printed, or looks like another kind of caller.
    """
    if not is_plain(name) or name.lower().startswith(_RESERVED):
        raise NotSignedInError(
            f"{source} sends a name that cannot be used: {name[:_LONGEST]!a}",
            remedy=f"Have it send a user name or a mail address of at most {_LONGEST} printable characters.",
        )
    return name


def person_of_claims(claims: Mapping[str, Any], settings: SignInSettings) -> SignedIn:
    """Return the person that verified claims describe.

    The name is the mail address if the provider has verified it, else the user name, else the subject. A user name with an ``@``
    is passed over, because at many providers people choose theirs. Where the configuration names a claim, its value is the name.

    Raises:
        NotSignedInError: the name cannot be used.
    """
    mail = _text(claims, "email")
    verified = claims.get("email_verified") is True and mail.count("@") == 1
    named = _text(claims, settings.name_claim) if settings.name_claim else ""
    if settings.name_claim and not named:
        raise NotSignedInError(
            f"the provider sends no claim {settings.name_claim!r}",
            where=f"[sign_in.{settings.name}]",
            remedy="Correct name_claim, or add the scope that it needs to scopes.",
        )
    user = _text(claims, "preferred_username") or _text(claims, "nickname")
    name = named or (mail if verified else "") or ("" if "@" in user else user) or _text(claims, "sub")
    checked_name(name, source=f"the provider of [sign_in.{settings.name}]")
    if "@" in named:
        mail, verified = named, True
    title = _text(claims, "name")
    return SignedIn(
        provider=settings.name,
        name=name,
        title=title if is_plain(title) else "",
        mail=mail if is_plain(mail) else "",
        mail_verified=verified,
        groups=_groups(claims.get(settings.groups_claim)),
    )


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return value if isinstance(value, str) else ""


def _groups(value: object) -> tuple[str, ...]:
    """Return the groups of a claim: a list of texts, or one text."""
    listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(group for group in listed if isinstance(group, str) and is_plain(group))[:_MOST_GROUPS]
