from __future__ import annotations

import pytest

from knickpoint.model.errors import QueryError
from knickpoint.model.step import Verdict
from knickpoint.watch.quarantine.canaries import canary_warnings, in_doubt

from .conftest import World, levels


def test_a_calm_canary_warns_of_nothing(world: World) -> None:
    world.measure({"canary": levels((40, 10.0))})
    world.run()
    assert canary_warnings(world.store, world.repository, "benchmark=canary") == []


def test_a_canary_that_stepped_puts_what_is_found_there_in_doubt(world: World) -> None:
    world.measure(
        {
            "canary": levels((20, 10.0), (20, 12.0)),
            "parse": levels((20, 30.0), (20, 40.0)),
            "read": levels((30, 7.0), (10, 9.0)),
        }
    )
    world.run()
    warnings = canary_warnings(world.store, world.repository, "benchmark=canary")
    assert [(warning.slot, warning.judgement) for warning in warnings] == [(20, None)]
    changes = world.store.findings.changes(world.repository)
    doubted = {change.id for change in changes if change.suspect_range.slot == 20}
    assert set(in_doubt(world.store, world.repository, changes, warnings)) == doubted


def test_a_canary_that_stepped_long_before_says_nothing_where_the_commit_before_a_change_left_the_line(
    world: World,
) -> None:
    world.measure({"canary": levels((20, 10.0), (20, 12.0)), "read": levels((30, 7.0), (10, 9.0))})
    world.run()
    world.store.commits.set_line(world.repository, "main", [*range(29), *range(30, 40)])
    warnings = canary_warnings(world.store, world.repository, "benchmark=canary")
    changes = [each for each in world.store.findings.changes(world.repository) if each.suspect_range.slot == 30]
    assert [warning.slot for warning in warnings] == [20]
    assert in_doubt(world.store, world.repository, changes, warnings) == {}


def test_a_step_of_canaries_alone_is_in_no_doubt(world: World) -> None:
    world.measure({"canary": levels((20, 10.0), (20, 12.0)), "parse": levels((40, 30.0))})
    world.run()
    warnings = canary_warnings(world.store, world.repository, "benchmark=canary")
    changes = world.store.findings.changes(world.repository)
    assert in_doubt(world.store, world.repository, changes, warnings) == {}


def test_the_newest_value_of_a_canary_is_judged_without_waiting_for_a_step(world: World) -> None:
    world.measure({"canary": [*levels((40, 10.0)), 10.3]})
    world.run()
    (warning,) = canary_warnings(world.store, world.repository, "benchmark=canary")
    assert warning.slot == 40
    assert warning.judgement is not None
    assert warning.judgement.verdict is Verdict.REGRESSED


def test_a_finding_at_the_commit_of_a_nervous_canary_is_in_doubt(world: World) -> None:
    world.measure({"canary": [*levels((40, 10.0)), 10.3], "parse": [*levels((40, 30.0)), 40.0]})
    world.run()
    warnings = canary_warnings(world.store, world.repository, "benchmark=canary")
    (change,) = world.store.findings.changes(world.repository)
    assert in_doubt(world.store, world.repository, [change], warnings) == {change.id: warnings}


def test_a_query_that_cannot_be_read_is_refused(world: World) -> None:
    with pytest.raises(QueryError):
        canary_warnings(world.store, world.repository, "a=~(")
