from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.repositories import GitRepository

from knickpoint.history import Git, NumberPattern, is_url, run_git, web_address
from knickpoint.model.errors import ConfigError, HistoryError

NewRepository = Callable[[str], GitRepository]


def test_a_commit_is_read_with_everything_that_git_knows(new_repository: NewRepository) -> None:
    made = new_repository("made")
    first = made.commit("Begin")
    second = made.commit("Höher, schneller\n\nA body.")
    commit = Git.at(made.directory).first_parents("main")[-1]
    assert (commit.hash, commit.parents, commit.author, commit.email) == (second, (first,), "Ada", "ada@example.org")
    assert (commit.subject, commit.time.isoformat()) == ("Höher, schneller", "2023-11-14T22:15:20+00:00")


def test_a_line_follows_first_parents_only(new_repository: NewRepository) -> None:
    made = new_repository("made")
    start = made.commit()
    made.switch("side", new=True)
    made.commits(3)
    made.switch("main")
    middle = made.commit()
    merged = made.merge("side")
    assert [commit.hash for commit in Git.at(made.directory).first_parents("main")] == [start, middle, merged]


def test_order_comes_from_the_graph_when_dates_run_backwards(new_repository: NewRepository) -> None:
    made = new_repository("made")
    hashes = [made.commit(date=f"{1_700_000_000 - 1000 * index} +0000") for index in range(4)]
    assert [commit.hash for commit in Git.at(made.directory).first_parents("main")] == hashes


def test_only_what_is_new_is_read_when_older_commits_are_left_out(new_repository: NewRepository) -> None:
    made = new_repository("made")
    hashes = made.commits(5)
    read = Git.at(made.directory).first_parents("main", without=[hashes[2]])
    assert [commit.hash for commit in read] == hashes[3:]


def test_a_year_that_no_calendar_has_is_clipped(new_repository: NewRepository) -> None:
    made = new_repository("made")
    made.commit(date="@99999999999999 +0000")
    assert Git.at(made.directory).first_parents("main")[0].time.year in {1970, 9999}


@pytest.mark.parametrize("branches", [["main"], ["master"], ["trunk", "feature"], ["work"]])
def test_the_default_branch_is_found_without_a_remote(new_repository: NewRepository, branches: list[str]) -> None:
    made = new_repository("made")
    made.git("switch", "--quiet", "--orphan", branches[0])
    made.commit()
    for name in branches[1:]:
        made.switch(name, new=True)
    assert Git.at(made.directory).default_branch() == branches[0]


def test_the_remote_says_which_branch_is_the_default_one(new_repository: NewRepository, tmp_path: Path) -> None:
    made = new_repository("made")
    made.commit()
    made.switch("develop", new=True)
    made.git("clone", "--quiet", str(made.directory), str(tmp_path / "copy"))
    assert Git.at(tmp_path / "copy").default_branch() == "develop"


def test_two_usual_branches_leave_the_choice_to_the_one_checked_out(new_repository: NewRepository) -> None:
    made = new_repository("made")
    made.commit()
    made.git("branch", "master")
    assert Git.at(made.directory).default_branch() == "main"


def test_a_detached_head_among_unusual_branches_asks_for_a_setting(new_repository: NewRepository) -> None:
    made = new_repository("made")
    made.commit()
    made.git("branch", "--move", "one")
    made.git("branch", "two")
    made.git("switch", "--quiet", "--detach")
    with pytest.raises(HistoryError, match="Set branch"):
        Git.at(made.directory).default_branch()


def test_what_was_the_default_branch_stays_it_whatever_is_checked_out(new_repository: NewRepository) -> None:
    made = new_repository("made")
    made.commit()
    made.git("branch", "--move", "develop")
    made.switch("feature", new=True)
    git = Git.at(made.directory)
    assert (git.default_branch("develop"), git.default_branch()) == ("develop", "feature")


def test_a_local_default_branch_may_be_renamed(new_repository: NewRepository) -> None:
    made = new_repository("made")
    made.commit()
    made.git("branch", "--move", "stable")
    assert Git.at(made.directory).default_branch("develop") == "stable"


def test_a_commit_without_a_branch_is_not_called_no_commit(new_repository: NewRepository) -> None:
    made = new_repository("made")
    made.commit()
    made.git("switch", "--quiet", "--detach")
    made.git("branch", "--quiet", "-D", "main")
    with pytest.raises(HistoryError, match="has commits, but no branch") as raised:
        Git.at(made.directory).default_branch()
    assert "fetch-depth: 0" in raised.value.remedy


def test_an_empty_repository_says_that_it_has_no_commits(new_repository: NewRepository) -> None:
    with pytest.raises(HistoryError, match="no commits yet"):
        Git.at(new_repository("empty").directory).default_branch()


def test_of_a_local_branch_and_its_remote_the_newer_one_counts(new_repository: NewRepository, tmp_path: Path) -> None:
    made = new_repository("made")
    made.commit()
    made.git("clone", "--quiet", str(made.directory), str(tmp_path / "copy"))
    copy = GitRepository(tmp_path / "copy", 10)
    newer = copy.commit()
    assert Git.at(copy.directory).branches()["main"] == newer


def test_of_two_that_have_parted_the_remote_counts(new_repository: NewRepository, tmp_path: Path) -> None:
    made = new_repository("made")
    made.commit()
    made.git("clone", "--quiet", str(made.directory), str(tmp_path / "copy"))
    copy = GitRepository(tmp_path / "copy", 10)
    copy.commit("Mine")
    theirs = made.commit("Theirs")
    copy.git("fetch", "--quiet")
    assert Git.at(copy.directory).branches()["main"] == theirs


def test_hashes_and_unique_prefixes_are_resolved_and_names_are_not(new_repository: NewRepository) -> None:
    made = new_repository("made")
    (only,) = made.commits(1)
    git = Git.at(made.directory)
    assert git.resolve([only, only[:8], "main", "HEAD", "0" * 40, "--help", ""]) == {only: only, only[:8]: only}


def test_commits_off_every_line_are_read_by_hash(new_repository: NewRepository) -> None:
    made = new_repository("made")
    made.commit()
    made.switch("side", new=True)
    lost = made.commit("Off the line")
    made.switch("main")
    made.git("branch", "--quiet", "-D", "side")
    assert Git.at(made.directory).commits([lost])[lost].subject == "Off the line"


def test_a_tip_contains_itself_and_its_ancestors(new_repository: NewRepository) -> None:
    made = new_repository("made")
    first, second = made.commits(2)
    git = Git.at(made.directory)
    assert (git.contains("main", first), git.contains("main", second), git.contains(first, second)) == (
        True,
        True,
        False,
    )


def test_a_clone_of_a_url_follows_new_commits_and_force_pushes(new_repository: NewRepository, tmp_path: Path) -> None:
    made = new_repository("made")
    hashes = made.commits(3)
    git = Git.clone(made.directory.as_uri(), tmp_path / "clones" / "made.git")
    assert [commit.hash for commit in git.first_parents("main")] == hashes
    made.git("reset", "--quiet", "--hard", hashes[0])
    other = made.commit("Another way")
    again = Git.clone(made.directory.as_uri(), tmp_path / "clones" / "made.git")
    again.fetch()
    assert [commit.hash for commit in again.first_parents("main")] == [hashes[0], other]
    assert [path.name for path in (tmp_path / "clones").iterdir()] == ["made.git"]


def test_a_clone_follows_a_renamed_default_branch(new_repository: NewRepository, tmp_path: Path) -> None:
    made = new_repository("made")
    made.commit()
    git = Git.clone(made.directory.as_uri(), tmp_path / "made.git")
    made.git("branch", "--move", "main", "next")
    git.fetch()
    assert Git.at(git.directory).default_branch() == "next"


def test_a_clone_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="git says"):
        Git.clone((tmp_path / "nowhere").as_uri(), tmp_path / "clones" / "made.git")
    assert list((tmp_path / "clones").iterdir()) == []


def test_a_url_that_is_an_option_is_not_one_for_git(tmp_path: Path) -> None:
    with pytest.raises(HistoryError):
        Git.clone(f"--upload-pack=touch {tmp_path / 'pwned'}", tmp_path / "clone.git")
    assert not (tmp_path / "pwned").exists()


def test_a_remote_helper_that_runs_commands_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="ext"):
        Git.clone(f"ext::touch {tmp_path / 'pwned'}", tmp_path / "clone.git")
    assert not (tmp_path / "pwned").exists()


def test_a_shallow_clone_knows_that_it_is_one(new_repository: NewRepository, tmp_path: Path) -> None:
    made = new_repository("made")
    made.commits(3)
    made.git("clone", "--quiet", "--depth=1", made.directory.as_uri(), str(tmp_path / "cut"))
    assert Git.at(tmp_path / "cut").shallow
    assert not Git.at(made.directory).shallow


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="no such directory"):
        Git.at(tmp_path / "nowhere")


def test_a_directory_without_a_repository_is_named(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="not a git repository"):
        Git.at(tmp_path)


def test_a_missing_git_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HistoryError, match="git program is missing"):
        run_git(["--version"])


def test_output_beyond_the_limit_is_refused(new_repository: NewRepository) -> None:
    made = new_repository("made")
    made.commits(2)
    with pytest.raises(HistoryError, match="more than 10 bytes"):
        run_git(["-C", str(made.directory), "log"], limit=10)


def test_variables_of_a_surrounding_hook_do_not_redirect_git(
    new_repository: NewRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, other = new_repository("made"), new_repository("other")
    (only,) = made.commits(1)
    other.commits(2)
    monkeypatch.setenv("GIT_DIR", str(other.directory / ".git"))
    assert [commit.hash for commit in Git.at(made.directory).first_parents("main")] == [only]


def test_hooks_of_a_repository_never_run(new_repository: NewRepository, tmp_path: Path) -> None:
    made = new_repository("made")
    made.commit()
    git = Git.clone(made.directory.as_uri(), tmp_path / "made.git")
    hook = git.directory / "hooks" / "reference-transaction"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
    hook.chmod(0o755)
    made.commit()
    git.fetch()
    assert not (tmp_path / "ran").exists()


def test_numbers_come_from_the_last_match_in_the_message(new_repository: NewRepository) -> None:
    made = new_repository("made")
    made.commit("Fix\n\nPosition: 41")
    made.commit('Revert "Fix"\n\n> Position: 41\n\nPosition: 42')
    made.commit("No number")
    git = Git.at(made.directory, numbers=NumberPattern.of(r"Position: (\d+)"))
    read = git.first_parents("main")
    assert [commit.number for commit in read] == [41, 42, None]
    assert [commit.subject for commit in read] == ["Fix", 'Revert "Fix"', "No number"]


@pytest.mark.parametrize("text", ["(", "Position: [0-9]+", "(a)(b)"])
def test_a_pattern_without_one_group_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        NumberPattern.of(text)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("https://example.org/r.git", True),
        ("git@example.org:o/r.git", True),
        ("ssh://git@example.org/r", True),
        ("../r", False),
        ("/srv/r.git", False),
        ("r", False),
    ],
)
def test_urls_and_paths_are_told_apart(location: str, *, expected: bool) -> None:
    assert is_url(location) is expected


@pytest.mark.parametrize(
    ("location", "page"),
    [
        ("git@github.com:o/r.git", "https://github.com/o/r"),
        ("https://user@gitlab.example.org/group/sub/r.git", "https://gitlab.example.org/group/sub/r"),
        ("https://github.com/o/r/", "https://github.com/o/r"),
        ("/srv/r.git", ""),
        ("https://example.org/r", ""),
    ],
)
def test_the_page_of_a_repository_is_known_where_its_host_is(location: str, page: str) -> None:
    assert web_address(location) == page
