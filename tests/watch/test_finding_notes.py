"""What explanations, messages and pages say of a finding whose levels do not say all."""

from __future__ import annotations

import numpy as np
import pytest
from tests.watch.conftest import World

from knickpoint.access.local_user import local_caller
from knickpoint.answers.change_points import read_change_points
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.model.alert import Alert
from knickpoint.model.settlement import FindingKind
from knickpoint.notify.messages.repository_facts import RepositoryFacts
from knickpoint.watch.explanation import explain_trace
from knickpoint.watch.lines import Lines
from knickpoint.watch.trend import finding_note, read_trend, summary_note

NOISE = Alert("noise", parameters={"noise": True})
QUIET = Alert("quiet")


def _two_modes(world: World) -> str:
    """Measure a trace that a third of its values leave for another level from the 40th commit on; return its name."""
    rng = np.random.default_rng(1)
    values = 100 + rng.normal(size=80) + 8 * ((np.arange(80) >= 40) & (rng.random(80) < 0.4))
    world.measure({"a": values.tolist()})
    world.run(NOISE)
    return "a"


def _noisier(world: World) -> str:
    """Measure a trace whose values scatter five times as far from the 40th commit on; return its name."""
    rng = np.random.default_rng(9)
    world.measure({"a": (100 + rng.normal(size=80) * np.where(np.arange(80) >= 40, 5, 1)).tolist()})
    world.run(NOISE)
    return "a"


def test_an_explanation_says_where_the_values_lay_and_lie(world: World) -> None:
    name = _two_modes(world)
    (explained,) = explain_trace(world.store, world.trace(name), [NOISE]).alerts
    (step,) = [each for each in explained.steps if each.note]
    assert step.note.startswith("10 to 90 %: ")
    assert "a second mode at 107.8 ms with" in step.note


def test_a_message_says_where_the_values_lay_and_lie(world: World) -> None:
    name = _two_modes(world)
    facts = RepositoryFacts(world.store, world.repository).traces(world.points(name), "", [NOISE])
    assert "a second mode at 107.8 ms with" in facts[0].note


def test_the_page_of_a_trace_says_where_the_values_lay_and_lie(world: World) -> None:
    name = _two_modes(world)
    answer = read_change_points(VisibleRepositories(world.store, local_caller()), world.trace(name), "")
    (begun,) = [change.id for change in answer.change_points if change.kind is FindingKind.MODE]
    assert "a second mode at 107.8 ms with" in answer.notes[begun]


def test_the_page_of_a_noisier_trace_says_where_the_values_lay_and_lie(world: World) -> None:
    name = _noisier(world)
    answer = read_change_points(VisibleRepositories(world.store, local_caller()), world.trace(name), "")
    (noisy,) = [change.id for change in answer.change_points if change.kind is FindingKind.NOISE]
    assert answer.notes[noisy].startswith("10 to 90 %: ")


def test_the_plot_of_a_noisier_trace_has_its_levels_where_the_values_lie(world: World) -> None:
    name = _noisier(world)
    (trace,) = world.store.traces.get([world.trace(name)])
    (point,) = [each for each in world.points(name) if each.kind is FindingKind.NOISE]
    lines = Lines(world.store, world.repository)
    focus = read_trend(world.store, lines, trace, lines.default, focus=point).focus
    assert focus is not None
    assert focus.before.value == pytest.approx(100, abs=1)
    assert focus.noise == (point.numbers.before_level, point.numbers.after_level)


def test_a_message_says_noisier(world: World) -> None:
    name = _noisier(world)
    facts = RepositoryFacts(world.store, world.repository).traces(world.points(name), "", [NOISE])
    assert facts[0].change.endswith("× the noise")


def test_a_step_has_no_note(world: World) -> None:
    world.measure({"a": [10.0] * 30 + [12.0] * 20})
    world.run(QUIET)
    facts = RepositoryFacts(world.store, world.repository).traces(world.points("a"), "", [QUIET])
    assert facts[0].note == ""


def test_a_finding_of_a_percentile_says_so(world: World) -> None:
    world.measure({"a": [10.0] * 30 + [12.0] * 20})
    least = Alert("least", summary="min")
    world.run(least)
    (point,) = world.points("a")
    line = world.store.commits.line(world.repository)
    assert finding_note(point, [least], line, None) == "min of the samples"


def test_a_finding_of_alerts_that_judge_different_numbers_names_none() -> None:
    assert summary_note([Alert("p99", summary="p99"), QUIET]) == ""
    assert summary_note([]) == ""
