"""Kill coordinators at random moments: another one goes on, and no result is lost or there twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from knickpoint.model.bisection import BisectionState
from knickpoint.model.commit import Repository
from knickpoint.store import Store, open_store
from knickpoint.store.bisections import BisectionRequest

COORDINATOR = Path(__file__).with_name("coordinator.py")


def start(location: str, name: str, probes: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(COORDINATOR), location, name, str(probes)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def survive(store: Store, repository: Repository, location: str, *, rounds: int, probes: int) -> None:
    """Kill a coordinator in each round while a second one waits for its lease; then let one finish."""
    slots = tuple(range(10, 27))
    store.bisections.ask(BisectionRequest(repository.id, "main", slots, "unit", "d", "ann", datetime.now(UTC)))
    chance = random.Random(5)
    acknowledged: list[str] = []
    for number in range(rounds):
        workers = [start(location, f"{number}-{name}", probes) for name in ("a", "b")]
        for worker in workers:
            with suppress(subprocess.TimeoutExpired):
                worker.wait(chance.uniform(0.2, 1.2))
            worker.send_signal(signal.SIGKILL)
        for worker in workers:
            output, errors = worker.communicate()
            assert "Traceback" not in errors or "BusyError" in errors, errors
            acknowledged += output.split()
    last = start(location, "last", probes)
    output, errors = last.communicate()
    assert last.returncode == 0, errors
    acknowledged += output.split()
    with open_store(location) as fresh:
        found = fresh.bisections.journal(1).probes()
        assert [each.name for each in found] == [f"B1-{number + 1}" for number in range(probes)]
        assert all(each.result and each.result.measured[",name=a,"].value == each.number - 1 for each in found)
        assert len(acknowledged) == len(set(acknowledged)) <= probes
        assert len(fresh.bisections.waiting_results(limit=probes + 1)) == probes
        assert fresh.bisections.get(1).state is BisectionState.GAVE_UP


@pytest.mark.long
@pytest.mark.parametrize("location", ["sqlite"], indirect=True)
def test_a_killed_coordinator_is_followed_by_another_one(store: Store, repository: Repository, location: str) -> None:
    survive(store, repository, location, rounds=1, probes=40)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_fifty_killed_coordinators_lose_and_repeat_nothing(store: Store, repository: Repository, location: str) -> None:
    survive(store, repository, location, rounds=50, probes=10_000)
