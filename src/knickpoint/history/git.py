"""Read commits and branches from a git repository."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Final

from knickpoint.history.git_process import GitRemote, git_process, nul_tokens, run_git, web_address
from knickpoint.model.commit import Commit
from knickpoint.model.errors import ConfigError, HistoryError
from knickpoint.model.plain_text import without_secrets

# Find the numbers of commits in their messages, in repositories that number their commits.


@dataclass(frozen=True, slots=True)
class NumberPattern:
    """A regular expression whose first group is the commit's number.

    The last match in a message counts: trailers are at its end, and a revert quotes the number of the reverted commit
    before that of the revert.
    """

    expression: re.Pattern[str]

    @classmethod
    def of(cls, text: str) -> NumberPattern:
        """Compile ``text``. Raises ``ConfigError`` where it is not an expression or has not exactly one group."""
        try:
            expression = re.compile(text, re.MULTILINE)
        except re.error as error:
            raise ConfigError(
                f"{text!r} is not a regular expression: {error}", remedy=r"Write for example 'Position: (\d+)'."
            ) from error
        if expression.groups != 1:
            raise ConfigError(
                f"{text!r} has {expression.groups} groups instead of one",
                remedy=r"Put parentheses around the digits, as in 'Position: (\d+)'.",
            )
        return cls(expression)

    def find(self, message: str) -> int | None:
        """Return the number in ``message``, None where nothing matches or the match is not a number."""
        found = self.expression.findall(message)
        return int(found[-1]) if found and found[-1].isascii() and found[-1].isdigit() and len(found[-1]) < 19 else None


_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HEXADECIMAL: Final = re.compile(r"[0-9a-fA-F]{4,64}")
_FIELDS: Final = ("%H", "%P", "%an", "%ae", "%ct", "%s")
_LAST_SECOND: Final = 253402300799
_USUAL_BRANCHES: Final = ("main", "master", "trunk")


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

    ``numbers`` finds commit numbers in messages, None where the repository does not number its commits. ``web`` is the
    page of the repository, for links to commits; "" takes it from the remote. ``remote`` is where a clone comes from.
    What is read of branches is remembered: :meth:`afresh` sees changes.
    """

    directory: Path
    numbers: NumberPattern | None = None
    web: str = ""
    remote: GitRemote | None = None

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

        An existing clone is used as it is; :meth:`fetch` brings it up to date. Its configuration has no password.
        """
        remote = GitRemote.of(url)
        if not directory.exists():
            directory.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=directory.parent, prefix=".clone-") as room:
                target = Path(room) / "repository.git"
                run_git(
                    ["clone", "--quiet", "--bare", "--filter=blob:none", "--end-of-options", remote.url, str(target)],
                    where=without_secrets(url),
                    remote=remote,
                )
                target.rename(directory)
        git = replace(cls.at(directory, numbers=numbers, web=web), remote=remote)
        if remote.password or remote.user:
            git.run("config", "remote.origin.url", remote.url)  # clones of earlier versions kept the password
        return git

    def afresh(self) -> Git:
        """Return the same repository with nothing remembered."""
        return replace(self)

    def run(self, *arguments: str, stdin: bytes = b"", remote: GitRemote | None = None) -> bytes:
        """Run git in this repository. Raises ``HistoryError`` as :func:`run_git` does."""
        where = str(self.directory)
        return run_git(["-C", where, *arguments], where=where, stdin=stdin, remote=remote)

    def fetch(self) -> None:
        """Bring a clone made by :meth:`clone` up to date, its default branch and tags included.

        Force-pushed branches too.
        """
        prune = ("fetch", "--quiet", "--prune", "--no-write-fetch-head", "--no-recurse-submodules")
        self.run(*prune, "origin", "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", remote=self.remote)
        printed = self.run("ls-remote", "--symref", "origin", "HEAD", remote=self.remote).decode(errors="replace")
        found = re.match(r"ref: (refs/heads/\S+)\tHEAD", printed)
        if found:
            self.run("symbolic-ref", "HEAD", found[1])

    @cached_property
    def shallow(self) -> bool:
        """Whether older commits are missing, as in the usual checkout of a CI."""
        return self.run("rev-parse", "--is-shallow-repository").strip() == b"true"

    @cached_property
    def partial(self) -> bool:
        """Whether contents of files are missing, as in a clone made by :meth:`clone`."""
        try:
            return bool(self.run("config", "--get-regexp", r"^remote\..*\.promisor$"))
        except HistoryError:  # no such setting
            return False

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
        printed = self.run(
            "for-each-ref", "--format=%(refname)%00%(objectname)%00%(symref)", "refs/heads", "refs/remotes/origin"
        ).decode(errors="replace")
        references = {}
        for line in filter(None, printed.split("\n")):  # names of branches may have other separators of lines
            name, commit, symbolic = line.split("\0")
            references[name] = symbolic or commit
        return references

    def branches(self) -> dict[str, str]:
        """Return branch → hash of its tip.

        Where the clone and the remote both have a branch of one name, the tip that contains the other counts; where
        neither does, that of the remote, which is what others see.
        """
        local = {name[11:]: tip for name, tip in self._references.items() if name.startswith("refs/heads/")}
        remote = {
            name[20:]: tip
            for name, tip in self._references.items()
            if name.startswith("refs/remotes/origin/") and not tip.startswith("refs/")
        }
        both = {
            name: local[name] if local[name] == tip or self.contains(local[name], tip) else tip
            for name, tip in remote.items()
            if name in local
        }
        return local | remote | both

    def tags(self) -> dict[str, str]:
        """Return tag → hash of what it names: a commit, but for the few tags of files and folders."""
        printed = self.run("for-each-ref", "--format=%(refname)%00%(objectname)%00%(*objectname)", "refs/tags")
        tags = {}
        for line in filter(None, printed.decode(errors="replace").split("\n")):
            name, named, peeled = line.split("\0")
            tags[name.removeprefix("refs/tags/")] = peeled or named
        return tags

    def default_branch(self, known: str = "") -> str:
        """Return the name of the default branch; ``known`` is what it was before, "" for the first time.

        It is the one that the remote names; without a remote, the only one of main, master and trunk; else the one that
        it was before; else the branch that is checked out.

        Raises:
            HistoryError: no commits, a detached head without a usual branch, or a clone without the branch ``known``
                that does not say which one is the default: what a CI checked out to test must not take its place.
        """
        target = self._references.get("refs/remotes/origin/HEAD", "")
        if target.startswith("refs/remotes/origin/"):
            return target.removeprefix("refs/remotes/origin/")
        names = self.branches()
        usual = [name for name in _USUAL_BRANCHES if name in names]
        bare = self.run("rev-parse", "--is-bare-repository").strip() == b"true"
        if not bare and (len(usual) == 1 or known in names):
            return usual[0] if len(usual) == 1 else known
        if known and not bare and (self.shallow or self._is_copy):
            raise HistoryError(
                f"the clone does not have the default branch {known!r}",
                where=str(self.directory),
                remedy=f"Fetch it, with fetch-depth: 0 (actions/checkout) or git fetch origin {known}:{known}; "
                "if another branch is the default one now, set branch in the section of the repository in "
                "knickpoint.toml.",
            )
        try:
            current = self.run("symbolic-ref", "--short", "HEAD").decode().strip()
        except HistoryError:
            current = ""
        if current in names:
            return current
        if usual or len(names) == 1:
            return usual[0] if usual else next(iter(names))
        raise self._no_default_branch(names)

    @property
    def _is_copy(self) -> bool:
        """Whether branches of a remote were fetched, so that what is checked out says nothing of the project."""
        return any(name.startswith("refs/remotes/origin/") for name in self._references)

    def _no_default_branch(self, names: Collection[str]) -> HistoryError:
        """Return the error that says why none of the branches ``names`` is the default one."""
        where = str(self.directory)
        if names:
            return HistoryError(
                "no branch of this repository is the default one",
                where=where,
                remedy="Set branch in its section of knickpoint.toml.",
            )
        try:
            self.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        except HistoryError:
            return HistoryError("this repository has no commits yet", where=where, remedy="Commit something first.")
        return HistoryError(
            "this repository has commits, but no branch",
            where=where,
            remedy="Fetch the branches, with fetch-depth: 0 (actions/checkout) or git fetch origin main:main.",
        )

    def contains(self, tip: str, commit: str) -> bool:
        """Return True if ``commit`` is ``tip`` or an ancestor of it."""
        counted = self.run("rev-list", "--count", "--max-count=1", "--end-of-options", commit, f"^{tip}")
        return counted.strip() == b"0"

    def merge_base(self, first: str, second: str) -> str:
        """Return the best common ancestor of two commits.

        Raises:
            HistoryError: they have none here.
        """
        try:
            return self.run("merge-base", "--end-of-options", first, second).decode().strip()
        except HistoryError as error:
            deepen = (
                "The clone is shallow: fetch the whole history, with fetch-depth: 0 (actions/checkout) or GIT_DEPTH: 0"
            )
            raise HistoryError(
                f"{first[:12]} and {second[:12]} have no commit in common",
                where=str(self.directory),
                remedy=f"{deepen} (GitLab)." if self.shallow else "Name commits of one history.",
            ) from error

    def first_parents(self, tip: str, *, without: Sequence[str] = ()) -> list[Commit]:
        """Return the commits of ``tip``'s line by first parent, oldest first.

        ``without`` are commits that, with all their ancestors, are left out.
        """
        return self._log(["--first-parent", "--reverse", tip, *(f"^{commit}" for commit in without)])

    def since(self, tip: str, base: str, *, most: int) -> list[Commit]:
        """Return the ``most`` newest commits of ``tip`` that ``base`` does not contain, without merges."""
        return self._log(["--no-merges", f"--max-count={most}", tip, f"^{base}"])

    def merged(self, hashes: Iterable[str], *, most: int) -> dict[str, list[Commit]]:
        """Return merge → the commits that it brings to its first parent's line, newest first, without other merges.

        Of the full ``hashes``, those of merges that the repository has are in the answer; of each, the ``most`` newest
        commits.
        """
        known = self.commits(hashes)
        merges = {name: commit.parents[0] for name, commit in known.items() if len(commit.parents) > 1}
        return {
            name: self._log(["--no-merges", f"--max-count={most}", name, f"^{first}"]) for name, first in merges.items()
        }

    def trailers(self, key: str, tip: str, *, without: Sequence[str] = ()) -> list[tuple[Commit, str]]:
        """Return the trailers ``key`` in the messages of ``tip`` and its ancestors, newest first, with their commits.

        ``without`` are commits that, with all their ancestors, are left out.
        """
        wanted = f"%(trailers:key={key},valueonly,unfold,separator=%x01)"
        fields = (*_FIELDS[:-1], "%s", wanted)
        where = str(self.directory)
        command = ["-C", where, "log", "-z", f"--format=tformat:{'%x00'.join(fields)}", "--end-of-options", tip]
        found = []
        with git_process([*command, *(f"^{commit}" for commit in without), "--"], where, b"") as output:
            tokens = nul_tokens(output, where)
            for *record, values in zip(*[tokens] * len(fields), strict=True):
                texts = [text.strip() for text in values.decode(errors="replace").split("\x01") if text.strip()]
                found += [(_commit(record, self._web, None, where), text) for text in texts]
        return found

    def commits(self, hashes: Iterable[str]) -> dict[str, Commit]:
        """Return hash → commit for those of the full ``hashes`` that this repository has."""
        known = self.resolve(hashes)
        if not known:
            return {}
        listed = "\n".join(sorted(set(known.values()))).encode()
        return {commit.hash: commit for commit in self._log(["--no-walk=unsorted", "--stdin"], listed)}

    def author_times(self, hashes: Iterable[str]) -> dict[str, int]:
        """Return hash → author date, in seconds since 1970, for those of ``hashes`` that this repository still has.

        A rewritten commit keeps this date. git keeps a commit that is on no branch any more until it collects garbage.
        """
        known = self.resolve(hashes)
        if not known:
            return {}
        listed = "\n".join(sorted(set(known.values()))).encode()
        where = str(self.directory)
        command = ["-C", where, "log", "-z", "--format=tformat:%H%x00%at", "--no-walk=unsorted", "--stdin", "--"]
        with git_process(command, where, listed) as output:
            tokens = nul_tokens(output, where)
            return {name.decode(): int(seconds or 0) for name, seconds in zip(tokens, tokens, strict=True)}

    def resolve(self, revisions: Iterable[str]) -> dict[str, str]:
        """Return revision → full hash for the hashes and unique prefixes that name a commit here.

        Names of branches and tags are left out: they move.
        """
        asked = [text for text in dict.fromkeys(revisions) if _HEXADECIMAL.fullmatch(text)]
        if not asked:
            return {}
        given = "".join(f"{text}^{{commit}}\n" for text in asked).encode()
        answers = self.run("cat-file", "--batch-check=%(objectname)", stdin=given).decode().splitlines()
        return {text: answer for text, answer in zip(asked, answers, strict=True) if _HASH.fullmatch(answer)}

    def _log(self, arguments: Sequence[str], stdin: bytes = b"") -> list[Commit]:
        fields = _FIELDS if self.numbers is None else (*_FIELDS[:-1], "%B")
        command = ["-C", str(self.directory), "log", "-z", f"--format=tformat:{'%x00'.join(fields)}", *arguments]
        where = str(self.directory)
        with git_process([*command, "--"], where, stdin) as output:
            tokens = nul_tokens(output, where)
            records = zip(*[tokens] * len(fields), strict=True)
            return [_commit(record, self._web, self.numbers, where) for record in records]
