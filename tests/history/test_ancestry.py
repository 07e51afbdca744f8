from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from tests.repositories import GitRepository

from knickpoint.history import Git, find_commit, newest_contained
from knickpoint.model.errors import HistoryError

NewRepository = Callable[[str], GitRepository]


def blocks(hashes: Sequence[str], size: int = 2) -> Iterable[Sequence[str]]:
    """Return ``hashes``, oldest first, as blocks of the newest first."""
    newest = list(reversed(hashes))
    return [newest[begin : begin + size] for begin in range(0, len(newest), size)]


@pytest.fixture
def made(new_repository: NewRepository) -> GitRepository:
    """Make a repository with three commits on main, tagged v1, v2 and v3."""
    repository = new_repository("made")
    for number in (1, 2, 3):
        repository.commit()
        repository.git("tag", f"v{number}")
    return repository


def test_a_commit_is_found_by_branch_tag_hash_prefix_and_relative_name(made: GitRepository) -> None:
    git = Git.at(made.directory)
    first, second, third = (made.git("rev-parse", f"v{number}") for number in (1, 2, 3))
    assert [find_commit(git, name) for name in ("main", "HEAD", third, third[:9])] == [third] * 4
    assert [find_commit(git, name) for name in ("v2", "HEAD~1", "main^", "refs/tags/v2")] == [second] * 4
    assert find_commit(git, "HEAD~2") == first


def test_an_annotated_tag_means_its_commit(made: GitRepository) -> None:
    made.git("tag", "-a", "release", "-m", "Release", "v2")
    assert find_commit(Git.at(made.directory), "release") == made.git("rev-parse", "v2")


def test_a_branch_that_only_the_remote_has_is_found_by_its_plain_name(made: GitRepository, tmp_path: Path) -> None:
    made.switch("side", new=True)
    tip = made.commit()
    made.git("clone", "--quiet", "--branch", "main", str(made.directory), str(tmp_path / "clone"))
    git = Git.at(tmp_path / "clone")
    assert find_commit(git, "side") == tip
    assert find_commit(git, "side~1") == made.git("rev-parse", "main")


def test_a_name_that_nothing_has_is_no_commit(made: GitRepository) -> None:
    git = Git.at(made.directory)
    assert [find_commit(git, name) for name in ("nothing", "0123456789abcdef", "HEAD~99", "main:README")] == [""] * 4


@pytest.mark.parametrize("name", ["--output=/etc/passwd", "-n1", "", "main\nv1", "main\0", "x" * 1001])
def test_what_can_be_no_name_of_a_commit_is_refused(made: GitRepository, name: str) -> None:
    with pytest.raises(HistoryError, match="cannot be the name of a commit"):
        find_commit(Git.at(made.directory), name)


def test_the_newest_commit_that_a_branch_contains_is_where_it_left_the_line(made: GitRepository) -> None:
    made.git("switch", "--quiet", "--create", "side", "v2")
    tip = made.commit()
    made.switch("main")
    made.commits(5)
    line = made.git("rev-list", "--first-parent", "--reverse", "main").split()
    assert newest_contained(Git.at(made.directory), blocks(line), tip) == line[1]


def test_a_branch_that_merged_the_line_contains_what_it_merged(made: GitRepository) -> None:
    made.git("switch", "--quiet", "--create", "side", "v1")
    made.commit()
    made.merge("main")
    tip = made.commit()
    made.switch("main")
    made.commits(2)
    line = made.git("rev-list", "--first-parent", "--reverse", "main").split()
    assert newest_contained(Git.at(made.directory), blocks(line), tip) == line[2]


def test_a_branch_off_a_side_branch_left_the_line_where_the_side_branch_did(made: GitRepository) -> None:
    made.git("switch", "--quiet", "--create", "side", "v2")
    made.commit()
    made.switch("patch", new=True)
    tip = made.commit()
    made.switch("main")
    made.merge("side")
    line = made.git("rev-list", "--first-parent", "--reverse", "main").split()
    assert newest_contained(Git.at(made.directory), blocks(line), tip) == line[1]


def test_a_commit_of_the_line_contains_itself(made: GitRepository) -> None:
    line = made.git("rev-list", "--first-parent", "--reverse", "main").split()
    assert newest_contained(Git.at(made.directory), blocks(line), line[1]) == line[1]


def test_commits_of_the_line_that_a_clone_lacks_do_not_count(made: GitRepository, tmp_path: Path) -> None:
    clone = GitRepository(tmp_path / "clone", minutes=50)
    made.git("clone", "--quiet", str(made.directory), str(clone.directory))
    tip = clone.commit()
    made.commits(3)
    line = made.git("rev-list", "--first-parent", "--reverse", "main").split()
    assert newest_contained(Git.at(clone.directory), blocks(line), tip) == line[2]


def test_histories_that_share_nothing_have_no_commit_in_common(made: GitRepository) -> None:
    line = made.git("rev-list", "--first-parent", "--reverse", "main").split()
    made.git("switch", "--quiet", "--orphan", "island")
    tip = made.commit()
    assert newest_contained(Git.at(made.directory), blocks(line), tip) == ""


def test_what_a_shallow_clone_cut_off_is_not_found(made: GitRepository, tmp_path: Path) -> None:
    made.git("switch", "--quiet", "--create", "side", "v2")
    tip = made.commits(3)[-1]
    made.git("clone", "--quiet", "--depth=1", "--branch=side", made.directory.as_uri(), str(tmp_path / "clone"))
    line = made.git("rev-list", "--first-parent", "--reverse", "main").split()
    git = Git.at(tmp_path / "clone")
    assert (newest_contained(git, blocks(line), tip), git.shallow) == ("", True)
