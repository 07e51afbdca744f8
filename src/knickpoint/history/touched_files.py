"""Read which files commits touch, and how many lines of each, in one git process for all of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import IO, Final

from knickpoint.history.git import Git
from knickpoint.history.git_process import git_process, nul_tokens
from knickpoint.model.errors import HistoryError
from knickpoint.model.plain_text import plain_line
from knickpoint.model.suspects import CommitFiles, TouchedFile

__all__ = ["MOST_COMMITS", "MOST_FILES", "read_touched_files"]

MOST_COMMITS: Final = 5_000
"""Commits of one call; others are left out."""

MOST_FILES: Final = 500
"""Files of one commit that are read; of a larger one, the first in the order of git."""

_MOST_BYTES: Final = 1 << 26
"""Bytes of output that are read; commits after them are left out."""

_LONGEST_PATH: Final = 500

_COUNTS: Final = re.compile(rb"\n?(\d+|-)\t(\d+|-)\t(.*)", re.DOTALL)
_CHANGE: Final = re.compile(rb"\n?:\d{6} .*")

_COMMAND: Final = ("diff-tree", "--stdin", "-z", "-r", "--root", "--always", "--format=tformat:%H%x00")
"""Plumbing, which no configuration of a user changes."""

_WITH_COUNTS: Final = ("--numstat", "-M", "-l200", "--no-ext-diff", "--no-textconv")
_WITHOUT_COUNTS: Final = ("--raw", "--no-renames")
_LARGE_FILES: Final = ("-c", "core.bigFileThreshold=1m")
"""Lines of larger files are not counted: it would take long, and they are no sources."""


class _TooMuchError(Exception):
    """The output is longer than what is read."""


def read_touched_files(git: Git, hashes: Collection[str]) -> dict[str, CommitFiles]:
    """Return hash → the files that the commit touches, for those of the full ``hashes`` whose parent is there, too.

    Commits are left out where the answer would be wrong or long: those that the repository lacks, the oldest ones of a
    shallow clone, and those after :data:`MOST_COMMITS`. A clone without file contents gives paths without counts, and
    renames as two files.

    Raises:
        HistoryError: git is missing or fails.
    """
    pairs = _first_parents(git, list(dict.fromkeys(hashes))[:MOST_COMMITS])
    if not pairs:
        return {}
    where = str(git.directory)
    counted = not git.partial
    command = [*_LARGE_FILES, "-C", where, *_COMMAND, *(_WITH_COUNTS if counted else _WITHOUT_COUNTS)]
    found: dict[str, CommitFiles] = {}
    try:
        with git_process(command, where, "".join(f"{pair}\n" for pair in pairs).encode()) as output:
            found.update(_commits(_bounded(output, where), counted=counted, where=where))
    except _TooMuchError:
        pass
    return found


def _first_parents(git: Git, hashes: Sequence[str]) -> list[str]:
    """Return the lines that make git compare each commit with its first parent: ``hash parent``, or ``hash`` for a root.

    In a shallow clone, what looks like a root is a commit whose parent is missing.
    """
    known = git.resolve(hashes).values()
    if not known:
        return []
    listed = "".join(f"{name}\n" for name in dict.fromkeys(known)).encode()
    lines = git.run("rev-list", "--no-walk=unsorted", "--parents", "--stdin", stdin=listed).decode().splitlines()
    pairs = [" ".join(line.split()[:2]) for line in lines]
    return [pair for pair in pairs if " " in pair] if git.shallow else pairs


def _bounded(output: IO[bytes], where: str) -> Iterator[bytes]:
    """Yield the tokens of the first :data:`_MOST_BYTES` bytes. Raises ``_TooMuchError`` after them."""
    total = 0
    for token in nul_tokens(output, where):
        total += len(token) + 1
        if total > _MOST_BYTES:
            raise _TooMuchError
        yield token


def _commits(tokens: Iterator[bytes], *, counted: bool, where: str) -> Iterator[tuple[str, CommitFiles]]:
    """Yield the hash and the files of each commit.

    A commit is two tokens, its hash and an empty one. A file begins with its counts or with a colon, which no hash does,
    so that no path is taken for a commit.
    """
    name, omitted = "", 0
    files: list[TouchedFile] = []
    for token in tokens:
        file = _counted_file(token, tokens) if counted else _changed_file(token, tokens)
        if file is None:
            if name:
                yield name, CommitFiles(tuple(files), omitted)
            name, files, omitted = token.decode("ascii", "replace"), [], 0
            next(tokens, b"")
        elif not name:
            raise HistoryError("git printed a file before a commit", where=where, remedy="Run: git fsck")
        elif len(files) < MOST_FILES:
            files.append(file)
        else:
            omitted += 1
    if name:
        yield name, CommitFiles(tuple(files), omitted)


def _counted_file(token: bytes, tokens: Iterator[bytes]) -> TouchedFile | None:
    """Read a file with its counts of lines, None where ``token`` begins a commit; a rename has two more tokens."""
    found = _COUNTS.fullmatch(token)
    if found is None:
        return None
    added, removed = (None if count == b"-" else int(count) for count in found.group(1, 2))
    if found[3]:
        return TouchedFile(_path(found[3]), added, removed)
    former = _path(next(tokens, b""))
    return TouchedFile(_path(next(tokens, b"")), added, removed, former)


def _changed_file(token: bytes, tokens: Iterator[bytes]) -> TouchedFile | None:
    """Read a file without counts: modes and kind of the change, then the path."""
    return TouchedFile(_path(next(tokens, b""))) if _CHANGE.fullmatch(token) else None


def _path(name: bytes) -> str:
    """Return a path as one printable line: git allows every byte but NUL in it."""
    return plain_line(name.decode(errors="replace"), _LONGEST_PATH)
