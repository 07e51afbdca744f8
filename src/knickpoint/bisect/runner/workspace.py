"""The workspace of a device: mirrors, worktrees and artefacts below one directory, which survives every kill."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.runner.command import end_processes_of, free_bytes
from knickpoint.bisect.runner.machine_slots import try_lock
from knickpoint.bisect.runner.mirror import Mirror
from knickpoint.model.errors import HistoryError, InputError

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
                remedy="Make room on it.",
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
