from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.model.cluster import MemberVerdict
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.detection.member_checks import RowStep, judge_members, measure_own_steps

from .conftest import World, levels

ONE_CLUSTER = Alert("together", method="cluster", parameters={"k": 1, "interesting": 1.0})
JOINT = Alert("joint", method="e_divisive_joint", group_by=("kind",), parameters={"permutations": 99})


def noise(rows: int, columns: int = 50, *, share: float = 0.01, seed: int = 1) -> NDArray[np.float64]:
    return 100 * (1 + share * np.random.default_rng(seed).normal(size=(rows, columns)))


def judge(values: NDArray[np.float64], column: int = 25, movement: int = -1) -> list[MemberVerdict]:
    steps = [RowStep(row, column, 0, values.shape[1]) for row in range(len(values))]
    return judge_members(measure_own_steps(values, steps), movement)


def test_traces_that_moved_belong_and_the_others_do_not() -> None:
    values = noise(354)
    values[:200, 25:] *= 0.9
    assert [verdict.belongs for verdict in judge(values)] == [True] * 200 + [False] * 154


def test_a_trace_that_moved_by_a_thirtieth_of_the_others_is_left_out() -> None:
    values = np.vstack([noise(20), noise(1, share=0.0005, seed=2)])
    values[:20, 25:] *= 0.9
    values[20, 25:] *= 0.997
    verdict = judge(values)[20]
    assert verdict.p_value < 0.001
    assert verdict.reason.startswith("it moved by −0.3")
    assert verdict.checks[-1].value == pytest.approx(0.03, abs=0.01)


def test_a_trace_that_moved_the_other_way_is_left_out() -> None:
    values = noise(10)
    values[:9, 25:] *= 0.9
    values[9, 25:] *= 1.1
    assert "the other way" in judge(values)[9].reason


def test_a_trace_that_moved_elsewhere_is_left_out() -> None:
    values = noise(10)
    values[:9, 25:] *= 0.9
    values[9, 33:] *= 0.9
    assert "at another place" in judge(values)[9].reason


def test_a_trace_without_values_on_one_side_is_left_out() -> None:
    values = noise(10)
    values[:, 25:] *= 0.9
    values[9, 27:] = np.nan
    assert judge(values)[9].reason == "it has 2 values on one side of the step, fewer than 3"


def test_a_trace_of_one_value_is_left_out() -> None:
    values = noise(4)
    values[:, 25:] *= 0.9
    values[3] = 7.0
    assert "did not move" in judge(values)[3].reason


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.floats(0.01, 1000), st.sampled_from([1.0, -1.0]))
def test_verdicts_do_not_depend_on_units_or_on_direction(seed: int, unit: float, way: float) -> None:
    values = noise(8, seed=seed)
    values[:5, 25:] *= 0.95
    values[:, 3] = np.nan
    turned = judge(values * unit * way, movement=-1 if way > 0 else 1)
    assert [verdict.belongs for verdict in turned] == [verdict.belongs for verdict in judge(values)]


def test_bystanders_of_a_cluster_get_no_change_point(world: World) -> None:
    moved = {f"b{k}": levels((30, 20.0 + k), (30, 18.0 + 0.9 * k)) for k in range(8)}
    still = {f"s{k}": levels((60, 20.0 + k)) for k in range(5)}
    little = [value * 0.997 if place >= 30 else value for place, value in enumerate([20.0, 20.001] * 30)]
    world.measure({**moved, **still, "little": little})
    world.run(ONE_CLUSTER)
    assert [world.places(name) for name in moved] == [[30]] * 8
    assert [world.places(name) for name in (*still, "little")] == [[]] * 6


def test_an_alert_may_use_a_method_that_judges_series_jointly(world: World) -> None:
    world.measure(
        {
            "bt": levels((30, 20.0), (30, 24.0)),
            "bm": levels((30, 500.0), (30, 430.0)),
            "bs": levels((60, 7.0)),
            "ct": levels((60, 9.0)),
        }
    )
    summary = world.run(JOINT)
    assert not summary.failures
    assert {name: world.places(name) for name in ("bt", "bm", "bs", "ct")} == {
        "bt": [30],
        "bm": [30],
        "bs": [],
        "ct": [],
    }
    assert world.run(JOINT).nothing_new


def test_an_event_judges_the_whole_group_jointly_and_ends_where_a_full_run_does(world: World) -> None:
    series = {f"b{k}": levels((30, 20.0 + k), (30, 24.0 + k)) for k in range(3)}
    world.measure({name: values[:30] for name, values in series.items()})
    world.run(JOINT)
    world.measure({name: values[30:] for name, values in series.items()}, first=30)
    run_alerts(world.store, [JOINT], traces=[world.trace("b0")])
    assert [world.places(name) for name in series] == [[30]] * 3
    assert run_alerts(world.store, [JOINT], afresh=True).nothing_new


def test_a_joint_alert_with_a_window_reports_the_newest_steps_only(world: World) -> None:
    world.measure({f"b{k}": levels((20, 20.0 + k), (30, 26.0 + k), (30, 20.0 + k)) for k in range(3)})
    world.run(Alert("joint", method="e_divisive_joint", window=40, parameters={"permutations": 99}))
    assert world.places("b0") == [50]
