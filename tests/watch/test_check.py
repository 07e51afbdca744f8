from __future__ import annotations

import math

import pytest

from knickpoint.model.errors import HistoryError
from knickpoint.model.report import Outcome, Result, ResultTable, RunReport
from knickpoint.model.step import Verdict
from knickpoint.watch.check import CheckReport, check_results

from .conftest import World, levels


def new_run(*samples: float, unit: str = "ms", revision: str = "", name: str = "parse") -> RunReport:
    table = ResultTable.of([Result({"benchmark": name, "kind": name[0]}, samples, unit)])
    return RunReport(table, revision=revision)


@pytest.fixture
def steady(world: World) -> World:
    """A world in which parse takes 20 ms for 40 commits, and then 30 ms for 10."""
    world.measure({"parse": levels((40, 20.0), (10, 30.0))})
    return world


def check(world: World, *runs: RunReport, base: int | None = 39) -> CheckReport:
    return check_results(world.store, world.repository, runs, base=base)


@pytest.mark.parametrize(
    ("value", "verdict"), [(20.0, Verdict.UNCHANGED), (24.0, Verdict.REGRESSED), (16.0, Verdict.IMPROVED)]
)
def test_a_value_is_judged_against_the_level_at_the_base(steady: World, value: float, verdict: Verdict) -> None:
    report = check(steady, new_run(value), new_run(value), new_run(value))
    assert report.verdict is verdict
    assert report.counts == {verdict: 1}
    assert report.base == 39


def test_the_values_after_the_base_do_not_count(steady: World) -> None:
    assert check(steady, new_run(30.0), new_run(30.0)).verdict is Verdict.REGRESSED
    assert check(steady, new_run(30.0), new_run(30.0), base=None).verdict is Verdict.UNCHANGED


def test_results_of_a_commit_on_the_line_are_not_their_own_history(steady: World) -> None:
    (commit,) = steady.store.commits.get(steady.repository, [40])
    runs = [new_run(30.0, revision=commit.commit.hash) for _ in range(3)]
    report = check(steady, *runs, base=None)
    assert (report.base, report.verdict) == (39, Verdict.REGRESSED)


def test_the_samples_of_one_run_are_one_value(steady: World) -> None:
    (trace,) = check(steady, new_run(20.1, 20.2, 20.9)).traces
    assert trace.values == (20.2,)
    assert trace.judgement.samples == 1


def test_another_unit_of_the_same_dimension_is_converted(steady: World) -> None:
    (trace,) = check(steady, new_run(0.02, unit="s")).traces
    assert list(trace.values) == pytest.approx([20.0])
    assert trace.unit == "ms"
    assert trace.judgement.verdict is Verdict.UNCHANGED


def test_a_unit_that_does_not_convert_has_no_history(steady: World) -> None:
    (trace,) = check(steady, new_run(20.0, unit="B")).traces
    assert trace.trace is None
    assert trace.judgement.verdict is Verdict.NO_DATA


def test_a_benchmark_without_history_gives_no_data(steady: World) -> None:
    assert check(steady, new_run(20.0, name="read")).verdict is Verdict.NO_DATA


def test_one_regressed_trace_decides_over_those_without_data(steady: World) -> None:
    report = check(steady, new_run(30.0), new_run(30.0), new_run(1.0, name="read"))
    assert report.verdict is Verdict.REGRESSED
    assert report.counts == {Verdict.REGRESSED: 1, Verdict.NO_DATA: 1}


def test_a_failed_benchmark_says_what_it_said(steady: World) -> None:
    failed = Result({"benchmark": "parse", "kind": "p"}, outcome=Outcome.FAILED, message="out of memory")
    (trace,) = check(steady, RunReport(ResultTable.of([failed]))).traces
    assert (trace.failed, trace.judgement.verdict) == (("out of memory",), Verdict.NO_DATA)


def test_nothing_is_written(steady: World) -> None:
    check(steady, new_run(30.0))
    assert math.isnan(steady.store.frames.values(steady.store.commits.line(steady.repository), [0])[0, 60])


def test_a_base_that_is_not_on_the_line_is_refused(steady: World) -> None:
    with pytest.raises(HistoryError, match="slot 500"):
        check(steady, new_run(20.0), base=500)


def test_no_results_are_no_data(steady: World) -> None:
    assert check(steady).verdict is Verdict.NO_DATA
