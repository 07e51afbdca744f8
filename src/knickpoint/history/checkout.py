"""Read which commit is checked out in a work tree, and which files differ from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from knickpoint.history.ancestry import find_commit
from knickpoint.history.git import Git
from knickpoint.history.git_process import run_git
from knickpoint.model.errors import HistoryError

__all__ = ["Checkout", "find_work_tree", "is_head", "read_checkout", "remote_address"]

_HEAD: Final = re.compile(r"(?:HEAD|@)(?:[~^@].*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Checkout:
    """A work tree and the commit that is checked out in it.

    ``time`` is when the commit was made, aware; ``changed`` are the tracked files that differ from it. Files that git
    does not track are left out.
    """

    directory: Path
    commit: str
    time: datetime
    changed: tuple[Path, ...] = ()


_OUTSIDE: Final = ("not a git repository", "must be run in a work tree", "bare repository", "program is missing")


def find_work_tree(directory: Path) -> Path | None:
    """Return the top of the work tree that ``directory`` is in, or will be in; None outside of one, or without git.

    Raises:
        HistoryError: git refuses the work tree, such as one of another owner.
    """
    begin = directory.expanduser().absolute()
    existing = next(parent for parent in (begin, *begin.parents) if parent.is_dir())
    try:
        return _top(Git(existing))
    except HistoryError as error:
        if any(reason in error.message for reason in _OUTSIDE):
            return None
        raise


def read_checkout(git: Git) -> Checkout | None:
    """Return what is checked out; None in a bare repository, and before the first commit."""
    try:
        top = _top(git)
    except HistoryError:
        return None
    name = find_commit(git, "HEAD")
    if not name:
        return None
    return Checkout(top, name, git.commits([name])[name].time, _changed(top))


def is_head(name: str) -> bool:
    """Return whether ``name`` starts from HEAD, and so means nothing in a bare repository."""
    return bool(_HEAD.fullmatch(name))


def remote_address(git: Git) -> str:
    """Return the address of the remote ``origin``, "" where there is none."""
    try:
        return git.run("config", "--get", "remote.origin.url").decode(errors="replace").strip()
    except HistoryError:
        return ""


def _top(git: Git) -> Path:
    """Return the top of the work tree; a bare repository that lies within one, as a file of it, is not taken for it."""
    where = str(git.directory)
    printed = run_git(["-c", "safe.bareRepository=explicit", "-C", where, "rev-parse", "--show-toplevel"], where=where)
    return Path(printed.decode(errors="surrogateescape").removesuffix("\n"))


def _changed(top: Path) -> tuple[Path, ...]:
    """Return the tracked files below ``top`` whose content is not that of HEAD."""
    arguments = (
        "status",
        "--porcelain=v1",
        "-z",
        "--untracked-files=no",
        "--no-renames",
        "--ignore-submodules=untracked",
    )
    printed = run_git(["-C", str(top), *arguments], where=str(top)).decode(errors="surrogateescape")
    return tuple(top / entry[3:] for entry in printed.split("\0") if entry)
