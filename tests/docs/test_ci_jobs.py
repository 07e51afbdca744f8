"""The jobs of the page on continuous integration run as they are printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.forges.forge_server import ForgeServer, GitHubServer, serving
from tests.forges.github_runner import Action, Ran, Runner
from tests.repositories import GitRepository

_TOP = Path(__file__).parent.parent.parent
_PAGE = _TOP / "docs" / "guide" / "ci.md"
_BLOCKS = re.findall(r"^```yaml\n(.*?)^```", _PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
_TRIGGER = True
"""What YAML 1.1 makes of the key ``on``."""


def _workflow(part: str) -> dict[Any, Any]:
    """Return the workflow of GitHub whose text has ``part``."""
    (found,) = (block for block in _BLOCKS if part in block)
    workflow: dict[Any, Any] = yaml.safe_load(found)
    return workflow


@dataclass
class Forge:
    """GitHub for the jobs: a repository of a library with a benchmark, the API, artefacts and a cache.

    ``repository/``, ``textmill.git`` and one directory for each job stand in ``room``.
    """

    room: Path
    api: ForgeServer
    artefacts: dict[str, bytes] = field(default_factory=dict)
    jobs: int = 0

    @property
    def remote(self) -> Path:
        return self.room / "textmill.git"

    def run(
        self,
        workflow: Mapping[Any, Any],
        event_name: str,
        event: dict[str, Any],
        commit: str,
        *,
        name: str = "",
        **more: Any,
    ) -> Ran:
        """Run a job of a workflow for an event, by default the only one; ``commit`` is ``github.sha``."""
        self.jobs += 1
        room = self.room / f"runner{self.jobs}"
        workspace = self.room / f"workspace{self.jobs}"
        room.mkdir()
        workspace.mkdir()
        (room / "event.json").write_text(json.dumps(event), encoding="utf-8")
        commands = room / "commands"
        commands.mkdir()
        # pip has nothing to do: the library is in the workspace, pytest-benchmark and the program are installed.
        (commands / "pip").write_text("#!/bin/sh\n", encoding="utf-8")
        (commands / "pip").chmod(0o755)
        variables = {
            "PATH": f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(room),
            "GIT_CONFIG_NOSYSTEM": "1",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": event_name,
            "GITHUB_EVENT_PATH": str(room / "event.json"),
            "GITHUB_API_URL": self.api.url,
            "GITHUB_REPOSITORY": "ada/textmill",
            "GITHUB_SHA": commit,
            "GITHUB_REF_NAME": "main",
            "PYTEST_ADDOPTS": "-p no:cacheprovider --benchmark-max-time=0.01 --benchmark-min-rounds=2",
            "KNICKPOINT": "knickpoint",
        }
        runner = Runner(workspace, room, variables, skipped=frozenset({"Install"}))
        runner.actions = self._actions(runner)
        github = {
            "event_name": event_name,
            "event": event,
            "repository": "ada/textmill",
            "actor": "ada",
            "token": "the-token",
            "sha": commit,
            "ref": "refs/heads/main",
            "run_id": str(self.jobs),
        }
        job = workflow["jobs"][name or next(iter(workflow["jobs"]))]
        return runner.run_job(job, {"github": github, **more})

    def _actions(self, runner: Runner) -> dict[str, Action]:
        """Return what stands for the actions of GitHub; that of the project is run as it is."""

        def checkout(given: Mapping[str, str], context: Mapping[str, Any], _: Mapping[str, str]) -> Ran:
            assert given["fetch-depth"] == "0"
            for arguments in (
                ("clone", "--quiet", str(self.remote), "."),
                ("checkout", "--quiet", "--detach", given.get("ref") or context["github"]["sha"]),
            ):
                subprocess.run(["git", *arguments], cwd=runner.workspace, check=True)
            return Ran()

        def upload(given: Mapping[str, str], *_: Any) -> Ran:
            self.artefacts[given["name"]] = (runner.workspace / given["path"]).read_bytes()
            return Ran()

        def download(given: Mapping[str, str], *_: Any) -> Ran:
            folder = runner.workspace / given["path"]
            folder.mkdir()
            (folder / given["name"].replace("benchmark-", "")).with_suffix(".json").write_bytes(
                self.artefacts[given["name"]]
            )
            return Ran()

        def project(given: Mapping[str, str], context: Mapping[str, Any], env: Mapping[str, str]) -> Ran:
            return runner.run_action(_TOP / "action.yml", given, context, env)

        return {
            "actions/checkout": checkout,
            "actions/upload-artifact": upload,
            "actions/download-artifact": download,
            "actions/cache": lambda *_: Ran(),
            "knickpoint/knickpoint": project,
        }


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """Make the repository of a library, and return its room, the commit of main, and that of a pull request."""
    room = tmp_path_factory.mktemp("library")
    made = GitRepository.make(room / "repository")
    test = made.directory / "test_speed.py"
    test.write_text("def test_sort(benchmark):\n    benchmark(sorted, [3, 1, 2])\n", encoding="utf-8")
    made.git("add", "test_speed.py")
    main = made.commit("Measure sorting")
    made.git("switch", "--quiet", "--create", "patch")
    patch = made.commit("Sort in place")
    made.git("clone", "--quiet", "--bare", str(made.directory), str(room / "textmill.git"))
    made.git("--git-dir", str(room / "textmill.git"), "config", "uploadpack.allowAnySHA1InWant", "true")
    return room, main, patch


@pytest.mark.long
def test_the_jobs_with_the_action_keep_the_history_judge_and_comment(library: tuple[Path, str, str]) -> None:
    room, main, patch = library
    with serving(GitHubServer(head=patch)) as api:
        forge = Forge(room, api)
        pushed = forge.run(_workflow("benchmarks-of-main.yml\n"), "push", {}, main)
        assert pushed.passed, pushed.printed
        assert "Pushed to knickpoint-history" in pushed.printed
        pull = {"number": 12, "head": {"sha": patch, "repo": {"full_name": "ada/textmill"}}}
        judged = forge.run(
            _workflow("# .github/workflows/benchmarks.yml\n"), "pull_request", {"pull_request": pull}, main
        )
        assert judged.passed, judged.printed
        assert [note.body.splitlines()[1] for note in api.notes] == [
            "### ⚪ No verdict: there are too few data to judge 1 benchmark."
        ]
        # The pull request of a fork: the second workflow takes the artefact that the first one left.
        api.notes.clear()
        run = {
            "id": 1,
            "event": "pull_request",
            "head_sha": patch,
            "head_branch": "faster",
            "head_repository": {"full_name": "eve/textmill", "owner": {"login": "eve"}},
        }
        commented = forge.run(_workflow("benchmark-comment.yml\n"), "workflow_run", {"workflow_run": run}, main)
        assert commented.passed, commented.printed
        assert len(api.notes) == 1
        run["head_repository"] = {"full_name": "ada/textmill", "owner": {"login": "ada"}}
        assert forge.run(_workflow("benchmark-comment.yml\n"), "workflow_run", {"workflow_run": run}, main).steps == []


@pytest.mark.long
def test_somebody_who_may_write_asks_for_a_comparison_of_some_benchmarks(
    library: tuple[Path, str, str], tmp_path: Path
) -> None:
    room, main, patch = library
    remote = str(room / "textmill.git")
    (tmp_path / "textmill.git").symlink_to(remote)
    subprocess.run(["git", "--git-dir", remote, "update-ref", "refs/pull/12/head", patch], check=True)
    workflow = _workflow("benchmarks-on-request.yml\n")
    # Nothing is installed here: the command prints which benchmarks were asked for, as results.
    asked = workflow["jobs"]["measure"]["steps"][2]["with"]
    table = "print('benchmark,unit,value'); print(os.environ['ONLY'] + ',ms,' + str(10 + random.random() / 9))"
    asked |= {"build": "true", "measure": f'{sys.executable} -c "import os, random; {table}" > results.csv'}
    asked |= {"results": "results.csv", "options": "--most-rounds=1"}
    workflow["jobs"]["comment"]["steps"][3]["with"] |= {"options": "--most-rounds=1"}

    def event(who: str, text: str) -> dict[str, Any]:
        issue = {"number": 12, "pull_request": {"url": "https://example.org"}}
        return {"issue": issue, "comment": {"user": {"login": who}, "body": text}}

    with serving(GitHubServer(head=patch)) as api:
        forge = Forge(tmp_path, api)
        talk = forge.run(workflow, "issue_comment", event("ada", "Could you /knick compare?"), main, name="measure")
        assert talk.steps == []
        stranger = forge.run(workflow, "issue_comment", event("eve", "/knick compare"), main, name="measure")
        assert (stranger.passed, forge.artefacts) == (False, {})
        assert "eve may not start a comparison" in stranger.printed
        text = "/knick compare sort $(touch gone) merge\nThanks"
        measured = forge.run(workflow, "issue_comment", event("ada", text), main, name="measure")
        assert (measured.passed, api.writes) == (True, []), measured.printed
        rounds = json.loads(forge.artefacts["benchmark-rounds"])
        assert (rounds["head"], rounds["benchmarks"][0]["trace"]) == (
            patch,
            ",benchmark=sort or touch or gone or merge,",
        )
        needs = {"measure": {"outputs": {"head": patch}}}
        second = forge.run(workflow, "issue_comment", event("ada", text), main, name="comment", needs=needs)
        assert second.passed, second.printed
    assert [note.body.splitlines()[1] for note in api.notes] == [
        "### ⚪ <code>on request</code>: No verdict: there are too few data to judge 1 benchmark."
    ]


@pytest.mark.long
@pytest.mark.parametrize("event_name", ["push", "pull_request"])
def test_the_job_without_the_action_runs(library: tuple[Path, str, str], tmp_path: Path, event_name: str) -> None:
    room, main, patch = library
    pull = {"number": 12, "head": {"sha": patch, "repo": {"full_name": "ada/textmill"}}}
    event = {"pull_request": pull} if event_name == "pull_request" else {}
    forge = Forge(tmp_path, GitHubServer())
    (tmp_path / "textmill.git").symlink_to(room / "textmill.git")
    ran = forge.run(_workflow("actions/cache@v4\n        with: { path: .knickpoint"), event_name, event, main)
    assert ran.passed, ran.printed
    wanted = "knick check" if event_name == "pull_request" else "knick import"
    assert ran.steps[-1].startswith(wanted)


@pytest.mark.long
def test_the_job_of_gitlab_with_a_cache_runs(library: tuple[Path, str, str], tmp_path: Path) -> None:
    room, main, _ = library
    (block,) = (block for block in _BLOCKS if "resource_group" in block)
    job = yaml.safe_load(block)["benchmarks"]
    subprocess.run(["git", "clone", "--quiet", str(room / "textmill.git"), "work"], cwd=tmp_path, check=True)
    (tmp_path / "pip").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "pip").chmod(0o755)
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", "\n".join(job["script"])],
        cwd=tmp_path / "work",
        env={
            "PATH": f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "GITLAB_CI": "true",
            "CI_COMMIT_SHA": main,
            "CI_COMMIT_BRANCH": "main",
            "KNICKPOINT": "knickpoint",
            "PYTEST_ADDOPTS": "--benchmark-max-time=0.01 --benchmark-min-rounds=2",
            **{name: str(value) for name, value in job["variables"].items()},
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 run of 1 commit imported" in done.stdout


def test_each_workflow_of_the_page_asks_for_the_rights_that_it_needs_and_no_more() -> None:
    rights = {
        "# .github/workflows/benchmarks.yml\n": {"contents": "read", "pull-requests": "write"},
        "benchmarks-of-main.yml\n": {"contents": "write"},
        "benchmark-comment.yml\n": {"actions": "read", "contents": "read", "pull-requests": "write"},
        "benchmarks-in-turns.yml\n": {"contents": "write", "pull-requests": "write"},
        "benchmarks-on-request.yml\n": {},
    }
    assert {part: _workflow(part)["permissions"] for part in rights} == rights
    assert _workflow("benchmarks-of-main.yml\n")[_TRIGGER] == {"push": {"branches": ["main"]}}


def test_the_page_gives_the_action_and_the_components_inputs_that_they_have() -> None:
    action = yaml.safe_load((_TOP / "action.yml").read_text(encoding="utf-8"))["inputs"]
    steps = [
        step
        for block in _BLOCKS
        for job in (yaml.safe_load(block).get("jobs") or {}).values()
        for step in job["steps"]
        if str(step.get("uses", "")).startswith("knickpoint/")
    ]
    assert sum(step["with"].get("mode") == "compare" for step in steps) == 3
    assert {name for step in steps for name in step["with"]} <= set(action)
    includes = [each for block in _BLOCKS for each in yaml.safe_load(block).get("include", [])]
    assert len(includes) == 2
    for each in includes:
        name = each["component"].rpartition("/")[2].partition("@")[0]
        spec, _ = yaml.safe_load_all((_TOP / "templates" / f"{name}.yml").read_text(encoding="utf-8"))
        assert set(each["inputs"]) <= set(spec["spec"]["inputs"])


def test_the_job_that_runs_the_code_of_a_pull_request_on_request_may_not_write() -> None:
    jobs = _workflow("benchmarks-on-request.yml\n")["jobs"]
    assert jobs["measure"]["permissions"] == {"contents": "read"}
    assert "measure" not in jobs["comment"]["steps"][-1]["with"]
