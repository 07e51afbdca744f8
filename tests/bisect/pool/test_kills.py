"""Agents, the scheduler and those who bisect are killed at any moment: every bisection ends with the same answer."""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.bisect.pool.programs import SECRET, Program, TestPool, free_port
from tests.bisect.runner.projects import project
from tests.repositories import GitRepository

from knickpoint.bisect.settings import PoolSettings

pytest.importorskip("distributed")
pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

_KILLS = int(os.environ.get("KNICKPOINT_KILLS", "6"))
_COMMITS = 16
_CULPRIT = 11
_LONGEST = 300.0
_AGENTS = ("a", "b", "c")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[TestPool]:
    settings = PoolSettings(address=f"tls://127.0.0.1:{free_port()}", secret=SECRET, heartbeat_seconds=4.0)
    made = TestPool(tmp_path / "pool", settings, real=True)
    made.directory.mkdir()
    yield made
    made.close()


def _results(journal: Path) -> Counter[str]:
    """Return how many results the journal has of each probe."""
    found: Counter[str] = Counter()
    for line in journal.read_bytes().split(b"\n")[:-1]:
        entry = json.loads(line)
        if "result" in entry:
            found[entry["result"]["probe"]] += 1
    return found


def _lines_or_end(program: Program, count: int) -> bool:
    """Wait until a program printed so many lines of progress; return whether it runs still."""
    until = time.monotonic() + _LONGEST
    while time.monotonic() < until:
        shown = sum(line.startswith(("begun", "ended")) for line in program.lines)
        if any(line.startswith("answer") for line in program.lines) or program.process.poll() is not None:
            return False
        if shown >= count:
            return True
        program.wait_for_more()
    raise AssertionError("\n".join(program.lines))


def test_bisections_survive_kills_of_every_program(
    cluster: TestPool, new_repository: Callable[[str], GitRepository], tmp_path: Path
) -> None:
    repository = new_repository("project")
    commits = project(repository, [10.0] * _CULPRIT + [10.4] * (_COMMITS + 1 - _CULPRIT))
    choice = random.Random(7)
    programs = {"pool": cluster.pool()} | {name: cluster.agent(name) for name in _AGENTS}
    for name in _AGENTS:
        programs[name].wait_for("joined")
    killed: Counter[str] = Counter()
    answers: list[str] = []
    while killed.total() < _KILLS:
        journal = tmp_path / f"journal-{len(answers)}.jsonl"
        bisection = cluster.bisection(repository.directory, commits, journal)
        while _lines_or_end(bisection, choice.randint(1, 8)) and killed.total() < _KILLS:
            victim = choice.choice(["pool", "bisection", *_AGENTS])
            killed[victim if victim in {"pool", "bisection"} else "agent"] += 1
            if victim == "bisection":
                bisection.kill()
                bisection = cluster.bisection(repository.directory, commits, journal)
            else:
                programs[victim].kill()
                programs[victim] = cluster.pool() if victim == "pool" else cluster.agent(victim)
        bisection.wait_for("answer", _LONGEST)
        assert bisection.end() == 0
        answers.append(bisection.lines[-1])
        assert set(_results(journal).values()) == {1}
    assert set(answers) == {f"answer culprit {_CULPRIT}"}
    assert killed.total() >= _KILLS
