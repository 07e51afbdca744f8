"""Alerts that judge samples: what they find, what they judge again, and what an explanation shows of it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.watch.conftest import World

from knickpoint.detect import find_steps
from knickpoint.model.alert import Alert
from knickpoint.model.errors import ConfigError
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite
from knickpoint.watch.alert_config.alert_health import health_of_alerts
from knickpoint.watch.alert_validation import check_alert
from knickpoint.watch.backtest.history import read_history
from knickpoint.watch.backtest.replay import replay
from knickpoint.watch.explanation import explain_trace

POINTS = Alert("points")
SAMPLES = Alert("samples", samples=True)
NAME = "a"

Runs = Sequence[NDArray[np.float64]]


def _put(world: World, slot: int, runs: Runs, *, name: str = NAME) -> None:
    """Put the samples of some runs of one trace at a commit; the same run again is a correction."""
    for number, samples in enumerate(runs):
        table = ResultTable.of([Result({"benchmark": name, "kind": name[0]}, tuple(samples.tolist()), "ms")])
        identity = f"{name}:{slot}:{number}"
        content = hashlib.sha256(repr(samples.tolist()).encode()).hexdigest()
        run = RunWrite(slot, RunReport(table, identity=identity), identity, content, "test")
        world.store.runs.write(world.repository, [run])


def _measure(world: World, history: Sequence[Runs]) -> None:
    with world.store.transaction():
        for slot, runs in enumerate(history):
            _put(world, slot, runs)


def _history(commits: int = 60, *, step: float = 1.0, seed: int = 0) -> list[list[NDArray[np.float64]]]:
    """Return five samples of normal noise a commit, with a step of ``step`` deviations 12 commits before the end."""
    rng = np.random.default_rng(seed)
    return [[rng.normal(100 + step * (commit >= commits - 12), 1, 5)] for commit in range(commits)]


def _found(world: World) -> list[int]:
    return [world.store.commits.line(world.repository).positions[p.suspect_range.slot] for p in world.points(NAME)]


def test_a_step_that_medians_hide_is_found_by_samples(world: World) -> None:
    _measure(world, _history())
    world.run(POINTS)
    assert _found(world) == []
    world.run(SAMPLES)
    (position,) = _found(world)
    assert abs(position - 48) <= 3


@pytest.mark.parametrize("runs", [1, 2])
def test_an_alert_finds_the_steps_that_the_library_finds_in_the_same_samples(world: World, runs: int) -> None:
    rng = np.random.default_rng(3)
    history = [[each, *(rng.normal(each.mean(), 1, 3) for _ in range(runs - 1))] for (each,) in _history(step=2.0)]
    _measure(world, history)
    world.run(SAMPLES)
    assert _found(world) == [step.index for step in find_steps(None, samples=history)]


def test_points_of_one_sample_are_judged_as_they_are(world: World) -> None:
    world.measure({NAME: [10.0] * 30 + [12.0] * 20})
    world.run(SAMPLES)
    assert _found(world) == [30]
    explained = explain_trace(world.store, world.trace(NAME), [SAMPLES]).alerts[0]
    assert explained.detection is not None
    assert "samples" not in explained.detection.facts


def test_a_trace_is_judged_again_when_samples_change_and_its_points_stay(world: World) -> None:
    history = _history()
    _measure(world, history)
    assert world.run(SAMPLES).judged == 1
    assert world.run(SAMPLES).judged == 0
    (samples,) = history[20]
    ordered = np.sort(samples)
    _put(world, 20, [np.array([ordered[0] - 1, *ordered[1:4], ordered[4] + 2])])
    assert world.run(SAMPLES).judged == 1


def test_an_alert_for_points_does_not_judge_again_when_only_samples_change(world: World) -> None:
    history = _history()
    _measure(world, history)
    world.run(POINTS)
    (samples,) = history[20]
    _put(world, 20, [np.sort(samples) + np.array([-1.0, 0, 0, 0, 2.0])])
    assert world.run(POINTS).judged == 0


def test_an_explanation_shows_what_the_samples_say(world: World) -> None:
    _measure(world, _history(step=2.0))
    world.run(SAMPLES)
    explained = explain_trace(world.store, world.trace(NAME), [SAMPLES]).alerts[0]
    assert explained.detection is not None
    assert explained.detection.facts["samples"] == 300
    (step,) = explained.steps
    assert step.point is not None
    evidence = {check.name: check.value for check in step.evidence}
    assert evidence["samples of the level before"] + evidence["samples of the level after"] == 300
    assert 0 < evidence["standard error of the size by the samples"] < 0.5


def test_a_withheld_run_has_no_samples(world: World) -> None:
    _measure(world, _history(step=0.0))
    _put(world, 30, [np.array([100.0] * 3), np.array([500.0] * 3)])
    line = world.store.commits.line(world.repository)
    ids = np.array([world.trace(NAME)])
    (bad,) = [run.id for run in world.store.runs.at(world.repository, [30]) if run.identity.endswith(":1")]
    world.store.runs.withhold(world.repository, {bad: np.empty(0, dtype=np.int64)})
    found = world.store.samples.read(line, ids)
    assert found.samples.max() < 500


@pytest.mark.long
def test_a_backtest_replays_samples(world: World) -> None:
    _measure(world, _history())
    line = world.store.commits.line(world.repository)
    ids = [world.trace(NAME)]
    by_samples = replay(read_history(world.store, line, ids, -1, samples=True), SAMPLES)
    assert len(by_samples.findings) == 1
    assert not replay(read_history(world.store, line, ids, -1), POINTS).findings


def test_a_method_that_judges_traces_together_refuses_samples() -> None:
    with pytest.raises(ConfigError, match="judges traces together"):
        check_alert(replace(SAMPLES, method="siblings"))


P99 = Alert("p99", summary="p99")


def _latencies(commits: int = 60, count: int = 120, *, tail: float = 1.5) -> list[list[NDArray[np.float64]]]:
    """Return samples whose slowest twentieth takes ``tail`` times as long from the 40th commit on.

    Their median stays.
    """
    rng = np.random.default_rng(8)
    history = []
    for commit in range(commits):
        samples = rng.normal(10, 0.3, count)
        samples[: count // 20] += 10 * (tail if commit >= 40 else 1)
        history.append([samples])
    return history


def test_an_alert_for_a_percentile_finds_what_the_median_hides(world: World) -> None:
    _measure(world, _latencies())
    world.run(POINTS, SAMPLES)
    assert _found(world) == []
    world.run(P99)
    assert _found(world) == [40]
    (point,) = world.points(NAME)
    assert point.numbers.relative_size == pytest.approx(0.25, abs=0.05)


def test_an_alert_for_a_percentile_judges_no_commit_with_too_few_samples(world: World) -> None:
    _measure(world, _latencies(count=60))
    world.run(P99)
    assert _found(world) == []
    explained = explain_trace(world.store, world.trace(NAME), [P99]).alerts[0]
    assert explained.detection is not None
    assert explained.detection.facts["commits with too few samples for p99"] == 60


@pytest.mark.parametrize(("count", "problems"), [(60, 1), (120, 0)])
def test_an_alert_whose_traces_have_too_few_samples_is_named(world: World, count: int, problems: int) -> None:
    _measure(world, _latencies(commits=20, count=count))  # the line goes on without results of this trace
    (health,) = health_of_alerts(world.store, [P99])
    assert len(health.problems) == problems
    assert all("p99 needs 100 samples of a run, and there are at most 60" in each for each in health.problems)


def test_a_summary_that_any_number_of_samples_has_takes_points_as_samples(world: World) -> None:
    world.measure({NAME: [10.0] * 30 + [12.0] * 20})
    world.run(Alert("least", summary="min"))
    assert _found(world) == [30]


def test_alerts_for_two_percentiles_are_judged_apart(world: World) -> None:
    _measure(world, _latencies())
    world.run(Alert("p50", summary="p50"), P99)
    (point,) = world.points(NAME)
    assert point.alerts == ("p99",)


@pytest.mark.long
def test_a_backtest_replays_a_summary(world: World) -> None:
    _measure(world, _latencies())
    line = world.store.commits.line(world.repository)
    history = read_history(world.store, line, [world.trace(NAME)], -1, samples=True)
    (found,) = replay(history, P99).findings
    assert found.position == 40


@pytest.mark.parametrize(
    ("alert", "words"),
    [
        (replace(P99, summary="p100"), "no summary 'p100'"),
        (replace(P99, samples=True), "Remove one of them"),
        (replace(P99, method="siblings"), "summary is p99, and the method siblings judges traces together"),
    ],
)
def test_a_summary_that_cannot_be_judged_is_refused(alert: Alert, words: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_alert(alert)
    assert words in str(refused.value)
