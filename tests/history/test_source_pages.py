"""The pages of source lines at a forge: the file of a profile is found among those of a commit."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.repositories import GitRepository

from knickpoint.history import Git, SourceFiles, SourcePages
from knickpoint.model.commit import Commit

HASH = "9c1f0a64be2d57f38a0c41d6e97b25a3f04d8e6b"
PATHS = ["parse.py", "src/parse.py", "src/deep/load.py", "other/load.py", "src/a b#.py"]


def pages(url: str) -> SourcePages:
    return SourcePages(
        Commit(HASH, "ann", "", datetime(2026, 1, 1, tzinfo=UTC), "Subject", url=url), SourceFiles(PATHS)
    )


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("/home/ci/project/src/parse.py", "src/parse.py"),
        ("src\\deep\\load.py", "src/deep/load.py"),
        ("deep/load.py", "src/deep/load.py"),
        ("./src/a b#.py", "src/a%20b%23.py"),
        ("load.py", ""),  # two files have that name
        ("/elsewhere/load.py", ""),
        ("", ""),
    ],
)
def test_the_longest_common_end_names_the_file(file: str, path: str) -> None:
    page = pages(f"https://forge.example.org/a/b/commit/{HASH}").page(file, 7)
    assert page == (f"https://forge.example.org/a/b/blob/{HASH}/{path}#L7" if path else "")


def test_gitiles_has_addresses_of_its_own_and_an_unknown_line_has_none() -> None:
    found = pages(f"https://forge.example.org/b/+/{HASH}")
    assert found.page("src/parse.py", 7) == f"https://forge.example.org/b/+/{HASH}/src/parse.py#7"
    assert found.page("src/parse.py", 0) == f"https://forge.example.org/b/+/{HASH}/src/parse.py"


def test_files_are_those_of_the_commit(tmp_path: Path) -> None:
    made = GitRepository.make(tmp_path / "project")
    (made.directory / "ä.py").write_text("1\n")
    made.git("add", "--all")
    made.commit("Add a file")
    git = Git.at(made.directory, web="https://forge.example.org/b")
    (*_, commit) = git.first_parents("main")
    files = SourceFiles.read(git, commit.hash)
    assert files.path("/home/ci/project/ä.py") == "ä.py"
    assert SourcePages(commit, files).page("ä.py", 1).endswith(f"/blob/{commit.hash}/%C3%A4.py#L1")
    (*_, unknown) = Git.at(made.directory).first_parents("main")
    assert SourcePages(unknown, files).page("ä.py", 1) == ""
