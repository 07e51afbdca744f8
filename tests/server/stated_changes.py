"""An instance with a mixed change, one whose commit a bisection found, and one that recovered."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from tests.server.story import commit_hash

from knickpoint.ingest.context.sidecar import Sidecar
from knickpoint.ingest.file_import import import_data
from knickpoint.instance import Instance, create_instance, open_instance
from knickpoint.instance.suspects import rank_new_suspects
from knickpoint.model.bisection import BisectionState
from knickpoint.model.change_point import SuspectRange
from knickpoint.store.bisections import BisectionAnswer, BisectionRequest
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.bisections.outcome import put_on_finding

REPOSITORY: Final = "engine"
COMMITS: Final = 160
MIXED: Final = 40
SEARCHED: Final = 80
"""The first commit with the new level that was measured; the four before it were not."""
CULPRIT: Final = 78
BROKEN: Final = 110
REVERTED: Final = 130
FASTER: Final = tuple(f"parse{number}" for number in range(6))


def _levels(position: int) -> dict[str, tuple[float, str]]:
    mixed, searched = position >= MIXED, position >= SEARCHED
    levels = {name: (60.0 - 3 * each if mixed else 100.0, "ms") for each, name in enumerate(FASTER)}
    levels["binary"] = (100_490.0 if mixed else 100_000.0, "bytes")
    levels["draw"] = (250.0 if BROKEN <= position < REVERTED else 100.0, "ms")
    if not SEARCHED - 4 <= position < SEARCHED:
        levels["pack"] = (120.0 if searched else 100.0, "ms")
    return levels


def _history() -> bytes:
    noise = random.Random(5)  # a fixed sequence is what a test wants
    lines = ["commit,commit_time,author,subject,benchmark,unit,value"]
    for position in range(COMMITS):
        time = datetime(2026, 1, 1, 9, tzinfo=UTC) + timedelta(hours=7 * position)
        commit = f"{commit_hash(position)},{time.isoformat()},Ada,Change number {position}"
        for name, (level, unit) in _levels(position).items():
            value = level * (1 + noise.gauss(0, 0.0002 if unit == "bytes" else 0.004))
            lines.append(f"{commit},{name},{unit},{value:.3f}")
    return "\n".join(lines).encode()


def make_stated_changes(directory: Path) -> None:
    """Make the instance in ``directory``."""
    create_instance(directory, repositories={REPOSITORY: ""}).close()
    with open_instance(directory) as instance:
        summary = import_data(instance, _history(), source="history.csv", stated=Sidecar(repository=REPOSITORY))
        assert not summary.failed, summary.lines()
        run_alerts(instance.store, instance.alerts, as_work=True)
        rank_new_suspects(instance)
        _find_commit(instance)


def _find_commit(instance: Instance) -> None:
    """Write that a bisection found the commit that made `pack` slower."""
    store = instance.store
    (repository,) = store.commits.repositories()
    slots = store.commits.line(repository).slots
    (change,) = [each for each in store.findings.changes(repository) if each.suspect_range.slot == slots[SEARCHED]]
    now = datetime(2026, 4, 1, tzinfo=UTC)
    candidates = tuple(slots[SEARCHED - 5 : SEARCHED + 1])
    point = change.members[0]
    request = BisectionRequest(
        repository_id=repository.id,
        line=change.suspect_range.line,
        slots=candidates,
        recipe="unit",
        digest="d" * 40,
        who="ann",
        asked=now,
        change_id=change.id,
        trace_id=point.trace_id,
        trace_key=point.key,
        facts={"movement": 1, "before": [100.0, 0.4, 20]},
    )
    asked = store.bisections.ask(request)
    store.bisections.claim("worker", now, 60.0)
    answer = BisectionAnswer(
        BisectionState.CULPRIT,
        "found",
        culprits=(slots[CULPRIT],),
        suspect_range=SuspectRange(change.suspect_range.line, slots[CULPRIT - 1], slots[CULPRIT]),
        probability=0.98,
    )
    put_on_finding(store, asked, answer, "worker", now=now)
