from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from knickpoint.model.direction import DirectionRule
from knickpoint.model.errors import HistoryError
from knickpoint.model.judged_benchmark import JudgedResults, ResultKind
from knickpoint.model.query import Query
from knickpoint.model.report import Outcome, Result, ResultTable, RunReport
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better
from knickpoint.store import RunWrite
from knickpoint.watch.results_check import CheckRules, check_results

from .conftest import World, copied, levels


def new_run(*samples: float, unit: str = "ms", revision: str = "", name: str = "parse") -> RunReport:
    table = ResultTable.of([Result({"benchmark": name, "kind": name[0]}, samples, unit)])
    return RunReport(table, revision=revision)


@pytest.fixture(scope="module")
def template(empty_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world in which parse takes 20 ms for 40 commits, and then 30 ms for 10."""
    place = tmp_path_factory.mktemp("steady") / "store.db"
    world = copied(empty_world, place)
    world.measure({"parse": levels((40, 20.0), (10, 30.0))})
    world.store.close()
    return place


@pytest.fixture
def steady(template: Path, tmp_path: Path) -> Iterator[World]:
    made = copied(template, tmp_path / "steady.db")
    yield made
    made.store.close()


def failed_run(message: str = "out of memory", name: str = "parse", outcome: Outcome = Outcome.FAILED) -> RunReport:
    result = Result({"benchmark": name, "kind": name[0]}, outcome=outcome, message=message)
    return RunReport(ResultTable.of([result]))


def check(world: World, *runs: RunReport, base: int | None = 39, partial: bool = False) -> JudgedResults:
    return check_results(world.store, world.repository, runs, base=base, rules=CheckRules(partial=partial))


def short_hash(world: World, slot: int) -> str:
    return world.store.commits.get(world.repository, [slot])[0].commit.hash[:12]


def reasons(report: JudgedResults) -> dict[str, tuple[str, str]]:
    """Return benchmark → verdict and reason."""
    return {row.benchmark: (row.verdict.value, row.reason) for row in report.benchmarks}


@pytest.mark.parametrize(
    ("value", "verdict"), [(20.0, Verdict.UNCHANGED), (24.0, Verdict.REGRESSED), (16.0, Verdict.IMPROVED)]
)
def test_a_value_is_judged_against_the_level_at_the_base(steady: World, value: float, verdict: Verdict) -> None:
    report = check(steady, new_run(value), new_run(value), new_run(value))
    assert report.verdict is verdict
    assert report.counts == {verdict: 1}
    assert report.base == 39


def test_an_improvement_to_a_time_of_exactly_0_is_doubted(steady: World) -> None:
    doubt = "a time of exactly 0 may mean that the benchmark no longer does its work"
    assert doubt in reasons(check(steady, new_run(0.0), new_run(0.0)))["parse"][1]
    assert doubt not in reasons(check(steady, new_run(0.0), new_run(16.0)))["parse"][1]


def test_an_improvement_to_0_of_what_is_no_time_is_not_doubted(world: World) -> None:
    world.units["parse"] = "errors"
    world.measure({"parse": levels((40, 20.0))})
    verdict, reason = reasons(check(world, new_run(0.0, unit="errors"), new_run(0.0, unit="errors")))["parse"]
    assert (verdict, "exactly 0" in reason) == ("improved", False)


def test_the_values_after_the_base_do_not_count(steady: World) -> None:
    assert check(steady, new_run(30.0), new_run(30.0)).verdict is Verdict.REGRESSED
    assert check(steady, new_run(30.0), new_run(30.0), base=49).verdict is Verdict.UNCHANGED


def test_without_a_base_there_is_no_history(steady: World) -> None:
    report = check(steady, new_run(30.0), base=None)
    assert (report.base, report.measured, report.verdict) == (None, 0, Verdict.NO_DATA)


def test_the_report_says_how_many_commits_of_the_history_were_measured(steady: World) -> None:
    report = check(steady, new_run(20.0), base=60)
    assert (report.base, report.measured, report.newest) == (60, 50, 49)


def test_the_samples_of_one_run_are_one_value(steady: World) -> None:
    (trace,) = check(steady, new_run(20.1, 20.2, 20.9)).benchmarks
    assert trace.new == (20.2,)
    assert trace.samples == 1


def test_another_unit_of_the_same_dimension_is_converted(steady: World) -> None:
    (trace,) = check(steady, new_run(0.02, unit="s")).benchmarks
    assert list(trace.new) == pytest.approx([20.0])
    assert trace.unit == "ms"
    assert trace.verdict is Verdict.UNCHANGED


def test_a_unit_that_does_not_convert_is_a_change_that_names_both(steady: World) -> None:
    report = check(steady, new_run(20.0, unit="B"))
    assert reasons(report) == {"parse": ("regressed", "the unit changed from ms to B")}
    assert (report.benchmarks[0].unit, report.benchmarks[0].new) == ("B", (20.0,))


def test_a_unit_that_the_history_had_before_is_a_change_of_unit_too(steady: World) -> None:
    steady.units["parse"] = "B"
    steady.measure({"parse": [512.0] * 8}, first=50)
    assert reasons(check(steady, new_run(30.0), base=57)) == {"parse": ("regressed", "the unit changed from B to ms")}
    assert reasons(check(steady, new_run(512.0, unit="B"), base=57))["parse"][0] == "unchanged"


def test_a_benchmark_measured_in_two_units_is_judged_in_both(world: World) -> None:
    world.measure({"parse": [20.0] * 9})
    world.units["parse"] = "B"
    table = ResultTable.of([Result({"benchmark": "parse", "kind": "p"}, (512.0,), "B")])
    for slot in range(9):
        run = RunReport(table, identity=f"B{slot}")
        world.store.runs.write(world.repository, [RunWrite(slot, run, f"B{slot}", f"B{slot}", "test")])
    report = check(world, new_run(20.0), new_run(900.0, unit="B"), base=8)
    assert [(row.unit, row.verdict) for row in report.benchmarks] == [
        ("B", Verdict.REGRESSED),
        ("ms", Verdict.UNCHANGED),
    ]
    assert [(row.unit, row.reason.split(":")[0]) for row in check(world, new_run(20.0), base=8).benchmarks] == [
        ("B", "vanished"),
        ("ms", "the distance from the level is 0; more than 0 would count"),
    ]


def test_a_benchmark_without_history_gives_no_data(steady: World) -> None:
    assert check(steady, new_run(20.0, name="read")).verdict is Verdict.NO_DATA


def test_one_regressed_trace_decides_over_those_without_data(steady: World) -> None:
    report = check(steady, new_run(30.0), new_run(30.0), new_run(1.0, name="read"))
    assert report.verdict is Verdict.REGRESSED
    assert report.counts == {Verdict.REGRESSED: 1, Verdict.NO_DATA: 1}


def test_a_failed_benchmark_is_a_change_that_says_what_it_said(steady: World) -> None:
    report = check(steady, failed_run("\n  out of memory\n  at line 7"))
    assert reasons(report) == {"parse": ("regressed", "failed: out of memory")}
    assert report.benchmarks[0].kind is ResultKind.FAILED
    assert report.verdict is Verdict.REGRESSED


def test_a_benchmark_that_was_never_measured_and_fails_is_a_change(steady: World) -> None:
    found = reasons(check(steady, failed_run("", name="read"), new_run(20.0)))
    assert found["read"] == ("regressed", "failed; it was never measured before")


def test_what_failed_is_a_change_where_there_is_no_history_at_all(world: World) -> None:
    report = check_results(world.store, None, [failed_run()])
    assert reasons(report) == {"parse": ("regressed", "failed: out of memory; it was never measured before")}


def test_what_failed_at_the_base_too_is_no_data(steady: World) -> None:
    broken = RunReport(failed_run().results, identity="broken")
    steady.store.runs.write(steady.repository, [RunWrite(50, broken, "broken", "1", "test")])
    verdict, reason = reasons(check(steady, failed_run(), base=52))["parse"]
    assert (verdict, reason) == ("no data", f"failed: out of memory; it failed at {short_hash(steady, 50)}, too")
    assert reasons(check(steady, failed_run(), base=49))["parse"][0] == "regressed"


def test_what_failed_at_the_base_without_ever_being_measured_is_no_data(steady: World) -> None:
    result = Result({"benchmark": "read", "kind": "r"}, outcome=Outcome.FAILED)
    broken = RunReport(ResultTable.of([]), identity="broken", unmeasured=(result,))
    steady.store.runs.write(steady.repository, [RunWrite(45, broken, "broken", "1", "test")])
    assert reasons(check(steady, failed_run(name="read"), base=49, partial=True))["read"][0] == "no data"


def test_a_benchmark_that_works_again_at_the_base_may_not_fail(steady: World) -> None:
    broken = RunReport(failed_run().results, identity="broken")
    steady.store.runs.write(steady.repository, [RunWrite(46, broken, "broken", "1", "test")])
    assert reasons(check(steady, failed_run(), base=49))["parse"][0] == "regressed"


def test_a_benchmark_that_failed_in_one_of_several_runs_is_a_change(steady: World) -> None:
    found = reasons(check(steady, new_run(20.0), failed_run(), new_run(20.0)))
    assert found == {"parse": ("regressed", "failed in 1 of 3 runs: out of memory")}


def test_a_skipped_benchmark_is_no_data_and_not_missed(steady: World) -> None:
    found = reasons(check(steady, failed_run("no GPU here", outcome=Outcome.SKIPPED)))
    assert found == {"parse": ("no data", "skipped: no GPU here")}


@pytest.fixture
def several(world: World) -> World:
    """A world with benchmarks a and b of every commit, and more beside them, at the first 40 commits."""
    steady = levels((40, 20.0))
    world.measure({"a": steady, "b": steady, "c": steady, "late": [math.nan] * 39 + [20.0]})
    world.measure({"stopped": steady[:38], "nightly": [20.0 if slot % 10 == 9 else math.nan for slot in range(40)]})
    return world


def vanished(report: JudgedResults) -> dict[str, str]:
    return {name: reason for name, (_, reason) in reasons(report).items() if reason.startswith("vanished")}


def of_one_kind(*names: str) -> RunReport:
    return RunReport(ResultTable.of([Result({"benchmark": name, "kind": name[0]}, (20.0,), "ms") for name in names]))


def test_what_the_base_has_and_the_results_lack_is_a_change(several: World) -> None:
    report = check(several, of_one_kind("a", "b"))
    place = short_hash(several, 39)
    assert vanished(report) == dict.fromkeys(("c", "late"), f"vanished: last measured at {place}")
    assert (report.verdict, report.counts[Verdict.REGRESSED]) == (Verdict.REGRESSED, 2)


def test_partial_results_are_not_asked_for_the_rest(several: World) -> None:
    report = check(several, of_one_kind("a", "b"), partial=True)
    assert (vanished(report), report.verdict) == ({}, Verdict.UNCHANGED)


def test_a_single_benchmark_misses_none_of_the_others_but_counts_them(world: World) -> None:
    world.measure({name: levels((40, 20.0)) for name in ("parse", "print", "pad")})
    report = check(world, of_one_kind("parse"))
    assert (vanished(report), report.left_out) == ({}, 2)
    assert check(world, of_one_kind("parse"), partial=True).left_out == 0
    assert check(world, of_one_kind("parse", "print")).left_out == 0


def test_results_in_several_runs_are_complete_together(several: World) -> None:
    assert vanished(check(several, of_one_kind("a", "late"), of_one_kind("b", "c"))) == {}


def test_what_stopped_before_the_base_did_not_vanish_now(several: World) -> None:
    assert "stopped" not in vanished(check(several, of_one_kind("a", "b")))
    assert "stopped" in vanished(check(several, of_one_kind("a", "b"), base=37))


def test_what_is_measured_now_and_then_is_not_missed_each_time(several: World) -> None:
    assert "nightly" not in vanished(check(several, of_one_kind("a", "b")))


def test_one_run_that_broke_off_hides_nothing(world: World) -> None:
    gap = [*levels((38, 20.0)), math.nan, 20.0]
    world.measure({"a": levels((40, 20.0)), "b": levels((40, 20.0)), "c": gap})
    assert set(vanished(check(world, of_one_kind("a", "b")))) == {"c"}


def test_only_benchmarks_with_the_params_that_all_results_share_are_missed(world: World) -> None:
    world.measure({name: levels((40, 20.0)) for name in ("parse", "print", "pad", "read")})
    assert set(vanished(check(world, of_one_kind("parse", "print")))) == {"pad"}


def test_where_every_benchmark_is_new_the_newest_commits_say_what_vanished(world: World) -> None:
    world.measure({name: levels((10, 20.0)) for name in ("a", "b")})
    world.measure({"b": [20.0]}, first=10)
    assert set(vanished(check(world, of_one_kind("x", "y"), base=20))) == {"b"}


def test_what_failed_did_not_vanish(several: World) -> None:
    found = reasons(check(several, of_one_kind("a", "b", "late"), failed_run(name="c")))
    assert found["c"] == ("regressed", "failed: out of memory")


def test_nothing_is_written(steady: World) -> None:
    check(steady, new_run(30.0))
    assert math.isnan(steady.store.frames.values(steady.store.commits.line(steady.repository), [0])[0, 60])


def test_a_base_that_is_not_on_the_line_is_refused(steady: World) -> None:
    with pytest.raises(HistoryError, match="slot 500"):
        check(steady, new_run(20.0), base=500)


def test_no_results_are_no_data(steady: World) -> None:
    assert check(steady).verdict is Verdict.NO_DATA


@pytest.mark.parametrize("better", [Better.HIGHER, Better.UNKNOWN])
def test_a_rule_about_the_direction_goes_before_what_new_results_say(steady: World, better: Better) -> None:
    without = check(steady, new_run(16.0), new_run(16.0)).verdict
    steady.store.traces.set_directions([DirectionRule(Query(), better)])
    assert (without, check(steady, new_run(16.0), new_run(16.0)).verdict) == (Verdict.IMPROVED, Verdict.REGRESSED)
