"""Turn what a provider says about a person into grants, by the sections ``[roles.NAME]``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Final

from knickpoint.access.settings import AccessSettings, AnyoneRole, RoleSettings
from knickpoint.model.access import NO_GRANTS, Grants, Role, SignedIn

__all__ = ["grants_of_anyone", "grants_of_person", "log_name"]

_ANY_PERSON: Final = "*"
"""Entry of ``people`` that means every person who signed in."""

_ROLES: Final = {
    AnyoneRole.VIEWER: Role.VIEWER,
    AnyoneRole.EDITOR: Role.EDITOR,
    AnyoneRole.ADMIN: Role.ADMIN,
}


def grants_of_anyone(access: AccessSettings) -> Grants:
    """Return what callers may do who are not known; people who signed in may do it, too."""
    role = _ROLES.get(access.anyone)
    return Grants.of(role.permissions) if role else NO_GRANTS


def grants_of_person(roles: Iterable[RoleSettings], person: SignedIn) -> Grants:
    """Return what ``person`` may do: the permissions of all roles whose section matches."""
    matching = (Grants.of(rule.role.permissions, rule.repositories) for rule in roles if _matches(rule, person))
    return reduce(or_, matching, NO_GRANTS)


def _matches(rule: RoleSettings, person: SignedIn) -> bool:
    """Return whether the section is about the person: by provider first, then by person, group or domain of the mail."""
    if rule.sign_in and person.provider not in rule.sign_in:
        return False
    return (
        any(_is_person(entry, person) for entry in rule.people)
        or not set(rule.groups).isdisjoint(person.groups)
        or _domain(person) in {_folded(domain) for domain in rule.domains if domain}
    )


def _is_person(entry: str, person: SignedIn) -> bool:
    """Compare an entry with the name in logs, with the mail address if it is verified, or with the user name, by its form."""
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
