"""Bisections on both databases: asked for once, held by one worker at a time, stopped and ended in order."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select, update

from knickpoint.model.bisection import (
    BisectionState,
    Measured,
    ProbeOutcome,
    ProbePurpose,
    ProbeResult,
    Target,
)
from knickpoint.model.bisection import ResultsFile as ProbeFile
from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.errors import AbsentError, BusyError, InputError, StoreError
from knickpoint.model.posterior import Posterior
from knickpoint.store import Store, restore
from knickpoint.store.bisections import BisectionAnswer, BisectionRequest, Journal
from knickpoint.store.tables.bisections import bisection as table

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEASE = 60.0
LATER = NOW + timedelta(seconds=LEASE + 1)
KEY = ",name=a,"


def request(repository: Repository, **changes: object) -> BisectionRequest:
    made = BisectionRequest(
        repository_id=repository.id,
        line="main",
        slots=(10, 11, 12, 13, 14),
        recipe="unit",
        digest="d" * 40,
        who="ann",
        asked=NOW,
        change_id=3,
        trace_id=7,
        trace_key=KEY,
        facts={"movement": 1, "before": [1.0, 0.1, 9]},
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def begin(journal: Journal, name: str, place: int = 2) -> None:
    target = Target(f"{10 + place:040x}", (("other", "f" * 40),))
    journal.begin(name, place=place, device="", purpose=ProbePurpose.SEARCH, target=target)


def result(name: str, place: int = 2, value: float = 1.5, **changes: object) -> ProbeResult:
    made = ProbeResult(
        probe=name,
        target=Target(f"{10 + place:040x}", (("other", "f" * 40),)),
        device="pixel-7",
        outcome=ProbeOutcome.MEASURED,
        started=NOW,
        seconds=12.5,
        measured={KEY: Measured(value, (value, 2.0), "ms")},
        files=(ProbeFile("out.json", b"{}" * 100),),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.fixture
def journal(store: Store, repository: Repository) -> Journal:
    """The journal of B1, which the worker "one" holds."""
    store.bisections.ask(request(repository))
    assert store.bisections.claim("one", NOW, LEASE)
    return store.bisections.journal(1, "one")


def test_a_request_is_read_as_it_was_written(store: Store, repository: Repository) -> None:
    asked = store.bisections.ask(request(repository))
    found = store.bisections.get(asked.id)
    assert (found.name, found.request, found.state) == ("B1", request(repository), BisectionState.WAITING)


def test_the_same_request_twice_is_one_bisection_until_it_ended(store: Store, repository: Repository) -> None:
    first = store.bisections.ask(request(repository))
    assert store.bisections.ask(request(repository, who="bob")).id == first.id
    store.bisections.ask_stop(first.id, "ann", NOW)
    assert store.bisections.ask(request(repository)).id == first.id + 1


def test_an_unknown_bisection_is_an_error(store: Store) -> None:
    with pytest.raises(AbsentError, match="no bisection B9"):
        store.bisections.get(9)


def test_one_worker_has_a_bisection_until_its_lease_ends(store: Store, repository: Repository) -> None:
    store.bisections.ask(request(repository))
    claimed = store.bisections.claim("one", NOW, LEASE)
    assert claimed is not None
    assert (claimed.holder, claimed.state, claimed.started) == ("one", BisectionState.RUNNING, NOW)
    assert store.bisections.claim("two", NOW, LEASE) is None
    taken = store.bisections.claim("two", LATER, LEASE)
    assert taken is not None
    assert (taken.holder, taken.started) == ("two", NOW)


def test_a_renewed_lease_holds_on(store: Store, repository: Repository) -> None:
    store.bisections.ask(request(repository))
    store.bisections.claim("one", NOW, LEASE)
    store.bisections.renew(1, "one", LATER + timedelta(seconds=LEASE))
    assert store.bisections.claim("two", LATER, LEASE) is None


def test_a_released_bisection_goes_to_another_worker_at_once(store: Store, repository: Repository) -> None:
    store.bisections.ask(request(repository))
    store.bisections.claim("one", NOW, LEASE)
    store.bisections.release(1, "one")
    assert store.bisections.claim("two", NOW, LEASE) is not None


def test_no_more_run_at_a_time_than_the_pool_allows(store: Store, repository: Repository) -> None:
    store.bisections.ask(request(repository))
    store.bisections.ask(request(repository, slots=(1, 2, 3)))
    assert store.bisections.claim("one", NOW, LEASE, most=1) is not None
    assert store.bisections.claim("two", NOW, LEASE, most=1) is None
    assert store.bisections.claim("two", NOW, LEASE, most=2) is not None


def test_who_lost_the_lease_can_write_nothing(store: Store, journal: Journal) -> None:
    begin(journal, "B1-1")
    store.bisections.claim("two", LATER, LEASE)
    writes = (
        lambda: journal.record(result("B1-1")),
        lambda: begin(journal, "B1-2"),
        lambda: journal.log("hello"),
        lambda: store.bisections.renew(1, "one", LATER),
        lambda: store.bisections.finish(1, "one", BisectionAnswer(BisectionState.GAVE_UP, "…"), LATER),
    )
    for write in writes:
        with pytest.raises(BusyError, match="another worker coordinates bisection B1"):
            write()
    (probe,) = journal.probes()
    assert probe.result is None


def test_a_waiting_bisection_stops_at_once_and_a_running_one_when_its_worker_hears_of_it(
    store: Store, repository: Repository
) -> None:
    store.bisections.ask(request(repository))
    store.bisections.ask(request(repository, slots=(1, 2)))
    store.bisections.claim("one", NOW, LEASE)
    running = store.bisections.ask_stop(1, "bob", NOW)
    waiting = store.bisections.ask_stop(2, "bob", NOW)
    assert (running.state, running.stopped_by) == (BisectionState.RUNNING, "bob")
    assert (waiting.state, waiting.answer.reason) == (BisectionState.STOPPED, "bob stopped it.")
    with pytest.raises(InputError, match="ended already"):
        store.bisections.ask_stop(2, "bob", NOW)


def test_a_bisection_whose_worker_died_stops_at_once(store: Store, journal: Journal) -> None:
    assert store.bisections.ask_stop(1, "bob", LATER).state is BisectionState.STOPPED
    with pytest.raises(BusyError):
        journal.log("I am still here")


def test_an_answer_is_found_by_its_change(store: Store, repository: Repository, journal: Journal) -> None:
    journal.state(Posterior(np.array([0.01, 0.97, 0.01, 0.0]), 0.01, 0.0, np.full(4, 0.25)), ["pixel-7"], 90.0)
    answer = BisectionAnswer(BisectionState.CULPRIT, "", (12,), SuspectRange("main", 11, 12), 0.97)
    done = store.bisections.finish(1, "one", answer, LATER)
    assert (done.answer, done.ended, done.devices, done.seconds_left) == (answer, LATER, ("pixel-7",), None)
    assert done.posterior is not None
    assert done.posterior.single.tolist() == [0.01, 0.97, 0.01, 0.0]
    assert (done.posterior.none, done.posterior.several) == (0.01, 0.0)
    found = store.bisections.found(repository)
    assert {key: each.answer.culprits for key, each in found.items()} == {3: (12,)}


def test_each_probe_keeps_what_was_known_after_its_result(journal: Journal) -> None:
    for probe, single in (("B1-1", [0.5, 0.3, 0.1, 0.05]), ("B1-2", [0.02, 0.97, 0.0, 0.0])):
        begin(journal, probe)
        journal.record(result(probe))
        journal.state(Posterior(np.array(single), 0.01, 0.0, np.array(single)), [], None)
    begin(journal, "B1-3")
    known = [probe.known and probe.known.left for probe in journal.probes()]
    assert known == [(0, 1, 2, 3), (1,), None]


def test_a_flipped_bit_of_what_a_bisection_found_is_never_served(store: Store, journal: Journal) -> None:
    journal.state(Posterior(np.array([0.01, 0.97, 0.01, 0.0]), 0.01, 0.0, np.full(4, 0.25)), [], 90.0)
    with store.transaction() as connection:
        data = bytearray(connection.execute(select(table.c.posterior)).scalar_one())
        data[20] ^= 1
        connection.execute(update(table).values(posterior=bytes(data)))
    with pytest.raises(StoreError, match="damaged by their checksum"):
        store.bisections.get(1)


def test_a_result_is_kept_once_with_all_that_belongs_to_it(store: Store, journal: Journal) -> None:
    begin(journal, "B1-1")
    kept = result("B1-1", reason="a\x00b\ud800", output="x" * 10_000)
    journal.record(kept)
    journal.record(result("B1-1", value=99.0))
    (probe,) = journal.probes()
    assert probe.result is not None
    assert probe.result.measured == kept.measured
    assert (probe.result.device, probe.result.seconds, probe.number, probe.place) == ("pixel-7", 12.5, 1, 2)
    assert probe.result.target == kept.target
    assert (probe.result.reason, len(probe.result.output)) == (
        "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}",
        8_000,
    )
    (waiting,) = store.bisections.waiting_results()
    assert (waiting.identity, waiting.slot, waiting.files) == ("bisection B1 probe 1", 12, kept.files)


def test_results_wait_until_they_are_imported(store: Store, journal: Journal) -> None:
    begin(journal, "B1-1")
    journal.record(result("B1-1"))
    (waiting,) = store.bisections.waiting_results()
    store.bisections.finish_import(waiting.probe_id)
    assert not store.bisections.waiting_results()
    assert journal.probes()[0].result is not None


def test_one_measurement_that_serves_two_bisections_is_one_probe(
    store: Store, repository: Repository, journal: Journal
) -> None:
    store.bisections.ask(request(repository, trace_key=",name=b,", trace_id=8))
    store.bisections.claim("one", NOW, LEASE)
    other = store.bisections.journal(2, "one")
    begin(journal, "B1-1")
    begin(other, "B2-1")
    journal.record(result("B1-1"))
    other.record(result("B2-1", measured={",name=b,": Measured(3.0, (3.0,), "ms")}))
    (waiting,) = store.bisections.waiting_results()
    assert waiting.bisections == ["B1", "B2"]
    (probe,) = other.probes()
    assert probe.result is not None
    assert set(probe.result.measured) == {KEY, ",name=b,"}


def test_a_dropped_probe_is_not_in_the_journal(journal: Journal) -> None:
    begin(journal, "B1-1")
    begin(journal, "B1-2")
    journal.record(result("B1-1"))
    journal.drop("B1-1")
    journal.drop("B1-2")
    assert [each.name for each in journal.probes()] == ["B1-1"]


def test_the_log_keeps_its_newest_lines(journal: Journal) -> None:
    journal.log(*(f"line {number}" for number in range(502)))
    journal.log("line 502")
    lines = [line.text for line in journal.lines()]
    assert (len(lines), lines[0], lines[-1]) == (500, "line 3", "line 502")


def test_device_seconds_count_for_bisections_by_rule_only(
    store: Store, repository: Repository, journal: Journal
) -> None:
    store.bisections.ask(request(repository, slots=(10, 11, 12, 13), by_rule=True))
    store.bisections.claim("one", NOW, LEASE)
    by_rule = store.bisections.journal(2, "one")
    begin(journal, "B1-1")
    begin(by_rule, "B2-1")
    journal.record(result("B1-1"))
    by_rule.record(result("B2-1", started=NOW + timedelta(seconds=1)))
    assert store.bisections.seconds_by_rule("unit", NOW - timedelta(days=1)) == 12.5
    assert store.bisections.seconds_by_rule("unit", NOW + timedelta(minutes=1)) == 0.0


def test_a_backup_has_bisections_with_their_results(store: Store, journal: Journal, tmp_path: Path) -> None:
    begin(journal, "B1-1")
    journal.record(result("B1-1"))
    journal.log("measured")
    store.backup(tmp_path / "copy.db")
    with restore(tmp_path / "copy.db", tmp_path / "new.db") as copy:
        again = copy.bisections.journal(1)
        assert (again.probes(), again.lines()) == (journal.probes(), journal.lines())
        assert copy.bisections.waiting_results() == store.bisections.waiting_results()
