"""Names of git stand for commits of a line, in a real repository."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.repositories import GitRepository
from tests.server.client import Client

from knickpoint.cli.program import knick
from knickpoint.ingest import import_files
from knickpoint.instance import Instance, create_instance, open_instance
from knickpoint.instance.named_commits import known_revision, named_position
from knickpoint.model.errors import HistoryError
from knickpoint.server import create_app


@dataclass(frozen=True)
class Released:
    """An instance whose repository has six commits on main, and a release with a commit of its own after the third."""

    directory: Path
    main: list[str]


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Released:
    repository = GitRepository.make(tmp_path_factory.mktemp("released") / "project")
    main = repository.commits(3)
    repository.git("tag", "v1.0")
    repository.git("switch", "--quiet", "--create", "release")
    repository.commit("Name the version")
    repository.git("tag", "v1.1")
    repository.git("switch", "--quiet", "main")
    main += repository.commits(3)
    results = repository.directory / "results.csv"
    rows = [f"{name},parse,ms,{10 + place}" for place, name in enumerate(main)]
    results.write_text("\n".join(["commit,benchmark,unit,value", *rows, ""]), encoding="utf-8")
    directory = repository.directory / ".knickpoint"
    with create_instance(directory, repositories={"project": ".."}) as opened:
        import_files(opened, [results])
    return Released(directory, main)


def position(opened: Instance, name: str) -> int | None:
    repository = opened.store.commits.repository("project")
    return named_position(opened, opened.store.commits.line(repository), name)


@pytest.mark.parametrize(
    ("name", "expected"), [("v1.0", 2), ("v1.1", 2), ("release", 2), ("main", 5), ("HEAD~2", 3), ("v9", None)]
)
def test_a_name_stands_for_the_newest_commit_of_the_line_that_it_contains(
    released: Released, name: str, expected: int | None
) -> None:
    with open_instance(released.directory) as opened:
        assert position(opened, name) == expected


def test_an_option_of_git_is_no_name(released: Released) -> None:
    with (
        open_instance(released.directory) as opened,
        pytest.raises(HistoryError, match="cannot be the name of a commit"),
    ):
        position(opened, "--all")


def test_two_releases_are_compared(released: Released) -> None:
    with open_instance(released.directory) as opened:
        client = Client(create_app(opened))
        answer = client.get("/api/v1/comparison", params={"base": "v1.1", "head": "main"})
        assert answer.status_code == 200, answer.text
        sides = [answer.json()[side]["commit"]["position"] for side in ("base", "head")]
        assert sides == [2, 5]
        refused = client.get("/api/v1/comparison", params={"base": "v9"})
        assert (refused.status_code, "a tag or a branch" in refused.text) == (404, True)


def test_a_name_of_git_becomes_the_hash_of_its_commit_and_an_unknown_one_stays(released: Released) -> None:
    with open_instance(released.directory) as opened:
        repository = opened.store.commits.repository("project")
        known = [known_revision(opened, repository, name) for name in ("HEAD~2", "v1.1", released.main[3][:9], "v9")]
    assert known == [released.main[3], released.main[2], released.main[3][:9], "v9"]


def test_explain_takes_a_name_of_git(released: Released) -> None:
    words = ["explain", "benchmark=parse", "--at", "HEAD~2", "--instance", str(released.directory), "--format", "json"]
    (explained,) = json.loads(CliRunner().invoke(knick, words).stdout)
    assert explained["at"]["commit"]["hash"] == released.main[3]
