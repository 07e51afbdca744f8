"""What is missing is known at once, also where answers are kept: by what git has, and by what people decide."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.repositories import GitRepository
from tests.server.client import Client

from knickpoint.cli.program import knick as program
from knickpoint.ingest.file_import import import_data
from knickpoint.instance import Instance, create_instance
from knickpoint.server import create_app

_SILENT = 12
"""Commits without results that are not a habit where each one before has some."""


@pytest.fixture
def repository(tmp_path: Path) -> GitRepository:
    return GitRepository.make(tmp_path / "repository")


@pytest.fixture
def measured(repository: GitRepository, tmp_path: Path) -> Iterator[Instance]:
    """Give an instance whose repository is measured at each commit."""
    with create_instance(tmp_path / "instance", repositories={"main": str(repository.directory)}) as instance:
        for number, commit in enumerate(repository.commits(8)):
            import_data(instance, results(commit, old=number), source=f"upload:{number}")
        yield instance


def results(commit: str, **values: float) -> bytes:
    named = [{"key": {"benchmark": name}, "measurement": 10 + value % 3} for name, value in values.items()]
    return json.dumps({"version": 1, "git_hash": commit, "results": named}).encode()


def test_commits_that_only_git_has_end_an_answer(measured: Instance, repository: GitRepository) -> None:
    client = Client(create_app(measured))
    assert [client.get("/api/v1/notices").json() for _ in range(2)] == [[], []]
    assert [client.get("/api/v1/missing").json()[0]["entries"] for _ in range(2)] == [[], []]
    repository.commits(_SILENT)
    (notice,) = client.get("/api/v1/notices").json()
    assert f"nothing was measured at the last {_SILENT} commits" in notice["text"]
    (entry,) = client.get("/api/v1/missing").json()[0]["entries"]
    assert (entry["kind"], entry["silent"]) == ("job", _SILENT)


def test_an_accepted_rename_shows_at_once(measured: Instance, repository: GitRepository) -> None:
    for number, commit in enumerate(repository.commits(8)):
        import_data(measured, results(commit, new=number), source=f"upload:renamed-{number}")
    client = Client(create_app(measured))
    old, new = (trace["id"] for trace in client.get("/api/v1/traces").json()["traces"])
    assert [entry["count"] for entry in client.get("/api/v1/missing").json()[0]["entries"]] == [1]
    client.post("/api/v1/missing/renames", json={"old": old, "new": new})
    (answer,) = client.get("/api/v1/missing").json()
    assert (answer["entries"], len(answer["accepted"])) == ([], 1)


def test_commands_list_what_the_api_does(measured: Instance, repository: GitRepository) -> None:
    for number, commit in enumerate(repository.commits(8)):
        import_data(measured, results(commit, older=number), source=f"upload:renamed-{number}")
    client = Client(create_app(measured))

    def listed(*command: str) -> list[dict[str, object]]:
        ran = CliRunner().invoke(program, [*command, "--instance", str(measured.directory), "--format", "json"])
        found: list[dict[str, object]] = json.loads(ran.output)
        return found

    (answer,) = client.get("/api/v1/missing").json()
    assert listed("missing") == answer["entries"] != []
    assert listed("missing", "renames") == answer["proposed"] != []
    old, new = (trace["id"] for trace in client.get("/api/v1/traces").json()["traces"])
    client.post("/api/v1/missing/renames", json={"old": old, "new": new})
    (answer,) = client.get("/api/v1/missing").json()
    assert listed("missing", "renames") == answer["accepted"] != []
