"""Keep a few files on a branch of a remote repository, and replace them only if no one else did meanwhile.

The branch has one commit, without a parent: clones of the project carry the newest files, and not every version of
them. It is replaced by a push that names the commit which it replaces; git refuses that push where the branch has
another one.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from knickpoint.history.git import Git
from knickpoint.history.git_process import GitRemote, git_process, is_url
from knickpoint.model.errors import HistoryError, InputError

_AUTHOR: Final = ("-c", "user.name=Knickpoint", "-c", "user.email=knickpoint@localhost")
_BRANCH: Final = re.compile(r"(?!-)[A-Za-z0-9._/+-]{1,200}")


@dataclass(frozen=True, slots=True)
class FileBranch:
    """The branch ``name`` of ``remote``, reached from the repository ``git``, whose objects a fetch adds to."""

    git: Git
    remote: GitRemote
    name: str

    @classmethod
    def of(cls, git: Git, remote: str, name: str) -> Self:
        """Return the branch ``name`` of ``remote``: the name of a remote of ``git``, an address or a path.

        Raises:
            InputError: the name is none of a branch.
            HistoryError: there is no such remote.
        """
        if not _BRANCH.fullmatch(name) or ".." in name or name.endswith((".lock", "/", ".")):
            raise InputError(
                f"{name!r} is not a name of a branch", where="--branch", remedy="Use letters, digits and dashes."
            )
        location = remote
        if not is_url(remote) and not Path(remote).is_dir():
            location = git.run("remote", "get-url", "--push", "--", remote).decode().strip()
        if "://" not in location and (git.directory / location).is_dir():
            location = (git.directory / location).resolve().as_uri()
        return cls(git, GitRemote.of(location), name)

    def tip(self) -> str:
        """Return the commit that the branch has at the remote, "" where it does not exist.

        Raises:
            HistoryError: the remote cannot be read.
        """
        printed = self.git.run("ls-remote", "--", self.remote.url, self._reference, remote=self.remote)
        lines = (line.split("\t") for line in printed.decode(errors="replace").splitlines())
        return next((commit for commit, name in lines if name == self._reference), "")

    def read(self, tip: str, names: Mapping[str, Path]) -> frozenset[str]:
        """Write files of the commit ``tip`` of the branch to paths, and return the names of those that it has.

        Raises:
            HistoryError: the commit cannot be fetched, or a file cannot be written.
        """
        fetch = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules")
        self.git.run(*fetch, "--", self.remote.url, tip, remote=self.remote)
        blobs = {
            name: facts.split()[2]
            for name, facts in self._entries(tip).items()
            if facts.startswith("100") and name in names
        }
        for name, blob in blobs.items():
            command = ["-C", str(self.git.directory), "cat-file", "blob", blob]
            with git_process(command, str(self.git.directory), b"") as content, names[name].open("wb") as file:
                shutil.copyfileobj(content, file)
        return frozenset(blobs)

    def replace(self, tip: str, files: Mapping[str, Path], message: str) -> str:
        """Replace the branch by a commit with ``files``, and return that; "" where its tip is no longer ``tip``.

        Other files of the branch stay as they are. With ``tip`` "", the branch must not exist yet.

        Raises:
            HistoryError: the remote cannot be reached, or does not accept the push.
        """
        made = self._commit(tip, files, message)
        push = ("push", "--quiet", "--no-verify", f"--force-with-lease={self._reference}:{tip}")
        try:
            self.git.run(*push, "--", self.remote.url, f"{made}:{self._reference}", remote=self.remote)
        except HistoryError:
            # The words of a refusal differ from server to server: the branch itself says whether another push was
            # first.
            found = self.tip()
            if found == tip:
                raise
            return made if found == made else ""
        return made

    def _commit(self, tip: str, files: Mapping[str, Path], message: str) -> str:
        entries = self._entries(tip) if tip else {}
        for name, path in files.items():
            blob = self.git.run("hash-object", "-w", "--no-filters", "--", str(path.resolve())).decode().strip()
            entries[name] = f"100644 blob {blob}"
        listed = "".join(f"{facts}\t{name}\0" for name, facts in entries.items())
        tree = self.git.run("mktree", "-z", stdin=listed.encode(errors="surrogateescape")).decode().strip()
        return self.git.run(*_AUTHOR, "commit-tree", tree, "-m", message).decode().strip()

    def _entries(self, tip: str) -> dict[str, str]:
        """Return name → mode, kind and object of what the commit ``tip`` has at its top."""
        found = self.git.run("ls-tree", "-z", "--full-tree", tip).decode(errors="surrogateescape")
        return {name: facts for facts, _, name in (line.partition("\t") for line in found.split("\0") if line)}

    @property
    def _reference(self) -> str:
        return f"refs/heads/{self.name}"
