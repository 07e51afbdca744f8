"""A few files on a branch of a remote repository: read, replaced, and never over the work of another."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.repositories import GitRepository

from knickpoint.history import FileBranch, Git
from knickpoint.model.errors import HistoryError, InputError


@pytest.fixture
def project(tmp_path: Path) -> GitRepository:
    made = GitRepository.make(tmp_path / "project")
    made.commit()
    made.git("init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    made.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    return made


@pytest.fixture
def branch(project: GitRepository) -> FileBranch:
    return FileBranch.of(Git(project.directory), "origin", "kept")


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / f"{text}.txt"
    path.write_text(text, encoding="utf-8")
    return path


def _read(branch: FileBranch, tip: str, tmp_path: Path, *names: str) -> dict[str, str]:
    paths = {name: tmp_path / f"read-{name}" for name in names}
    return {name: paths[name].read_text(encoding="utf-8") for name in branch.read(tip, paths)}


def test_what_was_put_on_the_branch_is_read_from_it(branch: FileBranch, tmp_path: Path) -> None:
    assert branch.tip() == ""
    made = branch.replace("", {"a.txt": _file(tmp_path, "one")}, "Add")
    assert branch.tip() == made
    assert _read(branch, made, tmp_path, "a.txt", "b.txt") == {"a.txt": "one"}


def test_a_replacement_keeps_other_files_and_leaves_one_commit(
    branch: FileBranch, project: GitRepository, tmp_path: Path
) -> None:
    first = branch.replace("", {"a.txt": _file(tmp_path, "one"), "b.txt": _file(tmp_path, "two")}, "Add")
    second = branch.replace(first, {"a.txt": _file(tmp_path, "three")}, "Add")
    assert _read(branch, second, tmp_path, "a.txt", "b.txt") == {"a.txt": "three", "b.txt": "two"}
    assert project.git("--git-dir", str(tmp_path / "remote.git"), "rev-list", "--count", "kept") == "1"


def test_nothing_is_replaced_where_another_was_first(branch: FileBranch, tmp_path: Path) -> None:
    first = branch.replace("", {"a.txt": _file(tmp_path, "one")}, "Add")
    assert branch.replace("", {"a.txt": _file(tmp_path, "other")}, "Add") == ""
    second = branch.replace(first, {"a.txt": _file(tmp_path, "two")}, "Add")
    assert branch.replace(first, {"a.txt": _file(tmp_path, "late")}, "Add") == ""
    assert branch.tip() == second


def test_a_remote_that_accepts_no_push_is_an_error(branch: FileBranch, tmp_path: Path) -> None:
    hook = tmp_path / "remote.git" / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    with pytest.raises(HistoryError, match="git says"):
        branch.replace("", {"a.txt": _file(tmp_path, "one")}, "Add")


@pytest.mark.parametrize("name", ["", "-x", "a..b", "a b", "a.lock", "x:y"])
def test_a_name_that_git_would_take_for_something_else_is_refused(project: GitRepository, name: str) -> None:
    with pytest.raises(InputError):
        FileBranch.of(Git(project.directory), "origin", name)
