"""Two commits of the store are compared by the decision of a check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.watch.conftest import World, levels

from knickpoint.model.errors import InputError
from knickpoint.model.judged_benchmark import JudgedResults
from knickpoint.model.query import parse_query
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.model.step import Verdict
from knickpoint.model.summary import read_summary
from knickpoint.store import RunWrite
from knickpoint.watch import commit_comparison
from knickpoint.watch.commit_comparison import LinePosition, compare_commits
from knickpoint.watch.detection.commit_values import read_summaries

STEP = 50


@pytest.fixture
def measured(world: World) -> World:
    """Return an instance in which `slow` is 10 % slower from commit 50 on, and `same` never changes."""
    world.measure({"slow": levels((STEP, 100), (30, 110)), "same": levels((80, 40))})
    return world


def compared(world: World, base: int, head: int, **options: Any) -> JudgedResults:
    line = world.store.commits.line(world.repository)
    ids = world.store.traces.select(world.repository, parse_query("")).tolist()
    return compare_commits(world.store, LinePosition(line, base), LinePosition(line, head), ids, **options)


def test_what_became_slower_between_two_commits_is_regressed_and_comes_first(measured: World) -> None:
    found = compared(measured, 45, 60)
    slow, same = found.benchmarks
    assert (slow.verdict, same.verdict) == (Verdict.REGRESSED, Verdict.UNCHANGED)
    assert slow.trace_id == measured.trace("slow")
    assert slow.relative_size == pytest.approx(0.10, abs=0.01)
    assert found.counts == {Verdict.REGRESSED: 1, Verdict.UNCHANGED: 1}


def test_a_change_before_the_base_is_no_change_between_the_two(measured: World) -> None:
    verdicts = {each.verdict for each in compared(measured, 70, 79).benchmarks}
    assert verdicts == {Verdict.UNCHANGED}


def test_the_new_side_has_only_values_of_commits_that_the_base_does_not_have(measured: World) -> None:
    slow = compared(measured, STEP - 1, STEP + 1, values=5).benchmarks[0]
    assert len(slow.new) == 2
    assert min(slow.new) > 108
    assert max(slow.past) < 102


def test_a_verdict_on_one_value_is_conditional(measured: World) -> None:
    slow = compared(measured, 45, 60, values=1).benchmarks[0]
    assert slow.conditional


def test_a_trace_that_the_head_did_not_measure_has_no_data(measured: World) -> None:
    measured.measure({"old": levels((40, 7))})
    old = next(each for each in compared(measured, 45, 60).benchmarks if each.trace_id == measured.trace("old"))
    assert (old.verdict, old.new) == (Verdict.NO_DATA, ())


def test_a_trace_that_is_measured_rarely_has_its_verdict_beside_others(world: World) -> None:
    rare = levels((30, 100), (4, 130))
    world.measure({"often": levels((80, 40))})
    for number, value in enumerate(rare[:30]):
        world.put(number, {"rare": value})
    for number, value in enumerate(rare[30:]):
        world.put(40 + number, {"rare": value})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commit_comparison, "_WINDOW", 8)
        found = {each.trace_id: each for each in compared(world, 35, 79).benchmarks}
    assert found[world.trace("rare")].verdict is Verdict.REGRESSED
    assert found[world.trace("rare")].new == pytest.approx(tuple(rare[31:]))


def test_a_trace_that_neither_side_measured_is_left_out(measured: World) -> None:
    measured.measure({"late": levels((5, 7))}, first=70)
    assert measured.trace("late") not in {each.trace_id for each in compared(measured, 45, 60).benchmarks}


def test_commits_of_another_line_are_compared_with_the_base_that_they_began_at(measured: World) -> None:
    store = measured.store
    main = store.commits.line(measured.repository)
    store.commits.set_line(measured.repository, "branch", [*range(40), *range(STEP, 55)])
    branch = store.commits.line(measured.repository, "branch")
    ids = [measured.trace("slow")]
    found = compare_commits(store, LinePosition(main, 45), LinePosition(branch, 44), ids, values=5)
    assert found.benchmarks[0].verdict is Verdict.REGRESSED
    assert np.median(found.benchmarks[0].new) == pytest.approx(110, rel=0.01)


@pytest.mark.parametrize("head", [45, 30])
def test_a_head_that_does_not_come_after_the_base_is_refused(measured: World, head: int) -> None:
    with pytest.raises(InputError, match="the base has every commit of the head"):
        compared(measured, 45, head)


@pytest.mark.parametrize("values", [0, 6])
def test_a_number_of_values_out_of_range_is_refused(measured: World, values: int) -> None:
    with pytest.raises(InputError, match="values is"):
        compared(measured, 45, 60, values=values)


# ---- A summary of the samples


@pytest.fixture
def tails(world: World) -> World:
    """Return an instance whose commits have 100 samples each; from commit 20 on, the slowest three are slower."""
    rng = np.random.default_rng(5)
    with world.store.transaction():
        for slot in range(26):
            tail = 20.0 if slot < 20 else 30.0
            samples = [*rng.normal(10, 0.1, 97).tolist(), *rng.normal(tail, 0.1, 3).tolist()]
            table = ResultTable.of([Result({"benchmark": "slow", "kind": "s"}, tuple(samples), "ms")])
            run = RunWrite(slot, RunReport(table, identity=str(slot)), str(slot), str(slot), "test")
            world.store.runs.write(world.repository, [run])
    return world


def test_a_slower_tail_regresses_by_its_percentile_and_not_by_the_median(tails: World) -> None:
    assert compared(tails, 19, 25).counts == {Verdict.UNCHANGED: 1}
    found = compared(tails, 19, 25, summary=read_summary("p99"))
    assert found.counts == {Verdict.REGRESSED: 1}
    assert found.benchmarks[0].after == pytest.approx(30, abs=0.5)
    assert max(found.benchmarks[0].past) < 21


def test_commits_with_too_few_samples_for_a_percentile_give_no_verdict_and_the_number_that_is_needed(
    tails: World,
) -> None:
    (row,) = compared(tails, 19, 25, summary=read_summary("p99.9")).benchmarks
    assert (row.verdict, row.reason) == (
        Verdict.NO_DATA,
        "the new commits have too few samples: p99.9 needs 1,000 samples of a run",
    )


def test_a_percentile_is_compared_by_the_decision_of_a_check_of_the_same_samples(tails: World) -> None:
    line = tails.store.commits.line(tails.repository)
    p99, [trace] = read_summary("p99"), tails.store.traces.select(tails.repository, parse_query(""))
    frame = tails.store.frames.read(line, [trace])
    found = compared(tails, 19, 25, summary=p99).benchmarks[0]
    assert [*found.past, *found.new] == read_summaries(tails.store, frame, p99)[0, [*range(20), 23, 24, 25]].tolist()
