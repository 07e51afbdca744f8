from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.detect.flipping import flip

from knickpoint.model.alert import Alert, AlertDirection
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.watch.alert_run.run import default_alert
from knickpoint.watch.explanation import explain_trace

from .conftest import QUICK, World, copied, levels

TOO_SMALL = "the effect 12.000 % is below the alert's minimum of 20.000 %"


@pytest.fixture(scope="module")
def template(empty_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("stepped") / "store.db"
    world = copied(empty_world, place)
    world.measure({"parse": levels((20, 20.0), (20, 25.0), (20, 22.0))})
    world.run()
    world.store.close()
    return place


@pytest.fixture
def stepped(template: Path, tmp_path: Path) -> Iterator[World]:
    made = copied(template, tmp_path / "stepped.db")
    yield made
    made.store.close()


def test_a_step_is_told_with_the_change_point_it_is_known_as(stepped: World) -> None:
    explanation = explain_trace(stepped.store, stepped.trace("parse"), [QUICK])
    assert (explanation.measured, explanation.repository, explanation.at) == (60, "project", None)
    assert [
        (step.reason, step.point.suspect_range.slot if step.point else 0) for step in explanation.alerts[0].steps
    ] == [
        ("", 20),
        ("", 40),
    ]
    assert [point.suspect_range.slot for point in explanation.points] == [20, 40]


def test_a_trace_is_found_by_its_key(stepped: World) -> None:
    assert explain_trace(stepped.store, ",benchmark=parse,kind=p,", [QUICK]).trace.id == stepped.trace("parse")


def test_the_filter_that_dropped_a_step_is_named_with_its_numbers(stepped: World) -> None:
    explanation = explain_trace(
        stepped.store,
        stepped.trace("parse"),
        [replace(QUICK, direction=AlertDirection.WORSE), Alert("big", method="threshold", minimum_effect=0.2)],
    )
    assert [[step.reason for step in alert.steps] for alert in explanation.alerts] == [
        ["the alert has not run since these results came in", TOO_SMALL],
        ["", "the alert reports worse only, this goes down (an improvement)"],
    ]


def test_an_alert_that_does_not_watch_the_trace_says_why(stepped: World) -> None:
    explanation = explain_trace(
        stepped.store,
        stepped.trace("parse"),
        [Alert("a", query="benchmark=read"), Alert("b", repository="other"), Alert("c", method="cluster")],
    )
    assert [alert.reason for alert in explanation.alerts] == [
        "the query 'benchmark=read' does not match the trace",
        "the alert watches the repository 'other'",
        "the method cluster judges traces together, and the last run found no step of a cluster with this trace",
    ]


def test_every_candidate_and_check_of_the_method_is_shown(stepped: World) -> None:
    explanation = explain_trace(stepped.store, stepped.trace("parse"), [default_alert()])
    assert any(candidate.candidate.checks for candidate in explanation.alerts[0].candidates)
    assert explanation.alerts[0].detection is not None


def test_a_commit_narrows_what_is_told_to_its_surroundings(stepped: World) -> None:
    explanation = explain_trace(stepped.store, stepped.trace("parse"), [QUICK], at=22)
    assert [step.commit.slot for step in explanation.alerts[0].steps] == [20]
    assert [point.suspect_range.slot for point in explanation.points] == [20]
    assert all(abs(candidate.commit.slot - 22) <= 5 for candidate in explanation.alerts[0].candidates)


def test_a_change_is_not_near_to_all_earlier_commits_where_the_commit_before_it_left_the_line(stepped: World) -> None:
    stepped.store.commits.set_line(stepped.repository, "main", [*range(19), *range(20, 80)])
    explanation = explain_trace(stepped.store, stepped.trace("parse"), [QUICK], at=5)
    assert explanation.points == ()


def test_a_commit_is_found_by_its_hash(stepped: World) -> None:
    (commit,) = stepped.store.commits.get(stepped.repository, [22])
    explanation = explain_trace(stepped.store, stepped.trace("parse"), [QUICK], at=commit.commit.hash[:10])
    assert explanation.at == commit


def test_a_step_that_no_run_has_seen_yet_says_so(world: World) -> None:
    world.measure({"parse": levels((20, 20.0), (20, 25.0))})
    explanation = explain_trace(world.store, world.trace("parse"), [QUICK])
    assert [step.reason for step in explanation.alerts[0].steps] == [
        "the alert has not run since these results came in"
    ]


def test_an_alert_that_cannot_run_says_so_beside_the_others(stepped: World) -> None:
    explanation = explain_trace(stepped.store, stepped.trace("parse"), [Alert("a", query="x=~("), QUICK])
    assert explanation.alerts[0].reason.startswith("the alert cannot run: the query cannot be read")
    assert explanation.alerts[1].steps


@pytest.mark.parametrize("trace", [10**6, ",benchmark=other,"])
def test_an_unknown_trace_is_refused(stepped: World, trace: int | str) -> None:
    with pytest.raises(InputError, match="there is no trace"):
        explain_trace(stepped.store, trace, [QUICK])


def test_an_unknown_commit_is_refused(stepped: World) -> None:
    with pytest.raises(HistoryError, match="there is no commit"):
        explain_trace(stepped.store, stepped.trace("parse"), [QUICK], at="feedfacefeed")


def test_a_trace_that_flips_is_explained_by_its_levels_and_commits(world: World) -> None:
    world.measure({"parse": flip(3, 80).tolist()})
    (alert,) = explain_trace(world.store, world.trace("parse"), [default_alert()]).alerts
    (flipping,) = alert.flipping
    assert alert.steps == ()
    assert flipping.stretch.levels == pytest.approx((100, 105), rel=0.002)
    assert (flipping.first.slot, flipping.last.slot) == (0, 79)
