"""The directory of people: authors, owners, recipients and those who sign in, each person once.

Sections ``[people.NAME]`` join the addresses and names of a person, as ``.mailmap`` does for the authors of commits; git
applies that file itself when it names authors. Whoever has no section is known by the mail address.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from knickpoint.model.errors import ConfigError
from knickpoint.people.addresses import is_mail_address, mail_of_person
from knickpoint.people.settings import PersonSettings

__all__ = ["Directory", "Person"]


@dataclass(frozen=True, slots=True)
class Person:
    """One person, or a program that writes commits.

    ``name`` is that of the section, "" for a person without one. ``mail`` is the address that mails go to, "" where none
    may: it is unknown, no address, that of a program, or of one that takes no replies. ``sign_in`` is the name by which
    decisions of the person are recorded. ``github``, ``gitlab``, ``jira`` and ``chat`` are the names of the person there.
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
                f"{text!r} stands in [people.{other.name}] as well",
                where=f"[people.{person.name}]",
                remedy="Leave it in one of the sections: it belongs to one person.",
            )
