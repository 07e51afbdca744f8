"""Findings that are held because results at their place are quarantined, on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from knickpoint.model.alert import Alert
from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.model.quarantine import CanaryMove, FactChange, Quarantine, QuarantineState
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.model.settlement import Certainty
from knickpoint.store import RunWrite, Store
from knickpoint.store.findings.selection import Selection
from knickpoint.store.quarantines import StoredQuarantine
from knickpoint.watch.alert_run.run import run_alerts

ALERTS = [Alert("all", method="threshold", settle_share=0, settle_least=1)]
SINCE = datetime(2026, 3, 1, 12, tzinfo=UTC)


def example(repository: Repository, identity: str = "run-7") -> StoredQuarantine:
    quarantine = Quarantine(
        id=0,
        repository_id=repository.id,
        identity=identity,
        run_id=7,
        slot=3,
        machine="bench-1",
        state=QuarantineState.QUARANTINED,
        since=SINCE,
        until=SINCE + timedelta(hours=48),
        moves=(CanaryMove("loop", 4, "name=loop", "ms", 12.0, 10.0, 9.9, 10.1),),
        facts=(FactChange("kernel", "6.1", "6.2"),),
        traces=2,
    )
    return StoredQuarantine(quarantine, "hash", np.array([1, 2]))


def test_a_quarantine_is_kept_once_for_a_run(store: Store, repository: Repository) -> None:
    stored = example(repository)
    store.quarantines.put([stored])
    (known,) = store.quarantines.all(repository, states={QuarantineState.QUARANTINED})
    assert known == replace(stored.quarantine, id=known.id)
    assert store.quarantines.get(known.id).trace_ids.tolist() == [1, 2]
    store.quarantines.put([replace(stored, quarantine=replace(known, state=QuarantineState.KEPT_OUT, outcome="back"))])
    assert store.quarantines.all(repository) == [replace(known, state=QuarantineState.KEPT_OUT, outcome="back")]
    assert store.quarantines.all(repository, slots=[4]) == []


def test_an_unknown_quarantine_is_refused(store: Store) -> None:
    with pytest.raises(InputError, match="no quarantine 5"):
        store.quarantines.get(5)


def test_the_reason_names_what_moved_and_by_how_much(repository: Repository) -> None:
    assert example(repository).quarantine.reason == (
        "canary loop moved by +20.0 % (its noise is ±1.0 %); kernel changed from 6.1 to 6.2 on bench-1"
    )


def test_a_held_finding_is_provisional_and_waits_for_no_announcement(store: Store, repository: Repository) -> None:
    for slot in range(16):
        run = RunReport(ResultTable.of([Result({"name": "a"}, (10.0 if slot < 8 else 15.0,), "ms")]))
        store.runs.write(repository, [RunWrite(slot, run, str(slot), str(slot), "test")])
    run_alerts(store, ALERTS, as_work=True)
    ((point,),) = [each.members for each in store.findings.changes(repository)]
    assert (point.certainty, point.held) == (Certainty.SETTLED, "")

    assert store.quarantines.hold(repository, {point.id: "the canary moved"}) == [point.id]
    (held,) = store.findings.changes(repository, selection=Selection(certainty=Certainty.PROVISIONAL))
    assert (held.certainty, held.held) == (Certainty.PROVISIONAL, "the canary moved")
    assert held.members[0].certainty_reason == "held: the canary moved"
    assert store.findings.announcements.waiting(repository) == []

    assert store.quarantines.hold(repository, {}) == [point.id]
    assert store.quarantines.hold(repository, {}) == []
    assert store.findings.change(held.id).held == ""
