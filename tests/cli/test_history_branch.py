"""``knick history pull`` and ``add``: the history of CI jobs on a branch, also when two of them push at the same time."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from tests.cli.conftest import Knick
from tests.repositories import GitRepository

from knickpoint.history import FileBranch, Git
from knickpoint.ingest import ImportSummary, import_files
from knickpoint.ingest.ci import _SERVICES
from knickpoint.instance import Instance
from knickpoint.instance.history_branch import add_results


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepository:
    for service in _SERVICES:
        monkeypatch.delenv(service.sign, raising=False)
    made = GitRepository.make(tmp_path / "textmill")
    made.git("init", "--quiet", "--bare", str(tmp_path / "remote.git"))
    made.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    monkeypatch.chdir(made.directory)
    return made


def _results(project: GitRepository, commit: str, value: float = 1.0) -> Path:
    path = project.directory / f"{commit}.csv"
    path.write_text(f"commit,benchmark,unit,value\n{commit},parse,ms,{value}\n", encoding="utf-8")
    return path


def _measured(knick: Knick, directory: Path) -> set[str]:
    rows = json.loads(knick("export", "--instance", directory, "--format", "json").output)
    return {row["commit"] for row in rows}


def test_the_results_of_one_job_are_there_for_the_next(knick: Knick, project: GitRepository) -> None:
    first, second = project.commits(2)
    assert "created the new instance" in knick("history", "pull", "--instance", "empty").output
    assert knick("history", "add", _results(project, first), "--instance", "one").code == 0
    added = knick("history", "add", _results(project, second), "--instance", "two")
    assert (added.code, "Pushed to knickpoint-history" in added.output) == (0, True)
    assert knick("history", "pull", "--instance", "three").code == 0
    assert _measured(knick, Path("three")) == {first, second}


def test_a_refused_file_leaves_the_branch_as_it_was(knick: Knick, project: GitRepository) -> None:
    (first,) = project.commits(1)
    assert knick("history", "add", _results(project, first), "--instance", "one").code == 0
    before = project.git("ls-remote", "origin")
    Path("broken.json").write_text("{", encoding="utf-8")
    ran = knick("history", "add", "broken.json", "--instance", "two")
    assert (ran.code, project.git("ls-remote", "origin")) == (2, before)
    assert not Path("two").exists()


def test_an_instance_is_not_overwritten(knick: Knick, project: GitRepository) -> None:
    project.commits(1)
    assert knick("history", "pull", "--instance", "one").code == 0
    ran = knick("history", "pull", "--instance", "one")
    assert (ran.code, "not empty" in ran.errors) == (2, True)


def test_two_jobs_that_push_at_the_same_time_lose_no_results(
    knick: Knick, project: GitRepository, tmp_path: Path
) -> None:
    commits = project.commits(2)
    project.git("push", "--quiet", "origin", "main")
    both_have_pulled = Barrier(2)

    def job(number: int) -> int:
        clone = tmp_path / f"clone{number}"
        project.git("clone", "--quiet", str(tmp_path / "remote.git"), str(clone))
        path = _results(project, commits[number])
        calls = 0

        def import_into(instance: Instance) -> ImportSummary:
            nonlocal calls
            calls += 1
            if calls == 1:
                both_have_pulled.wait(60)
            return import_files(instance, [path])

        branch = FileBranch.of(Git(clone), "origin", "history")
        return add_results(branch, clone / ".knickpoint", import_into, repositories={"textmill": ".."}).attempts

    with ThreadPoolExecutor(2) as threads:
        attempts = list(threads.map(job, range(2)))
    assert sorted(attempts) == [1, 2]
    assert knick("history", "pull", "--branch", "history", "--instance", "all").code == 0
    assert _measured(knick, Path("all")) == set(commits)
