"""Look up in a repository: names, the checked out commit, files and their pages, the files that commits touch."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Final
from urllib.parse import quote

from knickpoint.history.git import Git
from knickpoint.history.git_process import git_process, nul_tokens, run_git
from knickpoint.model.commit import Commit
from knickpoint.model.errors import HistoryError
from knickpoint.model.plain_text import plain_line
from knickpoint.model.suspects import CommitFiles, TouchedFile

# Find in a git repository the commit that a name stands for, and where a commit left a line.


_LONGEST_REFERENCE = 1000
"""Characters of a reference; git allows file names of 255 in each of its parts."""


def find_commit(git: Git, reference: str) -> str:
    """Return the full hash of the commit that ``reference`` stands for, "" where the repository has none.

    A reference is a branch, a tag, ``HEAD~3``, a hash or a unique prefix of one. A branch that only the remote has is
    found by its plain name; for a branch that both have, :meth:`Git.branches` chooses the tip. References reach git
    through its standard input, so that it takes none for an option.

    Raises:
        HistoryError: the text cannot be a reference, or a prefix fits several commits.
    """
    if reference.startswith("-") or not reference.isprintable() or not 0 < len(reference) <= _LONGEST_REFERENCE:
        raise HistoryError(
            f"{reference[:80]!r} cannot be the name of a commit",
            remedy="Name a branch, a tag, a hash, or something like HEAD~3.",
        )
    tip = git.branches().get(reference)
    if tip is not None:
        return tip
    asked = "".join(f"{name}^{{commit}}\n" for name in (reference, f"refs/remotes/origin/{reference}"))
    answers = git.run("cat-file", "--batch-check=%(objectname)", stdin=asked.encode()).decode().splitlines()
    if answers[0].endswith(" ambiguous"):
        raise HistoryError(
            f"{reference!r} fits more than one commit", where=str(git.directory), remedy="Give more of it."
        )
    return next((answer for answer in answers if not answer.endswith(" missing")), "")


def newest_contained(git: Git, blocks: Iterable[Sequence[str]], commit: str) -> str:
    """Return the newest commit of a line that ``commit`` is or contains, "" where there is none.

    That is the merge base of ``commit`` with the line, but always a commit of the line: where a branch began at a side
    branch that was merged later, git's merge base is on no line. A commit of the line that the repository lacks is not
    contained in one that it has. In a shallow repository, "" may also mean that the merge base is cut off.

    Args:
        git: the repository.
        blocks: the full hashes of the line by first parent, newest first, in blocks; only as many are read as are
            needed.
        commit: the full hash of a commit of the repository.

    Raises:
        HistoryError: git fails.
    """
    # The commits of the line that ``commit`` does not contain are read once, from the newest that the repository has.
    outside: frozenset[str] | None = None
    for block in blocks:
        known = git.resolve(block)
        for name in block:
            if name not in known:
                continue
            if outside is None:
                printed = git.run("rev-list", "--first-parent", name, f"^{commit}", "--").decode()
                outside = frozenset(printed.split())
            if name not in outside:
                return name if git.contains(commit, name) else ""
    return ""


# Read which commit is checked out in a work tree, and which files differ from it.


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
    """Return the checkout; None in a bare repository, and before the first commit."""
    try:
        top = _top(git)
    except HistoryError:
        return None
    name = find_commit(git, "HEAD")
    if not name:
        return None
    return Checkout(top, name, git.commits([name])[name].time, _changed(top))


def is_head(name: str) -> bool:
    """Return True if ``name`` starts from HEAD, and so means nothing in a bare repository."""
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


# Read one file as a commit has it.


@dataclass(frozen=True, slots=True)
class CommittedFile:
    """A file at the commit ``tip`` of a repository; ``blob`` is the id of its content."""

    git: Git
    tip: str
    path: str
    blob: str

    def read(self, limit: int) -> bytes:
        """Return the content; a clone without the contents of files fetches this one.

        Raises:
            HistoryError: git cannot read it, or it has more than ``limit`` bytes.
        """
        where = str(self.git.directory)
        remote = self.git.remote if self.git.partial else None
        return run_git(["-C", where, "cat-file", "blob", self.blob], where=where, limit=limit, remote=remote)

    def last_change(self) -> str:
        """Return the hash of the newest commit up to the tip that changed the file.

        Raises:
            HistoryError: git cannot read the history.
        """
        command = ("rev-list", "--max-count=1", self.tip, "--", f":(literal){self.path}")
        return self.git.run(*command).decode().strip() or self.tip


def find_committed_file(git: Git, tip: str, path: str) -> CommittedFile | None:
    """Return the file at ``path`` as the commit ``tip`` has it, None where it has none.

    ``path`` is relative to the root, with ``/`` between its parts.

    Raises:
        HistoryError: git cannot read the commit, or something else than a file is there.
    """
    for entry in git.run("ls-tree", "-z", "--full-tree", tip, "--", f":(literal){path}").split(b"\x00"):
        facts, _, name = entry.partition(b"\t")
        if name != path.encode():
            continue
        mode, kind, blob = facts.split()
        if kind != b"blob" or not mode.startswith(b"100"):
            raise HistoryError(f"{path} is not a file at {tip[:10]}", where=str(git.directory), remedy="Name a file.")
        return CommittedFile(git, tip, path, blob.decode())
    return None


# Read which files commits touch, and how many lines of each, in one git process for all of them.


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
"""Lines of larger files are not counted: it would take long, and they are not sources."""


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
    """Return lines that make git compare commits with their first parents: ``hash parent``, or ``hash`` for a root.

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

    A commit is two tokens, its hash and an empty one. A file begins with its counts or with a colon, which no hash
    does, so that no path is taken for a commit.
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


_COMMIT: Final = "/commit/"
_GITILES: Final = "/+/"


class SourceFiles:
    """The files of a commit, by the paths that other machines give them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._named: dict[str, list[Sequence[str]]] = {}
        for path in paths:
            parts = tuple(path.split("/"))
            self._named.setdefault(parts[-1], []).append(parts)

    @classmethod
    def read(cls, git: Git, commit: str) -> SourceFiles:
        """Read the files of a commit. Raises ``HistoryError`` where git lacks it."""
        listed = git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
        return cls(listed.decode(errors="replace").split("\0"))

    def path(self, file: str) -> str:
        """Path of a file that a profile names; "" where no one file of the commit is meant.

        A profile has the path of another machine: of it and the path in the repository, the shorter one ends the other.
        """
        wanted = tuple(part for part in file.replace("\\", "/").split("/") if part not in {"", "."})
        shared: Mapping[Sequence[str], int] = {
            parts: length
            for parts in self._named.get(wanted[-1] if wanted else "", ())
            if parts[-(length := min(len(parts), len(wanted))) :] == wanted[-length:]
        }
        best = [parts for parts, length in shared.items() if length == max(shared.values())]
        return "/".join(best[0]) if len(best) == 1 else ""


class SourcePages:
    """The page of a line in each file of a commit.

    Addresses follow from that of the commit: ``…/commit/HASH`` on GitHub, GitLab and Forgejo, ``…/+/HASH`` on Gitiles.
    """

    def __init__(self, commit: Commit, files: SourceFiles) -> None:
        self._commit = commit
        self._files = files

    def page(self, file: str, line: int) -> str:
        """Page of a line of a file that a profile names; "" where no one file of the commit is meant."""
        path = self._files.path(file) if _has_page(self._commit) else ""
        return self._page(path, line) if path else ""

    def _page(self, path: str, line: int) -> str:
        url, name = self._commit.url, self._commit.hash
        if url.endswith(f"{_COMMIT}{name}"):
            page, mark = f"{url.removesuffix(f'{_COMMIT}{name}')}/blob/{name}/{quote(path)}", "#L"
        else:
            page, mark = f"{url}/{quote(path)}", "#"
        return f"{page}{mark}{line}" if line > 0 else page


def _has_page(commit: Commit) -> bool:
    return commit.url.endswith((f"{_COMMIT}{commit.hash}", f"{_GITILES}{commit.hash}"))
