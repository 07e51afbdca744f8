"""What is known beside results: sidecars, and the variables of a CI."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.ingest.conftest import Lab

from knickpoint.ingest import read_ci, read_sidecar
from knickpoint.ingest.sidecar import FileContext, Sidecar
from knickpoint.model.commit import commit_name
from knickpoint.model.errors import InputError

A, B = "1000001", "1000002"

GITHUB = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_SHA": A,
    "GITHUB_REF_NAME": "main",
    "GITHUB_RUN_ID": "77",
    "GITHUB_RUN_ATTEMPT": "2",
    "GITHUB_JOB": "bench",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_REPOSITORY": "o/r",
    "RUNNER_OS": "Linux",
}


@pytest.mark.parametrize(
    ("variables", "revision", "branch", "identity"),
    [
        (GITHUB, A, "main", "github/77/2/bench"),
        (
            {"GITLAB_CI": "true", "CI_COMMIT_SHA": A, "CI_COMMIT_REF_NAME": "dev", "CI_JOB_ID": "5"},
            A,
            "dev",
            "gitlab/5",
        ),
        (
            {"JENKINS_URL": "x", "GIT_COMMIT": A, "BRANCH_NAME": "dev", "BUILD_TAG": "job-5"},
            A,
            "dev",
            "jenkins/job-5",
        ),
        ({"CIRCLECI": "true", "CIRCLE_SHA1": A, "CIRCLE_WORKFLOW_JOB_ID": "u"}, A, "", "circleci/u"),
        ({"TF_BUILD": "True", "BUILD_SOURCEVERSION": A, "BUILD_BUILDID": "9"}, A, "", "azure/9"),
        (
            {"BUILDKITE": "true", "BUILDKITE_COMMIT": A, "BUILDKITE_JOB_ID": "j", "BUILDKITE_RETRY_COUNT": "1"},
            A,
            "",
            "buildkite/j/1",
        ),
    ],
)
def test_a_ci_tells_commit_branch_and_execution(
    variables: dict[str, str], revision: str, branch: str, identity: str
) -> None:
    facts = read_ci(variables)
    assert facts is not None
    assert (facts.revision, facts.branch, facts.identity) == (revision, branch, identity)


def test_a_ci_tells_machine_and_log() -> None:
    facts = read_ci(GITHUB)
    assert facts is not None
    assert facts.environment == {"ci": "github", "os": "Linux"}
    assert facts.links == {"CI job": "https://github.com/o/r/actions/runs/77"}


def test_a_pull_request_stands_for_its_head_and_remembers_what_was_tested(tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"head": {"sha": B}}}))
    facts = read_ci(
        GITHUB | {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(event), "GITHUB_HEAD_REF": "feature"}
    )
    assert facts is not None
    assert (facts.revision, facts.branch, facts.revisions["merge"]) == (B, "feature", A)


def test_the_name_of_a_hosted_runner_is_no_fact_about_the_machine() -> None:
    for kind, expected in (("github-hosted", None), ("self-hosted", "lab-1")):
        facts = read_ci(GITHUB | {"RUNNER_NAME": "lab-1", "RUNNER_ENVIRONMENT": kind})
        assert facts is not None
        assert facts.environment.get("runner") == expected


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"pull_request": {"head": {"sha": 5}}}'])
def test_a_pull_request_without_a_readable_event_keeps_its_merge(tmp_path: Path, content: str) -> None:
    event = tmp_path / "event.json"
    event.write_text(content)
    facts = read_ci(GITHUB | {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(event)})
    assert facts is not None
    assert facts.revision == A


@pytest.mark.parametrize("variables", [{}, {"CI": "true"}, {"GITHUB_ACTIONS": "true"}, {"GITHUB_SHA": A}])
def test_outside_of_a_known_ci_there_are_no_facts(variables: dict[str, str]) -> None:
    assert read_ci(variables) is None


def test_the_ci_stands_in_where_results_name_no_commit(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in GITHUB.items():
        monkeypatch.setenv(name, value)
    lab.take(lab.write("a.csv", "benchmark,value\nsort,1\n"))
    store = lab.instance.store
    (run,) = store.runs.at(store.commits.repository("main"), [0])
    assert (lab.values(), run.branch, run.environment["os"]) == ({A: {"sort": 1}}, "main", "Linux")
    assert run.links["CI job"].endswith("/77")


def test_the_ci_says_nothing_about_results_that_name_their_commit(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in GITHUB.items():
        monkeypatch.setenv(name, value)
    lab.take(lab.skia("a.json", B, sort=1))
    store = lab.instance.store
    (run,) = store.runs.at(store.commits.repository("main"), [0])
    assert (lab.line(), run.environment) == ([B], {})


def test_a_repeated_attempt_is_another_run(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for attempt, value in (("1", 1), ("2", 3)):
        for name, text in (GITHUB | {"GITHUB_RUN_ATTEMPT": attempt}).items():
            monkeypatch.setenv(name, text)
        lab.take(lab.write("a.csv", f"benchmark,value\nsort,{value}\n"))
    assert lab.values() == {A: {"sort": 2}}


def test_two_files_of_one_ci_job_are_two_runs(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in GITHUB.items():
        monkeypatch.setenv(name, text)
    lab.take(lab.write("a.csv", "benchmark,value\nsort,1\n"), lab.write("b.csv", "benchmark,value\nparse,2\n"))
    assert lab.values() == {A: {"sort": 1, "parse": 2}}


def test_a_sidecar_says_what_results_do_not(lab: Lab) -> None:
    path = lab.write("a.csv", "benchmark,value\nsort,1\n")
    stated = {"commit": A, "branch": "dev", "environment": {"cpu": "fast"}, "links": {"log": "https://x/1"}, "run": "7"}
    lab.write("a.csv.sidecar.json", stated)
    lab.take(path)
    store = lab.instance.store
    (run,) = store.runs.at(store.commits.repository("main"), [0])
    assert (run.branch, run.environment, run.links) == ("dev", {"cpu": "fast"}, {"log": "https://x/1"})


def test_a_sidecar_of_the_folder_holds_for_all_its_files(lab: Lab) -> None:
    lab.write("folder/knick.sidecar.json", {"commit": A, "run": "7"})
    lab.write("folder/a.csv", "benchmark,value\nsort,1\n")
    lab.write("folder/b.csv", "benchmark,value\nparse,2\n")
    lab.take(lab.directory / "folder")
    assert lab.values() == {A: {"sort": 1, "parse": 2}}


def test_options_stand_over_sidecars(lab: Lab) -> None:
    path = lab.write("a.csv", "benchmark,value\nsort,1\n")
    lab.write("a.csv.sidecar.json", {"commit": A})
    lab.take(path, revision=B)
    assert lab.line() == [B]


def test_a_broken_sidecar_keeps_its_file_out(lab: Lab) -> None:
    path = lab.write("a.csv", "benchmark,value\nsort,1\n")
    lab.write("a.csv.sidecar.json", '{"comit": 1}')
    summary = lab.take(path)
    assert summary.failed
    assert "unknown key 'comit' in the sidecar" in summary.lines()[0]


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{", b'{"commit": []}', b'{"params": []}', b'{"time": "noon"}', b"[" * 100_000, b" " * 2_000_000],
)
def test_what_is_no_sidecar_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        read_sidecar(data, where="x")


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8).map(str.strip)
sidecars = st.builds(
    Sidecar,
    commit=texts.map(commit_name),  # a placeholder names no commit, and is read as none
    branch=texts,
    repository=texts,
    run=texts,
    time=st.none() | st.datetimes(timezones=st.just(UTC)),
    format=texts,
    params=st.dictionaries(texts, texts, max_size=3),
    environment=st.dictionaries(texts, texts, max_size=3),
    links=st.dictionaries(texts, texts, max_size=3),
    revisions=st.dictionaries(texts, texts, max_size=3),
)


@given(sidecars, sidecars)
def test_what_is_kept_with_a_file_reads_back(stated: Sidecar, fallback: Sidecar) -> None:
    context = FileContext(stated, fallback)
    kept = json.loads(json.dumps(context.as_options()))
    assert FileContext.from_options(kept).as_options() == context.as_options()


@given(sidecars, sidecars)
def test_of_two_sidecars_the_nearer_counts(near: Sidecar, far: Sidecar) -> None:
    both = near.over(far)
    assert both.commit == (near.commit or far.commit)
    assert both.params == {**far.params, **near.params}


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00", "soon"])
def test_a_time_out_of_the_calendar_is_refused_in_a_sidecar(time: str) -> None:
    with pytest.raises(InputError, match="is not a time"):
        read_sidecar(json.dumps({"time": time}).encode(), where="a")


def test_what_no_database_keeps_is_replaced_in_a_sidecar() -> None:
    read = read_sidecar(b'{"branch": "a\\u0000b", "environment": {"host": "\\udcff"}}', where="a")
    assert (read.branch, dict(read.environment)) == ("a\ufffdb", {"host": "\ufffd"})


def test_an_event_of_github_that_is_nested_without_end_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "event.json").write_text("[" * 100_000)
    event = {"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(tmp_path / "event.json")}
    facts = read_ci(GITHUB | event)
    assert facts is not None
    assert facts.revision == A


@pytest.mark.parametrize(("owner", "branch"), [("ada", "main"), ("eve", "eve:main")])
def test_a_job_after_another_run_is_about_the_commit_of_that_run(tmp_path: Path, owner: str, branch: str) -> None:
    event = tmp_path / "event.json"
    repository = {"full_name": f"{owner}/textmill", "owner": {"login": owner}}
    event.write_text(
        json.dumps({"workflow_run": {"head_sha": B, "head_branch": "main", "head_repository": repository}})
    )
    facts = read_ci(
        GITHUB
        | {
            "GITHUB_EVENT_NAME": "workflow_run",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_REPOSITORY": "ada/textmill",
        }
    )
    assert facts is not None
    assert (facts.revision, facts.branch) == (B, branch)
