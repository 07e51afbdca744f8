"""Results files are judged against each other by the decision of a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.watch.conftest import World, levels

from knickpoint.model.direction import DirectionRule
from knickpoint.model.errors import InputError
from knickpoint.model.judged_benchmark import JudgedResults
from knickpoint.model.query import parse_query
from knickpoint.model.report import Outcome, Result, ResultTable, RunReport
from knickpoint.model.step import Verdict
from knickpoint.model.summary import read_summary
from knickpoint.model.unit_names import Better
from knickpoint.watch.results_check import CheckRules, check_files, check_results


def run_of(*results: Result, revision: str = "") -> RunReport:
    return RunReport(ResultTable.of(results), revision=revision)


def measured(name: str, *samples: float, unit: str = "ms") -> Result:
    return Result({"benchmark": name, "kind": name[0]}, samples, unit)


def failed(name: str) -> Result:
    return Result({"benchmark": name, "kind": name[0]}, outcome=Outcome.FAILED, message="out of memory")


def compare(base: Sequence[RunReport], new: Sequence[RunReport], **rules: object) -> JudgedResults:
    return check_files(base, new, name="before.json", rules=CheckRules(**rules))  # type: ignore[arg-type]


def said(report: JudgedResults) -> dict[str, tuple[str, str]]:
    """Return benchmark → verdict and reason."""
    return {row.benchmark: (row.verdict.value, row.reason) for row in report.benchmarks}


def runs_of(level: float, count: int = 8, name: str = "parse") -> list[RunReport]:
    return [run_of(measured(name, value)) for value in levels((count, level))]


@pytest.mark.parametrize("new", [20.0, 23.0, 16.0])
def test_runs_of_a_file_give_the_verdicts_that_a_history_of_these_runs_gives(world: World, new: float) -> None:
    series = {"parse": levels((9, 20.0)), "print": levels((9, 7.0)), "gone": levels((9, 3.0))}
    world.measure(series)
    runs = [
        run_of(measured("parse", new), measured("print", 7.0)),
        run_of(measured("parse", new * 1.001), measured("print", 7.01)),
    ]
    stored = check_results(world.store, world.repository, runs, base=8)
    base = [run_of(*(measured(name, values[at]) for name, values in series.items())) for at in range(9)]
    found = compare(base, runs)
    assert [row for row in found.benchmarks if row.new] == [
        replace(row, trace_id=None) for row in stored.benchmarks if row.new
    ]
    assert found.counts == stored.counts
    assert not found.by_samples


def test_a_file_of_several_commits_has_a_value_for_each_commit_as_the_history_has() -> None:
    base = [run_of(measured("parse", value), revision=name) for name in "abcdef" for value in (19.0, 20.0, 24.0)]
    (row,) = compare(base, [run_of(measured("parse", 20.0))]).benchmarks
    assert row.past == (20.0,) * 6


def test_samples_stand_for_runs_that_are_too_few_and_changes_are_conditional() -> None:
    base = [run_of(measured("parse", *levels((10, 20.0))))]
    same = compare(base, [run_of(measured("parse", *levels((10, 20.0))))])
    assert (same.verdict, same.by_samples) == (Verdict.UNCHANGED, True)
    slower = compare(base, [run_of(measured("parse", *levels((10, 26.0))))] * 3)
    assert slower.verdict is Verdict.REGRESSED
    assert slower.benchmarks[0].conditional
    assert slower.benchmarks[0].reason.endswith("samples of the base replace runs, which are too few")
    assert len(slower.benchmarks[0].new) == 3


def test_of_thousands_of_samples_evenly_spaced_ones_count() -> None:
    base = [run_of(measured("parse", *np.linspace(19, 21, 5000).tolist()))]
    report = compare(base, [run_of(measured("parse", 20.0))])
    assert 150 < report.replayed <= 200


def test_one_value_on_both_sides_gives_no_verdict_and_says_what_it_needs() -> None:
    report = compare([run_of(measured("parse", 20.0))], [run_of(measured("parse", 20.0))])
    assert said(report) == {
        "parse": ("no data", "before.json has 1 value of it, and a verdict needs 5: runs, or samples of runs")
    }


def test_a_benchmark_that_the_new_file_lacks_has_vanished_unless_it_is_a_part() -> None:
    base = [run_of(measured("parse", value), measured("print", value)) for value in levels((6, 20.0))]
    new = [run_of(measured("parse", 20.0), measured("pick", 1.0))]
    assert said(compare(base, new))["print"] == ("regressed", "vanished: last measured in before.json")
    assert "print" not in said(compare(base, new, partial=True))


def test_a_file_of_one_benchmark_says_how_many_it_leaves_out() -> None:
    base = [run_of(measured("parse", value), measured("print", value)) for value in levels((6, 20.0))]
    report = compare(base, runs_of(20.0, 1))
    assert (set(said(report)), report.left_out) == ({"parse"}, 1)


def test_what_failed_in_both_files_is_no_change() -> None:
    new = [run_of(failed("parse"))]
    assert said(compare(runs_of(20.0), new)) == {"parse": ("regressed", "failed: out of memory")}
    assert said(compare([run_of(failed("parse"))], new)) == {
        "parse": ("no data", "failed: out of memory; it failed in before.json, too")
    }


def test_units_of_one_dimension_are_converted_and_others_are_a_change() -> None:
    (row,) = compare(runs_of(20.0), [run_of(measured("parse", 0.02, unit="s"))]).benchmarks
    assert (row.new, row.unit, row.verdict) == ((20.0,), "ms", Verdict.UNCHANGED)
    report = compare(runs_of(20.0), [run_of(measured("parse", 20.0, unit="B"))])
    assert said(report) == {"parse": ("regressed", "the unit changed from ms to B")}


def test_the_direction_is_that_of_a_rule_then_of_results_then_of_the_unit() -> None:
    faster = [run_of(measured("parse", 10.0))] * 3
    assert compare(runs_of(20.0), faster).verdict is Verdict.IMPROVED
    rule = DirectionRule(parse_query("parse"), Better.HIGHER)
    ruled = check_files(runs_of(20.0), faster, name="before.json", directions=[rule])
    assert ruled.verdict is Verdict.REGRESSED


def test_a_query_selects_what_is_judged_and_what_may_vanish() -> None:
    base = [
        run_of(measured("parse", value), measured("print", value), measured("read", value))
        for value in levels((6, 20.0))
    ]
    new = [run_of(measured("parse", 20.0), measured("pick", 20.0))]
    assert set(said(compare(base, new, query=parse_query("kind=p -pick")))) == {"parse", "print"}


def test_a_query_that_selects_nothing_is_an_error_that_says_so() -> None:
    with pytest.raises(InputError, match="'kind=x' selects none of the 1 trace of the results"):
        compare(runs_of(20.0), runs_of(20.0), query=parse_query("kind=x"))


def test_a_percentile_of_runs_is_compared_and_needs_its_samples() -> None:
    rng = np.random.default_rng(2)

    def run(tail: float, count: int = 200) -> RunReport:
        fast = rng.normal(10, 0.1, count * 95 // 100)
        return run_of(measured("parse", *fast.tolist(), *rng.normal(tail, 0.1, count - fast.size).tolist()))

    base = [run(20) for _ in range(20)]
    p99 = read_summary("p99")
    assert compare(base, [run(30)] * 3).verdict is Verdict.UNCHANGED
    assert compare(base, [run(30)] * 3, summary=p99).verdict is Verdict.REGRESSED
    few = said(compare(base, [run(30, 40)], summary=p99))["parse"]
    assert few == (
        "no data",
        "the new results have too few samples: p99 needs 100 samples of a run, and there are at most 40",
    )
