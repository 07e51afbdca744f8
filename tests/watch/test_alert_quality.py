"""Alert quality: the table of alerts, its rates, the audit of labels and the noisiest traces."""

from __future__ import annotations

import math
import shutil
import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from scipy.stats import binomtest
from tests.examples import examples

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import Condition, Status, SuspectRange
from knickpoint.model.quality import MissedChange
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.missed_changes import mark_missed
from knickpoint.watch.quality.report import (
    LabelDoubt,
    MissedMark,
    Period,
    Rate,
    alert_rows,
    audit_labels,
    delay_to_decision,
    delay_to_finding,
    measure_quality,
    noisiest_traces,
    row_of,
    traces_for_share,
)
from knickpoint.watch.triage.decisions import Targets, decide, merge, split, undo

from .conftest import QUICK, World, copied, levels
from .quality_records import BEGIN, record

# Rates


@pytest.mark.parametrize(("part", "whole"), [(0, 7), (3, 7), (7, 7), (1, 1), (40, 1000)])
def test_the_interval_of_a_rate_is_that_of_wilson(part: int, whole: int) -> None:
    expected = binomtest(part, whole).proportion_ci(method="wilson")
    assert Rate(part, whole).interval == pytest.approx((expected.low, expected.high))


def test_the_rate_of_nothing_is_unknown() -> None:
    assert math.isnan(Rate(0, 0).share)
    assert Rate(0, 0).interval == (0.0, 1.0)


# The table


def test_a_finding_counts_for_each_alert_that_found_it() -> None:
    shared = record(1, methods={"a": "default", "b": "threshold"}, status=Status.HIDDEN)
    rows = alert_rows([shared, record(2, methods={"a": "default"})], [], [])
    assert [(row.alert, row.method, row.findings, row.hidden) for row in rows] == [
        ("a", "default", 2, 1),
        ("b", "threshold", 1, 1),
    ]


def test_an_alert_without_findings_has_a_row() -> None:
    (row,) = alert_rows([], [], [("calm", "default")])
    assert (row.findings, row.hidden) == (0, 0)
    assert math.isnan(row.precision.share)


def test_precision_counts_decided_findings_alone() -> None:
    statuses = [Status.ACKNOWLEDGED, Status.TICKET, Status.TICKET, Status.HIDDEN, Status.NEW, Status.NEW]
    row = row_of("a", "default", [record(k, status=status) for k, status in enumerate(statuses)], missed=0)
    assert (row.precision.part, row.precision.whole) == (3, 4)


def test_recall_counts_the_marks_that_an_alert_does_not_find() -> None:
    marks = [
        MissedMark(frozenset({"a"}), frozenset()),
        MissedMark(frozenset({"a", "b"}), frozenset({"a"})),
        MissedMark(frozenset(), frozenset()),
    ]
    real = record(1, methods={"a": "default", "b": "default"}, status=Status.ACKNOWLEDGED)
    first, second = alert_rows([real], marks, [("a", "default"), ("b", "default")])
    assert (first.missed, first.recall.part, first.recall.whole) == (1, 1, 2)
    assert second.missed == 1


def test_a_ticket_counts_once_however_many_findings_it_has() -> None:
    some = [record(k, status=Status.TICKET, ticket="PERF-1", change_id=k) for k in range(3)]
    row = row_of("a", "default", some, missed=0)
    assert (row.tickets, row.changes, row.findings_a_ticket) == (1, 3, 3.0)


def test_delays_have_a_median_and_a_90th_percentile() -> None:
    some = [record(k, status=Status.HIDDEN, decided=BEGIN + timedelta(hours=k + k * k)) for k in range(1, 12)]
    assert delay_to_finding(some).median == 6
    assert delay_to_finding(some).p90 == 10
    assert delay_to_decision([*some, record(20)]).count == 11
    assert delay_to_decision(some).median == 36


# The audit of labels


@pytest.mark.parametrize(
    ("doubt", "doubtful", "fine"),
    [
        (
            LabelDoubt.ACKNOWLEDGED_WITHOUT_TICKET,
            record(1, status=Status.ACKNOWLEDGED),
            record(2, status=Status.ACKNOWLEDGED, ticket="PERF-1"),
        ),
        (
            LabelDoubt.HIDDEN_WITH_TICKET,
            record(1, status=Status.HIDDEN, ticket="PERF-1"),
            record(2, status=Status.HIDDEN),
        ),
        (
            LabelDoubt.ACKNOWLEDGED_GONE,
            record(1, status=Status.ACKNOWLEDGED, condition=Condition.GONE),
            record(2, condition=Condition.GONE),
        ),
        (
            LabelDoubt.HIDDEN_GONE,
            record(1, status=Status.HIDDEN, condition=Condition.GONE),
            record(2, status=Status.HIDDEN),
        ),
        (
            LabelDoubt.ACKNOWLEDGED_WITHIN_NOISE,
            record(1, status=Status.ACKNOWLEDGED, size=-0.05),
            record(2, status=Status.ACKNOWLEDGED, size=-0.2),
        ),
    ],
    ids=lambda value: value.value if isinstance(value, LabelDoubt) else "",
)
def test_a_doubtful_label_is_listed(doubt: LabelDoubt, doubtful: object, fine: object) -> None:
    lists = {each.doubt: each.records for each in audit_labels([doubtful, fine])}  # type: ignore[list-item]
    assert lists[doubt] == (doubtful,)


def test_a_change_with_both_labels_is_listed_whole_but_for_undecided_findings() -> None:
    some = [
        record(1, status=Status.ACKNOWLEDGED, change_id=7),
        record(2, status=Status.HIDDEN, change_id=7),
        record(3, change_id=7),
        record(4, status=Status.HIDDEN, change_id=8),
    ]
    lists = {each.doubt: [found.id for found in each.records] for each in audit_labels(some)}
    assert lists[LabelDoubt.MIXED] == [2, 1]


# The noisiest traces


def test_the_noisiest_traces_come_first_and_add_up() -> None:
    some = [
        *(record(k, trace_id=1, trace_key="a", status=Status.HIDDEN) for k in range(3)),
        *(record(k, trace_id=2, trace_key="b", status=Status.HIDDEN) for k in range(3, 9)),
        record(9, trace_id=2, trace_key="b", status=Status.ACKNOWLEDGED),
        record(10, trace_id=3, trace_key="c", status=Status.HIDDEN),
        record(11, trace_id=4, trace_key="d", status=Status.ACKNOWLEDGED),
    ]
    noisy = noisiest_traces(some, dict.fromkeys(range(20), 1))
    assert [(each.trace_key, each.hidden, each.real) for each in noisy] == [("b", 6, 1), ("a", 3, 0), ("c", 1, 0)]
    assert noisy[-1].cumulated == pytest.approx(1)
    assert [each.trace_key for each in traces_for_share(noisy, 0.8)] == ["b", "a"]


# With a store


def test_a_period_counts_what_was_found_in_it(world: World) -> None:
    world.measure({"parse": levels((10, 10.0), (10, 12.0))})
    run_alerts(world.store, [QUICK], as_work=True)
    (found,) = world.store.findings.records.all(world.repository)
    after = Period(since=found.found + timedelta(seconds=1))
    assert measure_quality(world.store, [QUICK], [world.repository]).total.findings == 1
    assert measure_quality(world.store, [QUICK], [world.repository], after).total.findings == 0
    assert found.committed == BEGIN + timedelta(hours=10)


def test_a_missed_change_counts_until_the_alert_finds_it(world: World) -> None:
    world.measure({"parse": levels((10, 10.0), (10, 12.0))})
    blind = replace(QUICK, minimum_effect=0.5)
    run_alerts(world.store, [blind], as_work=True)
    trace = world.store.traces.get([world.trace("parse")])[0]
    commit = world.store.commits.get(world.repository, [10])[0].commit.hash
    marked: MissedChange = mark_missed(world.store, world.repository, trace, commit, who="ada")
    assert marked.suspect_range == SuspectRange("main", 9, 10)

    def missed(*alerts: Alert) -> list[int]:
        return [row.missed for row in measure_quality(world.store, alerts, [world.repository]).rows]

    assert missed(blind) == [1]
    assert missed(replace(blind, query="benchmark=other")) == [0]
    run_alerts(world.store, [QUICK])
    assert missed(QUICK) == [0]


class TableMachine(RuleBasedStateMachine):
    """Decide, undo, split and merge at random; the table must agree with the triage log."""

    template: Path

    @initialize()
    def begin(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="quality"))
        self.world = copied(self.template, self.place / "copy.db")
        self.ids = [each.id for each in self.world.store.findings.records.all(self.world.repository)]

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.store.close()
            shutil.rmtree(self.place)

    def targets(self, places: list[int]) -> Targets:
        return Targets(points=tuple(sorted({self.ids[place % len(self.ids)] for place in places})))

    @rule(places=st.lists(st.integers(0, 50), min_size=1, max_size=3), status=st.sampled_from(Status))
    def decide(self, places: list[int], status: Status) -> None:
        ticket = "PERF-1" if status is Status.TICKET else None
        decide(self.world.store, self.targets(places), who="ada", status=status, ticket=ticket)

    @rule(places=st.lists(st.integers(0, 50), min_size=1, max_size=3))
    def undo(self, places: list[int]) -> None:
        undo(self.world.store, self.targets(places), who="ada")

    @rule(places=st.lists(st.integers(0, 50), min_size=1, max_size=3))
    def split(self, places: list[int]) -> None:
        split(self.world.store, self.targets(places), who="ada")

    @rule(places=st.lists(st.integers(0, 50), min_size=2, max_size=4))
    def merge(self, places: list[int]) -> None:
        merge(self.world.store, self.targets(places), who="ada")

    @invariant()
    def sums_agree_with_the_log(self) -> None:
        log = self.world.store.findings.triage.entries()
        last = {entry.change_point_id: entry.status for entry in log}
        statuses = [last.get(key, Status.NEW) for key in self.ids]
        report = measure_quality(self.world.store, [QUICK], [self.world.repository])
        (row,) = report.rows
        for counted in (row, report.total):
            parts = (counted.acknowledged, counted.hidden, counted.ticketed, counted.undecided)
            wanted = (Status.ACKNOWLEDGED, Status.HIDDEN, Status.TICKET, Status.NEW)
            assert parts == tuple(statuses.count(status) for status in wanted)
            assert sum(parts) == counted.findings == len(self.ids)
        assert sum(trace.hidden for trace in report.noisiest) == row.hidden


@pytest.mark.thorough
def test_the_table_agrees_with_the_triage_log_after_any_decisions(
    empty_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = copied(empty_world, tmp_path / "template.db")
    world.measure(
        {
            "parse": levels((10, 10.0), (10, 12.0), (10, 9.0)),
            "print": levels((10, 10.0), (10, 13.0), (10, 10.0)),
            "lex": levels((15, 5.0), (15, 6.0)),
        }
    )
    run_alerts(world.store, [QUICK], as_work=True)
    world.store.close()
    monkeypatch.setattr(TableMachine, "template", tmp_path / "template.db", raising=False)
    run_state_machine_as_test(
        TableMachine,
        settings=settings(
            max_examples=examples(4), stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
