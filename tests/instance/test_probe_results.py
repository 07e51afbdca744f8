"""Results of probes are re-runs: they never replace what was measured before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.repositories import GitRepository

from knickpoint.ingest import import_files
from knickpoint.instance import Instance, create_instance
from knickpoint.instance.probes import import_probe_results, measured_elsewhere
from knickpoint.model.bisection import ProbeOutcome, ProbeResult, ResultsFile, Target

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def content(value: float, host: str = "") -> bytes:
    """Return results in the format of Google Benchmark, which names the host."""
    context = {"date": "2026-01-01T00:00:00+00:00", "num_cpus": 4} | ({"host_name": host} if host else {})
    row = {"name": "parse", "run_type": "iteration", "real_time": value, "cpu_time": value, "time_unit": "ms"}
    return json.dumps({"context": context, "benchmarks": [row | {"iterations": 1}]}).encode()


@pytest.fixture
def commit(tmp_path: Path) -> str:
    return GitRepository.make(tmp_path / "project").commits(2)[1]


@pytest.fixture
def instance(tmp_path: Path, commit: str) -> Iterator[Instance]:
    """An instance that has one run of a commit, measured on the host lab-1."""
    with create_instance(tmp_path / "instance", repositories={"project": str(tmp_path / "project")}) as made:
        file = tmp_path / "first.json"
        file.write_bytes(content(10.0, "lab-1"))
        import_files(made, [file], revision=commit, repository="project")
        yield made


def probe(commit: str, value: float, host: str = "", name: str = "out.json") -> ProbeResult:
    files = (ResultsFile(name, content(value, host)),)
    return ProbeResult("B1-1", Target(commit), "pixel", ProbeOutcome.MEASURED, NOW, 1.0, files=files)


def bring(instance: Instance, result: ProbeResult, execution: str = "bisection B1 probe 1") -> None:
    summary = import_probe_results(instance, "project", result, execution=execution, environment={"bisection": "B1"})
    assert not summary.failed, summary


def test_a_probe_is_another_run_of_its_commit_with_the_same_file(instance: Instance, commit: str) -> None:
    bring(instance, probe(commit, 20.0))
    bring(instance, probe(commit, 20.0), "bisection B1 probe 2")
    repository = instance.store.commits.repository("project")
    runs = instance.store.runs.at(repository, sorted(instance.store.runs.slots(repository)))
    assert [run.environment.get("bisection", "") for run in runs] == ["", "B1", "B1"]
    assert {run.environment.get("device") for run in runs[1:]} == {"pixel"}


def test_a_probe_that_is_imported_again_changes_nothing(instance: Instance, commit: str) -> None:
    bring(instance, probe(commit, 20.0))
    repository = instance.store.commits.repository("project")
    before = instance.store.runs.state(repository)
    bring(instance, probe(commit, 20.0))
    assert instance.store.runs.state(repository) == before


@pytest.mark.parametrize(("host", "elsewhere"), [("lab-1", [False]), ("lab-2", [True]), ("", [True])])
def test_results_come_from_another_machine_unless_they_name_the_same_one(
    instance: Instance, commit: str, host: str, elsewhere: list[bool]
) -> None:
    repository = instance.store.commits.repository("project")
    slots = sorted(instance.store.runs.slots(repository))
    (file,) = probe(commit, 20.0, host).files
    assert [measured_elsewhere(instance, "project", slots, file)] == elsewhere


def test_a_file_that_cannot_be_read_is_left_to_the_import_which_says_why(instance: Instance) -> None:
    repository = instance.store.commits.repository("project")
    slots = sorted(instance.store.runs.slots(repository))
    broken = ResultsFile("out.json", b'{"context": {"host_name": "lab-2"}, "benchmarks": [')
    assert not measured_elsewhere(instance, "project", slots, broken)
