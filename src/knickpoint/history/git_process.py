"""Run ``git``, without a shell, hooks or prompts and with bounded output, and read the addresses of repositories.

An address says how git may reach a repository, with the password apart from it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final
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

_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f]")


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
        if location.startswith("-") or re.match(r"[^/]*::|\w+://-", location) or _UNPRINTABLE.search(unquote(location)):
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


_LARGEST_OUTPUT: Final = 1 << 30
"""Bytes that one git command may print: ten million commits; more means that the question was wrong."""

_SAFE: Final = (
    "--no-pager",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "i18n.logOutputEncoding=UTF-8",
)
_FOREIGN: Final = re.compile("dubious ownership in repository at '(.+)'")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_KEPT_VARIABLES: Final = frozenset(
    {
        "GIT_ASKPASS",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_CONFIG_SYSTEM",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_SSL_CAINFO",
        "GIT_SSL_NO_VERIFY",
    }
)
_LOCAL: Final = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}


def _environment(remote: GitRemote | None) -> dict[str, str]:
    """Return the environment of this process without the variables that redirect git, as hooks have them.

    Without ``remote``, git reaches no other machine: a clone without file contents does not fetch the objects that it
    lacks.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES}
    safe = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    return {**kept, **safe, **(_LOCAL if remote is None else remote.environment)}


def _reason(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read(4096).decode(errors="replace").strip().splitlines()
    reasons = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines[-1:]
    reason = reasons[0].partition(": ")[2] or reasons[0] if reasons else "git gave no reason"
    return without_secrets(_CONTROL.sub("�", reason))


def _remedy(reason: str) -> str:
    if foreign := _FOREIGN.search(reason):
        return f"Run: git config --global --add safe.directory {shlex.quote(foreign[1])}, if you trust its owner."
    if "not a git repository" in reason or "does not appear to be a git repository" in reason:
        return (
            "Name a directory with a git repository; where it is the location of a repository in the configuration, it "
            "may be left out."
        )
    if "Authentication" in reason or "could not read Username" in reason or "Permission denied" in reason:
        return (
            "Give git the credentials it needs (an SSH key or a credential helper); it cannot be asked for a password "
            "here."
        )
    return "Try the same with the git program."


@contextmanager
def git_process(
    arguments: Sequence[str], where: str, stdin: bytes, *, remote: GitRemote | None = None
) -> Iterator[IO[bytes]]:
    """Run git and yield its standard output.

    Input and errors go through files, so that no pipe can fill up while another is read.

    Raises:
        HistoryError: git is missing or fails.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(stdin)
        given.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 (a list of arguments, no shell)
                ["git", *_SAFE, *arguments],  # noqa: S607 (the user's own git)
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=_environment(remote),
            )
        except FileNotFoundError as error:
            raise HistoryError(
                "the git program is missing", where=where, remedy="Install git, for example: apt-get install git"
            ) from error
        assert process.stdout is not None
        try:
            with process.stdout as output:
                yield output
        except BaseException:
            process.kill()
            process.wait()
            raise
        if process.wait() != 0:
            reason = _reason(errors)
            raise HistoryError(f"git says: {reason}", where=where, remedy=_remedy(reason))


def run_git(
    arguments: Sequence[str],
    *,
    where: str = "",
    stdin: bytes = b"",
    limit: int = 1 << 24,
    remote: GitRemote | None = None,
) -> bytes:
    """Return the output of git; git may reach another machine only if ``remote`` names it.

    Raises:
        HistoryError: git is missing, fails, or prints more than ``limit`` bytes.
    """
    with git_process(arguments, where, stdin, remote=remote) as output:
        printed = output.read(limit + 1)
        if len(printed) > limit:
            raise HistoryError(f"git {arguments[0]} printed more than {limit} bytes", where=where)
        return printed


def nul_tokens(output: IO[bytes], where: str) -> Iterator[bytes]:
    """Yield the texts that NUL bytes end, in blocks, so that the whole output is never in memory."""
    rest = b""
    total = 0
    while block := output.read(1 << 20):
        total += len(block)
        if total > _LARGEST_OUTPUT:
            raise HistoryError(f"git printed more than {_LARGEST_OUTPUT} bytes", where=where)
        *whole, rest = (rest + block).split(b"\0")
        yield from whole
    if rest:
        raise HistoryError("git stopped in the middle of a commit", where=where, remedy="Run: git fsck")
