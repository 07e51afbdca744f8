"""``knick check`` compares a pull request with those judged before: what all of them show is not the patch's doing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from tests.cli.conftest import Knick
from tests.repositories import GitRepository

from knickpoint.answers.overview import read_shared_overview
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.gate import GateOptions, judge_results
from knickpoint.ingest import import_files
from knickpoint.ingest.ci import _SERVICES
from knickpoint.ingest.new_results import read_new_results
from knickpoint.instance import create_instance, open_instance

_SLOWER = {"b1": 1.2, "b2": 1.2, "b3": 1.2}
_NEW = "ubuntu24"

Factors = Mapping[str, float]


@dataclass(frozen=True)
class Project:
    """A repository with 20 measured commits on main; branches leave it at the newest."""

    repository: GitRepository

    def write(self, name: str, commit: str, factors: Factors, image: str = "ubuntu22") -> str:
        """Write results of twelve benchmarks, slower by ``factors``."""
        rng = np.random.default_rng(sum(map(ord, name)))
        rows = []
        for place in range(12):
            value = 0.1 * factors.get(f"b{place}", factors.get("all", 1.0)) * (1 + 0.01 * rng.standard_normal())
            rows.append({"fullname": f"b{place}", "name": f"b{place}", "params": None, "param": None, "group": None,
                         "extra_info": {}, "options": {},
                         "stats": {"data": [value], "median": value, "rounds": 1}})  # fmt: skip
        document = {"machine_info": {"node": "ci-1", "image": image}, "commit_info": {"id": commit}, "benchmarks": rows,
                    "datetime": "2023-11-14T23:00:00+00:00", "version": "4.0.0"}  # fmt: skip
        (self.repository.directory / name).write_text(json.dumps(document), encoding="utf-8")
        return name

    def branch(self, name: str, start: str = "main") -> str:
        """Begin a branch with a commit of its own, and return its hash."""
        self.repository.git("switch", "--quiet", "--create", name, start)
        return self.repository.commit(f"Work on {name}")

    def three(self, name: str, head: str, factors: Factors, image: str = _NEW) -> list[str]:
        """Write three runs of a commit."""
        return [self.write(f"{name}{number}.json", head, factors, image) for number in range(3)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    repository = GitRepository.make(tmp_path_factory.mktemp("made") / "project")
    names = repository.commits(20)
    paths = [repository.directory / Project(repository).write(f"h{at}.json", name, {}) for at, name in enumerate(names)]
    with create_instance(repository.directory / ".knickpoint", repositories={"project": ".."}) as opened:
        import_files(opened, paths)
    return repository


@pytest.fixture
def project(made: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    for service in _SERVICES:
        monkeypatch.delenv(service.sign, raising=False)
    shutil.copytree(made.directory, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("KNICKPOINT_INSTANCE", ".knickpoint")
    return Project(GitRepository(tmp_path / "project", made.minutes))


def judge(knick: Knick, project: Project, factors: Factors, *names: str) -> list[int]:
    """Judge a pull request of each name, all slower by ``factors`` on the new image, and return the exit codes."""
    return [knick("check", *project.three(name, project.branch(name), factors)).code for name in names]


def test_what_three_pull_requests_show_alike_is_the_environment_and_fails_nobody(
    knick: Knick, project: Project
) -> None:
    assert judge(knick, project, _SLOWER, "io", "parse") == [1, 1]
    ran = knick("check", *project.three("third", project.branch("third"), _SLOWER))
    first = ran.output.splitlines()[0]
    assert first.startswith(
        "Moved environment: 3 of 12 moved, +18 to +20 %, as in pull requests without a common commit"
    )
    assert first.endswith("image ubuntu24 against ubuntu22. May be merged: nothing regressed, of 12 benchmarks.")
    assert ran.code == 0


def test_what_a_patch_adds_to_a_moved_environment_fails(knick: Knick, project: Project) -> None:
    judge(knick, project, _SLOWER, "io", "parse")
    ran = knick(
        "check", *project.three("own", project.branch("own"), _SLOWER | {"b7": 1.3, "b1": 1.8}), "--format", "json"
    )
    rows = {row["benchmark"]: row for row in json.loads(ran.output)}
    assert {name for name, row in rows.items() if row["fails"]} == {"b1", "b7"}
    assert {name for name, row in rows.items() if row["attribution"] == "moved environment"} == {"b2", "b3"}


def test_a_moved_environment_is_the_same_in_every_form_and_fails_no_strict_job(knick: Knick, project: Project) -> None:
    judge(knick, project, _SLOWER, "io", "parse")
    files = project.three("third", project.branch("third"), _SLOWER)
    reports = [f"--report={form}=a.{form}" for form in ("markdown", "html", "junit", "sarif")]
    ran = knick("check", *files, *reports, "--fail-on", "unstable")
    assert ran.code == 0
    texts = {path.suffix: path.read_text(encoding="utf-8") for path in Path().glob("a.*")}
    assert all("3 of 12 moved" in text for text in texts.values())
    assert "Measure main again" in texts[".markdown"]
    suite = ET.fromstring(texts[".junit"]).find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "3")
    assert json.loads(texts[".sarif"])["runs"][0]["results"] == []


def test_a_common_move_that_other_pull_requests_show_is_not_to_be_measured_again(
    knick: Knick, project: Project
) -> None:
    assert judge(knick, project, {"all": 1.3}, "io", "parse", "third") == [3, 3, 0]


def test_pull_requests_that_share_a_commit_or_repeat_one_do_not_confirm_each_other(
    knick: Knick, project: Project
) -> None:
    first = project.branch("io")
    stacked = project.branch("stacked", "io")
    project.repository.git("switch", "--quiet", "--create", "rebased", "main")
    rebased = project.repository.commit("Work on io")
    heads = {"io": first, "stacked": stacked, "rebased": rebased}
    assert [knick("check", *project.three(name, head, _SLOWER)).code for name, head in heads.items()] == [1, 1, 1]


def test_pull_requests_that_did_not_move_refute_a_moved_environment(knick: Knick, project: Project) -> None:
    assert judge(knick, project, _SLOWER, "io", "parse") == [1, 1]
    assert judge(knick, project, {}, "calm", "quiet") == [0, 0]
    assert judge(knick, project, _SLOWER, "late") == [1]


def test_what_moves_in_one_check_of_a_commit_and_not_in_another_is_noise(knick: Knick, project: Project) -> None:
    head = project.branch("io")
    assert knick("check", *project.three("x", head, {"b1": 1.2})).code == 1
    ran = knick("check", *project.three("y", head, {"b2": 1.2}))
    assert ran.output.startswith("Noise: 2 benchmarks moved in one check of this commit, and not in another.")
    assert "noise: in most other checks of this commit it moves less than half as far" in ran.output
    assert ran.code == 0
    assert knick("check", *project.three("z", head, {"b2": 1.2})).code == 1, "two of three checks show it"


def test_results_that_are_judged_twice_count_once(knick: Knick, project: Project) -> None:
    head = project.branch("io")
    calm, slow = project.three("x", head, {}), project.three("y", head, {"b1": 1.2})
    assert [knick("check", *files).code for files in (calm, calm, slow, slow)] == [0, 0, 0, 0]
    assert knick("check", *project.three("z", head, {"b1": 1.2})).code == 1


def test_the_overview_names_a_moved_environment(knick: Knick, project: Project) -> None:
    judge(knick, project, _SLOWER, "io", "parse", "third")
    with open_instance(".knickpoint") as opened:
        (found,) = read_shared_overview(opened, VisibleRepositories.to_local_user(opened.store), "").environments
    assert found.sentence.startswith("Moved environment: 3 of 12 moved")
    judge(knick, project, {}, "calm", "quiet", "still")
    with open_instance(".knickpoint") as opened:
        assert not read_shared_overview(opened, VisibleRepositories.to_local_user(opened.store), "").environments


def test_a_store_that_cannot_be_written_gives_the_verdict_and_a_warning(project: Project) -> None:
    files = project.three("io", project.branch("io"), _SLOWER)
    with open_instance(".knickpoint") as opened, opened.store.database.reading():
        report = judge_results(opened, read_new_results(opened, files), GateOptions(), file=files[0])
    assert report.exit_code == 1
    assert "a write was tried inside a snapshot" in report.warnings[-1]
