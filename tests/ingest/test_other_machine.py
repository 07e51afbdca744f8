"""An import says when another machine measured a trace than before; a param keeps machines apart."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.ingest.conftest import Lab

_COMMITS = [f"{number:040x}" for number in range(1, 12)]


def _measure(lab: Lab, commit: str, run: str, facts: Mapping[str, str], value: float = 1.0, **params: str) -> list[str]:
    """Import a run with these facts of its environment, and return the warnings."""
    path = lab.write(f"{commit[-2:]}-{run}.csv", f"benchmark,unit,value\nsort,ms,{value}\nparse,ms,{value}\n")
    place = _COMMITS.index(commit)
    stated = {"commit": commit, "run": run, "environment": facts, "time": f"2026-01-{place + 1:02}T00:00:00Z"}
    lab.write(f"{path.name}.sidecar.json", stated)
    (file,) = lab.take(path, params=params).files
    return [problem.sentence.partition(": ")[2] for problem in file.problems]


def test_a_run_of_another_system_that_joins_a_trace_is_named_each_time(lab: Lab) -> None:
    warned = []
    for commit in _COMMITS[:6]:
        warned.append(_measure(lab, commit, "linux", {"os": "Linux", "arch": "x64", "image": "22"}))
        warned.append(_measure(lab, commit, "mac", {"os": "macOS", "arch": "arm64", "image": "14"}, 3.0))
    assert warned[0] == []
    (warning,) = warned[1]
    assert warning.startswith("2 traces come from another machine than before: arch x64 → arm64, os Linux → macOS.")
    assert "--param machine=NAME" in warning
    assert all(len(each) == 1 for each in warned[1:])


def test_machines_that_a_param_tells_apart_are_no_other_machine(lab: Lab) -> None:
    for commit in _COMMITS[:3]:
        for name in ("Linux", "macOS"):
            assert _measure(lab, commit, name, {"os": name}, machine=name) == []


@pytest.mark.parametrize(
    "fact", ["cpu", "cpu.brand_raw", "ProcessorName", "machine_info.cpu_model_name", "goos", "system"]
)
def test_a_machine_that_is_replaced_is_named_once(lab: Lab, fact: str) -> None:
    for commit in _COMMITS[:4]:
        assert _measure(lab, commit, "1", {fact: "old", "host": commit}) == []
    (warning,) = _measure(lab, _COMMITS[4], "1", {fact: "new"})
    assert warning.startswith(f"2 traces come from another machine than before: {fact} old → new.")
    assert _measure(lab, _COMMITS[5], "1", {fact: "new"}) == []


def test_a_processor_that_changes_all_the_time_is_that_of_hosted_runners(lab: Lab) -> None:
    warned = [_measure(lab, commit, "1", {"cpu": f"kind {number % 2}"}) for number, commit in enumerate(_COMMITS)]
    assert [len(each) for each in warned] == [0, 1, 1, 1, *[0] * 7]


def test_facts_that_are_not_stated_or_of_other_kinds_are_no_other_machine(lab: Lab) -> None:
    for commit, facts in zip(
        _COMMITS, ({"os": "Linux"}, {}, {"os": "Linux", "compiler": "13"}, {"compiler": "14"}), strict=False
    ):
        assert _measure(lab, commit, "1", facts) == []


def test_the_same_file_again_has_no_warning(lab: Lab) -> None:
    _measure(lab, _COMMITS[0], "1", {"os": "Linux"})
    assert len(_measure(lab, _COMMITS[1], "1", {"os": "macOS"})) == 1
    assert _measure(lab, _COMMITS[1], "1", {"os": "macOS"}) == []


def test_the_machine_that_a_results_file_states_counts(lab: Lab) -> None:
    for number, system in enumerate(("Linux", "Darwin")):
        benchmark = {
            "name": "test_sort",
            "fullname": "test_speed.py::test_sort",
            "params": None,
            "stats": {"data": [1.0, 1.1]},
        }
        content = {
            "machine_info": {"node": "runner", "system": system, "machine": "x86_64", "python_version": "3.13"},
            "commit_info": {"id": _COMMITS[number], "dirty": False},
            "benchmarks": [benchmark],
            "datetime": f"2026-01-0{number + 1}T00:00:00",
            "version": "5.1.0",
        }
        lines = lab.take(lab.write(f"{number}.json", content)).lines()
    assert [line for line in lines if "1 trace comes from another machine than before: system Linux → Darwin." in line]
