"""The directory of people: which author of commits, person who signs in, owner and recipient are the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from knickpoint.model.errors import ConfigError

# Decide which mail addresses belong to people: no mail goes to machines, and none to what is not an address.


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
    """Return True if ``text`` is a plain mail address of ASCII characters, with a domain that mail can go to."""
    local, at, domain = text.rpartition("@")
    if not at or len(text) > _LONGEST or len(local) > _LONGEST_LOCAL or not text.isascii():
        return False
    return bool(_LOCAL.fullmatch(local) and _DOMAIN.fullmatch(domain)) and not domain.lower().endswith(
        _UNREACHABLE_DOMAINS
    )


def is_of_machine(name: str, mail: str) -> bool:
    """Return True if an author is a program, or an address takes no mail, as far as name and address say so."""
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


# The settings of people.


@dataclass(frozen=True, slots=True)
class PersonSettings:
    """Name the addresses of one person; ``[people.NAME]``. Authors without a section are known by their mail address.

    Attributes:
        name: unique in the instance, as it stands in `owners` of alerts.
        title: name to show. Default: the name.
        mail: address that mails go to.
        also: further mail addresses of the person, as in the author of a commit.
        sign_in: names under which the person signs in, as the audit log shows them.
        github: user name on GitHub.
        gitlab: user name on GitLab.
        jira: account id in Jira.
        chat: how to mention the person in chats.
        mute: whether the person gets no notifications.
    """

    name: str
    title: str = ""
    mail: str = ""
    also: tuple[str, ...] = ()
    sign_in: tuple[str, ...] = ()
    github: str = ""
    gitlab: str = ""
    jira: str = ""
    chat: str = ""
    mute: bool = False


# The directory of people: authors, owners, recipients and those who sign in, each person once.
#
# Sections ``[people.NAME]`` join the addresses and names of a person, as ``.mailmap`` does for the authors of commits;
# git applies that file itself when it names authors. Whoever has no section is known by the mail address.


@dataclass(frozen=True, slots=True)
class Person:
    """One person, or a program that writes commits.

    ``name`` is that of the section, "" for a person without one. ``mail`` is the address that mails go to, "" where
    none may: it is unknown, no address, that of a program, or of one that takes no replies. ``sign_in`` is the name by
    which decisions of the person are recorded. ``github``, ``gitlab``, ``jira`` and ``chat`` are the names of the
    person there.
    """

    name: str = ""
    title: str = ""
    mail: str = ""
    sign_in: str = ""
    github: str = ""
    gitlab: str = ""
    jira: str = ""
    chat: str = ""
    mute: bool = False

    @property
    def identity(self) -> str:
        """What is the same in all appearances of the person: the name, else the address, else the title."""
        return self.name or self.mail.casefold() or self.title


@dataclass(frozen=True)
class Directory:
    """Find people by what is known of them.

    Raises:
        ConfigError: two sections have the same address or the same name to sign in.
    """

    people: Mapping[str, PersonSettings] = field(default_factory=dict)
    _by_mail: dict[str, Person] = field(default_factory=dict, init=False, repr=False)
    _by_sign_in: dict[str, Person] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for settings in self.people.values():
            person = _person_of(settings)
            _add(self._by_mail, (settings.mail, *settings.also), person)
            _add(self._by_sign_in, (settings.name, *settings.sign_in), person)

    def person_of_author(self, name: str, email: str) -> Person:
        """Return the author of a commit."""
        known = self._by_mail.get(email.strip().casefold())
        return known or Person(title=name.strip() or email.strip(), mail=mail_of_person(name, email))

    def person_of_caller(self, name: str) -> Person:
        """Return the person who signs in as ``name``, as the audit log shows it."""
        known = self._by_sign_in.get(name.casefold()) or self._by_mail.get(name.casefold())
        return known or Person(title=name, mail=mail_of_person("", name), sign_in=name)

    def owner(self, text: str) -> Person:
        """Return the person that ``owners`` of an alert names: by section, by name to sign in, or by mail address."""
        return self.person_of_caller(text.strip())

    def person_of_address(self, address: str) -> Person:
        """Return whose mail address this is; an address that a person wrote into the configuration is used as it is."""
        plain = address.strip()
        known = self._by_mail.get(plain.casefold())
        return known or Person(title=plain, mail=plain if is_mail_address(plain) else "")


def _person_of(settings: PersonSettings) -> Person:
    addresses = (settings.mail, *settings.also)
    mail = next((address for address in addresses if mail_of_person("", address)), "")
    return Person(
        name=settings.name,
        title=settings.title or settings.name,
        mail=settings.mail if is_mail_address(settings.mail) else mail,
        sign_in=next(iter(settings.sign_in), settings.mail or settings.name),
        github=settings.github,
        gitlab=settings.gitlab,
        jira=settings.jira,
        chat=settings.chat,
        mute=settings.mute,
    )


def _add(index: dict[str, Person], texts: Iterable[str], person: Person) -> None:
    for text in filter(None, texts):
        other = index.setdefault(text.strip().casefold(), person)
        if other.name != person.name:
            raise ConfigError(
                f"{text!r} is also in [people.{other.name}]",
                where=f"[people.{person.name}]",
                remedy="Leave it in one of the sections: it belongs to one person.",
            )
