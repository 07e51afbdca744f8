from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from knickpoint.detect import METHODS, MethodKind
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Condition, Status
from knickpoint.model.commit import Commit
from knickpoint.model.errors import ConfigError, StoreError
from knickpoint.watch.alert_config.alert_health import health_of_alerts
from knickpoint.watch.alert_config.applied_alerts import AlertChange, SettingChange, apply_alerts, compare_alerts
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.alert_validation import check_alert
from knickpoint.watch.triage.decisions import Targets, decide

from .conftest import QUICK, World, levels

SLOW = Alert("slow", query="benchmark=read", minimum_effect=0.1)


def changes(world: World, *alerts: Alert) -> list[tuple[str, AlertChange]]:
    return [(difference.name, difference.change) for difference in compare_alerts(world.store, alerts)]


def test_what_was_never_applied_is_added(world: World) -> None:
    assert changes(world, QUICK, SLOW) == [("quick", AlertChange.ADDED), ("slow", AlertChange.ADDED)]


def test_applying_twice_changes_nothing(world: World) -> None:
    apply_alerts(world.store, [QUICK, SLOW], who="ada")
    assert changes(world, QUICK, SLOW) == [("quick", AlertChange.UNCHANGED), ("slow", AlertChange.UNCHANGED)]


def test_a_changed_setting_is_told_with_both_values(world: World) -> None:
    apply_alerts(world.store, [SLOW], who="ada")
    (difference,) = compare_alerts(world.store, [replace(SLOW, minimum_effect=0.2)])
    assert (difference.change, difference.settings) == (
        AlertChange.CHANGED,
        (SettingChange("minimum_effect", 0.1, 0.2),),
    )


def test_comparing_applies_nothing(world: World) -> None:
    compare_alerts(world.store, [QUICK])
    assert world.store.findings.alerts_in_force.applied() == {}


def test_what_only_a_removed_alert_saw_is_gone_and_its_decision_stays_in_the_log(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    apply_alerts(world.store, [QUICK, SLOW], who="ada")
    world.run(QUICK, SLOW)
    decide(world.store, Targets(points=(world.points("parse")[0].id,)), who="Ada", status=Status.HIDDEN)
    apply_alerts(world.store, [SLOW], who="ada")
    assert changes(world, SLOW) == [("slow", AlertChange.UNCHANGED)]
    assert [point.condition for point in world.points("parse", gone=True)] == [Condition.GONE]
    assert world.store.findings.changes(world.repository) == []
    assert len(world.store.findings.triage.entries()) == 1


def test_an_alert_that_is_removed_and_comes_back_finds_again_what_it_found(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    world.run(QUICK, SLOW)
    apply_alerts(world.store, [SLOW], who="ada")
    apply_alerts(world.store, [QUICK, SLOW], who="ada")
    world.run(QUICK, SLOW)
    assert [point.condition for point in world.points("parse")] == [Condition.PRESENT]


def test_what_another_alert_sees_too_outlives_a_removed_one(world: World) -> None:
    world.measure({"parse": levels((15, 20.0), (15, 25.0))})
    world.run(QUICK, Alert("all"))
    apply_alerts(world.store, [QUICK], who="ada")
    assert [point.alerts for point in world.points("parse")] == [("quick",)]


@pytest.mark.parametrize(
    ("alert", "message"),
    [
        (Alert("a", query="x=~("), "the query cannot be read"),
        (Alert("a", method="guess"), "there is no method 'guess'"),
        (Alert("a", method="t_test", parameters={"for": 3}), "has no parameter 'for'"),
        (Alert("a", minimum_traces=0), "minimum_traces is 0"),
        (Alert("a", minimum_effect=-0.1), "minimum_effect is -0.1"),
        (Alert("a", window=-1), "window is -1"),
        (Alert("a", minimum_effect=float("nan")), "minimum_effect is nan"),
        (Alert("a", minimum_effect=float("inf")), "minimum_effect is inf"),
        (Alert("a", method="e_divisive", parameters={"significance": "often"}), "significance"),
        (Alert("a", method="default", parameters={"preset": "magic"}), "preset"),
        (Alert("a", method="cluster", parameters={"edges": 3}), "edges"),
        *((Alert("a", method="cluster", window=width), f"in windows of {width} measured") for width in (2, 7, 19)),
        (Alert("a", method="cluster", window=50, parameters={"edge": 20}), "in windows of 50 measured"),
        (Alert("a", method="t_test", window=10), "in a window of 10 measured commits the method t_test finds nothing"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_alert_that_could_not_run_is_refused_by_name(alert: Alert, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        check_alert(alert)
    assert caught.value.where == "alert 'a'"


def test_a_bad_alert_keeps_all_from_being_applied(world: World) -> None:
    with pytest.raises(ConfigError):
        apply_alerts(world.store, [QUICK, Alert("a", method="guess")], who="ada")
    assert world.store.findings.alerts_in_force.applied() == {}


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].kind is not MethodKind.JOINT])
@pytest.mark.parametrize("window", [0, 50, 200])
def test_usual_windows_are_good_for_every_method(method: str, window: int) -> None:
    check_alert(Alert("a", method=method, window=window))


def test_an_alert_that_cannot_run_is_compared_with_its_reason(world: World) -> None:
    (bad, good) = compare_alerts(world.store, [Alert("a", method="guess"), QUICK])
    assert bad.failure.startswith("there is no method 'guess'")
    assert good.failure == ""


@pytest.mark.long
def test_an_alert_with_very_many_events_has_run_nevertheless(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    world.run()
    for _ in range(60):
        run_alerts(world.store, [QUICK], traces=[world.trace("parse")])
    (health,) = health_of_alerts(world.store, [QUICK])
    assert health.runs == 1


def test_an_alert_that_cannot_run_is_not_well(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    alerts = [Alert("a", query="x=~("), QUICK]
    world.run(*alerts)
    sick, well = health_of_alerts(world.store, alerts)
    assert sick.problems == (f"cannot run: {sick.failure}",)
    assert well.problems == ()


def test_two_alerts_of_one_name_are_refused(world: World) -> None:
    with pytest.raises(ConfigError, match="two alerts are called 'quick'"):
        compare_alerts(world.store, [QUICK, QUICK])


def test_an_alert_whose_query_matches_nothing_is_reported(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    (health,) = health_of_alerts(world.store, [SLOW])
    assert health.problems == ("its query matches no trace",)
    assert math.isnan(health.steadiness)


def test_an_alert_whose_line_no_repository_has_is_reported(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    (health,) = health_of_alerts(world.store, [replace(QUICK, line="master")])
    assert health.problems == ("it judges nothing: there is no line 'master'; known lines: main",)


def test_a_least_effect_that_was_rather_meant_in_percent_is_reported(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    (health,) = health_of_alerts(world.store, [replace(QUICK, minimum_effect=2.0)])
    assert health.problems == ("it reports only changes of 200 % and more (minimum_effect = 2)",)


def test_an_alert_that_sees_something_else_in_every_run_is_unsteady(world: World) -> None:
    for slot in range(30):
        world.put(slot, {"parse": 20.0})
    for slot in range(5, 25, 5):
        world.put(slot, {"parse": 30.0})
        world.run()
        world.put(slot, {"parse": 20.0})
    (health,) = health_of_alerts(world.store, [QUICK])
    assert health.steadiness < 0.5
    assert health.problems[0].startswith("runs find only")


def test_findings_that_come_with_new_results_make_no_alert_unsteady(world: World) -> None:
    for number in range(6):
        world.measure({f"b{number}": levels((10, 20.0), (10, 25.0))})
        world.run()
    (health,) = health_of_alerts(world.store, [QUICK])
    assert (health.steadiness, health.problems) == (1.0, ())


def test_runs_over_different_repositories_are_not_compared(world: World) -> None:
    for name in ("first", "second"):
        other = World(world.store, world.store.commits.add_repository(name))
        world.store.commits.add(
            other.repository, [Commit(f"{k:040x}", "", "", datetime(2026, 1, 1, k, tzinfo=UTC), "") for k in range(20)]
        )
        world.store.commits.set_line(other.repository, "main", range(20))
        other.measure({f"b{number}": levels((10, 20.0), (10, 25.0)) for number in range(6)})
        world.run()
    (health,) = health_of_alerts(world.store, [QUICK])
    assert health.problems == ()


def test_an_alert_that_found_nothing_yet_has_no_problem(world: World) -> None:
    world.measure({"parse": levels((20, 20.0))})
    world.run()
    (health,) = health_of_alerts(world.store, [QUICK])
    assert (health.findings, health.problems) == (0, ())


def test_an_alert_whose_findings_are_hidden_is_noisy(world: World) -> None:
    world.measure({f"b{k}": levels((10, 20.0), (10, 25.0)) for k in range(12)})
    world.run()
    (change,) = world.store.findings.changes(world.repository)
    decide(world.store, Targets((change.id,)), who="Ada", status=Status.HIDDEN)
    (health,) = health_of_alerts(world.store, [QUICK])
    assert (health.findings, health.hidden, health.wasted) == (12, 12, 1.0)
    assert health.problems == ("100 % of its findings were hidden or disappeared",)


def test_an_alert_that_works_has_no_problems(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    world.run()
    world.run()
    (health,) = health_of_alerts(world.store, [QUICK])
    assert (health.runs, health.findings, health.steadiness, health.problems) == (2, 1, 1.0, ())


def test_a_param_of_group_by_that_no_trace_has_is_a_problem(world: World) -> None:
    world.measure({"parse": levels((10, 20.0))})
    grouped, split = (replace(QUICK, name=name, group_by=(name,)) for name in ("benchmark", "Branch"))
    split_health, grouped_health = health_of_alerts(world.store, [grouped, split])
    assert grouped_health.problems == ()
    (problem,) = split_health.problems
    assert problem.startswith("group_by names Branch, which no trace has; params are: benchmark")
    assert "param:branch" in problem


@pytest.mark.parametrize("damaged", ['{"kind": "work"', "7"])
def test_damaged_settings_of_an_applied_alert_are_an_error_that_names_it(world: World, damaged: str) -> None:
    world.store.findings.alerts_in_force.replace_applied({"quick": damaged})
    with pytest.raises(StoreError, match="alert 'quick' are damaged"):
        compare_alerts(world.store, [QUICK])
