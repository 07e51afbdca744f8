"""The probes of gates: each commit once, each run by one worker at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from knickpoint.store import Store
from knickpoint.store.gates import ChosenCommit, GateProbeState, GatePurpose

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_probe_belongs_to_one_worker_until_its_lease_ends(store: Store) -> None:
    repository = store.commits.add_repository("lib")
    fill = ChosenCommit("b" * 40, purpose=GatePurpose.FILL, change=3)
    store.gates.add(repository, "g", [fill, ChosenCommit("a" * 40, (("engine", "c" * 40),))], NOW)
    store.gates.add(repository, "g", [ChosenCommit("a" * 40)], NOW)
    first = store.gates.claim("g", "first", NOW, 60.0, limit=9)
    assert [probe.choice.commit[0] for probe in first] == ["a", "b"]
    assert first[0].choice.pins == (("engine", "c" * 40),)
    assert store.gates.claim("g", "second", NOW, 60.0, limit=9) == []
    later = NOW + timedelta(minutes=2)
    second = store.gates.claim("g", "second", later, 60.0, limit=9)
    assert [probe.attempts for probe in second] == [2, 2]
    assert store.gates.renew([first[0].id], "first", later) == set()
    assert not store.gates.finish(first[1], GateProbeState.MEASURED, now=later, seconds=5.0)
    assert store.gates.finish(second[1], GateProbeState.MEASURED, now=later, seconds=7.0)
    assert store.gates.fill_seconds("g", NOW) == 7.0
    store.gates.release("second")
    assert [probe.state for probe in store.gates.of_gate(repository, "g")] == [
        GateProbeState.MEASURED,
        GateProbeState.WAITING,
    ]
