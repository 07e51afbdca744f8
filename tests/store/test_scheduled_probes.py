"""The probes of schedules: each commit once, each run by one worker at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from knickpoint.store import Store
from knickpoint.store.schedules import ChosenCommit, ScheduledProbeState, SchedulePurpose

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_probe_belongs_to_one_worker_until_its_lease_ends(store: Store) -> None:
    repository = store.commits.add_repository("lib")
    fill = ChosenCommit("b" * 40, purpose=SchedulePurpose.FILL, change=3)
    store.schedules.add(repository, "g", [fill, ChosenCommit("a" * 40, (("engine", "c" * 40),))], NOW)
    store.schedules.add(repository, "g", [ChosenCommit("a" * 40)], NOW)
    first = store.schedules.claim("g", "first", NOW, 60.0, limit=9)
    assert [probe.choice.commit[0] for probe in first] == ["a", "b"]
    assert first[0].choice.pins == (("engine", "c" * 40),)
    assert store.schedules.claim("g", "second", NOW, 60.0, limit=9) == []
    later = NOW + timedelta(minutes=2)
    second = store.schedules.claim("g", "second", later, 60.0, limit=9)
    assert [probe.attempts for probe in second] == [2, 2]
    assert store.schedules.renew([first[0].id], "first", later) == set()
    assert not store.schedules.finish(first[1], ScheduledProbeState.MEASURED, now=later, seconds=5.0)
    assert store.schedules.finish(second[1], ScheduledProbeState.MEASURED, now=later, seconds=7.0)
    assert store.schedules.fill_seconds("g", NOW) == 7.0
    store.schedules.release("second")
    assert [probe.state for probe in store.schedules.of_schedule(repository, "g")] == [
        ScheduledProbeState.MEASURED,
        ScheduledProbeState.WAITING,
    ]
