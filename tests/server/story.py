"""A small history with known steps, as a results file, and an instance that holds it."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Instance, create_instance, open_instance
from knickpoint.watch.alert_run.run import run_alerts

COMMITS = 60
SLOWER = 30
"""The commit from which `parse` and `print` are slower."""
FASTER = 45
"""The commit from which `load` is faster; the five commits before it were not measured."""
UNMEASURED = range(40, 45)
FAILED = 42
"""One of these, at which `add_failure` lets `load` fail."""
TOKEN = "correct horse"  # of the test's own instance
REPOSITORY = "ada/engine"

_LEVELS = {"parse": (1000.0, SLOWER, 1250.0), "print": (500.0, SLOWER, 610.0), "load": (8000.0, FASTER, 6400.0)}


def commit_hash(position: int) -> str:
    return hashlib.sha1(f"commit {position}".encode()).hexdigest()


def subject(position: int) -> str:
    return {SLOWER: "Check every bracket", FASTER: "Read files ahead"}.get(position, f"Change number {position}")


def _benches(position: int, noise: random.Random) -> list[dict[str, object]]:
    benches = []
    for name, (before, step, after) in _LEVELS.items():
        value = (before if position < step else after) * (1 + noise.gauss(0, 0.004))
        if name != "load" or position not in UNMEASURED:
            benches.append({"name": name, "value": round(value, 3), "unit": "ns/iter"})
    return [*benches, {"name": "idle", "value": round(200 * (1 + noise.gauss(0, 0.004)), 3), "unit": "ns/iter"}]


def history() -> bytes:
    """Return the history as a results file that describes its commits."""
    noise = random.Random(17)  # a fixed sequence is what a test wants
    begin = datetime(2026, 1, 1, 9, tzinfo=UTC)
    entries = []
    for position in range(COMMITS):
        author = "Ada Lovelace" if position % 2 == 0 else "Grace Hopper"
        time = begin + timedelta(hours=7 * position)
        first, _, _ = author.partition(" ")
        person = {"name": author, "email": f"{first.lower()}@example.org", "username": first}
        commit = {
            "author": person,
            "committer": person,
            "id": commit_hash(position),
            "message": f"{subject(position)}\n\nMore words.",
            "timestamp": time.isoformat(),
            "url": f"https://example.org/{REPOSITORY}/commit/{commit_hash(position)}",
        }
        entries.append(
            {
                "commit": commit,
                "date": int(time.timestamp() * 1000),
                "tool": "cargo",
                "benches": _benches(position, noise),
            }
        )
    document = {"lastUpdate": 0, "repoUrl": f"https://example.org/{REPOSITORY}", "entries": {"speed": entries}}
    return f"window.BENCHMARK_DATA = {json.dumps(document)}".encode()


def results_of(suites: Mapping[str, Mapping[str, float]]) -> bytes:
    """Return a results file of the commit after the history: suite → benchmark → nanoseconds."""
    time = datetime(2026, 2, 1, 9, tzinfo=UTC)
    commit = {"id": commit_hash(COMMITS), "message": "What is new", "timestamp": time.isoformat(), "url": ""}
    entries = {
        suite: [
            {
                "commit": commit,
                "date": int(time.timestamp() * 1000),
                "tool": "cargo",
                "benches": [{"name": name, "value": value, "unit": "ns/iter"} for name, value in benches.items()],
            }
        ]
        for suite, benches in suites.items()
    }
    document = {"lastUpdate": 0, "repoUrl": f"https://example.org/{REPOSITORY}", "entries": entries}
    return f"window.BENCHMARK_DATA = {json.dumps(document)}".encode()


def add_machines(instance: Instance) -> None:
    """Measure `idle` again at the last commits, the very last on another machine, with links to what ran."""
    for position, processor in ((COMMITS - 3, "one"), (COMMITS - 1, "two")):
        links = {"task": f"https://ci.example.org/task/{position}", "log": f"https://ci.example.org/log/{position}"}
        sidecar = Sidecar(
            repository=REPOSITORY,
            commit=commit_hash(position),
            run=f"again {position}",
            params={"suite": "speed"},
            environment={"cpu": processor},
            links=links,
        )
        data = json.dumps([{"name": "idle", "value": 200.5, "unit": "ns/iter"}]).encode()
        summary = import_data(instance, data, source=f"again {position}", stated=sidecar)
        assert not summary.failed, summary.lines()


def add_failure(instance: Instance) -> None:
    """Fail to measure `load` at a commit between the last one before the change and the first one after.

    `broken` fails as well, and was never measured.
    """
    sidecar = Sidecar(repository=REPOSITORY, commit=commit_hash(FAILED), run="failed", params={"suite": "speed"})
    data = b"test idle ... bench: 200 ns/iter (+/- 1)\ntest load ... FAILED\ntest broken ... FAILED\n"
    summary = import_data(instance, data, source="failed", stated=sidecar)
    assert not summary.failed, summary.lines()


def make_instance(directory: Path, *, with_findings: bool = True, as_work: bool = True) -> None:
    """Make an instance in ``directory`` that holds the history and what the default alert finds in it."""
    create_instance(directory, repositories={REPOSITORY: ""}).close()
    file = directory / "knickpoint.toml"
    file.write_text(f'{file.read_text()}\n[server]\nupload_token = "{TOKEN}"\n')
    if not with_findings:
        return
    with open_instance(directory) as instance:
        sidecar = Sidecar(repository=REPOSITORY)
        summary = import_data(instance, history(), source="history", stated=sidecar)
        assert not summary.failed, summary.lines()
        run_alerts(instance.store, instance.alerts, as_work=as_work)
