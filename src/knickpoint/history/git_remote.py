"""Read the address of a git repository: how git may reach it, and the password apart from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from knickpoint.model.errors import HistoryError
from knickpoint.model.plain_text import without_secrets

_HELPER: Final = (
    "!f() { test \"$1\" = get && printf 'username=%s\\npassword=%s\\n' "
    '"$KNICKPOINT_GIT_USER" "$KNICKPOINT_GIT_PASSWORD"; }; f'
)
"""Prints the user and the password of the address in git's protocol for credentials."""

_PROTOCOLS: Final = {
    "file": "file",
    "git": "git:https:ssh",
    "http": "git:http:https:ssh",
    "https": "git:https:ssh",
    "ssh": "git:https:ssh",
}
"""What git may change to, by a redirect or by ``insteadOf`` in the configuration of the user: nothing local, no way
back to http.
"""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class GitRemote:
    """A git repository on another machine.

    ``url`` is the address without a password, which is what command lines, the configuration of a clone and messages
    show.
    """

    url: str
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @classmethod
    def of(cls, location: str) -> GitRemote:
        """Read a location of the configuration.

        Raises:
            HistoryError: git would take it for an option or for a program to start, or it has control characters.
        """
        shown = without_secrets(location)
        if location.startswith("-") or re.match(r"[^/]*::|\w+://-", location) or _CONTROL.search(unquote(location)):
            raise HistoryError(
                "this is not an address of a git repository",
                where=ascii(shown)[1:-1],
                remedy="Give a path, or an address with https, ssh, git or file.",
            )
        parts = urlsplit(location) if location.lower().startswith(("http://", "https://")) else None
        if parts is None or "@" not in parts.netloc:
            return cls(location)
        user, _, password = parts.netloc.rpartition("@")[0].partition(":")
        return cls(shown, unquote(user), unquote(password))

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables with which git may reach this repository, and no other kind of address.

        The user and the password go through the environment, which only the user of this process can read, and never
        through a command line or the configuration of a clone. git asks for them only for this host.
        """
        scheme = self.url.partition("://")[0].lower() if "://" in self.url else "ssh"
        allowed = {"GIT_ALLOW_PROTOCOL": _PROTOCOLS.get(scheme, "none"), "GIT_NO_LAZY_FETCH": "0"}
        if not self.user and not self.password:
            return allowed
        key = f"credential.{scheme}://{urlsplit(self.url).netloc}.helper"
        return allowed | {
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": key,
            "GIT_CONFIG_VALUE_0": "",  # no other helper answers, or keeps the password
            "GIT_CONFIG_KEY_1": key,
            "GIT_CONFIG_VALUE_1": _HELPER,
            "KNICKPOINT_GIT_USER": self.user,
            "KNICKPOINT_GIT_PASSWORD": self.password,
        }


# Read the addresses of git repositories: which are URLs, and which page shows them.


_SCHEME: Final = re.compile(r"(?:file|git|http|https|ssh)://", re.IGNORECASE)
_SCP: Final = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!//)[^\\]+")
_WEB: Final = re.compile(
    r"(?:(?:https?|ssh|git)://)?(?:[^@/]+@)?(?P<host>[\w.-]+)(?::\d+)?[:/](?P<path>[\w./~-]+?)(?:\.git)?/?"
)


def is_url(location: str) -> bool:
    """Return True if ``location`` is an address on another machine or with a scheme, and not a local path."""
    if _SCHEME.match(location):
        return True
    return bool(_SCP.fullmatch(location)) and not Path(location).exists()


def web_address(location: str) -> str:
    """Return the page of the repository at ``location``, "" where the addresses of commits on its host are unknown.

    ``git@github.com:o/r.git`` and ``https://github.com/o/r`` both give ``https://github.com/o/r``.
    """
    found = _WEB.fullmatch(location)
    if not found or not any(host in found["host"] for host in ("github", "gitlab", "gitea", "codeberg")):
        return ""
    return f"https://{found['host']}/{found['path']}"
