"""Decide which mail addresses belong to people: no mail goes to machines, and none to what is no address."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_mail_address", "is_of_machine", "mail_of_person"]

_LONGEST: Final = 254
_LOCAL: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_DOMAIN: Final = re.compile(
    r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+"
)
_LONGEST_LOCAL: Final = 64

_UNREACHABLE_DOMAINS: Final = (".local", ".localdomain", ".invalid", ".internal", ".lan", ".(none)")
"""Ends of the domains that git makes up where a machine has no name, or that no server can answer for."""

_NO_REPLY: Final = re.compile(r"(no|do[-_.]?not)[-_.]?reply", re.IGNORECASE)
_NO_REPLY_DOMAINS: Final = (
    "users.noreply.github.com",
    "noreply.github.com",
    "noreply.gitlab.com",
    "noreply.codeberg.org",
)
_MACHINE: Final = re.compile(
    r"(^|[-_.+])(bot|buildbot|autoroller|ci|jenkins|dependabot|renovate|mergify|copybara)([-_.+]|$)", re.IGNORECASE
)
_SERVICE_ACCOUNT: Final = re.compile(r"\.iam\.gserviceaccount\.com$|\.gserviceaccount\.com$", re.IGNORECASE)


def is_mail_address(text: str) -> bool:
    """Return whether ``text`` is a plain mail address of ASCII characters, with a domain that mail can go to."""
    local, at, domain = text.rpartition("@")
    if not at or len(text) > _LONGEST or len(local) > _LONGEST_LOCAL or not text.isascii():
        return False
    return bool(_LOCAL.fullmatch(local) and _DOMAIN.fullmatch(domain)) and not domain.lower().endswith(
        _UNREACHABLE_DOMAINS
    )


def is_of_machine(name: str, mail: str) -> bool:
    """Return whether an author is a program, or an address takes no mail, as far as name and address say so."""
    local, _, domain = mail.lower().rpartition("@")
    if domain in _NO_REPLY_DOMAINS or domain.startswith("noreply.") or _NO_REPLY.fullmatch(local):
        return True
    if _SERVICE_ACCOUNT.search(domain) or _MACHINE.search(local):
        return True
    return name.strip().lower().endswith("[bot]") or local.endswith("[bot]")


def mail_of_person(name: str, mail: str) -> str:
    """Return the address that mails to an author go to, "" where the author gets none."""
    plain = mail.strip()
    return plain if is_mail_address(plain) and not is_of_machine(name, plain) else ""
