"""How many findings a change of alerts adds and takes, counted before it is made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from knickpoint.model.alert import Alert, AlertDirection, AlertKind
from knickpoint.model.change_point import Condition, Status
from knickpoint.model.notification import AnnouncementKind
from knickpoint.model.query import Query
from knickpoint.store import Store
from knickpoint.watch.alert_config.applied_alerts import AlertChange, apply_alerts, compare_alerts
from knickpoint.watch.alert_config.finding_preview import (
    AlertEffect,
    Preview,
    preview_alerts,
    preview_effect,
    preview_kinds,
)
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.detection.alert_settings import Filter
from knickpoint.watch.triage.decisions import Targets, decide

from .conftest import QUICK, World, copied, levels

ALL = Alert("all", method="threshold")
PARSE = Alert("parse", query="benchmark=parse", method="threshold")


@pytest.fixture(scope="module")
def template(empty_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three traces that stepped, seen by ``all``; one of them by ``parse``, too, and one decided about."""
    place = tmp_path_factory.mktemp("found") / "store.db"
    world = copied(empty_world, place)
    world.measure(
        {
            "parse": levels((10, 20.0), (10, 25.0)),
            "print": levels((10, 8.0), (10, 8.8)),
            "read": levels((10, 5.0), (10, 3.0)),
        }
    )
    apply_alerts(world.store, [ALL, PARSE], who="ada")
    world.run(ALL, PARSE)
    decide(world.store, Targets(points=(world.points("read")[0].id,)), who="Ada", status=Status.HIDDEN)
    world.store.close()
    return place


@pytest.fixture
def found(template: Path, tmp_path: Path) -> Iterator[World]:
    """Open a copy of the store with the three traces."""
    made = copied(template, tmp_path / "found.db")
    yield made
    made.store.close()


def counted(store: Store, alerts: Sequence[Alert], names: Collection[str]) -> dict[str, Preview]:
    """Return the counts of findings; all traces have to be judged."""
    found = preview_alerts(store, alerts, names)
    assert all(each.complete for each in found.values())
    return {name: replace(each, judged=0, traces=0, left_out={}) for name, each in found.items()}


def live(world: World) -> int:
    return sum(
        point.condition is not Condition.GONE for name in ("parse", "print", "read") for point in world.points(name)
    )


def test_a_removed_alert_loses_what_it_saw_alone(found: World) -> None:
    assert counted(found.store, [PARSE], ["all"]) == {"all": Preview(gone=2, decided=1, staying=1)}
    assert live(found) == 3


def test_findings_of_alerts_that_are_removed_together_stay_for_neither(found: World) -> None:
    lost = counted(found.store, [QUICK], ["all", "parse"])
    assert lost == {"all": Preview(gone=3, decided=1, staying=0), "parse": Preview(gone=1, decided=0, staying=0)}


@pytest.mark.parametrize(
    ("changed", "lost"),
    [
        (replace(ALL, query="benchmark=print"), Preview(gone=1, decided=1, staying=1)),
        (replace(ALL, minimum_effect=0.15), Preview(gone=1, decided=0, staying=0)),
        (replace(ALL, direction=AlertDirection.UP), Preview(gone=1, decided=1, staying=0)),
        (replace(ALL, parameters={"change": 0.5}), Preview(gone=2, decided=1, staying=1)),
        (replace(ALL, repository="elsewhere"), Preview()),
        (replace(ALL, group_by=("kind",), minimum_traces=2), Preview(gone=1, decided=1, staying=0)),
        (replace(ALL, window=15), Preview()),
    ],
    ids=["query", "effect", "direction", "parameters", "broken", "group", "window"],
)
def test_a_changed_alert_loses_what_it_does_not_see_any_more(found: World, changed: Alert, lost: Preview) -> None:
    assert counted(found.store, [changed, PARSE], ["all"]) == {"all": lost}
    before = live(found)
    found.run(changed, PARSE)
    assert live(found) == before - lost.gone


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        (ALL, {}),
        (replace(ALL, minimum_effect=0.3), {Filter.MINIMUM_EFFECT: 2}),
        (replace(ALL, direction=AlertDirection.WORSE), {Filter.DIRECTION: 1}),
        (
            replace(ALL, minimum_change=3.0, direction=AlertDirection.WORSE),
            {Filter.DIRECTION: 1, Filter.MINIMUM_CHANGE: 1},
        ),
        (replace(ALL, group_by=("kind",), minimum_traces=2), {Filter.MINIMUM_TRACES: 1}),
    ],
    ids=["nothing", "effect", "direction", "two filters", "group"],
)
def test_each_filter_says_how_many_steps_it_leaves_out(
    found: World, changed: Alert, counts: Mapping[Filter, int]
) -> None:
    preview = preview_alerts(found.store, [changed, PARSE], ["all"])["all"]
    assert preview.left_out == counts


def test_an_alert_that_ran_and_was_never_applied_is_removed_like_any_other(world: World) -> None:
    world.measure({"parse": levels((10, 20.0), (10, 25.0))})
    world.run(ALL)
    assert {difference.name: difference.change for difference in compare_alerts(world.store, [PARSE])} == {
        "all": AlertChange.REMOVED,
        "parse": AlertChange.ADDED,
    }
    assert counted(world.store, [PARSE], ["all", "parse"])["all"] == Preview(staying=1)


def _live_points(world: World) -> set[int]:
    repository = world.repository
    found = world.store.findings.of_traces(world.store.traces.select(repository, Query()).tolist())
    return {point.id for points in found.values() for point in points}


_JUMPS = st.lists(st.sampled_from([100.0, 103.0, 108.0, 130.0, 90.0]), min_size=1, max_size=3)
_ALERTS = st.builds(
    Alert,
    name=st.sampled_from(["first", "second"]),
    query=st.sampled_from(["", "benchmark=a", "benchmark!=a", "kind=b"]),
    method=st.just("threshold"),
    direction=st.sampled_from(AlertDirection),
    minimum_effect=st.sampled_from([0.0, 0.05, 0.2]),
    minimum_change=st.sampled_from([0.0, 4.0, 20.0]),
    minimum_traces=st.sampled_from([1, 2]),
    window=st.sampled_from([0, 20]),
)


@pytest.mark.parametrize("seconds", [float("inf"), 0.0])
@pytest.mark.thorough
@settings(max_examples=examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(series=st.lists(_JUMPS, min_size=2, max_size=3), before=_ALERTS, after=_ALERTS)
def test_the_counts_are_what_then_happens_and_never_more(
    empty_world: Path,
    tmp_path_factory: pytest.TempPathFactory,
    *,
    seconds: float,
    series: list[list[float]],
    before: Alert,
    after: Alert,
) -> None:
    world = copied(empty_world, tmp_path_factory.mktemp("preview") / "store.db")
    with closing(world.store):
        world.measure(
            {name: levels(*((9, each) for each in jumps)) for name, jumps in zip("abc", series, strict=False)}
        )
        world.run(before)
        known = _live_points(world)
        previews = preview_alerts(world.store, [after], {before.name, after.name}, seconds=seconds)
        assert _live_points(world) == known
        world.run(after)
        added, gone = len(_live_points(world) - known), len(known - _live_points(world))
    if seconds:
        assert previews[after.name].added == added
        assert previews[before.name].gone == gone
    else:
        assert not any(each.complete for each in previews.values() if each.traces)
        assert all(each.added <= added and each.gone <= gone for each in previews.values())


def test_findings_that_would_be_history_are_counted_apart(world: World) -> None:
    world.measure({"a": levels((10, 20.0), (10, 25.0))})
    world.run(replace(ALL, query="benchmark=none"))
    world.measure({"a": levels((10, 30.0))}, first=20)
    preview = counted(world.store, [ALL], ["all"])["all"]
    assert (preview.added, preview.history) == (2, 1)
    sizes = [abs(example.numbers.relative_size) for example in preview.examples]
    assert (len(sizes), sizes) == (2, sorted(sizes, reverse=True))


def test_an_alert_that_moves_to_another_repository_leaves_no_finding_behind(found: World) -> None:
    found.store.commits.add_repository("other")
    moved = replace(ALL, repository="other")
    lost = counted(found.store, [moved, PARSE], ["all"])["all"]
    before = live(found)
    found.run(moved, PARSE)
    assert lost.gone == before - live(found) == 2


def test_another_kind_of_an_alert_takes_what_it_alone_found_from_the_work_list_and_back(found: World) -> None:
    quiet = replace(ALL, kind=AlertKind.INFORMATIONAL)
    moved = preview_kinds(found.store, {"all": quiet, "parse": PARSE}, ["all"])
    assert moved == {"all": Preview(off_list=2)}
    apply_alerts(found.store, [quiet, PARSE], who="ada")
    found.run(quiet, PARSE)
    assert preview_kinds(found.store, {"all": ALL, "parse": PARSE}, ["all"]) == {"all": Preview(on_list=2)}


def effect_of(world: World, *alerts: Alert, kinds: Sequence[str] = ()) -> AlertEffect:
    return preview_effect(world.store, alerts, judging={"all", "parse"}, kinds=kinds, seconds=60.0)


def test_a_change_counts_once_however_many_alerts_lose_it(found: World) -> None:
    effect = effect_of(found, QUICK)
    assert (effect.unwatched, effect.members, effect.decided, effect.takes_changes) == (1, 0, 1, True)
    assert effect.text == "1 change would no longer be watched by any alert (1 decided)"


def test_members_that_leave_a_change_which_stays_are_counted_apart(found: World) -> None:
    effect = effect_of(found, PARSE)
    assert (effect.unwatched, effect.members, effect.takes_changes) == (0, 2, True)
    assert effect.text == "2 change points would leave changes that stay (1 decided)"


def test_what_another_alert_watches_needs_no_consent(found: World) -> None:
    effect = effect_of(found, ALL)
    assert (effect.unwatched, effect.takes_changes, effect.text) == (0, False, "no finding would come or go")


def test_changes_that_leave_the_work_list_need_consent(found: World) -> None:
    effect = effect_of(found, replace(ALL, kind=AlertKind.INFORMATIONAL), PARSE, kinds=["all"])
    assert (effect.unwatched, effect.off_list, effect.members, effect.takes_changes) == (0, 0, 2, True)


def test_without_the_time_to_count_nothing_is_called_safe(found: World) -> None:
    hurried = preview_effect(found.store, [PARSE], judging=["all"], seconds=0.0)
    assert (hurried.members, hurried.takes_changes) == (0, True)


def test_changes_without_an_alert_are_known_before_and_after_the_run_that_takes_them(found: World) -> None:
    other = Alert("other", query="benchmark=none", method="threshold")
    findings, repositories = found.store.findings, [found.repository]
    lost = {found.points("parse")[0].change_id}
    assert not findings.unwatched_lately(repositories)
    findings.alerts_in_force.replace([other])
    assert findings.unwatched_lately(repositories) == lost
    assert found.run(other).unwatched == 1
    assert findings.unwatched_lately(repositories) == lost
    assert found.run(other).unwatched == 0
    found.run(ALL, PARSE)
    assert not findings.unwatched_lately(repositories)


def test_a_query_that_leaves_traces_out_leaves_their_changes_unwatched(found: World) -> None:
    assert found.run(replace(ALL, query="benchmark=none")).unwatched == 1


def test_changes_that_the_data_take_back_count_as_watched(found: World) -> None:
    found.measure({"print": levels((20, 8.0))})
    assert found.run(ALL, PARSE).unwatched == 0
    assert not found.store.findings.unwatched_lately([found.repository])


def test_changes_that_no_alert_watches_are_not_announced_as_withdrawn_by_the_data(world: World) -> None:
    world.measure({"parse": levels((20, 20.0), (20, 25.0))})
    run_alerts(world.store, [QUICK], as_work=True)
    (change,) = {point.change_id for point in world.points("parse")}
    announced = [each.kind for each in world.store.findings.announcements.of_change(change)]
    assert announced == [AnnouncementKind.REGRESSED]
    other = Alert("other", query="benchmark=none", method="threshold")
    world.run(other)
    world.measure({"parse": levels((40, 25.0))}, first=40)
    world.run(other)
    assert [each.kind for each in world.store.findings.announcements.of_change(change)] == announced
