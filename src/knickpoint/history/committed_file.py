"""Read one file as a commit has it."""

from __future__ import annotations

from dataclasses import dataclass

from knickpoint.history.git import Git
from knickpoint.history.git_process import run_git
from knickpoint.model.errors import HistoryError

__all__ = ["CommittedFile", "find_committed_file"]


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
            raise HistoryError(f"{path} is no file at {tip[:10]}", where=str(git.directory), remedy="Name a file.")
        return CommittedFile(git, tip, path, blob.decode())
    return None
