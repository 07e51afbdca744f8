"""Backtests: an alert replayed over the past, against decisions whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Status
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.notification import AnnouncementKind
from knickpoint.model.quality import Label
from knickpoint.store import open_store
from knickpoint.store.tables import metadata
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.backtest.backtest import (
    Backtest,
    BacktestBounds,
    backtest,
    changed_alert,
    lost_reasons,
    plan_checkpoints,
    sample_traces,
)
from knickpoint.watch.backtest.history import read_history
from knickpoint.watch.backtest.replay import Outcome, replay
from knickpoint.watch.missed_changes import mark_missed
from knickpoint.watch.triage.decisions import Targets, decide
from knickpoint.watch.triage.history_boundary import set_boundary

from .conftest import QUICK, World, copied, levels

ALERT = replace(QUICK, settle_share=0, settle_least=3, settle_most=3)
"""Settles a change with its third value."""


@dataclass(frozen=True)
class Truth:
    """A change that was put into a trace, and whether it is real."""

    trace: str
    slot: int
    size: float
    real: bool


def truths(count: int, seed: int) -> list[Truth]:
    """Return one change for each of ``count`` traces, two thirds of them real, by 10 % to 40 %."""
    random = np.random.default_rng(seed)
    return [
        Truth(
            f"t{number}",
            int(random.integers(8, 26)),
            float(random.choice([0.1, 0.2, 0.4])),
            bool(random.random() < 2 / 3),
        )
        for number in range(count)
    ]


def measure(world: World, changes: Sequence[Truth], commits: int = 32) -> None:
    """Measure traces with the ``changes``, and one trace that never changes."""
    series = {each.trace: levels((each.slot, 10.0), (commits - each.slot, 10.0 * (1 + each.size))) for each in changes}
    world.measure({**series, "still": levels((commits, 5.0))})


def judge_like_a_person(world: World, changes: Sequence[Truth], *, wrong: float, seed: int = 0) -> dict[str, Label]:
    """Decide about the finding of each change, wrongly with the probability ``wrong``; return the labels by trace."""
    random = np.random.default_rng(seed)
    labels = {}
    for each in changes:
        real = each.real != bool(random.random() < wrong)
        (point,) = world.points(each.trace)
        status = Status.ACKNOWLEDGED if real else Status.HIDDEN
        decide(world.store, Targets(points=(point.id,)), who="ada", status=status)
        labels[each.trace] = Label.REAL if real else Label.NOISE
    return labels


UNBOUNDED = BacktestBounds()


def run(world: World, alert: Alert = ALERT, bounds: BacktestBounds = UNBOUNDED) -> Backtest:
    return backtest(world.store, world.repository, alert, bounds=bounds)


@pytest.fixture(scope="module")
def judged(empty_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Return a world with 9 changes that a person decided about without a mistake; backtests write nothing."""
    world = copied(empty_world, tmp_path_factory.mktemp("judged") / "store.db")
    changes = truths(9, seed=1)
    measure(world, changes)
    run_alerts(world.store, [ALERT], as_work=True)
    judge_like_a_person(world, changes, wrong=0)
    yield world
    world.store.close()


@pytest.fixture(scope="module")
def result(judged: World) -> Backtest:
    """Return the backtest of the alert that found the changes."""
    return run(judged)


@pytest.mark.long
def test_precision_and_recall_are_those_of_the_truth_where_people_make_no_mistake(result: Backtest) -> None:
    real = sum(each.real for each in truths(9, seed=1))
    score = result.score
    assert (score.precision.part, score.precision.whole) == (real, 9)
    assert (score.recall.part, score.recall.whole) == (real, real)
    assert score.count(Outcome.NEW) == score.count(Outcome.UNDECIDED) == 0


@pytest.mark.long
@pytest.mark.parametrize("wrong", [0.1, 0.4])
def test_precision_is_that_of_the_labels_where_people_make_mistakes(world: World, wrong: float) -> None:
    changes = truths(30, seed=2)
    measure(world, changes)
    run_alerts(world.store, [ALERT], as_work=True)
    labels = judge_like_a_person(world, changes, wrong=wrong, seed=3)
    score = run(world).score
    assert score.precision.part == list(labels.values()).count(Label.REAL)
    # A person who errs at random reports real x (1 - wrong) + noise x wrong of the findings as real.
    real = sum(each.real for each in changes) / len(changes)
    low, high = score.precision.interval
    assert low < real * (1 - wrong) + (1 - real) * wrong < high


def test_each_change_counts_when_it_would_have_been_announced(result: Backtest) -> None:
    assert set(result.score.delays) == {3}


@pytest.mark.long
def test_a_stricter_alert_loses_small_changes_and_avoids_small_noise(judged: World) -> None:
    changes = truths(9, seed=1)
    result = run(judged, replace(ALERT, minimum_effect=0.3))
    lost = {each.trace for each in changes if each.real and each.size < 0.3}
    assert {f",benchmark={name},kind=t," for name in lost} == {
        each.trace_key for each in result.score.findings if each.outcome is Outcome.LOST
    }
    assert result.score.count(Outcome.AVOIDED) == sum(not each.real and each.size < 0.3 for each in changes)
    reasons = set(lost_reasons(judged.store, result).values())
    assert all("below the alert's minimum of 30.000 %" in reason for reason in reasons)
    assert reasons


@pytest.mark.long
def test_a_missed_change_is_found_or_lost(world: World) -> None:
    measure(world, [Truth("parse", 20, 0.2, real=True)])
    blind = replace(ALERT, minimum_effect=0.5)
    run_alerts(world.store, [blind], as_work=True)
    trace = world.store.traces.get([world.trace("parse")])[0]
    commit = world.store.commits.get(world.repository, [20])[0].commit.hash
    mark_missed(world.store, world.repository, trace, commit, who="ada")
    assert [each.outcome for each in run(world, blind).score.findings] == [Outcome.LOST]
    assert [(each.outcome, each.name) for each in run(world).score.findings] == [(Outcome.FOUND, "M1")]


@pytest.mark.long
def test_what_no_alert_found_is_new_and_what_waits_is_undecided(world: World) -> None:
    measure(world, [Truth("small", 20, 0.2, real=True), Truth("large", 20, 0.9, real=True)])
    run_alerts(world.store, [replace(ALERT, minimum_effect=0.5)], as_work=True)
    outcomes = {each.trace_key: each.outcome for each in run(world).score.findings}
    assert outcomes == {
        ",benchmark=large,kind=l,": Outcome.UNDECIDED,
        ",benchmark=small,kind=s,": Outcome.NEW,
    }


@pytest.mark.long
def test_a_change_of_many_traces_is_one_message(world: World) -> None:
    measure(world, [Truth(f"t{number}", 20, 0.2, real=True) for number in range(6)])
    score = run(world).score
    assert (len(score.findings), sum(score.chains.values()), score.messages) == (6, 1, 1)


def test_what_came_and_went_was_announced(world: World) -> None:
    world.measure({"parse": levels((20, 10.0), (4, 12.0), (16, 10.0))})
    score = run(world).score
    assert score.announcements[AnnouncementKind.REGRESSED] == 1
    assert score.announcements[AnnouncementKind.RECOVERED] == 1


def test_the_history_before_the_start_is_known_and_its_labels_do_not_count(judged: World, tmp_path: Path) -> None:
    judged.store.backup(tmp_path / "backup.db")
    with open_store(tmp_path / "backup.db") as store:
        commit = store.commits.get(judged.repository, [19])[0].commit.hash
        set_boundary(store, judged.repository, commit, who="ada")
        score = run(World(store, judged.repository)).score
    later = [each for each in truths(9, seed=1) if each.slot > 19]
    assert score.count(Outcome.FOUND) + score.count(Outcome.NOISE) == len(later)
    assert score.count(Outcome.NEW) == 0


def test_nothing_is_written(judged: World) -> None:
    def counts() -> dict[str, int]:
        with judged.store.database.reading() as connection:
            return {
                name: connection.execute(select(func.count()).select_from(table)).scalar_one()
                for name, table in metadata.tables.items()
            }

    before = counts()
    run(judged, replace(ALERT, minimum_effect=0.3))
    assert counts() == before


@pytest.mark.long
def test_the_same_store_gives_the_same_result(judged: World, result: Backtest) -> None:
    assert run(judged).score == result.score


@pytest.mark.long
def test_the_traces_that_are_not_replayed_would_have_announced_nothing(judged: World, result: Backtest) -> None:
    line = judged.store.commits.line(judged.repository)
    ids = [judged.trace(f"t{number}") for number in range(9)] + [judged.trace("still")]
    whole = replay(read_history(judged.store, line, sorted(ids), -1), ALERT)
    assert result.replayed == 9
    assert len(whole.findings) == len(result.score.findings)
    assert dict(whole.announcements) == dict(result.score.announcements)


def test_what_bounds_leave_out_is_stated(world: World) -> None:
    measure(world, truths(5, seed=4))
    limits = run(world, bounds=BacktestBounds(traces=2, judged=1, rounds=10)).limits
    assert [limit.partition(":")[0] for limit in limits] == [
        "no decisions about findings after the start",
        "traces were judged after every 81 commits",
        "3 traces with steps and without a label were left out",
        "8 commits arrived together",
    ]


def test_traces_with_labels_come_first_and_the_others_by_a_hash() -> None:
    first = sample_traces([5, 9], range(100), most=10)
    assert {5, 9} <= set(first.traces)
    assert (len(first.traces), first.left_out) == (10, 90)
    assert sample_traces([9, 5], reversed(range(100)), most=10) == first


@pytest.mark.parametrize(("least", "apart"), [(1, 1), (2, 2), (3, 3), (9, 3)])
def test_checkpoints_are_as_dense_as_settling_needs(least: int, apart: int) -> None:
    alert = replace(ALERT, settle_least=least, settle_most=max(least, 9))
    planned = plan_checkpoints(alert, 100, 49, 1)
    assert (planned.apart, planned.exact) == (apart, True)
    assert planned.positions[-1] == 99


def test_settings_are_read_as_what_they_are() -> None:
    changed = changed_alert(
        ALERT, {"minimum_effect": "0.1", "direction": "worse", "group_by": "a, b", "threshold": "7"}
    )
    assert (changed.minimum_effect, changed.direction.value, changed.group_by) == (0.1, "worse", ("a", "b"))
    assert changed.parameters == {"threshold": 7}
    with pytest.raises(InputError, match="'many' is not a number"):
        changed_alert(ALERT, {"minimum_traces": "many"})


def test_an_alert_that_cannot_run_is_refused(world: World) -> None:
    measure(world, truths(1, seed=1))
    with pytest.raises(ConfigError, match="no method"):
        run(world, replace(ALERT, method="magic"))
