"""Create the git repository of textmill, and check out its commits."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path

from knickpoint.demo.history import PlannedCommit
from knickpoint.model.errors import HistoryError

__all__ = ["check_out", "make_repository"]


def _git(repository: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    """Run git in ``repository``. Raises ``HistoryError`` with the message of git when it fails."""
    try:
        done = subprocess.run(["git", "-C", str(repository), *arguments], input=stdin, capture_output=True, check=False)  # noqa: S603, S607
    except FileNotFoundError:
        raise HistoryError(
            "the program git is missing", remedy="Install it, for example: apt-get install git"
        ) from None
    if done.returncode:
        raise HistoryError(
            f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}", where=str(repository)
        )
    return done.stdout


def _stream(commits: Iterable[PlannedCommit]) -> bytes:
    """Return the commits as input of ``git fast-import``."""
    parts: list[bytes] = [b"feature done\n"]
    before: Mapping[str, str] = {}
    for commit in commits:
        who = f"{commit.author} <{commit.email}> {int(commit.time.timestamp())} +0000"
        message = commit.message.encode()
        parts.append(
            f"commit refs/heads/main\nmark :{commit.position + 1}\nauthor {who}\ncommitter {who}\n".encode()
            + b"data %d\n%s\n" % (len(message), message)
        )
        for path, text in sorted(commit.files.items()):
            if before.get(path) != text:
                content = text.encode()
                parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content))
        parts.append(b"\n")
        before = commit.files
    parts.append(b"done\n")
    return b"".join(parts)


def make_repository(directory: Path, commits: Iterable[PlannedCommit]) -> list[str]:
    """Create a git repository with ``commits`` in ``directory``, and return their hashes, oldest first.

    Raises:
        HistoryError: git is missing or fails.
    """
    directory.mkdir(parents=True)
    _git(directory, "init", "--quiet", "--initial-branch=main")
    _git(directory, "fast-import", "--quiet", stdin=_stream(commits))
    _git(directory, "reset", "--quiet", "--hard")
    return _git(directory, "rev-list", "--first-parent", "--reverse", "main").decode().split()


def check_out(repository: Path, revision: str, directory: Path) -> None:
    """Write the files of ``revision`` into ``directory``. Raises ``HistoryError`` when git fails."""
    archive = _git(repository, "archive", "--format=tar", revision)
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(directory, filter="data")
