from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Status
from knickpoint.model.cluster import KeptCluster, MemberState
from knickpoint.model.statement import Change
from knickpoint.watch.alert_run.kept_clusters import ClusterFingerprint, match_clusters
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.triage.decisions import Targets, decide

from .conftest import World, copied, levels

TOGETHER = Alert("together", method="cluster", parameters={"k": 4, "interesting": 1.0})


def clusters(world: World, alert: str = "together") -> list[KeptCluster]:
    return world.store.findings.clusters.of_alert(world.repository, alert)


def members(cluster: KeptCluster, state: MemberState = MemberState.MEMBER) -> list[str]:
    return sorted(each.key.split(",")[1].split("=")[1] for each in cluster.members if each.state is state)


def measure(world: World, steps: Mapping[str, int], *, of: Sequence[str], commits: int = 60) -> None:
    """Put series of which those in ``steps`` get slower by a quarter at that commit."""
    world.measure(
        {
            name: levels((at, 20.0 + k), (commits - at, 25.0 + 1.25 * k))
            if (at := steps.get(name, 0))
            else levels((commits, 20.0 + k))
            for k, name in enumerate(of)
        }
    )


def hide(world: World, change: Change) -> None:
    decide(
        world.store,
        Targets(points=tuple(member.id for member in change.members)),
        who="a",
        status=Status.HIDDEN,
        note="noise",
    )


def cluster(*traces: int, rank: int = 20, movement: int = 1, strength: float = 5.0) -> ClusterFingerprint:
    return ClusterFingerprint(traces, rank, movement, strength)


def test_the_example_of_the_design_document_matches() -> None:
    known = [cluster(1), cluster(2), cluster(3, 4)]
    fresh = [cluster(1), cluster(3, strength=4), cluster(4, strength=6), cluster(5)]
    assert match_clusters(known, fresh) == {0: 0, 2: 2}


def test_clusters_that_swap_their_best_traces_keep_their_places() -> None:
    known = [cluster(1, 2, 3, 4, rank=20), cluster(3, 4, 1, 2, rank=30)]
    fresh = [cluster(3, 4, 1, 2, rank=20), cluster(1, 2, 3, 4, rank=30)]
    assert match_clusters(known, fresh) == {0: 0, 1: 1}


def test_a_cluster_far_from_the_known_one_is_a_new_one() -> None:
    assert match_clusters([cluster(1, 2, rank=20)], [cluster(1, 2, rank=33)]) == {}
    assert match_clusters([cluster(1, 2, rank=20)], [cluster(1, 2, rank=32)]) == {0: 0}


def test_a_cluster_that_goes_the_other_way_is_a_new_one() -> None:
    assert match_clusters([cluster(1)], [cluster(1, movement=-1)]) == {}


def test_of_equal_matches_the_earliest_is_taken() -> None:
    assert match_clusters([cluster(1), cluster(1)], [cluster(1), cluster(1)]) == {0: 0, 1: 1}


def test_only_the_twenty_nearest_traces_are_the_fingerprint() -> None:
    assert match_clusters([cluster(*range(21))], [cluster(20)]) == {}
    assert match_clusters([cluster(*range(21))], [cluster(19)]) == {0: 0}


fingerprints = st.builds(
    cluster,
    *[st.integers(0, 9)] * 3,
    rank=st.integers(0, 40),
    movement=st.sampled_from([1, -1]),
    strength=st.floats(0, 9),
)


@given(st.lists(fingerprints, max_size=6))
def test_every_cluster_is_found_again_in_the_same_data(known: list[ClusterFingerprint]) -> None:
    matched = match_clusters(known, known)
    assert sorted(matched) == sorted(matched.values()) == list(range(len(known)))


def test_the_example_of_the_design_document_runs_through_the_product(world: World) -> None:
    names = [f"b{k}" for k in range(1, 6)]
    measure(world, {"b1": 15, "b2": 25, "b3": 40, "b4": 40}, of=names)
    world.run(TOGETHER)
    first = {tuple(members(each)): each for each in clusters(world)}
    assert set(first) == {("b1",), ("b2",), ("b3", "b4")}
    (both,) = [r for r in world.store.findings.changes(world.repository) if r.suspect_range.slot == 40]
    hide(world, both)

    # The step of 2 turns out to be a wrong measurement, and 5 has one where nothing was before.
    measure(world, {"b1": 15, "b3": 40, "b4": 40, "b5": 48}, of=names)
    world.run(TOGETHER)
    second = {each.id: each for each in clusters(world)}
    assert members(second[first["b1",].id]) == ["b1"]
    assert second[first["b2",].id].gone
    assert members(second[first["b3", "b4"].id]) == ["b3", "b4"]
    assert [members(each) for key, each in second.items() if key not in {old.id for old in first.values()}] == [["b5"]]
    (still,) = [r for r in world.store.findings.changes(world.repository) if r.suspect_range.slot == 40]
    assert (still.id, {member.status for member in still.members}) == (both.id, {Status.HIDDEN})


def test_members_that_join_later_are_told_from_those_of_the_first_run(world: World) -> None:
    names = [f"b{k}" for k in range(6)]
    measure(world, dict.fromkeys(names[:4], 30), of=names)
    world.run(TOGETHER)
    measure(world, dict.fromkeys(names[1:], 30), of=names)
    world.run(TOGETHER)
    (found,) = clusters(world)
    assert {each.key.split(",")[1]: each.joined for each in found.members if each.state is MemberState.MEMBER} == {
        "benchmark=b1": False,
        "benchmark=b2": False,
        "benchmark=b3": False,
        "benchmark=b4": True,
        "benchmark=b5": True,
    }
    assert members(found, MemberState.FORMER) == ["b0"]


def test_a_cluster_that_drifts_takes_its_decisions_along(world: World) -> None:
    names = [f"b{k}" for k in range(4)]
    measure(world, dict.fromkeys(names, 26), of=names)
    world.run(TOGETHER)
    (before,) = world.store.findings.changes(world.repository)
    hide(world, before)
    measure(world, dict.fromkeys(names, 35), of=names)
    world.run(TOGETHER)
    (after,) = world.store.findings.changes(world.repository)
    assert (after.id, after.suspect_range.slot) == (before.id, 35)
    assert {(member.status, member.note) for member in after.members} == {(Status.HIDDEN, "noise")}
    assert len(clusters(world)) == 1


def test_the_next_change_of_the_same_traces_is_a_new_cluster_and_undecided(world: World) -> None:
    names = [f"b{k}" for k in range(4)]
    measure(world, dict.fromkeys(names, 15), of=names)
    world.run(TOGETHER)
    hide(world, world.store.findings.changes(world.repository)[0])
    world.measure({name: levels((15, 20.0 + k), (40, 25.0 + k), (25, 32.0 + k)) for k, name in enumerate(names)})
    world.run(TOGETHER)
    statuses = {
        found.suspect_range.slot: {member.status for member in found.members}
        for found in world.store.findings.changes(world.repository)
    }
    assert statuses == {15: {Status.HIDDEN}, 55: {Status.NEW}}
    assert [each.suspect_range.slot for each in clusters(world)] == [15, 55]


def test_clusters_keep_their_order_the_verdicts_and_what_members_have_in_common(world: World) -> None:
    names = ["b0", "b1", "b2", "c0", "c1", "c2"]
    measure(world, dict.fromkeys(names[:3], 30), of=names)
    one = Alert("together", method="cluster", parameters={"k": 1, "interesting": 0.5})
    world.run(one)
    (found,) = clusters(world)
    distances = [each.distance for each in found.members if each.state is MemberState.MEMBER]
    assert distances == sorted(distances)
    assert members(found, MemberState.LEFT_OUT) == ["c0", "c1", "c2"]
    assert all(each.verdict.reason for each in found.members if each.state is MemberState.LEFT_OUT)
    assert [(each.name, each.value, each.members, each.others) for each in found.shared] == [("kind", "b", 3, 0)]
    assert len(found.centroid) == len(found.slots)


def test_clusters_of_an_alert_that_is_gone_go_along(world: World) -> None:
    measure(world, dict.fromkeys(["b0", "b1"], 30), of=["b0", "b1"])
    world.run(TOGETHER)
    world.run(Alert("other", method="threshold"))
    assert world.store.findings.clusters.count() == 0


def test_what_leaves_the_window_of_an_alert_stays_a_cluster(world: World) -> None:
    names = ["b0", "b1", "b2"]
    windowed = Alert("together", method="cluster", window=40, parameters={"k": 1, "interesting": 1.0})
    measure(world, dict.fromkeys(names, 12), of=names, commits=50)
    world.run(windowed)
    assert len(clusters(world)) == 1
    world.measure({name: levels((30, 25.0 + 1.25 * k)) for k, name in enumerate(names)}, first=50)
    world.run(windowed)
    assert world.places("b0") == [12]
    assert [each.gone for each in clusters(world)] == [False]


@pytest.mark.thorough
@settings(max_examples=examples(2), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.dictionaries(st.sampled_from([f"b{k}" for k in range(6)]), st.integers(28, 32), min_size=2),
        min_size=1,
        max_size=4,
    )
)
def test_no_sequence_of_corrections_loses_a_decision_or_differs_from_scratch(
    tmp_path_factory: pytest.TempPathFactory, empty_world: Path, sequence: list[dict[str, int]]
) -> None:
    names = [f"b{k}" for k in range(6)]
    room = tmp_path_factory.mktemp("sequence")
    world, scratch = copied(empty_world, room / "a.db"), copied(empty_world, room / "b.db")
    with world.store, scratch.store:
        decided: dict[int, Status] = {}
        for steps in sequence:
            measure(world, steps, of=names)
            run_alerts(world.store, [TOGETHER], traces=[world.trace(next(iter(steps)))])
            for change in world.store.findings.changes(world.repository):
                hide(world, change)
                decided |= {member.id: Status.HIDDEN for member in change.members}
            for name in names:
                for point in world.points(name, gone=True):
                    assert point.status is decided.get(point.id, Status.NEW)
        measure(scratch, sequence[-1], of=names)
        scratch.run(TOGETHER)
        live = {(tuple(members(each)), each.suspect_range.slot) for each in clusters(world) if not each.gone}
        assert live == {(tuple(members(each)), each.suspect_range.slot) for each in clusters(scratch)}
        assert [world.places(name) for name in names] == [scratch.places(name) for name in names]
