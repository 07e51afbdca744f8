"""What a change is: which side leads, in which words, and which commit is named."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from knickpoint.model.change_point import Condition, Direction, Status
from knickpoint.model.settlement import Certainty, FindingKind
from knickpoint.model.statement import (
    Basis,
    ChangeCondition,
    ChangeDirection,
    LikelyCommit,
    StatedMember,
    Statement,
    likely_commit,
    state_change,
)
from knickpoint.model.suspects import Suspect


def member(key: int, relative: float, unit: str = "ms", **changes: Any) -> StatedMember:
    """Return a settled member by its size; more of its unit is worse, of "points" nobody knows."""
    direction = Direction.REGRESSION if relative > 0 else Direction.IMPROVEMENT
    found = StatedMember(
        id=key,
        key=f",benchmark=b{key},",
        unit=unit,
        direction=Direction.UNKNOWN if unit == "points" else direction,
        condition=Condition.PRESENT,
        kind=FindingKind.STEP,
        certainty=Certainty.SETTLED,
        status=Status.NEW,
        work=True,
        size=100 * relative,
        relative_size=relative,
        certain_share=relative,
        before_level=100.0,
    )
    return replace(found, **changes)


def stated(*members: StatedMember) -> Statement:
    found = state_change(members)
    assert found is not None
    return found


def test_a_single_change_is_said_as_it_is() -> None:
    found = stated(member(1, 0.12))
    assert (found.headline, found.direction, found.lead) == ("12 % slower", ChangeDirection.REGRESSION, 1)


def test_the_headline_of_a_mixed_change_speaks_for_what_weighs_most_and_names_the_rest() -> None:
    faster = [member(key, -0.46 / key) for key in range(1, 25)]
    found = stated(*faster, member(30, 0.0049, unit="kB"))
    assert found.headline == "24 faster by up to 46 %; 1 larger by 0.49 %"
    assert (found.direction, found.side, found.lead) == (ChangeDirection.MIXED, Direction.IMPROVEMENT, 1)
    assert (found.worse, found.better, found.undirected) == (1, 24, 0)


def test_one_large_regression_outweighs_small_improvements() -> None:
    found = stated(member(1, 1.0), *(member(key, -0.01) for key in range(2, 26)))
    assert found.headline.startswith("1 slower by 100 %; 24 faster by up to 1 %")


def test_traces_of_several_kinds_are_worse_or_better() -> None:
    assert stated(member(1, 0.2), member(2, 0.1, unit="kB")).headline == "2 worse by up to 20 %"


def test_a_large_change_is_said_as_a_ratio() -> None:
    assert (
        stated(member(1, 4.0), member(2, 0.1), member(3, -0.2)).headline
        == "2 slower, up to 5× the time; 1 faster by 20 %"
    )


def test_what_came_from_nothing_has_no_percentage() -> None:
    found = stated(member(1, math.inf, size=3.0), member(2, 0.1))
    assert found.headline == "2 slower, from 0"


@pytest.mark.parametrize(
    ("other", "direction"),
    [
        ({}, ChangeDirection.MIXED),
        ({"certainty": Certainty.PROVISIONAL}, ChangeDirection.REGRESSION),
        ({"certain_share": 0.0}, ChangeDirection.REGRESSION),
    ],
)
def test_only_what_is_settled_and_certain_makes_a_change_mixed(
    other: dict[str, Any], direction: ChangeDirection
) -> None:
    assert stated(member(1, 0.3), member(2, -0.02, **other)).direction is direction


def test_without_a_direction_it_is_only_a_change() -> None:
    assert stated(member(1, 0.3, unit="points")).direction is ChangeDirection.UNKNOWN


def test_what_is_decided_does_not_lead_what_is_open_but_counts() -> None:
    found = stated(member(1, 9.0, status=Status.HIDDEN), member(2, 0.1))
    assert (found.lead, found.worse, found.headline) == (2, 2, "10 % slower")


def test_what_is_no_work_counts_only_where_nothing_is() -> None:
    canary = member(1, 0.5, work=False)
    assert stated(canary, member(2, 0.1)).worse == 1
    assert stated(canary).worse == 1


def test_a_mixed_change_that_is_mostly_better_is_listed_above_improvements() -> None:
    mixed = stated(*(member(key, -0.1) for key in range(1, 9)), member(9, 0.02))
    assert mixed.direction is ChangeDirection.MIXED
    assert stated(member(1, -0.9)).severity < mixed.severity < stated(member(1, 0.001)).severity


@pytest.mark.parametrize(
    ("conditions", "status", "expected"),
    [
        ((Condition.PRESENT, Condition.RECOVERED), Status.NEW, ChangeCondition.PRESENT),
        ((Condition.RECOVERED, Condition.RECOVERED), Status.NEW, ChangeCondition.RECOVERED),
        ((Condition.RECOVERED, Condition.GONE), Status.TICKET, ChangeCondition.FIXED),
        ((Condition.GONE, Condition.GONE), Status.TICKET, ChangeCondition.GONE),
    ],
)
def test_the_condition_is_that_of_the_side_that_leads(
    conditions: tuple[Condition, Condition], status: Status, expected: ChangeCondition
) -> None:
    members = [member(key, 0.2, condition=each, status=status) for key, each in enumerate(conditions, 1)]
    assert stated(*members).condition is expected


@pytest.mark.parametrize(
    ("decided", "expected"),
    [
        ((Status.NEW, Status.TICKET), (Status.NEW, "PERF-2")),
        ((Status.TICKET, Status.TICKET), (Status.TICKET, "PERF-1")),
        ((Status.ACKNOWLEDGED, Status.HIDDEN), (Status.ACKNOWLEDGED, "")),
    ],
)
def test_a_decision_is_that_of_the_lead_once_no_member_is_open(
    decided: tuple[Status, Status], expected: tuple[Status, str]
) -> None:
    tickets = [f"PERF-{key}" if status is Status.TICKET else "" for key, status in enumerate(decided, 1)]
    members = [
        member(key, 0.4 / key, status=status, ticket=ticket)
        for key, (status, ticket) in enumerate(zip(decided, tickets, strict=True), 1)
    ]
    found = stated(*members)
    assert (found.decision, found.ticket) == expected


def test_a_change_without_members_has_no_statement() -> None:
    assert state_change(()) is None


@pytest.mark.parametrize(
    ("culprits", "suspects", "expected"),
    [
        ((7,), (0.37, 0.09), LikelyCommit(7, Basis.BISECTED, 0.98)),
        ((7, 8), (0.37, 0.09), None),
        ((), (0.8,), LikelyCommit(10, Basis.ONLY, 0.8)),
        ((), (0.37, 0.09), LikelyCommit(10, Basis.SUSPECT, 0.37)),
        ((), (0.37, 0.3), None),
        ((), (0.2, 0.05), None),
        ((), (), None),
    ],
)
def test_a_commit_is_named_where_it_was_measured_is_alone_or_stands_out(
    culprits: tuple[int, ...], suspects: tuple[float, ...], expected: LikelyCommit | None
) -> None:
    ranked = [Suspect(10 + index, probability) for index, probability in enumerate(suspects)]
    assert likely_commit(culprits, 0.98, ranked) == expected


def test_a_commit_that_a_bisection_measured_is_named_although_the_machine_changed() -> None:
    said = {
        basis: state_change([member(1, 0.2)], likely=LikelyCommit(7, basis, 0.9), probably_machine=True)
        for basis in (Basis.BISECTED, Basis.ONLY)
    }
    headlines = {basis: (each.headline, each.likely is None) for basis, each in said.items() if each}
    assert headlines == {
        Basis.BISECTED: ("20 % slower", False),
        Basis.ONLY: ("20 % slower; probably the machine", True),
    }
