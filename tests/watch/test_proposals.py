"""Proposals for alerts, the corpus of decisions, and the smallest change that a trace could show."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from knickpoint.detect import find_steps_many
from knickpoint.detect.methods.default.model import default_bound
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Status
from knickpoint.model.quality import FindingRecord, ProposalKind
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.quality.corpus import COLUMNS, corpus_rows
from knickpoint.watch.quality.proposals import Proposal, propose
from knickpoint.watch.quality.report import detectable_change, detectable_size, noisiest_traces, smallest_changes
from knickpoint.watch.triage.decisions import Targets, decide

from .conftest import QUICK, World, levels
from .quality_records import record

ALERT = Alert("all")


def hidden(number: int, benchmark: str = "noisy", **settings: object) -> FindingRecord:
    return finding(number, benchmark, Status.HIDDEN, **settings)


def finding(number: int, benchmark: str, status: Status, **settings: object) -> FindingRecord:
    key = f",benchmark={benchmark},os=linux,"
    return record(number, trace_id=len(benchmark), trace_key=key, status=status, **settings)


def proposed(records: list[FindingRecord], alert: Alert = ALERT) -> dict[ProposalKind, Proposal]:
    return {each.kind: each for each in propose(records, [alert])}


def test_the_least_effect_is_raised_above_what_was_hidden_and_below_what_is_real() -> None:
    noise = [hidden(k, relative_size=0.01 + 0.002 * k) for k in range(10)]
    real = [finding(20 + k, "real", Status.TICKET, relative_size=-0.1) for k in range(3)]
    found = proposed(noise + real)[ProposalKind.RAISE]
    assert found.changed[0].minimum_effect == 0.029
    assert (found.hidden, found.all_hidden, found.real, found.all_real) == (10, 10, 0, 3)
    assert "100 % of what was hidden (10 of 10)" in found.reason


def test_an_effect_that_would_lose_real_changes_is_not_proposed() -> None:
    noise = [hidden(k, relative_size=0.05) for k in range(10)]
    real = [finding(20 + k, "real", Status.TICKET, relative_size=0.02) for k in range(3)]
    assert ProposalKind.RAISE not in proposed(noise + real)


def test_benchmarks_that_made_what_was_hidden_are_muted() -> None:
    noise = [hidden(k, "flaky") for k in range(9)] + [hidden(9, "parse")]
    real = [finding(20, "parse", Status.ACKNOWLEDGED)]
    found = proposed(noise + real, replace(ALERT, query="os=linux"))[ProposalKind.MUTE]
    assert found.changed[0].query == "benchmark!=flaky os=linux"
    assert (found.hidden, found.real, found.traces) == (9, 0, 1)


def test_a_value_that_all_traces_share_is_not_muted() -> None:
    assert ProposalKind.MUTE not in proposed([hidden(k, relative_size=float("inf")) for k in range(10)])


def test_traces_that_jump_get_an_alert_for_modes() -> None:
    noise = [hidden(k, "jumps", movement=1 if k % 2 else -1) for k in range(8)]
    real = [finding(20, "parse", Status.ACKNOWLEDGED)]
    rest, modes = proposed(noise + real)[ProposalKind.SPLIT].changed
    assert (rest.name, rest.query) == ("all", "benchmark!=jumps")
    assert (modes.name, modes.query, modes.method) == ("all-modes", "benchmark=jumps", "modes")


def test_the_rate_of_false_alarms_is_calibrated_between_what_was_hidden_and_what_is_real() -> None:
    noise = [hidden(k, score=0.1 * k) for k in range(12)]
    real = [finding(20 + k, "real", Status.TICKET, score=2.0 + k) for k in range(8)]
    found = proposed(noise + real)[ProposalKind.CALIBRATE]
    rate = found.changed[0].parameters["false_alarms"]
    assert 1.1 < default_bound(float(rate)) < 2.0
    assert (found.hidden, found.all_hidden, found.real, found.all_real) == (12, 12, 0, 8)
    assert found.change == f"false_alarms 0.08 → {rate:g}"
    assert found.reason.startswith("12 of 12 hidden findings and 0 of 8 real changes have log-odds below 1.1")


@pytest.mark.parametrize(
    ("count", "settings", "alert"),
    [
        (19, {}, ALERT),
        (20, {"score": float("nan")}, ALERT),
        (20, {"score": 100.0}, ALERT),
        (20, {"methods": {"all": "default", "other": "t-test"}}, ALERT),
        (20, {"methods": {"all": "t-test"}}, replace(ALERT, method="t-test")),
        (20, {}, replace(ALERT, parameters={"false_alarms": 0.0001})),
    ],
    ids=["too few", "no score", "certain", "of another alert's method", "another method", "strict already"],
)
def test_the_rate_is_not_calibrated_without_twenty_log_odds_that_a_bound_may_lie_above(
    count: int, settings: dict[str, Any], alert: Alert
) -> None:
    records = [hidden(k, **{"score": 1.0, **settings}) for k in range(count)]
    assert ProposalKind.CALIBRATE not in proposed(records, alert)


def test_few_decisions_propose_nothing() -> None:
    assert not proposed([hidden(k) for k in range(4)])


# The corpus


def test_the_corpus_has_labels_with_places_in_their_series_and_nothing_of_the_instance(world: World) -> None:
    values = levels((10, 10.0), (10, 12.0), (10, 10.0))
    world.measure({"parse": values})
    run_alerts(world.store, [QUICK], as_work=True)
    first, second = world.points("parse")
    decide(world.store, Targets(points=(first.id,)), who="ada", status=Status.ACKNOWLEDGED)
    decide(world.store, Targets(points=(second.id,)), who="ada", status=Status.HIDDEN, note="a bad day")
    rows = list(corpus_rows(world.store, world.repository, values=True))
    assert [(row["label"], row["previous"], row["position"]) for row in rows] == [("real", 9, 10), ("noise", 19, 20)]
    assert rows[0]["values"][:30] == values
    assert "values" not in rows[1]
    assert tuple(rows[1]) == COLUMNS
    assert "ada" not in json.dumps(rows)
    assert "a bad day" not in json.dumps(rows)


# The smallest change


@pytest.mark.parametrize(("before", "after"), [(30, 10), (60, 20), (150, 20), (60, 60)])
def test_four_of_five_steps_of_the_detectable_size_are_found(before: int, after: int) -> None:
    random = np.random.default_rng(7)
    values = random.normal(100, 2, (200, before + after))
    values[:, before:] += detectable_size(2, before, after)
    found = find_steps_many(values, method="default")
    share = np.mean([any(abs(step.index - before) <= 5 for step in steps) for steps in found])
    assert 0.68 <= share <= 0.95


def test_the_detectable_change_is_relative_to_the_median() -> None:
    values = np.random.default_rng(8).normal(50, 1, 200)
    change = detectable_change(values)
    assert change is not None
    assert change.deviation == pytest.approx(1, rel=0.15)
    assert change.relative_size == pytest.approx(change.size / 50, rel=0.02)
    assert detectable_change(values[:3]) is None


def test_the_smallest_change_of_a_trace_is_that_of_the_values_behind_its_newest_finding(world: World) -> None:
    world.measure({"parse": levels((10, 10.0), (12, 20.0)), "new": [1.0]})
    run_alerts(world.store, [QUICK], as_work=True)
    hidden_ones = [
        record(k, trace_id=world.trace(name), status=Status.HIDDEN) for k, name in enumerate(("parse", "new"))
    ]
    noisy = noisiest_traces(hidden_ones, {0: world.repository.id, 1: world.repository.id})
    changes = smallest_changes(world.store, [world.repository], noisy)
    assert {key: each.before for key, each in changes.items()} == {world.trace("parse"): 12}
