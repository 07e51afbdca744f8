"""Real git repositories for tests, made by the git program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_START = 1_700_000_000


@dataclass
class GitRepository:
    """A work tree whose commits are empty but for their messages; time goes by one minute a commit."""

    directory: Path
    minutes: int = 0

    @classmethod
    def make(cls, directory: Path) -> GitRepository:
        """Make an empty repository with the branch main."""
        directory.mkdir(parents=True)
        repository = cls(directory)
        repository.git("init", "--quiet", "--initial-branch=main")
        return repository

    def git(self, *arguments: str, date: str = "", text: str = "") -> str:
        """Run git with ``text`` as its input, and return what it prints, without the space around it."""
        stamp = date or f"{_START + 60 * self.minutes} +0000"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            # Each commit starts a second process otherwise, which finds nothing to tidy
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "maintenance.auto",
            "GIT_CONFIG_VALUE_0": "false",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
            "GIT_AUTHOR_DATE": stamp,
            "GIT_COMMITTER_DATE": stamp,
        }
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.directory,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
            input=text,
        )
        return done.stdout.strip()

    def commit(self, message: str = "Change something", *, date: str = "") -> str:
        """Commit on the branch that is checked out and return the hash."""
        self.minutes += 1
        self.git("commit", "--quiet", "--allow-empty", "-m", message, date=date)
        return self.git("rev-parse", "HEAD")

    def commits(self, count: int) -> list[str]:
        """Commit ``count`` times on the branch that is checked out, and return the hashes, oldest first.

        The first one takes the index; one further process makes the others, as ``commit`` would make them one by one.
        """
        first = [self._commit_next() for _ in range(min(count, 1))]
        branch = self.git("symbolic-ref", "HEAD")
        stream, base = [], f"from {branch}^0\n"
        for _ in range(count - 1):
            self.minutes += 1
            message = f"Change number {self.minutes}\n"
            who = f"Ada <ada@example.org> {_START + 60 * self.minutes} +0000"
            stream.append(f"commit {branch}\nauthor {who}\ncommitter {who}\ndata {len(message)}\n{message}{base}")
            base = ""
        if not stream:
            return first
        self.git("fast-import", "--quiet", text="".join(stream))
        return [*first, *self.git("rev-list", "--reverse", "--first-parent", f"{first[0]}..HEAD").split()]

    def commit_files(self, changes: Iterable[tuple[str, Mapping[str, str]]]) -> list[str]:
        """Commit each of ``changes``, a message and the texts of files by path, and return the hashes, oldest first.

        They are the commits that :meth:`commit` would make of files that were written and added, in a few processes.
        """
        branch = self.git("symbolic-ref", "HEAD")
        base = f"from {branch}^0\n" if self.git("for-each-ref", branch) else ""
        stream = []
        for subject, files in changes:
            message = f"{subject}\n"
            self.minutes += 1
            who = f"Ada <ada@example.org> {_START + 60 * self.minutes} +0000"
            stream.append(f"commit {branch}\nauthor {who}\ncommitter {who}\n{_data(message)}{base}")
            stream += [f"M 100644 inline {path}\n{_data(text)}" for path, text in files.items()]
            base = ""
        self.git("fast-import", "--quiet", text="".join(stream))
        self.git("reset", "--quiet", "--hard")
        count = sum(part.startswith("commit ") for part in stream)
        return self.git("rev-list", "--reverse", "--first-parent", f"--max-count={count}", "HEAD").split()

    def _commit_next(self) -> str:
        return self.commit(f"Change number {self.minutes + 1}")

    def switch(self, branch: str, *, new: bool = False) -> None:
        """Check out a branch."""
        self.git("switch", "--quiet", *(["--create"] if new else []), branch)

    def merge(self, branch: str) -> str:
        """Merge ``branch`` with a merge commit and return its hash."""
        self.minutes += 1
        self.git("merge", "--quiet", "--no-ff", "-m", f"Merge {branch}", branch)
        return self.git("rev-parse", "HEAD")


def _data(text: str) -> str:
    """Return a text as ``git fast-import`` takes it."""
    return f"data {len(text.encode())}\n{text}\n"
