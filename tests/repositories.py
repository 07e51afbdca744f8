"""Real git repositories for tests, made by the git program."""

from __future__ import annotations

import os
import subprocess
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

    def git(self, *arguments: str, date: str = "") -> str:
        """Run git and return what it prints, without the space around it."""
        stamp = date or f"{_START + 60 * self.minutes} +0000"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
            "GIT_AUTHOR_DATE": stamp,
            "GIT_COMMITTER_DATE": stamp,
        }
        done = subprocess.run(
            ["git", *arguments], cwd=self.directory, env=environment, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def commit(self, message: str = "Change something", *, date: str = "") -> str:
        """Commit on the branch that is checked out and return the hash."""
        self.minutes += 1
        self.git("commit", "--quiet", "--allow-empty", "-m", message, date=date)
        return self.git("rev-parse", "HEAD")

    def commits(self, count: int) -> list[str]:
        """Commit ``count`` times and return the hashes, oldest first."""
        return [self.commit(f"Change number {self.minutes + 1}") for _ in range(count)]

    def switch(self, branch: str, *, new: bool = False) -> None:
        """Check out a branch."""
        self.git("switch", "--quiet", *(["--create"] if new else []), branch)

    def merge(self, branch: str) -> str:
        """Merge ``branch`` with a merge commit and return its hash."""
        self.minutes += 1
        self.git("merge", "--quiet", "--no-ff", "-m", f"Merge {branch}", branch)
        return self.git("rev-parse", "HEAD")
