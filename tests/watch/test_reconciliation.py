from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from knickpoint.model.change_point import (
    Condition,
    Direction,
    KnownPoint,
    PointUpdate,
    Sighting,
    StepNumbers,
    SuspectRange,
    Transition,
)
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import StableRegion
from knickpoint.watch.identity import Ruler, merge_sightings, reconcile

RULER = Ruler({slot: slot for slot in range(60)}, np.arange(60))
REGION = StableRegion(0, 0, 1, 1.0, 1.0, 1.0, 1.0, 0.0)


def seen(
    slot: int, movement: int = 1, *, alert: str = "a", previous: int | None = None, recovered: bool = False
) -> Sighting:
    return Sighting(
        alert=alert,
        trace_id=1,
        suspect_range=SuspectRange("main", slot - 1 if previous is None else previous, slot),
        movement=movement,
        direction=Direction.UNKNOWN,
        interval=0,
        numbers=StepNumbers(
            before=REGION,
            after=REGION,
            before_level=0.0,
            after_level=1.0,
            deviation=0.25,
            size=float(movement),
            relative_size=math.inf,
            hazard=math.nan,
            score=1.0,
            p_value=None,
            order=0,
            method="m",
        ),
        condition=Condition.RECOVERED if recovered else Condition.PRESENT,
    )


def drift(slot: int, last: int, movement: int = 1) -> Sighting:
    """Return a drift from ``slot`` to ``last``."""
    found = seen(slot, movement)
    return replace(found, kind=FindingKind.DRIFT, numbers=replace(found.numbers, after=replace(REGION, last=last)))


@dataclass
class Memory:
    """Remember change points as the store does."""

    points: dict[int, KnownPoint] = field(default_factory=dict)
    decided: dict[int, str] = field(default_factory=dict)
    carried: bool = False

    def update(self, *sightings: Sighting) -> list[PointUpdate]:
        changes = reconcile(list(self.points.values()), sightings, RULER)
        for change in changes:
            key = change.id or len(self.points) + 1
            if change.transition is Transition.GONE:
                old = self.points[key]
                self.points[key] = KnownPoint(key, 1, old.suspect_range, old.movement, 0, Condition.GONE, old.anchor)
                continue
            first = change.sightings[0]
            anchor = self.points[key].anchor if change.id else None
            self.carried |= change.carried
            anchor = first.suspect_range if change.carried else anchor
            self.points[key] = KnownPoint(
                key, 1, first.suspect_range, first.movement, 0, first.condition, anchor, until=first.until
            )
        return changes

    def decide(self, slots: Iterable[int], status: str = "hidden") -> None:
        wanted = set(slots)
        for key, point in self.points.items():
            if point.condition is Condition.GONE:
                continue
            if point.suspect_range.slot in wanted:
                self.decided[key] = status
            elif key in self.decided:
                continue
            self.points[key] = KnownPoint(
                key, 1, point.suspect_range, point.movement, 0, point.condition, point.suspect_range
            )

    def live(self) -> list[tuple[int, int, str]]:
        return sorted(
            (point.suspect_range.slot, point.movement, self.decided.get(key, "new"))
            for key, point in self.points.items()
            if point.condition is not Condition.GONE
        )


def kinds(changes: list[PointUpdate]) -> list[tuple[Transition, int]]:
    return [(change.transition, change.id) for change in changes]


def test_what_was_never_seen_is_new() -> None:
    assert kinds(Memory().update(seen(10))) == [(Transition.NEW, 0)]


def test_what_is_seen_again_is_unchanged() -> None:
    memory = Memory()
    memory.update(seen(10), seen(20, -1))
    assert kinds(memory.update(seen(10), seen(20, -1))) == [(Transition.UNCHANGED, 1), (Transition.UNCHANGED, 2)]


def test_what_is_seen_nearby_has_moved() -> None:
    memory = Memory()
    memory.update(seen(10))
    assert kinds(memory.update(seen(13))) == [(Transition.MOVED, 1)]


def test_of_several_steps_the_first_found_becomes_the_drift() -> None:
    memory = Memory()
    memory.update(seen(30))
    memory.update(seen(20), seen(30))
    assert kinds(memory.update(drift(11, 50))) == [(Transition.MOVED, 1), (Transition.GONE, 2)]


def test_a_step_that_was_decided_about_becomes_the_drift() -> None:
    memory = Memory()
    memory.update(seen(30))
    memory.update(seen(20), seen(30))
    memory.points[2] = replace(memory.points[2], anchor=memory.points[2].suspect_range)
    assert kinds(memory.update(drift(11, 50))) == [(Transition.GONE, 1), (Transition.MOVED, 2)]


def test_a_drift_that_is_divided_into_steps_keeps_its_identity() -> None:
    memory = Memory()
    memory.update(drift(11, 50))
    assert kinds(memory.update(seen(20), seen(40))) == [(Transition.MOVED, 1), (Transition.NEW, 0)]


def test_a_step_the_other_way_is_no_part_of_a_drift() -> None:
    memory = Memory()
    memory.update(seen(30, -1))
    assert kinds(memory.update(drift(11, 50))) == [(Transition.GONE, 1), (Transition.NEW, 0)]


def test_a_step_beside_a_drift_stays_a_step() -> None:
    memory = Memory()
    memory.update(seen(30))
    assert kinds(memory.update(drift(11, 50), seen(30))) == [(Transition.UNCHANGED, 1), (Transition.NEW, 0)]


def test_what_is_seen_no_more_is_gone_once() -> None:
    memory = Memory()
    memory.update(seen(10))
    assert kinds(memory.update()) == [(Transition.GONE, 1)]
    assert kinds(memory.update()) == []


def test_what_was_gone_comes_back() -> None:
    memory = Memory()
    memory.update(seen(10))
    memory.update()
    assert kinds(memory.update(seen(11))) == [(Transition.BACK, 1)]


def test_a_live_point_goes_before_one_that_was_gone() -> None:
    memory = Memory()
    memory.update(seen(12), seen(17))
    memory.update(seen(17))
    assert kinds(memory.update(seen(14))) == [(Transition.MOVED, 2)]


def test_a_recovery_is_told_once() -> None:
    memory = Memory()
    memory.update(seen(10))
    assert [change.recovered for change in memory.update(seen(10, recovered=True))] == [True]
    assert [change.recovered for change in memory.update(seen(10, recovered=True))] == [False]


def test_a_decision_holds_for_its_place_whatever_was_seen_in_between() -> None:
    memory = Memory()
    memory.update(seen(10), seen(14))
    memory.decide([10])
    memory.update(seen(13))
    memory.update(seen(16))
    memory.update(seen(10), seen(14))
    assert memory.live() == [(10, 1, "hidden"), (14, 1, "new")]


def test_a_decision_goes_along_when_a_point_moves_further_than_its_reach_in_small_moves() -> None:
    memory = Memory()
    memory.update(seen(10))
    memory.decide([10])
    memory.update(seen(14))
    memory.update(seen(18))
    assert memory.live() == [(18, 1, "hidden")]
    assert memory.carried


def test_a_neighbour_that_nobody_decided_about_does_not_inherit() -> None:
    memory = Memory()
    memory.update(seen(10), seen(13))
    memory.decide([10])
    memory.update(seen(13))
    assert memory.live() == [(13, 1, "new")]


def test_alerts_that_see_one_step_at_neighbouring_commits_share_a_point() -> None:
    points = merge_sightings([seen(11, alert="b"), seen(10, alert="a"), seen(30, alert="b")], RULER)
    assert [[(sighting.alert, sighting.suspect_range.slot) for sighting in point] for point in points] == [
        [("a", 10), ("b", 11)],
        [("b", 30)],
    ]


def level(count: int, mean: float, variance: float = 1.0) -> StableRegion:
    return replace(REGION, count=count, mean=mean, variance=variance)


def measured(alert: str, before: StableRegion, after: StableRegion, size: float, method: str = "m") -> Sighting:
    sighting = seen(10, alert=alert)
    return replace(sighting, numbers=replace(sighting.numbers, before=before, after=after, size=size, method=method))


def leading(*sightings: Sighting) -> str:
    (point,) = merge_sightings(sightings, RULER)
    return point[0].alert


def test_an_alert_that_judged_the_trace_itself_gives_the_numbers_before_one_that_judged_a_group() -> None:
    group = measured("a", level(30, 10.0), level(30, 20.0), 10.0, "cluster")
    alone = measured("b", level(5, 10.0), level(5, 20.0), 10.0)
    assert leading(group, alone) == "b"


def test_the_clearer_of_two_levels_gives_the_numbers() -> None:
    mixed = measured("a", level(40, 10.0, 30.0), level(10, 20.0), 10.0)
    pure = measured("b", level(20, 13.0), level(10, 20.0), 7.0)
    assert leading(mixed, pure) == "b"


def test_among_levels_as_clear_more_values_give_the_numbers_and_then_the_first_name() -> None:
    few = measured("a", level(5, 10.0, 0.0), level(5, 20.0, 0.0), 10.0)
    many = measured("b", level(9, 10.0, 0.0), level(5, 20.0, 0.0), 10.0)
    assert leading(few, many) == "b"
    assert leading(replace(many, alert="c"), many) == "b"


def test_a_sighting_off_the_line_is_left_out() -> None:
    assert merge_sightings([seen(99)], RULER) == []


detections = st.lists(
    st.tuples(st.integers(1, 40), st.sampled_from([-1, 1])), max_size=4, unique_by=lambda step: step[0]
)


@given(st.lists(detections, min_size=1, max_size=5))
def test_looking_twice_changes_nothing(history: list[list[tuple[int, int]]]) -> None:
    memory = Memory()
    for steps in history:
        memory.update(*(seen(*step) for step in steps))
    before = dict(memory.points)
    changes = memory.update(*(seen(*step) for step in history[-1]))
    assert {change.transition for change in changes} <= {Transition.UNCHANGED}
    assert memory.points == before


@given(st.lists(detections, min_size=1, max_size=5))
def test_live_points_are_what_was_seen_last(history: list[list[tuple[int, int]]]) -> None:
    memory = Memory()
    for steps in history:
        memory.update(*(seen(*step) for step in steps))
    assert [(slot, movement) for slot, movement, _ in memory.live()] == sorted(history[-1])


@pytest.mark.thorough
@settings(max_examples=examples(80))
@given(detections, st.lists(detections, max_size=4), detections, st.data())
def test_statuses_do_not_depend_on_what_was_seen_after_the_decision(
    first: list[tuple[int, int]], between: list[list[tuple[int, int]]], last: list[tuple[int, int]], data: st.DataObject
) -> None:
    chosen = data.draw(st.sets(st.sampled_from([slot for slot, _ in first]))) if first else set()
    direct, busy = Memory(), Memory()
    for memory in (direct, busy):
        memory.update(*(seen(*step) for step in first))
        memory.decide(chosen)
    for steps in between:
        busy.update(*(seen(*step) for step in steps))
    for memory in (direct, busy):
        memory.update(*(seen(*step) for step in last))
    if not busy.carried and not direct.carried:
        assert direct.live() == busy.live()
