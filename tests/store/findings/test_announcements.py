"""The announcement ledger and the verdicts on newest values, on both databases."""

from __future__ import annotations

import numpy as np
import pytest

from knickpoint.model.alert import Alert
from knickpoint.model.commit import Repository
from knickpoint.model.errors import StoreError
from knickpoint.model.judged_benchmark import NewestVerdict
from knickpoint.model.notification import AnnouncementKind
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.model.step import Verdict
from knickpoint.store import RunWrite, Store
from knickpoint.watch.alert_run.run import run_alerts

ALERTS = [Alert("all", method="threshold", settle_share=0, settle_least=3, settle_most=3)]


def measure(store: Store, repository: Repository, *levels: float) -> None:
    """Put eight values of each level, commit by commit, and run the alerts after each fourth."""
    for slot, level in enumerate(level for level in levels for _ in range(8)):
        run = RunReport(ResultTable.of([Result({"name": "a"}, (level + 0.01 * (slot % 3),), "ms")]))
        store.runs.write(repository, [RunWrite(slot, run, str(slot), str(slot), "test")])
        if slot % 4 == 3:
            run_alerts(store, ALERTS, as_work=True)


def test_a_change_and_its_recovery_are_announced(store: Store, repository: Repository) -> None:
    measure(store, repository, 10.0, 15.0, 10.0)
    opened, over = store.findings.announcements.after(0, repository=repository)
    assert (opened.kind, over.kind) == (AnnouncementKind.REGRESSED, AnnouncementKind.RECOVERED)
    assert store.findings.announcements.of_change(over.change_id) == [opened, over]
    assert store.findings.announcements.after(opened.id) == [over]
    assert store.findings.announcements.after(0, limit=1) == [opened]


def test_a_place_in_a_chain_is_taken_once(store: Store, repository: Repository) -> None:
    measure(store, repository, 10.0, 15.0)
    (opened,) = store.findings.announcements.after(0)
    with pytest.raises(StoreError):
        store.findings.announcements.append([opened])
    assert store.findings.announcements.after(0) == [opened]


def test_a_verdict_is_kept_until_it_is_replaced(store: Store, repository: Repository) -> None:
    verdict = NewestVerdict(3, 7, Verdict.IMPROVED, 1.5, 2.0, 1.9, 2.1, -0.25, 0.001)
    store.findings.newest.replace(repository, np.array([3, 4]), [verdict])
    assert store.findings.newest.get([3, 4]) == {3: verdict}
    store.findings.newest.replace(repository, np.array([4]), [])
    assert store.findings.newest.get([3, 4]) == {3: verdict}
    store.findings.newest.replace(repository, np.array([3]), [])
    assert store.findings.newest.get([3, 4]) == {}
