"""The action and the component measure base and head in turns, for each event of a CI, cold and with caches."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.bisect.runner.projects import BUILD, MEASURE
from tests.forges.forge_server import ForgeServer, GitHubServer, GitLabServer, serving
from tests.forges.github_runner import Action, Ran, Runner
from tests.forges.gitlab_component import run_component
from tests.repositories import GitRepository

from knickpoint.instance import open_instance

_TOP = Path(__file__).parent.parent.parent
_ACTION, _COMPONENT = _TOP / "action.yml", _TOP / "templates" / "compare.yml"
_BUILDS = '\nwith open(os.path.join(os.environ["HOME"], "builds"), "a") as log:\n    log.write(source + "\\n")\n'
_GIVEN = {
    "mode": "compare",
    "build": f"{sys.executable} build.py",
    "measure": f"# it's one run\n{sys.executable} measure.py",
    "results": "out.json",
    "artefact": "built.txt",
    "working-directory": "lib",
    "minutes": "5",
    "options": "--false-positives=0.3\n--most-rounds=4\n--find=0.5",
}


@dataclass
class Forge:
    """A repository whose library stands in ``lib``: two commits on main, a slower patch, and an equal one of a fork.

    ``caches`` has what jobs saved, by key.
    """

    room: Path
    main: tuple[str, str]
    patch: str
    fork: str
    api: ForgeServer = field(default_factory=GitHubServer)
    caches: dict[str, Path] = field(default_factory=dict)
    jobs: int = 0

    @property
    def remote(self) -> Path:
        return self.room / "textmill.git"

    def checkout(self, commit: str, *, depth: str = "") -> Path:
        """Clone for a new job."""
        self.jobs += 1
        workspace = self.room / f"workspace{self.jobs}"
        clone = [
            "git",
            "clone",
            "--quiet",
            *([f"--depth={depth}"] if depth else []),
            f"file://{self.remote}",
            str(workspace),
        ]
        subprocess.run(clone, check=True)
        for arguments in (["fetch", "--quiet", "origin", commit], ["checkout", "--quiet", "--detach", commit]):
            subprocess.run(["git", *arguments], cwd=workspace, check=True)
        return workspace

    def run(
        self,
        event_name: str,
        event: dict[str, Any],
        commit: str,
        *,
        depth: str = "",
        matrix: dict[str, str] | None = None,
        **given: str,
    ) -> Ran:
        """Run the action in a new job, in a checkout of ``commit``."""
        workspace = self.checkout(commit, depth=depth)
        room = self.room / f"runner{self.jobs}"
        room.mkdir()
        (room / "event.json").write_text(json.dumps(event), encoding="utf-8")
        variables = self.variables | {
            "GITHUB_ACTIONS": "true",
            "GITHUB_EVENT_NAME": event_name,
            "GITHUB_EVENT_PATH": str(room / "event.json"),
            "GITHUB_API_URL": self.api.url if self.api.port else "http://127.0.0.1:1",
            "GITHUB_REPOSITORY": "ada/textmill",
            "GITHUB_SHA": commit,
            "GITHUB_REF_NAME": "12/merge" if event_name == "pull_request" else "main",
            "GITHUB_RUN_ID": str(self.jobs),
            "ImageOS": "ubuntu24",
        }
        runner = Runner(workspace, room, variables, skipped=frozenset({"Install"}))
        runner.actions = {"actions/cache/restore": self._restore, "actions/cache/save": self._save}
        github = {
            "event_name": event_name,
            "event": {"repository": {"default_branch": "main"}, **event},
            "repository": "ada/textmill",
            "actor": "ada",
            "token": "the-token",
            "sha": commit,
        }
        return runner.run_action(_ACTION, _GIVEN | given, {"github": github, "matrix": matrix}, {})

    @property
    def variables(self) -> dict[str, str]:
        """What each job has."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        git = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        return {"PATH": path, "HOME": str(self.room), "CI": "true", **git}

    @property
    def _restore(self) -> Action:
        def restore(given: Mapping[str, str], *_: Any) -> Ran:
            newest = list(self.caches)[::-1]
            keys = [given["key"]] if given["key"] in self.caches else []
            found = [*keys, *(key for key in newest if key.startswith(given["restore-keys"]))]
            if found:
                shutil.copytree(self.caches[found[0]], given["path"], dirs_exist_ok=True)
            return Ran(outputs={"cache-hit": str(bool(keys)).lower()})

        return restore

    @property
    def _save(self) -> Action:
        def save(given: Mapping[str, str], *_: Any) -> Ran:
            assert given["key"] not in self.caches
            kept = self.room / f"cache{len(self.caches)}"
            shutil.copytree(given["path"], kept)
            self.caches[given["key"]] = kept
            return Ran()

        return save

    def built(self) -> int:
        """Count the builds since the last question."""
        log = self.room / "builds"
        count = len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0
        log.unlink(missing_ok=True)
        return count

    def beside(self) -> dict[str, set[str]]:
        """Return the commits of the history, each with those that it was measured beside."""
        self.jobs += 1
        place = self.room / f"history{self.jobs}"
        pull = [sys.executable, "-m", "knickpoint.cli", "history", "pull", "--remote", str(self.remote), "--instance"]
        subprocess.run([*pull, str(place)], check=True, capture_output=True, cwd=self.room / "work")
        found: dict[str, set[str]] = {}
        with open_instance(place) as instance:
            for repository in instance.store.commits.repositories():
                slots = sorted(instance.store.runs.slots(repository))
                for slotted in instance.store.commits.get(repository, slots):
                    runs = instance.store.runs.at(repository, [slotted.slot])
                    assert {run.environment["ci"] for run in runs} <= {"github", "gitlab"}
                    found[slotted.commit.hash] = {run.environment["measured beside"] for run in runs}
        return found


@pytest.fixture
def forge(tmp_path: Path) -> Forge:
    made = GitRepository.make(tmp_path / "work")
    scripts = {
        "lib/build.py": BUILD.replace("import pathlib", "import os, pathlib") + _BUILDS,
        "lib/measure.py": MEASURE,
    }
    first, second = made.commit_files(
        [("Begin", scripts | {"lib/value.txt": "10"}), ("Change nothing", {"README": "A library"})]
    )
    made.git("reset", "--quiet", "--hard")
    made.git("switch", "--quiet", "--create", "fork")
    (fork,) = made.commit_files([("Change a text", {"README": "The library"})])
    made.git("switch", "--quiet", "--force", "--create", "patch", second)
    (patch,) = made.commit_files([("Sort twice", {"lib/value.txt": "12"})])
    remote = tmp_path / "textmill.git"
    made.git("init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    made.git("--git-dir", str(remote), "config", "uploadpack.allowAnySHA1InWant", "true")
    made.git("push", "--quiet", str(remote), "main", "patch", "fork:refs/pull/13/head")
    return Forge(tmp_path, (first, second), patch, fork)


def _pull_request(forge: Forge, head: str, repository: str = "ada/textmill") -> dict[str, Any]:
    base = {"sha": forge.main[-1]}
    return {"pull_request": {"number": 12, "base": base, "head": {"sha": head, "repo": {"full_name": repository}}}}


@pytest.mark.long
def test_a_slower_pull_request_fails_without_a_history_and_its_base_becomes_one(forge: Forge) -> None:
    with serving(GitHubServer(head=forge.patch)) as forge.api:
        cold = forge.run("pull_request", _pull_request(forge, forge.patch), forge.patch)
        assert not cold.passed
        assert cold.steps == [
            "Take the history from its branch", "Name the builds", "Restore the builds", "Compare", "Save the builds",
            "Comment", "Keep the values of the base", "Verdict",
        ]  # fmt: skip
        assert [note.body.splitlines()[1] for note in forge.api.notes] == [
            "### ❌ Do not merge: 2 regressed, of 2 benchmarks."
        ]
        assert forge.built() == 2
        assert forge.beside() == {forge.main[-1]: {forge.patch}}
        # Again: the builds are there, and the comment is updated.
        again = forge.run("pull_request", _pull_request(forge, forge.patch), forge.patch)
        assert (again.passed, len(forge.api.notes), forge.built()) == (False, 1, 0)
        assert "Save the builds" not in again.steps


@pytest.mark.long
def test_what_main_built_is_not_built_again_for_a_pull_request(forge: Forge) -> None:
    pushed = forge.run("push", {"before": forge.main[0]}, forge.main[1])
    assert (pushed.passed, forge.built()) == (True, 2), pushed.printed
    assert forge.beside() == {forge.main[0]: {forge.main[1]}, forge.main[1]: {forge.main[0]}}
    with serving(GitHubServer(head=forge.patch)) as forge.api:
        forge.run("pull_request", _pull_request(forge, forge.patch), forge.patch)
    assert forge.built() == 1
    kept = [len(list(cache.iterdir())) for cache in forge.caches.values()]
    assert kept == [2, 2]  # the two builds of each job, and no older ones


@pytest.mark.long
def test_a_fork_is_measured_without_secrets_and_commented_by_a_job_that_runs_nothing_of_it(forge: Forge) -> None:
    with serving(GitHubServer(head=forge.fork)) as forge.api:
        forge.api.readonly = True
        first = forge.run("pull_request", _pull_request(forge, forge.fork, "eve/textmill"), forge.fork)
        assert (first.passed, first.steps[-1], forge.api.writes) == (True, "Verdict", []), first.printed
        assert "Keep the values of the base" not in first.steps
        rounds = forge.room / "runner1" / "knickpoint-kept" / "rounds.json"
        forge.api.readonly = False
        forge.built()
        run = {
            "event": "pull_request",
            "head_sha": forge.fork,
            "head_branch": "faster",
            "head_repository": {"full_name": "eve/textmill", "owner": {"login": "eve"}},
        }
        second = forge.run("workflow_run", {"workflow_run": run}, forge.main[-1], results=str(rounds), artefact="")
        assert (second.passed, forge.built()) == (True, 0), second.printed
        (note,) = forge.api.notes
    assert "May be merged: nothing regressed, of 2 benchmarks." in note.body
    assert note.body == (forge.room / "runner1" / "summary.md").read_text(encoding="utf-8")


@pytest.mark.long
def test_a_merge_queue_fails_what_is_slower(forge: Forge) -> None:
    event = {"merge_group": {"base_sha": forge.main[-1], "head_sha": forge.patch}}
    ran = forge.run("merge_group", event, forge.patch)
    assert (ran.passed, ran.steps[-1]) == (False, "Verdict")
    assert "Comment" not in ran.steps
    assert forge.beside() == {forge.main[-1]: {forge.patch}}


@pytest.mark.long
@pytest.mark.parametrize(
    ("event_name", "event"),
    [("schedule", {}), ("workflow_dispatch", {}), ("push", {"before": "0" * 40}), ("push", {"before": "1" * 40})],
)
def test_without_a_commit_before_the_parent_is_the_base(forge: Forge, event_name: str, event: dict[str, Any]) -> None:
    ran = forge.run(event_name, event, forge.main[1])
    assert ran.passed, ran.printed
    assert forge.beside() == {forge.main[0]: {forge.main[1]}, forge.main[1]: {forge.main[0]}}


@pytest.mark.long
def test_each_job_of_a_matrix_has_its_own_comment_and_its_own_traces(forge: Forge) -> None:
    with serving(GitHubServer(head=forge.patch)) as forge.api:
        for name in ("linux", "mac"):
            forge.run(
                "pull_request", _pull_request(forge, forge.patch), forge.patch, matrix={"os": name}, params=f"os={name}"
            )
    assert sorted(note.body.splitlines()[1] for note in forge.api.notes) == [
        f"### ❌ <code>{name}</code>: Do not merge: 2 regressed, of 2 benchmarks." for name in ("linux", "mac")
    ]
    assert len(forge.caches) == 2


@pytest.mark.long
def test_a_shallow_clone_says_how_to_fetch_the_rest(forge: Forge) -> None:
    ran = forge.run("push", {"before": forge.main[0]}, forge.main[1], depth="1")
    assert (ran.passed, ran.steps[-1]) == (False, "Compare")
    assert "The repository is shallow: git fetch --unshallow" in ran.printed


@pytest.mark.long
def test_the_noise_of_a_history_ends_the_rounds_of_an_unchanged_pull_request_early(forge: Forge) -> None:
    work = GitRepository(forge.room / "work", minutes=9)
    work.git("switch", "--quiet", "--force", "main")
    past = work.commits(12)
    work.git("push", "--quiet", str(forge.remote), "main")
    table = ["commit,benchmark,unit,value"]
    table += [
        f"{commit},{name},ms,{10 + place % 3 / 50}" for place, commit in enumerate(past) for name in ("render", "load")
    ]
    (forge.room / "past.csv").write_text("\n".join([*table, ""]), encoding="utf-8")
    add = [sys.executable, "-m", "knickpoint.cli", "history", "add", "--remote", str(forge.remote), "--instance"]
    subprocess.run([*add, ".knickpoint", str(forge.room / "past.csv")], check=True, cwd=work.directory)
    work.git("switch", "--quiet", "--create", "equal")
    equal = work.commit("Change a comment")
    work.git("push", "--quiet", str(forge.remote), "equal")
    event = {"merge_group": {"base_sha": past[-1], "head_sha": equal}}
    rounds = {}
    for branch in ("knickpoint-history", "no-history"):
        ran = forge.run("merge_group", event, equal, branch=branch, keep="false", options="--find=0.05")
        assert ran.passed, ran.printed
        (found,) = [line for line in ran.printed.splitlines() if " rounds: every benchmark is decided" in line]
        rounds[branch] = int(found.partition("this machine; ")[2].partition(" ")[0])
    assert rounds["knickpoint-history"] == 4
    assert rounds["no-history"] >= 9


@pytest.mark.long
def test_the_component_of_gitlab_measures_a_merge_request_and_keeps_the_base(forge: Forge) -> None:
    given = {name: _GIVEN[name] for name in ("build", "results", "artefact")}
    given |= {
        "measure": f"{sys.executable} measure.py",
        "directory": "lib",
        "options": _GIVEN["options"].replace("\n", " "),
    }
    variables = forge.variables | {"GITLAB_CI": "true", "CI_RUNNER_EXECUTABLE_ARCH": "linux/amd64"}
    workspace = forge.checkout(forge.patch)
    with serving(GitLabServer(head=forge.patch)) as gitlab:
        more = {
            "CI_PIPELINE_SOURCE": "merge_request_event",
            "CI_MERGE_REQUEST_IID": "12",
            "CI_MERGE_REQUEST_PROJECT_ID": "7",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": forge.main[1],
            "CI_COMMIT_SHA": forge.patch,
            "CI_API_V4_URL": f"{gitlab.url}/api/v4",
            "KNICKPOINT_FORGE_TOKEN": "the-token",
            "KNICKPOINT_GIT_TOKEN": "another",
        }
        code, printed = run_component(_COMPONENT, workspace, given, variables | more)
    assert (code, forge.built()) == (1, 2), printed
    assert ["Do not merge: 2 regressed" in note.body for note in gitlab.notes] == [True]
    assert forge.beside() == {forge.main[1]: {forge.patch}}
    # The cache of the job before is there: main adds both sides, and never fails.
    main = forge.checkout(forge.main[1])
    shutil.copytree(workspace / ".knickpoint-builds" / "artefacts", main / ".knickpoint-builds" / "artefacts")
    more = {"CI_COMMIT_SHA": forge.main[1], "CI_COMMIT_BRANCH": "main", "CI_PIPELINE_SOURCE": "schedule"}
    more |= {"KNICKPOINT_GIT_TOKEN": "another"}
    code, printed = run_component(_COMPONENT, main, given, variables | more)
    assert (code, forge.built()) == (0, 1), printed
    assert forge.beside() == {forge.main[0]: {forge.main[1]}, forge.main[1]: {forge.main[0], forge.patch}}
