"""What a provider or a proxy says about a person: the name, and the grants by the sections ``[roles.NAME]``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import Any, Final

from knickpoint.access.settings import AccessSettings, AnyoneRole, RoleSettings, SignInSettings
from knickpoint.model.access import NO_GRANTS, Grants, Role, SignedIn
from knickpoint.model.errors import NotSignedInError

# Turn what a provider says about a person into grants, by the sections ``[roles.NAME]``.


_ANY_PERSON: Final = "*"
"""Entry of ``people`` that means every person who signed in."""

_ROLES: Final = {
    AnyoneRole.VIEWER: Role.VIEWER,
    AnyoneRole.EDITOR: Role.EDITOR,
    AnyoneRole.ADMIN: Role.ADMIN,
}


def grants_of_anyone(access: AccessSettings) -> Grants:
    """Return the grants of callers who are not known; people who signed in have them too."""
    role = _ROLES.get(access.anyone)
    return Grants.of(role.permissions) if role else NO_GRANTS


def grants_of_person(roles: Iterable[RoleSettings], person: SignedIn) -> Grants:
    """Return the grants of ``person``: the permissions of all roles whose section matches."""
    matching = (Grants.of(rule.role.permissions, rule.repositories) for rule in roles if _matches(rule, person))
    return reduce(or_, matching, NO_GRANTS)


def _matches(rule: RoleSettings, person: SignedIn) -> bool:
    """Return True if the section is about the person: by provider, then by person, group or domain of the mail."""
    if rule.sign_in and person.provider not in rule.sign_in:
        return False
    return (
        any(_is_person(entry, person) for entry in rule.people)
        or not set(rule.groups).isdisjoint(person.groups)
        or _domain(person) in {_folded(domain) for domain in rule.domains if domain}
    )


def _is_person(entry: str, person: SignedIn) -> bool:
    """Compare an entry with the name in logs, the verified mail address, or the user name, by its form."""
    if entry == _ANY_PERSON:
        return True
    if entry.endswith(")"):
        return entry == log_name(person)
    if "@" in entry:
        return person.mail_verified and _folded(entry) == _folded(person.mail)
    return bool(entry) and entry == person.name


def log_name(person: SignedIn) -> str:
    """Return the name by which logs and pages know a person: the verified mail address, or ``NAME (PROVIDER)``.

    A user name means a person at one provider; at another, someone else may have it. The end cannot be made up, so the
    name is never that of a token, a CI job or the user of a machine either.
    """
    is_mail = person.mail_verified and _folded(person.name) == _folded(person.mail)
    return person.name if is_mail else f"{person.name} ({person.provider})"


def _domain(person: SignedIn) -> str | None:
    """Return the domain of the person's mail address, None where the provider has not verified the address."""
    name, _, domain = person.mail.rpartition("@")
    return _folded(domain) if person.mail_verified and name and domain else None


def _folded(text: str) -> str:
    """Return ``text`` in lower case if it is ASCII, else as it is.

    Outside of ASCII, different addresses fold into one: the sign for Kelvin becomes the letter k.
    """
    return text.lower() if text.isascii() else text


# Read who signed in from what a provider or a proxy says, so that a log and a page can show it without harm.


_LONGEST: Final = 254
"""Characters of a name; no mail address is longer."""

_MOST_GROUPS: Final = 5_000
_RESERVED: Final = ("token:", "github:", "gitlab:", "anyone (")
"""Beginnings of the names of other callers: tokens, CI jobs, and callers who are not known."""


def is_plain(text: str) -> bool:
    """Return True if a text has only characters that are printed, no space around it, and the length of a name."""
    return 0 < len(text) <= _LONGEST and text.isprintable() and text == text.strip()


def checked_name(name: str, *, source: str) -> str:
    """Return ``name`` as the name of a caller.

    Raises:
        NotSignedInError: it is empty, too long, has characters that are not printed, or looks like another kind of
            caller.
    """
    if not is_plain(name) or name.lower().startswith(_RESERVED):
        raise NotSignedInError(
            f"{source} sends a name that cannot be used: {name[:_LONGEST]!a}",
            remedy=f"Have it send a user name or a mail address of at most {_LONGEST} printable characters.",
        )
    return name


def person_of_claims(claims: Mapping[str, Any], settings: SignInSettings) -> SignedIn:
    """Return the person that verified claims describe.

    The name is the mail address if the provider has verified it, else the user name, else the subject. A user name with
    an ``@`` is passed over, because at many providers people choose theirs. Where the configuration names a claim, its
    value is the name.

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
    """Return the groups of a claim: a list of strings, or one string."""
    listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(group for group in listed if isinstance(group, str) and is_plain(group))[:_MOST_GROUPS]
