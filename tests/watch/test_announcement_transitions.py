from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from knickpoint.model.change_point import ChangePoint, Condition, Direction, Status, StepNumbers, SuspectRange
from knickpoint.model.notification import AnnouncementKind
from knickpoint.model.settlement import DEFAULT_RULE, Certainty, FindingKind, Settlement
from knickpoint.model.step import StableRegion
from knickpoint.watch.announcements.transitions import (
    TRANSITIONS,
    ChainState,
    Members,
    Said,
    Shown,
    Side,
    released,
    shown,
    transition,
)

_REGION: Final = StableRegion(0, 9, 10, 10.0, 10.0, 10.0, 10.0, 0.0)
_NUMBERS: Final = StepNumbers(_REGION, _REGION, 10.0, 12.0, 0.1, 2.0, 0.2, 0.0, 0.0, None, 1, "m")
_POINT: Final = ChangePoint(
    1, 1, "parse", "ms", SuspectRange("main", 9, 10), 1, Direction.REGRESSION, _NUMBERS, ("nightly",), Condition.PRESENT
)
_OVER: Final = replace(_POINT, id=2, condition=Condition.RECOVERED, recovered_at=20)
_GONE: Final = replace(_POINT, id=3, condition=Condition.GONE)
_UNSETTLED: Final = replace(_POINT, settlement=Settlement(Certainty.PROVISIONAL, 1, 3))
_BETTER: Final = replace(_POINT, direction=Direction.IMPROVEMENT)
_STANDING: Final = ChainState(Side.WORSE, Said.STANDING, 2.0)


def _members(*points: ChangePoint, absent: int = DEFAULT_RULE.most, moved: bool = False) -> Members:
    return Members(points, {point.id: absent for point in points}, moved=moved)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (_members(_POINT), Shown.PRESENT),
        (_members(_POINT, _OVER), Shown.PRESENT),
        (_members(_POINT, moved=True), Shown.ELSEWHERE),
        (_members(_OVER), Shown.BACK),
        (_members(_OVER, _GONE, moved=True), Shown.BACK),
        (_members(_OVER, _UNSETTLED), Shown.BACK),
        (_members(replace(_OVER, status=Status.ACKNOWLEDGED)), Shown.FIXED),
        (_members(replace(_OVER, recovered_at=-1)), Shown.OPEN),
        (_members(_UNSETTLED), Shown.OPEN),
        (_members(replace(_POINT, status=Status.HIDDEN)), Shown.OPEN),
        (_members(replace(_POINT, held="machine")), Shown.OPEN),
        (_members(replace(_GONE, held="machine")), Shown.OPEN),
        (replace(_members(_POINT), unsure=frozenset({1})), Shown.OPEN),
        (_members(_GONE), Shown.GONE),
        (_members(), Shown.GONE),
        (_members(_GONE, absent=DEFAULT_RULE.most - 1), Shown.OPEN),
        (replace(_members(_GONE), absorbed=frozenset({3})), Shown.OPEN),
    ],
)
def test_the_members_are_compared_with_what_was_announced(members: Members, expected: Shown) -> None:
    assert shown(_STANDING, members) is expected


@pytest.mark.parametrize(("size", "expected"), [(2.0, Shown.LARGER), (1.9, Shown.PRESENT), (-2.0, Shown.PRESENT)])
def test_a_drift_that_doubled_is_larger(size: float, expected: Shown) -> None:
    drift = replace(_POINT, kind=FindingKind.DRIFT, numbers=replace(_NUMBERS, size=size))
    assert shown(replace(_STANDING, size=1.0), _members(drift)) is expected


def test_growth_is_said_with_the_size_of_a_settled_member() -> None:
    settled = replace(_POINT, kind=FindingKind.DRIFT, numbers=replace(_NUMBERS, size=4.0))
    ahead = replace(_UNSETTLED, id=2, numbers=replace(_NUMBERS, size=1.0, relative_size=9.0))
    step = transition(replace(_STANDING, size=1.0), _members(ahead, settled))
    assert step is not None
    assert (step.kind, step.points) == (AnnouncementKind.GREW, (settled,))
    assert transition(replace(_STANDING, size=4.0), _members(ahead, settled)) is None


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (_members(_OVER), Shown.BACK),
        (replace(_members(_OVER), reported=frozenset({2})), Shown.OPEN),
        (replace(_members(_OVER), unsure=frozenset({2})), Shown.OPEN),
    ],
)
def test_the_loss_of_an_improvement_is_open_while_a_change_says_it(members: Members, expected: Shown) -> None:
    assert shown(replace(_STANDING, side=Side.BETTER), members) is expected


@pytest.mark.parametrize(
    ("said", "members", "expected"),
    [
        (Said.STANDING, _members(_POINT), None),
        (Said.STANDING, _members(_OVER), AnnouncementKind.RECOVERED),
        (Said.OVER, _members(_OVER), None),
        (Said.OVER, _members(_OVER, _POINT), AnnouncementKind.RETURNED),
        (Said.OVER, _members(_GONE), None),
        (Said.WITHDRAWN, _members(_POINT), AnnouncementKind.RETURNED),
        (Said.WITHDRAWN, _members(_OVER), None),
    ],
)
def test_a_chain_goes_on_by_the_table(said: Said, members: Members, expected: AnnouncementKind | None) -> None:
    step = transition(replace(_STANDING, said=said), members)
    assert (step and step.kind) is expected


@pytest.mark.parametrize(
    ("said", "members", "expected"),
    [
        (Said.NOTHING, _members(_UNSETTLED), AnnouncementKind.PROVISIONAL),
        (Said.NOTHING, _members(_POINT), AnnouncementKind.REGRESSED),
        (Said.NOTHING, _members(_BETTER), AnnouncementKind.IMPROVED),
        (Said.SIGHTED, _members(_UNSETTLED), None),
        (Said.SIGHTED, _members(_POINT), AnnouncementKind.REGRESSED),
        (Said.SIGHTED, _members(_BETTER), AnnouncementKind.IMPROVED),
        (Said.SIGHTED, _members(_GONE, absent=DEFAULT_RULE.least), AnnouncementKind.WITHDRAWN),
        (Said.SIGHTED, _members(_GONE, absent=DEFAULT_RULE.least - 1), None),
    ],
)
def test_a_chain_begins_by_the_table(said: Said, members: Members, expected: AnnouncementKind | None) -> None:
    step = transition(ChainState(said=said), members)
    assert (step and step.kind) is expected
    if step is not None:
        assert step.provisional is not step.kind.opens


def test_a_change_that_is_over_when_it_settles_says_so() -> None:
    step = transition(ChainState(), _members(_OVER))
    assert step is not None
    assert (step.kind, step.condition) == (AnnouncementKind.REGRESSED, Condition.RECOVERED)
    lost = replace(_OVER, direction=Direction.IMPROVEMENT)
    step = transition(ChainState(), replace(_members(lost), reported=frozenset({lost.id})))
    assert step is not None
    assert (step.kind, step.condition) == (AnnouncementKind.IMPROVED, Condition.PRESENT)


_AFTER: Final = {
    AnnouncementKind.PROVISIONAL: {Said.SIGHTED},
    AnnouncementKind.WITHDRAWN: {Said.WITHDRAWN, Said.NOTHING},
    AnnouncementKind.RECOVERED: {Said.OVER},
    AnnouncementKind.FIXED: {Said.OVER},
}


@pytest.mark.parametrize(("said", "now"), TRANSITIONS)
def test_the_same_data_announce_nothing_after_what_they_announced(said: Said, now: Shown) -> None:
    kind = TRANSITIONS[said, now]
    named = {Shown.ELSEWHERE, Shown.LARGER, Shown.WORSE, Shown.BETTER}  # the row has the new place, size and side
    for state in _AFTER.get(kind, {Said.STANDING}):
        assert (state, Shown.PRESENT if now in named else now) not in TRANSITIONS


def test_a_withdrawn_chain_releases_what_settled_on_the_other_side() -> None:
    withdrawn = replace(_STANDING, said=Said.WITHDRAWN)
    assert released([_BETTER, _GONE], withdrawn) == (_BETTER,)
    assert released([_BETTER, _POINT], withdrawn) == released([_BETTER, _GONE], _STANDING) == ()
