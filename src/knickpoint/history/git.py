"""Read commits from a git repository by running ``git`` itself: no shell, no hooks, no prompts, bounded output."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import IO, Final

from knickpoint.history.commit_numbers import NumberPattern
from knickpoint.model.commit import Commit
from knickpoint.model.errors import HistoryError

__all__ = ["Git", "is_url", "run_git", "web_address"]

MAXIMUM_OUTPUT: Final = 1 << 30
"""Bytes that one git command may print: ten million commits; more means that we asked the wrong thing."""

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
_PROTOCOLS: Final = "file:git:http:https:ssh"
_SCHEME: Final = re.compile(r"(?:file|git|http|https|ssh)://", re.IGNORECASE)
_SCP: Final = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!//)[^\\]+")
_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HEXADECIMAL: Final = re.compile(r"[0-9a-fA-F]{4,64}")
_FIELDS: Final = ("%H", "%P", "%an", "%ae", "%ct", "%s")
_LAST_SECOND: Final = 253402300799
_USUAL_BRANCHES: Final = ("main", "master", "trunk")
_WEB: Final = re.compile(
    r"(?:(?:https?|ssh|git)://)?(?:[^@/]+@)?(?P<host>[\w.-]+)(?::\d+)?[:/](?P<path>[\w./~-]+?)(?:\.git)?/?"
)


def is_url(location: str) -> bool:
    """Tell whether ``location`` names a repository on another machine or behind a scheme, not a local path."""
    if _SCHEME.match(location):
        return True
    return bool(_SCP.fullmatch(location)) and not Path(location).exists()


def web_address(location: str) -> str:
    """Return the page of the repository at ``location``, "" where its host has no known address of commits.

    ``git@github.com:o/r.git`` and ``https://github.com/o/r`` both give ``https://github.com/o/r``.
    """
    found = _WEB.fullmatch(location)
    if not found or not any(host in found["host"] for host in ("github", "gitlab", "gitea", "codeberg")):
        return ""
    return f"https://{found['host']}/{found['path']}"


def _environment(*, network: bool) -> dict[str, str]:
    """Return our environment without what would redirect git, as inside a hook of another repository.

    Without ``network``, a clone without file contents does not fetch what it is asked for and does not have.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES}
    return kept | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_ALLOW_PROTOCOL": _PROTOCOLS if network else "none",
        "GIT_NO_LAZY_FETCH": "0" if network else "1",
        "LC_ALL": "C",
    }


def _reason(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read(4096).decode(errors="replace").strip().splitlines()
    told = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines[-1:]
    return told[0].partition(": ")[2] or told[0] if told else "git gave no reason"


def _remedy(reason: str) -> str:
    if "dubious ownership" in reason:
        return "Run: git config --global --add safe.directory DIRECTORY, if you trust its owner."
    if "not a git repository" in reason or "does not appear to be a git repository" in reason:
        return "Name a directory with a git repository, or leave the location out to take commits from results."
    if "Authentication" in reason or "could not read Username" in reason or "Permission denied" in reason:
        return (
            "Give git the credentials it needs (an SSH key or a credential helper); it is never asked for a password."
        )
    return "Try the same with the git program."


@contextmanager
def _process(arguments: Sequence[str], where: str, stdin: bytes, *, network: bool = False) -> Iterator[IO[bytes]]:
    """Run git and yield its standard output; raise when it fails.

    Input and errors go through files, so that no pipe can fill up while we read another.
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
                env=_environment(network=network),
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
    arguments: Sequence[str], *, where: str = "", stdin: bytes = b"", limit: int = 1 << 24, network: bool = False
) -> bytes:
    """Return what git prints; it may talk to other machines only with ``network``.

    Raises:
        HistoryError: git is missing, fails, or prints more than ``limit`` bytes.
    """
    with _process(arguments, where, stdin, network=network) as output:
        printed = output.read(limit + 1)
        if len(printed) > limit:
            raise HistoryError(f"git {arguments[0]} printed more than {limit} bytes", where=where)
        return printed


def _tokens(output: IO[bytes], where: str) -> Iterator[bytes]:
    """Yield what stands between NUL bytes, without ever holding all of it."""
    rest = b""
    total = 0
    while block := output.read(1 << 20):
        total += len(block)
        if total > MAXIMUM_OUTPUT:
            raise HistoryError(f"git printed more than {MAXIMUM_OUTPUT} bytes", where=where)
        *whole, rest = (rest + block).split(b"\0")
        yield from whole
    if rest:
        raise HistoryError("git stopped in the middle of a commit", where=where, remedy="Run: git fsck")


def _commit(fields: Sequence[bytes], web: str, numbers: NumberPattern | None, where: str) -> Commit:
    name, parents, author, email, seconds, message = (field.decode(errors="replace") for field in fields)
    if not _HASH.fullmatch(name):
        raise HistoryError(f"git printed {name[:80]!r} where a hash belongs", where=where, remedy="Run: git fsck")
    clipped = min(max(int(seconds or 0), 0), _LAST_SECOND)
    return Commit(
        hash=name,
        author=author,
        email=email,
        time=datetime.fromtimestamp(clipped, UTC),
        subject=message.strip().partition("\n")[0],
        parents=tuple(parents.split()),
        url=f"{web}/commit/{name}" if web else "",
        number=numbers.find(message) if numbers else None,
    )


@dataclass(frozen=True)
class Git:
    """A git repository on this machine, bare or not.

    ``numbers`` finds commit numbers in messages, None where the repository does not count its commits.
    ``web`` is the page of the repository, for links to commits; "" finds it from the remote.
    """

    directory: Path
    numbers: NumberPattern | None = None
    web: str = ""

    @classmethod
    def at(cls, directory: Path, *, numbers: NumberPattern | None = None, web: str = "") -> Git:
        """Open the repository at ``directory``. Raises ``HistoryError`` where there is none."""
        if not directory.is_dir():
            raise HistoryError(
                "there is no such directory",
                where=str(directory),
                remedy="Correct the location of the repository in knickpoint.toml.",
            )
        git = cls(directory, numbers, web)
        git.run("rev-parse", "--git-dir")
        return git

    @classmethod
    def clone(cls, url: str, directory: Path, *, numbers: NumberPattern | None = None, web: str = "") -> Git:
        """Clone ``url`` without file contents into the bare repository ``directory``, whole or not at all.

        An existing clone is used as it is; :meth:`fetch` brings it up to date.
        """
        if not directory.exists():
            directory.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".clone-") as room:
                target = Path(room) / "repository.git"
                run_git(
                    ["clone", "--quiet", "--bare", "--filter=blob:none", "--end-of-options", url, str(target)],
                    where=url,
                    network=True,
                )
                target.rename(directory)
        return cls.at(directory, numbers=numbers, web=web)

    def run(self, *arguments: str, stdin: bytes = b"", network: bool = False) -> bytes:
        """Run git in this repository. Raises ``HistoryError`` as :func:`run_git` does."""
        where = str(self.directory)
        return run_git(["-C", where, *arguments], where=where, stdin=stdin, network=network)

    def fetch(self) -> None:
        """Bring a clone made by :meth:`clone` up to date, its default branch included; force-pushes are taken over."""
        self.run(
            "fetch", "--quiet", "--prune", "--no-write-fetch-head", "origin", "+refs/heads/*:refs/heads/*", network=True
        )
        told = self.run("ls-remote", "--symref", "origin", "HEAD", network=True).decode()
        found = re.match(r"ref: (refs/heads/\S+)\tHEAD", told)
        if found:
            self.run("symbolic-ref", "HEAD", found[1])

    @cached_property
    def shallow(self) -> bool:
        """Whether older commits are cut off, as in the usual checkout of a CI."""
        return self.run("rev-parse", "--is-shallow-repository").strip() == b"true"

    @cached_property
    def _web(self) -> str:
        if self.web:
            return self.web
        try:
            return web_address(self.run("config", "--get", "remote.origin.url").decode().strip())
        except HistoryError:
            return ""

    @cached_property
    def _references(self) -> dict[str, str]:
        """Return reference → hash of its commit, and for symbolic ones reference → target."""
        told = self.run(
            "for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", "refs/heads", "refs/remotes/origin"
        ).decode(errors="replace")
        references = {}
        for line in told.splitlines():
            name, commit, symbolic = line.split("\0")
            references[name] = symbolic or commit
        return references

    def branches(self) -> dict[str, str]:
        """Return branch → hash of its tip.

        Where a clone has its own branch and the remote's of the same name, the one that contains the other
        counts; where they have parted, the remote's, since that is what others see.
        """
        own = {name[11:]: tip for name, tip in self._references.items() if name.startswith("refs/heads/")}
        remote = {
            name[20:]: tip
            for name, tip in self._references.items()
            if name.startswith("refs/remotes/origin/") and not tip.startswith("refs/")
        }
        both = {
            name: own[name] if own[name] == tip or self.contains(own[name], tip) else tip
            for name, tip in remote.items()
            if name in own
        }
        return own | remote | both

    def default_branch(self) -> str:
        """Return the name of the default branch.

        It is what the remote calls so; in a repository without one, the only one of main, master and trunk;
        else the branch that is checked out.

        Raises:
            HistoryError: no commits, or a detached head without a usual branch.
        """
        target = self._references.get("refs/remotes/origin/HEAD", "")
        if target.startswith("refs/remotes/origin/"):
            return target.removeprefix("refs/remotes/origin/")
        names = self.branches()
        usual = [name for name in _USUAL_BRANCHES if name in names]
        bare = self.run("rev-parse", "--is-bare-repository").strip() == b"true"
        if len(usual) == 1 and not bare:
            return usual[0]
        try:
            current = self.run("symbolic-ref", "--short", "HEAD").decode().strip()
        except HistoryError:
            current = ""
        if current in names:
            return current
        if usual or len(names) == 1:
            return usual[0] if usual else next(iter(names))
        raise HistoryError(
            "no branch of this repository is the default one" if names else "this repository has no commits yet",
            where=str(self.directory),
            remedy="Set branch in its section of knickpoint.toml." if names else "Commit something first.",
        )

    def contains(self, tip: str, commit: str) -> bool:
        """Tell whether ``commit`` is ``tip`` or an ancestor of it."""
        counted = self.run("rev-list", "--count", "--max-count=1", "--end-of-options", commit, f"^{tip}")
        return counted.strip() == b"0"

    def first_parents(self, tip: str, *, without: Sequence[str] = ()) -> list[Commit]:
        """Return the commits of ``tip``'s line by first parent, oldest first.

        ``without`` are commits that, with all their ancestors, are left out.
        """
        return self._log(["--first-parent", "--reverse", tip, *(f"^{commit}" for commit in without)])

    def commits(self, hashes: Iterable[str]) -> dict[str, Commit]:
        """Return hash → commit for those of the full ``hashes`` that this repository has."""
        known = self.resolve(hashes)
        if not known:
            return {}
        listed = "\n".join(sorted(set(known.values()))).encode()
        return {commit.hash: commit for commit in self._log(["--no-walk=unsorted", "--stdin"], listed)}

    def author_times(self, hashes: Iterable[str]) -> dict[str, int]:
        """Return hash → when its author wrote it, in seconds since 1970, for those that are still here.

        A rewritten commit keeps this date; what no branch holds any more is here until git clears it away.
        """
        known = self.resolve(hashes)
        if not known:
            return {}
        listed = "\n".join(sorted(set(known.values()))).encode()
        where = str(self.directory)
        command = ["-C", where, "log", "-z", "--format=tformat:%H%x00%at", "--no-walk=unsorted", "--stdin", "--"]
        with _process(command, where, listed) as output:
            tokens = _tokens(output, where)
            return {name.decode(): int(seconds or 0) for name, seconds in zip(tokens, tokens, strict=True)}

    def resolve(self, revisions: Iterable[str]) -> dict[str, str]:
        """Return revision → full hash for the hashes and unique prefixes that name a commit here.

        Names of branches and tags are not taken: they move.
        """
        asked = [text for text in dict.fromkeys(revisions) if _HEXADECIMAL.fullmatch(text)]
        if not asked:
            return {}
        given = "".join(f"{text}^{{commit}}\n" for text in asked).encode()
        told = self.run("cat-file", "--batch-check=%(objectname)", stdin=given).decode().splitlines()
        return {text: line for text, line in zip(asked, told, strict=True) if _HASH.fullmatch(line)}

    def _log(self, arguments: Sequence[str], stdin: bytes = b"") -> list[Commit]:
        fields = _FIELDS if self.numbers is None else (*_FIELDS[:-1], "%B")
        command = ["-C", str(self.directory), "log", "-z", f"--format=tformat:{'%x00'.join(fields)}", *arguments]
        where = str(self.directory)
        with _process([*command, "--"], where, stdin) as output:
            tokens = _tokens(output, where)
            records = zip(*[tokens] * len(fields), strict=True)
            return [_commit(record, self._web, self.numbers, where) for record in records]
