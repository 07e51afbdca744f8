"""Worktrees of a mirror, checked out beside each other."""

from __future__ import annotations

from pathlib import Path

from tests.bisect.runner.projects import project
from tests.repositories import GitRepository

from knickpoint.bisect.runner.workspace import Mirror


def test_a_check_out_leaves_the_lock_of_another_one_alone(tmp_path: Path) -> None:
    repository = GitRepository.make(tmp_path / "repository")
    first, second = project(repository, [1.0, 2.0])
    (tmp_path / "mirrors").mkdir()
    mirror = Mirror.of(str(repository.directory), tmp_path / "mirrors")
    mirror.check_out(first, tmp_path / "first")
    (worktree,) = (mirror.directory / "worktrees").iterdir()
    under_way, killed = worktree / "index.lock", mirror.directory / "packed-refs.lock"
    under_way.touch()
    killed.touch()
    mirror.check_out(second, tmp_path / "second")
    assert under_way.exists()
    assert not killed.exists()
