"""``knick init``: the instance, and the repository around it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Knick
from tests.repositories import GitRepository


@pytest.fixture
def mylib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepository:
    """Make a repository and go there."""
    made = GitRepository.make(tmp_path / "mylib")
    made.commits(2)
    monkeypatch.chdir(made.directory)
    return made


def repositories(directory: Path) -> Any:
    return tomllib.loads((directory / "knickpoint.toml").read_text()).get("repositories", {})


def test_inside_a_work_tree_the_instance_has_its_repository(knick: Knick, mylib: GitRepository) -> None:
    ran = knick("init")
    assert repositories(mylib.directory) == {"mylib": {"location": "."}}
    assert "git repository mylib" in ran.output


def test_an_instance_below_the_top_names_it_relative_to_itself(knick: Knick, mylib: GitRepository) -> None:
    knick("init", "bench/lab")
    assert repositories(mylib.directory / "bench" / "lab") == {"mylib": {"location": "../.."}}


@pytest.mark.usefixtures("mylib")
def test_an_instance_elsewhere_has_no_repository_where_nobody_can_be_asked(knick: Knick, tmp_path: Path) -> None:
    knick("init", tmp_path / "lab")
    assert repositories(tmp_path / "lab") == {}


@pytest.mark.long
@pytest.mark.parametrize(
    ("answer", "place", "expected"),
    [
        ("\n", ".", {"mylib": {"location": "."}}),
        pytest.param("n\n", ".", {}, marks=pytest.mark.long),
        pytest.param("\n", "../lab", {"mylib": {"location": "TOP"}}, marks=pytest.mark.long),
        ("n\n", "../lab", {}),
    ],
)
def test_at_a_terminal_the_repository_that_we_are_in_is_offered(
    mylib: GitRepository, answer: str, place: str, expected: dict[str, dict[str, str]]
) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    command = [sys.executable, "-m", "knickpoint.cli", "init", place]
    subprocess.run(command, stdin=theirs, stdout=theirs, stderr=theirs, check=True, cwd=mylib.directory)
    os.close(theirs)
    os.close(ours)
    found = repositories(mylib.directory / place)
    assert found == {
        name: {"location": facts["location"].replace("TOP", str(mylib.directory))} for name, facts in expected.items()
    }


def test_a_repository_with_a_remote_is_called_by_owner_and_project(knick: Knick, mylib: GitRepository) -> None:
    mylib.git("remote", "add", "origin", "git@github.com:ada/textmill.git")
    knick("init")
    assert list(repositories(mylib.directory)) == ["ada/textmill"]


def test_the_repository_around_can_be_left_out(knick: Knick, mylib: GitRepository) -> None:
    knick("init", "--no-repository")
    assert repositories(mylib.directory) == {}


def test_a_repository_that_is_named_stands_alone(knick: Knick, mylib: GitRepository) -> None:
    knick("init", "--repository", "other=https://example.org/o/r.git")
    assert list(repositories(mylib.directory)) == ["other"]


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("missing", "there is no directory missing"),
        ("htps://example.org/mylib.git", "there is no directory htps://example.org/mylib.git"),
        ("plain", "git says: not a git repository"),
        ("file:///nowhere/mylib.git", "there is no directory /nowhere/mylib.git"),
    ],
)
def test_a_place_without_a_repository_is_refused_and_nothing_is_made(
    knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").mkdir()
    ran = knick("init", "lab", "--repository", f"mylib={location}")
    assert ran.code == 2
    assert f"--repository mylib={location}: {reason}" in ran.errors
    assert "Give the path of a git repository from here, or a URL" in ran.errors
    assert not (tmp_path / "lab").exists()


@pytest.mark.usefixtures("mylib")
@pytest.mark.parametrize("location", ["https://example.org/mylib.git", "git@example.org:mylib.git"])
def test_a_url_is_taken_as_it_is_since_only_fetching_it_tells_whether_it_leads_anywhere(
    knick: Knick, tmp_path: Path, location: str
) -> None:
    assert knick("init", tmp_path / "lab", "--repository", f"mylib={location}").code == 0
    assert repositories(tmp_path / "lab") == {"mylib": {"location": location}}


def test_naming_and_leaving_out_contradict_each_other(knick: Knick, mylib: GitRepository) -> None:
    ran = knick("init", "--no-repository", "--repository", "a=.")
    assert (ran.code, (mylib.directory / "knickpoint.toml").exists()) == (2, False)


def test_a_work_tree_that_git_refuses_is_named_with_the_ways_out(knick: Knick, mylib: GitRepository) -> None:
    with (mylib.directory / ".git" / "config").open("a") as config:
        config.write("[core]\n\trepositoryformatversion = 99\n")
    refused = knick("init", ".knickpoint")
    assert refused.code == 2
    assert "git says: Expected git repo version" in refused.errors
    assert str(mylib.directory) in refused.errors
    assert "--no-repository" in refused.errors
    assert not (mylib.directory / ".knickpoint").exists()
    assert knick("init", ".knickpoint", "--no-repository").code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_work_tree_of_another_owner_is_named_with_the_command_that_trusts_it(
    knick: Knick, mylib: GitRepository
) -> None:
    for path in (mylib.directory, mylib.directory / ".git"):
        os.chown(path, 65534, 65534)
    refused = knick("init", ".knickpoint")
    assert refused.code == 2
    assert f"safe.directory {mylib.directory}, if you trust its owner" in refused.errors


def test_where_the_configuration_came_first_init_makes_the_store_that_it_names(knick: Knick, tmp_path: Path) -> None:
    written = 'name = "Lab"\n[store]\nlocation = "elsewhere.db"\n'
    (tmp_path / "knickpoint.toml").write_text(written)
    assert "Make one with knick init" in knick("doctor", "--instance", tmp_path).errors
    contradicts = knick("init", tmp_path, "--store", "other.db")
    assert contradicts.code == 2
    assert "there is a knickpoint.toml already" in contradicts.errors
    assert knick("init", tmp_path).code == 0
    assert {path.name for path in tmp_path.iterdir() if path.suffix in {".db", ".toml"}} == {
        "elsewhere.db",
        "knickpoint.toml",
    }
    assert (tmp_path / "knickpoint.toml").read_text() == written
    assert knick("ingest", "status", "--instance", tmp_path).code == 0
    again = knick("init", tmp_path)
    assert (again.code, "the instance already exists" in again.errors) == (2, True)


def test_outside_of_a_work_tree_commits_come_from_results(
    knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    knick("init")
    assert repositories(tmp_path) == {}


def test_the_four_commands_work_in_a_repository_of_ones_own(knick: Knick, mylib: GitRepository) -> None:
    knick("init")
    for value in (10, 11):
        (mylib.directory / "go.txt").write_text(f"BenchmarkSort 100 {value} ns/op\n")
        ran = knick("import", "go.txt")
        assert (ran.code, "results without a commit: HEAD" in ran.output) == (0, True)
        mylib.commit()
    assert knick("run").code == 0
