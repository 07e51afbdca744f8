"""The workspace of a device: mirrors, worktrees and artefacts below one directory, which survives every kill."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import quote

from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.runner.command import end_processes_of, free_bytes
from knickpoint.bisect.runner.machine_slots import locked, try_lock
from knickpoint.history import is_url, run_git
from knickpoint.history.git_process import GitRemote
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.plain_text import without_secrets

# Mirrors: bare repositories of the runner, from which commits are checked out, so that no other checkout is touched.


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
"""With the options of :func:`run_git`, nothing of the repository runs while git works: no hooks, no monitor, no
submodules.
"""

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
            raise HistoryError(f"{commit[:80]!r} is not a full hash of a commit", where=without_secrets(self.location))
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


_MEGABYTE: Final = 1_000_000
_KEY: Final = 16
"""Characters of the key in the name of a worktree. All names are equally long: the length of a path changes timings."""

_MOST_OF_A_KEY: Final = 64
"""How many worktrees one target may have at once."""


@dataclass(frozen=True, slots=True)
class Worktree:
    """A worktree that this process holds.

    ``tree`` is where the commit is checked out. ``built`` says that an earlier probe of the same target built it.
    """

    directory: Path
    built: bool

    @property
    def tree(self) -> Path:
        """The directory in which the commands run."""
        return self.directory / "tree"

    def finish_build(self) -> None:
        """Note that the worktree is built, so that later probes of its target measure at once."""
        note = self.directory / "built.new"
        note.write_text(json.dumps({"bytes": _bytes_below(self.tree)}), encoding="ascii")
        note.rename(self.directory / "built")


@dataclass(frozen=True, slots=True)
class Workspace:
    """What a device keeps on its disk to make probes.

    A worktree belongs to the process that holds the lock of its file, and the system releases this lock however the
    process ends. So several processes may share a workspace, and what no process holds, and is not built, is left over
    from a kill: it is deleted, and its processes are ended.

    Attributes:
        directory: where all of it lies; nothing is written elsewhere.
        space_megabytes: what built worktrees may take, and artefacts; half of it each. What was not used for longest
            goes first.
        least_free_megabytes: what has to stay free on the disk; a command that takes more is ended.
    """

    directory: Path
    space_megabytes: int = 20_000
    least_free_megabytes: int = 200
    _absolute: Path = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the directory path absolute: commands run elsewhere."""
        object.__setattr__(self, "_absolute", self.directory.expanduser().absolute())

    @property
    def artefacts(self) -> Path:
        """The directory of the cache of artefacts."""
        return self._absolute / "artefacts"

    @property
    def least_free(self) -> int:
        """Bytes that have to stay free."""
        return self.least_free_megabytes * _MEGABYTE

    @contextmanager
    def worktree(self, job: ProbeJob) -> Iterator[Worktree]:
        """Hold a worktree of the target of ``job``, with the commits of all its repositories checked out.

        It is new, unless an earlier probe of the same target left a built one. After the block, it is kept where it is
        built, and deleted otherwise.

        Raises:
            HistoryError: a repository cannot be reached, or lacks the commit.
            InputError: the disk is full, or a repository would be checked out outside of the worktree.
        """
        self._absolute.joinpath("trees").mkdir(parents=True, exist_ok=True)
        self.clean()
        if free_bytes(self._absolute) < self.least_free:
            self.make_room(0)
        if free_bytes(self._absolute) < self.least_free:
            raise InputError(
                f"less than {self.least_free_megabytes} MB of the disk are free",
                where=str(self._absolute),
                remedy="Free disk space.",
            )
        directory, lock = self._free_directory(job.key)
        try:
            held = Worktree(directory, built=(directory / "built").exists())
            (directory / "busy").touch()
            if not held.built:
                self._check_out(job, held)
            yield held
        finally:
            _leave(directory)
            os.close(lock)
            self.make_room(self.space_megabytes * _MEGABYTE // 2)

    def clean(self) -> None:
        """Delete the worktrees that a killed process left half made, and end their processes."""
        for directory, lock in self._unheld():
            with _closing(lock):
                if (directory / "busy").exists():
                    end_processes_of(directory / "tree")
                if (directory / "busy").exists() or not (directory / "built").exists():
                    _leave(directory)

    def make_room(self, most: int) -> None:
        """Delete built worktrees that no process holds until the rest takes at most ``most`` bytes."""
        used = {directory: _kept_bytes(directory) for directory in self._directories()}
        total = sum(used.values())
        for directory in sorted(used, key=_last_use):
            if total <= most:
                return
            lock = try_lock(directory / "lock") if directory.exists() else None
            if lock is not None:
                with _closing(lock):
                    _delete(directory)
                    total -= used[directory]

    def _check_out(self, job: ProbeJob, held: Worktree) -> None:
        mirrors = self._absolute / "repositories"
        mirrors.mkdir(exist_ok=True)
        Mirror.of(job.locations[""], mirrors).check_out(job.target.commit, held.tree)
        for name, commit in job.target.pins:
            place = held.tree / job.recipe.also.get(name, name)
            if held.tree.resolve() not in place.resolve().parents:
                raise InputError(
                    f"the repository {name} would be checked out outside of the worktree", where=str(place)
                )
            if name not in job.locations:
                raise HistoryError(f"the location of the repository {name} is not known")
            Mirror.of(job.locations[name], mirrors).check_out(commit, place)

    def _free_directory(self, key: str) -> tuple[Path, int]:
        """Return a directory for ``key``, and the file descriptor of its lock."""
        for number in range(_MOST_OF_A_KEY):
            directory = self._absolute / "trees" / f"{key[:_KEY]}-{number:02}"
            directory.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # deleted by another process in between
                lock = try_lock(directory / "lock")
                if lock is not None:
                    return directory, lock
        raise InputError("too many probes of one commit at once", where=str(self._absolute))

    def _directories(self) -> list[Path]:
        trees = self._absolute / "trees"
        return sorted(trees.iterdir()) if trees.is_dir() else []

    def _unheld(self) -> Iterator[tuple[Path, int]]:
        """Yield the worktrees that no process holds, each with the lock that this process has on it now."""
        for directory in self._directories():
            with suppress(FileNotFoundError, NotADirectoryError):
                lock = try_lock(directory / "lock")
                if lock is not None:
                    yield directory, lock


@contextmanager
def _closing(descriptor: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(descriptor)


def _leave(directory: Path) -> None:
    """Keep a worktree for later if it is built and its commands have left it, and delete it otherwise."""
    if (directory / "built").exists() and (directory / "tree").is_dir():
        (directory / "busy").unlink(missing_ok=True)
        os.utime(directory)
    else:
        _delete(directory)


def _delete(directory: Path) -> None:
    """Delete a directory; what a build made unwritable is made writable first. A file that stays costs space only."""
    with suppress(FileNotFoundError):
        (directory / "built").unlink()
    for folder, names, _ in os.walk(directory):
        for path in (Path(folder, name) for name in names):
            with suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
    shutil.rmtree(directory, ignore_errors=True)


def _kept_bytes(directory: Path) -> int:
    try:
        return int(json.loads((directory / "built").read_text(encoding="ascii"))["bytes"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _last_use(directory: Path) -> float:
    try:
        return directory.stat().st_mtime
    except OSError:
        return 0.0


def _bytes_below(directory: Path) -> int:
    """Return the size of the files below ``directory`` in bytes."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512  # noqa: PTH118 - quick on large trees
    return total
