"""Mirrors: bare repositories of the runner, from which commits are checked out, so that no other checkout is touched."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from knickpoint.bisect.runner.machine_slots import locked
from knickpoint.history import is_url, run_git
from knickpoint.history.git_remote import GitRemote
from knickpoint.model.errors import HistoryError
from knickpoint.model.plain_text import without_secrets

_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LONG_HASH: Final = 64

_SAFE: Final = (
    "-c",
    "core.symlinks=true",
    "-c",
    "protocol.ext.allow=never",
    "-c",
    "submodule.recurse=false",
    "-c",
    "advice.detachedHead=false",
    "-c",
    "http.lowSpeedLimit=1000",
    "-c",
    "http.lowSpeedTime=120",
)
"""With the options of :func:`run_git`, nothing of the repository runs while git works: no hooks, no monitor, no submodules."""

_REFERENCES: Final = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")


@dataclass(frozen=True, slots=True)
class Mirror:
    """A bare repository of the runner for the repository at ``location``, a path or an address.

    A repository of this machine lends its objects, so that a mirror of it takes no space and no time. Every change of a
    mirror happens under its lock; locks that git itself left there are those of a process that was killed.
    """

    directory: Path
    location: str

    @classmethod
    def of(cls, location: str, directory: Path) -> Mirror:
        """Name the mirror of ``location`` below ``directory``."""
        where = location if is_url(location) else str(Path(location).expanduser().resolve())
        name = hashlib.sha256(where.encode(errors="surrogateescape")).hexdigest()[:24]
        return cls(directory / f"{name}.git", where)

    def check_out(self, commit: str, tree: Path) -> None:
        """Check ``commit`` out in the new worktree ``tree``; what was there before is deleted.

        Raises:
            HistoryError: the repository cannot be reached, or has no such commit, or git fails.
        """
        if not _HASH.fullmatch(commit):
            raise HistoryError(f"{commit[:80]!r} is no full hash of a commit", where=without_secrets(self.location))
        with locked(self.directory.with_suffix(".lock")):
            self._make(long_hashes=len(commit) == _LONG_HASH)
            if not self._has(commit):
                self._fetch(commit)
            shutil.rmtree(tree, ignore_errors=True)
            self._git("worktree", "prune", "--expire=now")
            self._git("worktree", "add", "--quiet", "--detach", "--force", "--no-checkout", str(tree), commit)
        where = str(tree)
        run_git([*_SAFE, "-C", where, "checkout", "--quiet", "--force", "--detach", commit, "--"], where=where)

    def _make(self, *, long_hashes: bool) -> None:
        """Make the bare repository, unless it is there, and remove what a killed git left in it."""
        if (self.directory / "knickpoint-complete").exists():
            # Those of a worktree belong to its check-out, which may be under way, or are gone with the worktree.
            worktrees = self.directory / "worktrees"
            for lock in self.directory.rglob("*.lock"):
                if worktrees not in lock.parents:
                    with suppress(OSError):
                        lock.unlink()
            return
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        kind = ["--object-format=sha256"] if long_hashes else []
        where = str(self.directory)
        run_git([*_SAFE, "init", "--quiet", "--bare", "--template=", *kind, where], where=where)
        if not is_url(self.location):
            self._borrow_objects()
        self._fetch_references()
        (self.directory / "knickpoint-complete").touch()

    def _borrow_objects(self) -> None:
        """Take the objects of the repository from where they are."""
        asked = ("rev-parse", "--path-format=absolute", "--git-path", "objects")
        printed = run_git(["-C", self.location, *asked], where=self.location)
        objects = printed.decode(errors="surrogateescape").removesuffix("\n")
        if objects.isprintable() and not objects.startswith(('"', "#")):  # others, git would read as something else
            alternates = self.directory / "objects" / "info" / "alternates"
            alternates.parent.mkdir(parents=True, exist_ok=True)
            alternates.write_text(f"{objects}\n", encoding="utf-8", errors="surrogateescape")

    def _fetch(self, commit: str) -> None:
        """Get ``commit``: with the branches, and else by itself, as it may be on none."""
        self._fetch_references()
        if not self._has(commit):
            self._fetch_from((f"+{commit}:refs/knickpoint/{commit}",))
        if not self._has(commit):
            raise HistoryError(f"the repository has no commit {commit[:12]}", where=without_secrets(self.location))

    def _fetch_references(self) -> None:
        self._fetch_from(_REFERENCES)

    def _fetch_from(self, references: Sequence[str]) -> None:
        location = self.location if is_url(self.location) else f"file://{quote(self.location)}"
        remote = GitRemote.of(location)
        quiet = ("--quiet", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance", "--no-tags")
        try:
            run_git(
                [*_SAFE, f"--git-dir={self.directory}", "fetch", *quiet, "--end-of-options", remote.url, *references],
                where=without_secrets(self.location),
                remote=remote,
            )
        except HistoryError as error:
            raise HistoryError(error.message, where=without_secrets(self.location), remedy=error.remedy) from error

    def _has(self, commit: str) -> bool:
        """Return True if the mirror has the commit and the files of it are within reach."""
        printed = self._git("cat-file", "--batch-check=%(objecttype)", stdin=f"{commit}^{{tree}}\n".encode())
        return printed.strip() == b"tree"

    def _git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        where = str(self.directory)
        return run_git([*_SAFE, f"--git-dir={where}", *arguments], where=where, stdin=stdin)
