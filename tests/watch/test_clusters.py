from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.detect import cluster
from knickpoint.model.alert import Alert
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.detection.clusters import widths, windows

from .conftest import World, levels, make_world

TOGETHER = Alert("together", method="cluster", parameters={"k": 2})


@given(st.integers(0, 400), st.integers(4, 60))
def test_windows_cover_every_commit_once(count: int, width: int) -> None:
    found = windows(count, width)
    assert [place for _, part in found for place in part] == list(range(count))
    assert all(set(part) <= set(whole) and len(whole) <= width for whole, part in found)


@given(st.integers(60, 300), st.integers(1, 100))
def test_what_arrives_later_does_not_shift_the_windows_of_the_past(count: int, later: int) -> None:
    assert windows(count, 50)[:-1] == windows(count + later, 50)[: len(windows(count, 50)) - 1]


def test_traces_of_one_shape_make_one_change(world: World) -> None:
    slower = {f"b{k}": levels((20, 20.0 + k), (20, 26.0 + 2 * k)) for k in range(6)}
    calm = {f"c{k}": levels((40, 5.0 + k)) for k in range(3)}
    world.measure(slower | calm)
    world.run(TOGETHER)
    (change,) = world.store.findings.changes(world.repository)
    assert (change.suspect_range.previous, change.suspect_range.slot) == (19, 20)
    assert {member.key for member in change.members} == {f",benchmark={name},kind=b," for name in slower}
    assert world.run(TOGETHER).nothing_new


def test_groups_are_clustered_apart(world: World) -> None:
    slower = {f"b{k}": levels((20, 20.0 + k), (20, 26.0 + 2 * k)) for k in range(3)}
    later = {f"c{k}": levels((30, 20.0 + k), (10, 26.0 + 2 * k)) for k in range(3)}
    world.measure(slower | later)
    world.run(Alert("together", method="cluster", group_by=("kind",), parameters={"k": 1}))
    assert sorted(change.suspect_range.slot for change in world.store.findings.changes(world.repository)) == [20, 30]


def test_an_event_takes_in_the_whole_group(world: World) -> None:
    world.measure({f"b{k}": levels((20, 20.0 + k), (20, 26.0 + 2 * k)) for k in range(4)})
    assert run_alerts(world.store, [TOGETHER], traces=[world.trace("b0")]).new == 4


def test_a_long_history_has_steps_in_several_windows(world: World) -> None:
    parts = ((20, 20.0), (30, 26.0), (30, 20.0))
    world.measure({f"b{k}": levels(*((count, level + k) for count, level in parts)) for k in range(4)})
    world.run(Alert("together", method="cluster", parameters={"k": 1}))
    assert sorted({change.suspect_range.slot for change in world.store.findings.changes(world.repository)}) == [20, 50]


def test_without_a_window_all_commits_are_looked_at_together(tmp_path: Path) -> None:
    drawn = np.random.default_rng(17)
    rows = [100 + np.r_[drawn.normal(0, 1, 100), drawn.normal(1.6, 1, 100)] for _ in range(13)]
    rows += [100 + drawn.normal(0, 1, 200) for _ in range(13)]
    for whole, _ in windows(200, 50):
        assert not any(found.interesting for found in cluster([row[whole.start : whole.stop] for row in rows], k=4))
    world = make_world(tmp_path / "store.db", commits=200)
    with world.store:
        world.measure({f"b{number}": row.tolist() for number, row in enumerate(rows)})
        world.run(Alert("together", method="cluster", parameters={"k": 4}))
        assert [number for number in range(26) if world.places(f"b{number}")] == list(range(13))


def test_a_window_of_a_cluster_alert_is_the_newest_commits(world: World) -> None:
    parts = ((20, 20.0), (30, 26.0), (30, 20.0))
    world.measure({f"b{k}": levels(*((count, level + k) for count, level in parts)) for k in range(4)})
    alert = Alert("together", method="cluster", window=40, parameters={"k": 1})
    world.run(alert)
    assert sorted({change.suspect_range.slot for change in world.store.findings.changes(world.repository)}) == [50]
    assert world.run(alert).judged == 0


@given(st.integers(0, 5000), st.integers(4, 80))
def test_the_widest_window_holds_every_commit(count: int, least: int) -> None:
    found = widths(count, least)
    assert found[-1] >= count
    assert found == sorted(set(found))


def test_a_member_without_a_value_at_the_step_begins_at_its_next_one(world: World) -> None:
    series = {f"b{k}": levels((20, 20.0 + k), (20, 26.0 + 2 * k)) for k in range(4)}
    series["b0"][20] = series["b0"][21] = float("nan")
    world.measure(series)
    world.run(Alert("together", method="cluster", parameters={"k": 1}))
    assert [(point.suspect_range.previous, point.suspect_range.slot) for point in world.points("b0")] == [(19, 22)]
