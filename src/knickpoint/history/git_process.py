"""Run the program ``git``: without a shell, hooks or prompts, and with bounded output."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Final

from knickpoint.history.git_remote import GitRemote
from knickpoint.model.errors import HistoryError
from knickpoint.model.plain_text import without_secrets

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
