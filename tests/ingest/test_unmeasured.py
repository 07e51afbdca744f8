"""Results without a value: visible, kept with their run, and without a trace."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from tests.ingest.conftest import Lab

from knickpoint.cli.program import knick
from knickpoint.ingest import ImportState
from knickpoint.model.query import Query
from knickpoint.model.report import Outcome

A, B = "1000001", "1000002"
LIBTEST = """
running 3 tests
test checks_the_parser ... ignored
test parse ... bench:       1,234 ns/iter (+/- 56)
test sort ... FAILED

test result: FAILED. 0 passed; 1 failed; 1 ignored; 1 measured; 0 filtered out; finished in 0.10s
"""


def traces(lab: Lab) -> int:
    store = lab.instance.store
    return len(store.traces.select(store.commits.repository("main"), Query()))


def csv(lab: Lab, name: str, commit: str, *rows: str) -> object:
    text = "commit,benchmark,value,unit,status,message\n" + "".join(f"{commit},{row}\n" for row in rows)
    return lab.take(lab.write(name, text))


def outcomes(lab: Lab, commit: str) -> list[tuple[str, str, str]]:
    """Return what the run of a commit keeps of benchmarks without a trace."""
    store = lab.instance.store
    repository = store.commits.repository("main")
    found = store.commits.find(repository, commit)
    assert found is not None
    (run,) = store.runs.at(repository, [found.slot])
    return [(result.params["benchmark"], result.outcome.value, result.message) for result in run.unmeasured]


def test_tests_that_libtest_ignores_make_no_traces(lab: Lab) -> None:
    lab.take(lab.write("bench.txt", LIBTEST), revision=A)
    assert traces(lab) == 1


def test_what_was_never_measured_is_kept_with_the_run(lab: Lab) -> None:
    lab.take(lab.write("bench.txt", LIBTEST), revision=A)
    assert {(name, outcome) for name, outcome, _ in outcomes(lab, A)} == {
        ("checks_the_parser", "skipped"),
        ("sort", "failed"),
    }


def test_failed_results_are_named_where_people_look(lab: Lab) -> None:
    summary = lab.take(lab.write("bench.txt", LIBTEST), revision=A)
    first, second = summary.lines()
    assert first.endswith("; 1 failed and 1 skipped without a value")
    assert second.startswith("  1 result failed: benchmark=sort")
    assert not summary.failed


def test_a_failure_of_a_benchmark_that_has_values_stays_at_its_trace(lab: Lab) -> None:
    csv(lab, "a.csv", A, "sort,1,ms,ok,")
    csv(lab, "b.csv", B, "sort,,ms,failed,it crashed")
    store = lab.instance.store
    repository = store.commits.repository("main")
    slot = store.commits.find(repository, B)
    assert slot is not None
    (trace,) = store.traces.select(repository, Query()).tolist()
    (point,) = store.runs.points(trace, slot.slot)
    assert (point.outcome, point.message, outcomes(lab, B)) == (Outcome.FAILED, "it crashed", [])


def test_a_file_of_failures_alone_comes_in_without_traces(lab: Lab) -> None:
    summary = lab.take(lab.write("a.csv", f"commit,benchmark,value,status\n{A},sort,,failed\n"))
    assert [file.state for file in summary.files] == [ImportState.IMPORTED]
    assert (traces(lab), outcomes(lab, A)) == (0, [("sort", "failed", "")])


@pytest.mark.parametrize("times", [2, 3])
def test_a_file_with_failures_again_changes_nothing(lab: Lab, times: int) -> None:
    path = lab.write("bench.txt", LIBTEST)
    found = [lab.take(path, revision=A).files[0].state for _ in range(times)]
    assert set(found[1:]) == {ImportState.UNCHANGED}


def test_a_correction_takes_away_what_the_run_kept(lab: Lab) -> None:
    csv(lab, "a.csv", A, "sort,,ms,failed,it crashed")
    csv(lab, "a.csv", A, "sort,2,ms,ok,")
    assert (lab.values(), outcomes(lab, A)) == ({A: {"sort": 2}}, [])


def test_the_command_lists_what_was_never_measured(lab: Lab) -> None:
    lab.take(lab.write("bench.txt", LIBTEST), revision=A)
    result = CliRunner().invoke(
        knick, ["ingest", "unmeasured", "--instance", str(lab.directory / "instance"), "--format", "json"]
    )
    rows = json.loads(result.output)
    assert [(row["params"], row["outcome"], row["commit"]) for row in rows] == [
        ("benchmark=checks_the_parser", "skipped", A),
        ("benchmark=sort", "failed", A),
    ]


def test_the_failures_of_scattered_traces_are_found_too(lab: Lab) -> None:
    csv(lab, "a.csv", A, "sort,1,ms,ok,")
    csv(lab, "b.csv", B, "sort,,,failed,boom")
    store = lab.instance.store
    repository = store.commits.repository("main")
    (trace,) = store.traces.select(repository, Query()).tolist()
    found = store.runs.without_value(trace, store.commits.line(repository).slots)
    assert [(point.outcome, point.message) for point in found] == [(Outcome.FAILED, "boom")]
