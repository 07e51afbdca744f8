"""The steps of ``action.yml`` and of the component of GitLab do what they say, as they are written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.forges.forge_server import ForgeServer, GitHubServer, GitLabServer, serving
from tests.forges.github_runner import Ran, Runner
from tests.forges.gitlab_component import run_component
from tests.repositories import GitRepository

from knickpoint.instance import open_instance
from knickpoint.model.query import Query

_TOP = Path(__file__).parent.parent.parent
_ACTION = _TOP / "action.yml"
_COMPONENT = _TOP / "templates" / "check.yml"
_COMPARE_COMPONENT = _TOP / "templates" / "compare.yml"
_NAMES = [f"b{number}" for number in range(4)]
_MORE_NAMES = [f"b{number}" for number in range(6)]
"""As many as have a common move."""


def _variables(**more: str) -> dict[str, str]:
    """Return a clean environment in which the program is installed."""
    git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HOME": "/nonexistent", **git, **more}


@dataclass(frozen=True)
class Project:
    """A project with a bare repository as its forge: eight commits on main, a branch ``patch``, and a fork's commit."""

    remote: Path
    main: Sequence[str]
    patch: str
    fork: str

    def checkout(self, directory: Path, commit: str) -> Path:
        """Clone as ``actions/checkout`` does with the whole history: branches and tags, and no commits of forks."""
        subprocess.run(["git", "clone", "--quiet", str(self.remote), str(directory)], check=True)
        fetch = ["git", "fetch", "--quiet", "origin", commit]
        subprocess.run(fetch, cwd=directory, check=True)
        subprocess.run(["git", "checkout", "--quiet", "--detach", commit], cwd=directory, check=True)
        return directory


def _results(path: Path, commit: str, level: float, names: Sequence[str] = _NAMES) -> None:
    wobble = 1 + 0.003 * (int(commit[:4], 16) % 5)
    rows = [f"{commit},{name},ms,{level * wobble}" for name in names]
    path.write_text("\n".join(["commit,benchmark,unit,value", *rows, ""]), encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Make the project; the history of its main is added by the action, in a job of a push."""
    room = tmp_path_factory.mktemp("forge")
    made = GitRepository.make(room / "work")
    remote = room / "textmill.git"
    made.git("init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    made.git("--git-dir", str(remote), "config", "uploadpack.allowAnySHA1InWant", "true")
    main = made.commits(8)
    made.git("switch", "--quiet", "--create", "patch")
    patch = made.commit("Change what is slow")
    made.git("switch", "--quiet", "--create", "fork", main[-1])
    fork = made.commit("Change what is slow, elsewhere")
    made.git("push", "--quiet", str(remote), "main", "patch", "fork:refs/pull/12/head")
    project = Project(remote, main, patch, fork)
    workspace = project.checkout(room / "push", main[-1])
    for commit in main:
        _results(workspace / f"{commit}.csv", commit, 10.0)
    ran = _job(workspace, {"results": "\n".join(f"{commit}.csv" for commit in main)}, "push", {}, "http://127.0.0.1:1")
    assert ran.passed, ran.printed
    assert ran.steps == ["Add the results to the branch"]
    return project


def _job(
    workspace: Path,
    given: dict[str, str],
    event_name: str,
    event: dict[str, Any],
    api: str,
    *,
    matrix: dict[str, str] | None = None,
) -> Ran:
    """Run the action in a job of GitHub; the program is there already."""
    room = workspace.parent / f"{workspace.name}-runner"
    room.mkdir(exist_ok=True)
    (room / "event.json").write_text(json.dumps(event), encoding="utf-8")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=workspace, check=True, capture_output=True, text=True)
    variables = _variables(
        CI="true",
        GITHUB_ACTIONS="true",
        GITHUB_EVENT_NAME=event_name,
        GITHUB_EVENT_PATH=str(room / "event.json"),
        GITHUB_API_URL=api,
        GITHUB_REPOSITORY="ada/textmill",
        GITHUB_SHA=head.stdout.strip(),
        GITHUB_REF_NAME="12/merge" if event_name == "pull_request" else "main",
    )
    runner = Runner(workspace, room, variables, skipped=frozenset({"Install"}))
    github = {
        "event_name": event_name,
        "event": event,
        "repository": "ada/textmill",
        "actor": "eve",
        "token": "the-token",
    }
    return runner.run_action(_ACTION, given, {"github": github, "matrix": matrix}, {})


def _pull_request(commit: str, repository: str = "ada/textmill") -> dict[str, Any]:
    return {"pull_request": {"number": 12, "head": {"sha": commit, "repo": {"full_name": repository}}}}


@pytest.fixture
def github(project: Project) -> Iterator[ForgeServer]:
    with serving(GitHubServer(head=project.patch)) as server:
        yield server


@pytest.mark.long
def test_a_slower_pull_request_fails_and_says_so_in_a_comment(
    project: Project, github: ForgeServer, tmp_path: Path
) -> None:
    workspace = project.checkout(tmp_path / "pull", project.patch)
    event = _pull_request(project.patch)
    _results(workspace / "new.csv", project.patch, 20.0)
    ran = _job(workspace, {"results": "new.csv", "directory": "one"}, "pull_request", event, github.url)
    assert not ran.passed
    assert ran.steps == ["Take the history from its branch", "Check", "Comment", "Verdict"]
    assert "::error title=" in ran.printed
    assert "Do not merge: 4 regressed" in github.notes[0].body
    assert (tmp_path / "pull-runner" / "summary.md").read_text(encoding="utf-8") == github.notes[0].body


@pytest.mark.long
@pytest.mark.parametrize("service", ["github", "gitlab"])
def test_what_moved_together_on_a_machine_alike_does_not_pass(project: Project, tmp_path: Path, service: str) -> None:
    push = project.checkout(tmp_path / "push", project.main[-1])
    for commit in project.main:
        _results(push / f"{commit}.csv", commit, 10.0, _MORE_NAMES)
    files = "\n".join(f"{commit}.csv" for commit in project.main)
    given = {"branch": f"history-for-{service}"}
    assert _job(push, given | {"results": files}, "push", {}, "http://127.0.0.1:1").passed
    pull = project.checkout(tmp_path / "pull", project.patch)
    _results(pull / "new.csv", project.patch, 20.0, _MORE_NAMES)
    given |= {"results": "new.csv", "comment": "when-worse"}
    if service == "github":
        with serving(GitHubServer(head=project.patch)) as forge:
            ran = _job(pull, given, "pull_request", _pull_request(project.patch), forge.url)
        assert (ran.passed, ran.steps[-1]) == (False, "Verdict")
    else:
        with serving(GitLabServer(head=project.patch)) as forge:
            code, printed = _pipeline_of_merge_request(pull, given | {"job": "measure"}, project, forge)
        assert code == 1, printed
    assert "All 6 moved together" in forge.notes[0].body.replace("<code>", "")


@pytest.mark.long
def test_the_params_of_the_action_reach_the_history_and_the_check(
    project: Project, github: ForgeServer, tmp_path: Path
) -> None:
    push = project.checkout(tmp_path / "push", project.main[-1])
    for commit in project.main:
        _results(push / f"{commit}.csv", commit, 10.0)
    files = "\n".join(f"{commit}.csv" for commit in project.main)
    more = {"params": "machine=mac mini\n\n  arch=arm64  \n", "branch": "history-of-machines", "directory": "one"}
    ran = _job(push, {"results": files, **more}, "push", {}, github.url)
    assert ran.passed, ran.printed
    pull = project.checkout(tmp_path / "pull", project.patch)
    _results(pull / "new.csv", project.patch, 20.0)
    event = _pull_request(project.patch)
    slower = _job(pull, {"results": "new.csv", **more}, "pull_request", event, github.url)
    other = _job(
        pull,
        {"results": "new.csv", **more, "directory": "two", "params": "machine=linux"},
        "pull_request",
        event,
        github.url,
    )
    assert (slower.passed, other.passed) == (False, True)
    assert "too few data" in other.printed
    assert "Do not merge: 4 regressed" in slower.printed


@pytest.mark.long
@pytest.mark.parametrize("server", [GitHubServer, GitLabServer], ids=["github", "gitlab"])
@pytest.mark.parametrize("first", ["linux", "mac"])
def test_a_job_never_hides_what_another_job_said(
    project: Project, tmp_path: Path, first: str, server: type[ForgeServer]
) -> None:
    with serving(server(head=project.patch)) as forge:
        for name in (first, "mac" if first == "linux" else "linux", first):
            workspace = tmp_path / name
            if not workspace.exists():
                project.checkout(workspace, project.patch)
            _results(workspace / "new.csv", project.patch, 20.0 if name == "mac" else 10.0)
            if server is GitHubServer:
                given = {"results": "new.csv", "directory": f"{name}-instance"}
                matrix = {"os": name, "python": "3.13"}
                _job(workspace, given, "pull_request", _pull_request(project.patch), forge.url, matrix=matrix)
            else:
                _pipeline_of_merge_request(
                    workspace, {"results": "new.csv", "job": "measure", "name": name}, project, forge
                )
    headings = sorted(note.body.splitlines()[1] for note in forge.notes)
    more = " 3&#46;13" if server is GitHubServer else ""
    assert headings == [
        f"### ✅ <code>linux{more}</code>: May be merged: nothing regressed, of 4 benchmarks.",
        f"### ❌ <code>mac{more}</code>: Do not merge: 4 regressed, of 4 benchmarks.",
    ]


@pytest.mark.long
def test_a_pull_request_from_a_fork_is_judged_first_and_commented_in_a_second_step(
    project: Project, github: ForgeServer, tmp_path: Path
) -> None:
    github.readonly, github.head = True, project.fork
    workspace = project.checkout(tmp_path / "first", project.fork)
    _results(workspace / "new.csv", project.fork, 20.0)
    event = _pull_request(project.fork, "eve/textmill")
    first = _job(workspace, {"results": "new.csv"}, "pull_request", event, github.url)
    assert (first.passed, first.steps[-1], github.writes) == (False, "Verdict", [])
    # The second step runs on main with a token that may comment. Of the first one, it has the results.
    github.readonly = False
    trusted = project.checkout(tmp_path / "second", project.main[-1])
    (trusted / "new.csv").write_bytes((workspace / "new.csv").read_bytes())
    run = {
        "event": "pull_request",
        "head_sha": project.fork,
        "head_branch": "faster",
        "head_repository": {"full_name": "eve/textmill", "owner": {"login": "eve"}},
    }
    second = _job(trusted, {"results": "new.csv"}, "workflow_run", {"workflow_run": run}, github.url)
    assert second.passed, second.printed
    assert "Do not merge: 4 regressed" in github.notes[0].body
    assert f"merge base of {project.fork[:12]}" in github.notes[0].body


def test_no_input_stands_in_the_text_of_a_script() -> None:
    action = yaml.safe_load(_ACTION.read_text(encoding="utf-8"))
    scripts = [step.get("run", "") for step in action["runs"]["steps"]]
    for component in (_COMPONENT, _COMPARE_COMPONENT):
        (job,) = list(yaml.safe_load_all(component.read_text(encoding="utf-8")))[1].values()
        scripts += job["script"]
    assert [text for text in scripts if "${{" in text or "$[[" in text] == []


@pytest.mark.long
def test_an_input_that_looks_like_a_command_is_the_name_of_a_file(
    project: Project, github: ForgeServer, tmp_path: Path
) -> None:
    workspace = project.checkout(tmp_path / "pull", project.patch)
    given = {"results": "$(touch gone); touch gone; .csv", "directory": "one"}
    ran = _job(workspace, given, "pull_request", _pull_request(project.patch), github.url)
    assert (ran.passed, ran.steps[-1]) == (False, "Check")
    assert not (workspace / "gone").exists()


def _pipeline(workspace: Path, inputs: dict[str, str], **variables: str) -> tuple[int, str]:
    """Run the script of the component in a pipeline of GitLab."""
    return run_component(_COMPONENT, workspace, inputs, _variables(CI="true", GITLAB_CI="true", **variables))


def _pipeline_of_merge_request(
    workspace: Path, inputs: dict[str, str], project: Project, gitlab: ForgeServer
) -> tuple[int, str]:
    return _pipeline(
        workspace,
        inputs,
        CI_MERGE_REQUEST_IID="12",
        CI_MERGE_REQUEST_PROJECT_ID="7",
        CI_COMMIT_SHA=project.patch,
        CI_API_V4_URL=f"{gitlab.url}/api/v4",
        KNICKPOINT_FORGE_TOKEN="the-token",
    )


@pytest.mark.long
def test_the_component_of_gitlab_judges_a_merge_request_and_updates_its_note(project: Project, tmp_path: Path) -> None:
    workspace = project.checkout(tmp_path / "merge-request", project.patch)
    _results(workspace / "new.csv", project.patch, 20.0)
    with serving(GitLabServer(head=project.patch)) as gitlab:
        code, printed = _pipeline_of_merge_request(workspace, {"results": "new.csv", "job": "measure"}, project, gitlab)
    assert code == 1, printed
    assert ["Do not merge: 4 regressed" in note.body for note in gitlab.notes] == [True]
    assert 'failures="4"' in (workspace / "knickpoint.xml").read_text(encoding="utf-8")


@pytest.mark.long
def test_the_component_of_gitlab_adds_the_results_of_main(project: Project, tmp_path: Path) -> None:
    workspace = project.checkout(tmp_path / "main", project.main[-1])
    _results(workspace / "new.csv", project.main[-1], 10.0)
    inputs = {"results": "new.csv", "job": "measure", "branch": "other-history", "params": "machine=mac arch=arm64"}
    code, printed = _pipeline(workspace, inputs, CI_COMMIT_SHA=project.main[-1], CI_COMMIT_BRANCH="main")
    assert (code, "Pushed to other-history" in printed) == (0, True), printed
    with open_instance(workspace / ".knickpoint") as instance:
        (repository,) = instance.store.commits.repositories()
        keys = [
            trace.key for trace in instance.store.traces.get(instance.store.traces.select(repository, Query()).tolist())
        ]
    assert all(",arch=arm64," in key and ",machine=mac," in key for key in keys)
    assert len(keys) == len(_NAMES)


@pytest.mark.long
def test_the_action_installs_the_program_of_its_version(project: Project, tmp_path: Path) -> None:
    workspace = project.checkout(tmp_path / "install", project.main[-1])
    _results(workspace / "new.csv", project.main[-1], 10.0)
    runner = Runner(workspace, tmp_path / "runner", {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)})
    runner.variables["PATH"] = f"{Path(sys.base_prefix) / 'bin'}:{runner.variables['PATH']}"
    github = {"event_name": "push", "event": {}, "repository": "ada/textmill", "actor": "ada", "token": ""}
    given = {"results": "new.csv", "branch": "installed-history"}
    ran = runner.run_action(_ACTION, given, {"github": github}, {})
    assert ran.passed, ran.printed
    assert (tmp_path / "runner" / "knickpoint" / "bin" / "knick").exists()
