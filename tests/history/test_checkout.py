"""What is checked out in a work tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.repositories import GitRepository

from knickpoint.history import Git, find_work_tree, is_head, read_checkout, remote_address


@pytest.fixture
def made(tmp_path: Path) -> GitRepository:
    repository = GitRepository.make(tmp_path / "r")
    (repository.directory / "code.c").write_text("one")
    repository.git("add", ".")
    repository.commit()
    return repository


def test_a_clean_work_tree_has_the_commit_and_no_changes(made: GitRepository) -> None:
    found = read_checkout(Git(made.directory))
    assert found is not None
    assert (found.directory, found.commit, found.changed) == (made.directory, made.git("rev-parse", "HEAD"), ())
    assert int(found.time.timestamp()) == int(made.git("log", "-1", "--format=%ct"))


def test_a_tracked_file_with_other_content_is_a_change(made: GitRepository) -> None:
    (made.directory / "code.c").write_text("two")
    found = read_checkout(Git(made.directory))
    assert found is not None
    assert found.changed == (made.directory / "code.c",)


def test_a_file_that_is_staged_is_a_change(made: GitRepository) -> None:
    (made.directory / "ä b.c").write_text("two")
    made.git("add", ".")
    found = read_checkout(Git(made.directory))
    assert found is not None
    assert found.changed == (made.directory / "ä b.c",)


def test_files_that_git_does_not_track_are_no_change(made: GitRepository) -> None:
    (made.directory / "results.json").write_text("{}")
    found = read_checkout(Git(made.directory))
    assert found is not None
    assert found.changed == ()


def test_a_file_that_was_written_anew_with_the_same_content_is_no_change(made: GitRepository) -> None:
    (made.directory / "code.c").write_text("one")
    found = read_checkout(Git(made.directory))
    assert found is not None
    assert found.changed == ()


def test_nothing_is_checked_out_in_a_bare_repository(made: GitRepository, tmp_path: Path) -> None:
    made.git("clone", "--quiet", "--bare", str(made.directory), str(tmp_path / "bare.git"))
    assert read_checkout(Git(tmp_path / "bare.git")) is None


def test_nothing_is_checked_out_before_the_first_commit(tmp_path: Path) -> None:
    assert read_checkout(Git(GitRepository.make(tmp_path / "r").directory)) is None


def test_the_work_tree_is_found_from_below_and_for_what_does_not_exist_yet(made: GitRepository) -> None:
    assert find_work_tree(made.directory / "bench" / "instance") == made.directory


def test_outside_of_a_repository_there_is_no_work_tree(tmp_path: Path) -> None:
    assert find_work_tree(tmp_path) is None


def test_the_address_of_the_remote_is_empty_without_one(made: GitRepository) -> None:
    assert remote_address(Git(made.directory)) == ""
    made.git("remote", "add", "origin", "https://example.org/o/r.git")
    assert remote_address(Git(made.directory)) == "https://example.org/o/r.git"


@pytest.mark.parametrize(("name", "expected"), [("HEAD", True), ("HEAD~3", True), ("@", True), ("HEADER", False)])
def test_names_that_begin_at_head_are_known(name: str, *, expected: bool) -> None:
    assert is_head(name) is expected
