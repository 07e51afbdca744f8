"""Results, sidecars and CIs that write a placeholder where they know no commit."""

from __future__ import annotations

import json

import pytest
from tests.ingest.conftest import Lab
from tests.ingest.test_context import GITHUB

from knickpoint.formats import read_report
from knickpoint.ingest import read_ci, read_sidecar

A, B = "a" * 40, "b" * 40
PLACEHOLDERS = ["unversioned", "unknown", "HEAD", "0" * 40, "N/A"]


def pytest_benchmark(commit: str, minute: int = 0, *, dirty: bool = False) -> dict[str, object]:
    """Return what pytest-benchmark writes; outside of git, its commit is called unversioned."""
    return {
        "machine_info": {"node": "m"},
        "commit_info": {"id": commit, "time": None, "dirty": dirty, "project": "p", "branch": "(unknown)"},
        "benchmarks": [{"fullname": "t.py::test_sort", "params": None, "param": None, "stats": {"data": [1.0]}}],
        "datetime": f"2026-01-01T00:{minute:02}:00",
        "version": "5.1.0",
    }


@pytest.mark.parametrize("commit", PLACEHOLDERS)
def test_results_with_a_placeholder_take_the_commit_of_the_ci(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, commit: str
) -> None:
    for name, value in GITHUB.items():
        monkeypatch.setenv(name, value)
    lab.take(lab.write("a.json", pytest_benchmark(commit)))
    assert lab.line("p") == [GITHUB["GITHUB_SHA"]]


@pytest.mark.parametrize("commit", PLACEHOLDERS)
def test_results_with_a_placeholder_and_nothing_else_ask_for_a_commit(lab: Lab, commit: str) -> None:
    summary = lab.take(lab.write("a.json", pytest_benchmark(commit)))
    assert (summary.failed, "which commit" in summary.lines()[0]) == (True, True)


@pytest.mark.parametrize("commit", PLACEHOLDERS)
def test_a_placeholder_in_a_sidecar_leaves_results_their_commit(lab: Lab, commit: str) -> None:
    lab.write("a.json.sidecar.json", {"commit": commit})
    lab.take(lab.write("a.json", pytest_benchmark(A)))
    assert lab.line("p") == [A]


def test_a_placeholder_in_a_sidecar_reads_as_nothing() -> None:
    assert read_sidecar(b'{"commit": "unknown"}', where="s").commit == ""


def test_a_ci_with_a_placeholder_names_no_commit() -> None:
    assert read_ci({"BUILDKITE": "true", "BUILDKITE_COMMIT": "HEAD"}) is None


def test_a_ci_with_a_placeholder_in_one_variable_is_read_by_the_next() -> None:
    facts = read_ci({"TRAVIS": "true", "TRAVIS_PULL_REQUEST_SHA": "0" * 40, "TRAVIS_COMMIT": A})
    assert facts is not None
    assert facts.revision == A


def test_rows_with_a_placeholder_are_told_apart_by_their_time() -> None:
    table = b"commit,time,benchmark,value\nunknown,2026-01-01,sort,1\nunknown,2026-01-02,sort,2\n"
    report, _ = read_report(table, name="a.csv")
    assert ([run.revision for run in report.runs], report.commits) == (["", ""], ())


def test_a_tool_that_names_two_commits_is_read_by_the_one_that_it_knows() -> None:
    text = f"commit: unknown\nrevision: {A}\nBenchmarkSort 1 10 ns/op\n".encode()
    report, _ = read_report(text, name="go.txt")
    assert report.runs[0].revision == A


def test_a_change_of_no_commit_makes_no_warning() -> None:
    _, problems = read_report(json.dumps(pytest_benchmark("unversioned", dirty=True)).encode(), name="a.json")
    assert problems == ()
