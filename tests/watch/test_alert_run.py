from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TypeVar

import pytest

from knickpoint.detect import Method, MethodKind, load_method, registry
from knickpoint.detect.registry import ENTRY_POINTS
from knickpoint.model.alert import Alert, AlertDirection
from knickpoint.model.change_point import Condition, Direction, Status
from knickpoint.model.errors import InputError
from knickpoint.plugins import Plugin
from knickpoint.store import EventKind, open_store
from knickpoint.store.tables.commits import line as line_table
from knickpoint.watch.alert_run.run import default_alert, run_alerts
from knickpoint.watch.detection.judged_rows import SettledSteps, Shard, detect_shard
from knickpoint.work import Place, Processes

from .conftest import QUICK, World, levels

Item = TypeVar("Item")
Found = TypeVar("Found")


@dataclass
class Interrupted:
    """Work during which something happens: after the values were read, before anything is written."""

    happens: Callable[[], object]
    cores: int = 0
    place: Place = Place.HERE
    unread: str = ""

    def connect(self) -> None:
        """Be there."""

    def map(self, function: Callable[[Item], Found], items: Iterable[Item]) -> Iterator[Found]:
        """Do all items, then let it happen, then yield."""
        found = [function(item) for item in items]
        self.happens()
        yield from found

    def close(self) -> None:
        """Hold nothing."""


def test_a_step_is_found_with_its_suspect_range(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    summary = world.run()
    assert (summary.new, summary.traces) == (1, 1)
    (point,) = world.points("parse")
    assert (point.suspect_range.line, point.suspect_range.previous, point.suspect_range.slot) == ("main", 9, 10)
    assert point.direction is Direction.REGRESSION
    assert point.condition is Condition.PRESENT
    assert point.alerts == ("quick",)
    assert (
        point.numbers.before.first,
        point.numbers.before.last,
        point.numbers.after.first,
        point.numbers.after.last,
    ) == (0, 9, 10, 19)


def test_the_default_alert_finds_a_step_in_any_trace(world: World) -> None:
    world.measure({"parse": levels((15, 20.0), (15, 25.0)), "print": levels((30, 5.0))})
    summary = world.run(default_alert())
    assert summary.new == 1
    assert world.places("parse") == [15]


def test_a_second_run_finds_nothing_new(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0), (10, 20.0)), "print": levels((15, 7.0), (15, 5.0))})
    assert not world.run().nothing_new
    before = world.store.findings.changes(world.repository)
    assert world.run().nothing_new
    assert world.store.findings.changes(world.repository) == before


def test_an_unmeasured_stretch_widens_the_suspect_range(world: World) -> None:
    gap = [float("nan")] * 4
    world.measure({"parse": levels((10, 20.0)) + gap + levels((10, 25.0))})
    world.run()
    (point,) = world.points("parse")
    assert (point.suspect_range.previous, point.suspect_range.slot) == (9, 14)


def test_traces_that_step_at_one_place_make_one_change(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0)), "print": levels((10, 8.0), (10, 12.0))})
    world.run()
    (change,) = world.store.findings.changes(world.repository)
    assert change.traces == 2
    assert change.counts == {Status.NEW: 2}
    assert [member.key for member in change.members] == [",benchmark=print,kind=p,", ",benchmark=parse,kind=p,"]


def test_two_alerts_over_one_trace_make_one_finding_with_both_names(world: World) -> None:
    world.measure({"parse": levels((15, 20.0), (15, 25.0))})
    world.run(QUICK, Alert("all"))
    (point,) = world.points("parse")
    assert point.alerts == ("all", "quick")


def test_running_one_alert_keeps_what_the_other_one_saw(world: World) -> None:
    world.measure({"parse": levels((15, 20.0), (15, 25.0))})
    both = (QUICK, Alert("all"))
    world.run(*both)
    assert run_alerts(world.store, both, names=["quick"]).nothing_new
    assert [point.alerts for point in world.points("parse")] == [("all", "quick")]


def test_a_trace_that_no_alert_matches_any_more_loses_its_findings(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    world.run()
    assert world.run(replace(QUICK, query="benchmark=print")).gone == 1
    assert world.points("parse") == []


def test_a_run_of_all_alerts_takes_back_what_an_alert_saw_that_is_no_more(world: World) -> None:
    world.measure({"parse": levels((15, 20.0), (15, 25.0))})
    world.run(QUICK, Alert("all"))
    world.run(QUICK)
    assert [point.alerts for point in world.points("parse")] == [("quick",)]
    world.run(Alert("other", method="threshold", minimum_effect=0.5))
    assert world.points("parse") == []


def test_a_run_for_an_event_takes_back_nothing_of_other_alerts(world: World) -> None:
    world.measure({"parse": levels((15, 20.0), (15, 25.0))})
    world.run(QUICK, Alert("all"))
    run_alerts(world.store, [QUICK], traces=[world.trace("parse")])
    assert [point.alerts for point in world.points("parse")] == [("all", "quick")]


def test_a_step_that_the_data_no_longer_show_is_gone(world: World) -> None:
    world.measure({"parse": [*levels((10, 20.0)), 25.0]})
    world.run()
    world.put(10, {"parse": 20.0})
    assert world.run().gone == 1
    (point,) = world.points("parse", gone=True)
    assert point.condition is Condition.GONE
    assert world.store.findings.changes(world.repository) == []


def test_a_step_that_was_gone_comes_back_under_its_id(world: World) -> None:
    world.measure({"parse": [*levels((10, 20.0)), 25.0]})
    world.run()
    (before,) = world.points("parse")
    world.put(10, {"parse": 20.0})
    world.run()
    world.put(10, {"parse": 25.0})
    assert world.run().returned == 1
    (after,) = world.points("parse")
    assert (after.id, after.change_id) == (before.id, before.change_id)


def test_a_step_moves_when_a_result_inside_its_range_arrives(world: World) -> None:
    gap = [float("nan")] * 4
    world.measure({"parse": levels((10, 20.0)) + gap + levels((10, 25.0))})
    world.run()
    (before,) = world.points("parse")
    world.put(11, {"parse": 25.0})
    assert world.run().moved == 1
    (after,) = world.points("parse")
    assert (after.id, after.suspect_range.previous, after.suspect_range.slot) == (before.id, 9, 11)
    (change,) = world.store.findings.changes(world.repository)
    assert (change.id, change.suspect_range) == (before.change_id, after.suspect_range)


def test_a_level_that_came_back_has_recovered(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    world.run()
    world.measure({"parse": levels((10, 20.0))}, first=20)
    summary = world.run()
    assert (summary.recovered, summary.new) == (1, 1)
    assert [point.condition for point in world.points("parse")] == [Condition.RECOVERED, Condition.PRESENT]


def test_a_condition_needs_no_alert_that_reports_the_way_back(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0), (10, 20.0))})
    world.run(replace(QUICK, direction=AlertDirection.WORSE))
    assert [point.condition for point in world.points("parse")] == [Condition.RECOVERED]


@pytest.mark.parametrize(
    ("direction", "places"),
    [
        (AlertDirection.BOTH, [10, 20]),
        (AlertDirection.WORSE, [20]),
        (AlertDirection.BETTER, [10]),
        (AlertDirection.UP, [10]),
        (AlertDirection.DOWN, [20]),
    ],
)
def test_an_alert_reports_its_direction_only(world: World, direction: AlertDirection, places: list[int]) -> None:
    world.units["rate"] = "ops/s"
    world.measure({"rate": levels((10, 20.0), (10, 25.0), (10, 18.0))})
    world.run(replace(QUICK, direction=direction))
    assert world.places("rate") == places


def test_effects_below_the_minimum_are_not_reported(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 22.0), (10, 30.0))})
    world.run(replace(QUICK, minimum_effect=0.2))
    assert world.places("parse") == [20]


def test_a_minimum_of_traces_counts_those_of_one_group_at_one_place(world: World) -> None:
    world.measure(
        {
            "parse": levels((10, 20.0), (20, 25.0)),
            "print": levels((10, 8.0), (20, 12.0)),
            "read": levels((10, 8.0), (20, 12.0)),
            "pack": levels((20, 8.0), (10, 12.0)),
        }
    )
    world.run(replace(QUICK, minimum_traces=2, group_by=("kind",)))
    assert {name: world.places(name) for name in ("parse", "print", "read", "pack")} == {
        "parse": [10],
        "print": [10],
        "read": [],
        "pack": [],
    }


def test_an_event_looks_at_its_traces_only(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0)), "read": levels((10, 8.0), (10, 12.0))})
    summary = run_alerts(world.store, [QUICK], traces=[world.trace("read")])
    assert (summary.traces, summary.new) == (1, 1)
    assert (world.places("parse"), world.places("read")) == ([], [10])


def test_an_event_takes_in_the_groups_of_its_traces_where_traces_are_counted(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0)), "print": levels((10, 8.0), (10, 12.0))})
    alert = replace(QUICK, minimum_traces=2, group_by=("kind",))
    assert run_alerts(world.store, [alert], traces=[world.trace("print")]).new == 2


def test_a_window_keeps_what_was_found_before_it(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    alert = replace(QUICK, window=15)
    world.run(alert)
    world.measure({"parse": levels((10, 25.0), (5, 30.0))}, first=20)
    assert world.run(alert).new == 1
    assert world.places("parse") == [10, 30]
    assert world.run(alert).nothing_new


def test_a_change_is_announced_by_one_event_and_no_change_by_none(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    run_alerts(world.store, world.alerts, as_work=True)
    (event,) = world.store.outbox.claim([EventKind.CHANGES_UPDATED], "worker", 60, 10)
    (change,) = world.store.findings.changes(world.repository)
    assert event.payload["new_changes"] == [change.id]
    assert event.payload["new"] == 1
    world.run()
    assert world.store.outbox.claim([EventKind.CHANGES_UPDATED], "worker", 60, 10) == []


@pytest.mark.long
def test_the_answer_does_not_depend_on_where_detection_runs(world: World, tmp_path: Path) -> None:
    world.measure({f"b{k}": levels((10, 20.0 + k), (10, 25.0 + k), (10, 20.0 + k)) for k in range(5)})
    world.store.close()
    shutil.copy(tmp_path / "store.db", tmp_path / "copy.db")
    world.run()
    with open_store(tmp_path / "copy.db") as other, Processes(2) as runner:
        run_alerts(other, [QUICK], runner=runner)
        found = other.findings.changes(other.commits.repository("project"))
    expected = world.store.findings.changes(world.repository)
    assert [(change.suspect_range, len(change.members), change.hazard) for change in found] == [
        (change.suspect_range, len(change.members), change.hazard) for change in expected
    ]


def test_progress_ends_at_the_number_of_traces(world: World) -> None:
    world.measure({"parse": levels((10, 20.0)), "read": levels((10, 8.0))})
    seen: list[tuple[int, int]] = []
    run_alerts(world.store, [QUICK], progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2, 2)


def test_each_run_of_an_alert_is_recorded(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    world.run()
    world.run()
    runs = world.store.findings.alert_runs.runs("quick")
    assert [(run.run, run.traces, run.kept, run.added, run.lost) for run in runs] == [(2, 1, 1, 0, 0), (1, 1, 0, 1, 0)]


def test_an_instance_without_results_has_nothing_to_find(world: World) -> None:
    assert world.run().nothing_new


def test_an_unknown_alert_is_refused_with_the_names_there_are(world: World) -> None:
    with pytest.raises(InputError, match=r"'fast'.*quick"):
        run_alerts(world.store, [QUICK], names=["fast"])


def test_two_alerts_of_one_name_are_refused(world: World) -> None:
    with pytest.raises(InputError, match="two alerts are called 'quick'"):
        run_alerts(world.store, [QUICK, QUICK])


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (Alert("b", repository="elsewhere"), "there is no repository 'elsewhere'"),
        (Alert("b", repository="project", line="elsewhere"), "elsewhere"),
        (Alert("b", query="a=~("), "the query cannot be read"),
        (Alert("b", method="guess"), "there is no method 'guess'"),
        (Alert("b", method="threshold", parameters={"percent": -1}), "percent"),
        (Alert("b", method="cluster", parameters={"edge": 0}), "edge 0"),
        (Alert("b", method="cluster", parameters={"minimum_members": "many"}), "'many'"),
        (Alert("b", window=3), "in a window of 3 measured commits"),
    ],
    ids=["repository", "line", "query", "method", "parameter", "cluster", "text for a number", "window"],
)
def test_an_alert_that_cannot_run_says_so_and_the_others_run(world: World, broken: Alert, reason: str) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    summary = world.run(broken, QUICK)
    assert (summary.new, set(summary.failures)) == (1, {"b"})
    assert reason in summary.failures["b"]
    (failed,) = world.store.findings.alert_runs.runs("b")
    assert (failed.complete, failed.failure) == (False, summary.failures["b"])


def test_a_defect_of_one_method_stops_no_other_alert(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(shard: Shard) -> list[SettledSteps]:
        if shard.method == "t_test":
            raise ZeroDivisionError
        return detect_shard(shard)

    monkeypatch.setattr("knickpoint.watch.detection.trace_detection.detect_shard", broken)
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    summary = world.run(Alert("b", method="t_test"), QUICK)
    assert summary.new == 1
    assert "ZeroDivisionError" in summary.failures["b"]


def test_a_method_that_fails_when_its_alert_is_checked_stops_no_other_alert(
    world: World, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    def fail(*_: object, **__: object) -> object:
        raise ZeroDivisionError("a defect")

    broken = Method("broken", MethodKind.SERIES, fail)
    monkeypatch.setattr(EntryPoint, "load", lambda _: broken)
    plugin = Plugin("broken", "broken-package 1.0", EntryPoint("broken", "broken_package:METHOD", ENTRY_POINTS))
    monkeypatch.setattr(registry, "_plugins", lambda: {"broken": plugin})
    request.addfinalizer(load_method.cache_clear)
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})

    summary = world.run(QUICK, Alert("b", method="broken"))

    assert (summary.new, set(summary.failures)) == (1, {"b"})
    assert "ZeroDivisionError('a defect')" in summary.failures["b"]


def test_an_alert_that_cannot_run_keeps_what_it_saw(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    world.run(QUICK)
    summary = world.run(replace(QUICK, query="a=~("))
    assert (summary.gone, world.places("parse")) == (0, [10])


def test_a_branch_shares_the_findings_of_its_base(world: World) -> None:
    world.store.commits.set_line(world.repository, "main", range(40))
    world.store.commits.set_line(world.repository, "topic", [*range(30), *range(40, 60)], base="main", merge_base=29)
    world.measure({"parse": levels((10, 20.0), (30, 25.0), (20, 30.0))})
    world.run(QUICK, replace(QUICK, name="topic", line="topic"))
    assert [(point.suspect_range.line, point.suspect_range.slot, point.alerts) for point in world.points("parse")] == [
        ("main", 10, ("quick", "topic")),
        ("topic", 40, ("topic",)),
    ]


def test_renaming_the_default_line_changes_nothing(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    world.run()
    (before,) = world.points("parse")
    world.store.commits.set_line(world.repository, "trunk", range(80))
    world.store.commits.set_default_line(world.repository, "trunk")
    with world.store.transaction() as connection:
        connection.execute(line_table.delete().where(line_table.c.name == "main"))
    summary = world.run()
    assert (summary.new, summary.gone, summary.moved) == (0, 0, 0)
    (after,) = world.points("parse")
    assert (after.id, after.change_id) == (before.id, before.change_id)


def test_a_rewritten_history_keeps_what_is_still_on_the_line(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0), (10, 30.0))})
    world.run()
    before = {point.suspect_range.slot: point.id for point in world.points("parse")}
    world.store.commits.set_line(world.repository, "main", [*range(5), *range(7, 25)])
    world.run()
    assert {point.suspect_range.slot: point.id for point in world.points("parse")} == before


def test_a_slow_run_does_not_take_back_what_a_quicker_one_saw_in_newer_values(world: World) -> None:
    world.measure({"parse": levels((40, 20.0))})
    world.run()
    world.measure({"parse": [26.0]}, first=39)

    def newer() -> None:
        world.measure({"parse": levels((20, 30.0))}, first=40)
        world.run()

    run_alerts(world.store, world.alerts, traces=[world.trace("parse")], runner=Interrupted(newer))
    assert world.places("parse") == [39, 40]


def test_a_slow_run_still_drops_what_its_alert_no_longer_watches(world: World) -> None:
    world.measure({"parse": levels((20, 20.0), (20, 30.0)), "draw": levels((40, 20.0))})
    world.run()
    narrow = replace(QUICK, query="benchmark=draw")

    def other() -> None:
        world.measure({"draw": levels((20, 30.0))}, first=40)
        run_alerts(world.store, world.alerts, traces=[world.trace("draw")])

    run_alerts(world.store, [narrow], runner=Interrupted(other))
    assert (world.places("parse"), world.places("draw")) == ([], [40])
