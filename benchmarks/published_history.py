"""A history of 100 traces × 1,000 commits, as several tools keep it, for benchmarks of published pages."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import create_instance, open_instance
from knickpoint.publish import Chosen, Published, publish
from knickpoint.watch.alert_run.run import run_alerts

__all__ = ["COMMITS", "TRACES", "History", "history", "make_instance", "publish_site"]

TRACES: Final = 100
COMMITS: Final = 1000
_REPOSITORY: Final = "ada/engine"
_BEGIN: Final = datetime(2024, 1, 1, tzinfo=UTC)
_PERSON: Final = {"name": "Ada Lovelace", "email": "ada@example.org", "username": "ada"}


@dataclass(frozen=True, slots=True)
class History:
    """Values (traces × commits) in nanoseconds, and when each commit was made.

    Every value has all digits of a double.
    """

    values: NDArray[np.float64]
    times: tuple[datetime, ...]

    def chart_data(self) -> bytes:
        """Return the history as the ``data.js`` of github-action-benchmark."""
        entries = []
        for position, moment in enumerate(self.times):
            # Forty zeros are not a commit, so the first one is 1.
            name = f"{position + 1:040x}"
            commit = {
                "author": _PERSON,
                "committer": _PERSON,
                "id": name,
                "message": f"Change number {position}",
                "timestamp": moment.isoformat(),
                "url": f"https://example.org/{_REPOSITORY}/commit/{name}",
            }
            benches = [
                {"name": f"case_{trace}", "value": float(self.values[trace, position]), "unit": "ns/iter"}
                for trace in range(TRACES)
            ]
            date = int(moment.timestamp() * 1000)
            entries.append({"commit": commit, "date": date, "tool": "cargo", "benches": benches})
        document = {"lastUpdate": 0, "repoUrl": f"https://example.org/{_REPOSITORY}", "entries": {"speed": entries}}
        return f"window.BENCHMARK_DATA = {json.dumps(document)}".encode()

    def write_git(self, place: Path) -> list[str]:
        """Make a git repository with a commit for each column at ``place``, and return their hashes, oldest first."""
        lines = []
        for position, moment in enumerate(self.times):
            seconds = int(moment.timestamp())
            message = f"Change number {position}"
            lines += [
                "commit refs/heads/main",
                f"committer Ada Lovelace <ada@example.org> {seconds} +0000",
                f"data {len(message)}",
                message,
            ]
        place.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(place)], check=True)
        stream = "\n".join(lines).encode() + b"\n"
        subprocess.run(["git", "-C", str(place), "fast-import", "--quiet"], input=stream, check=True)
        listed = ["git", "-C", str(place), "rev-list", "--reverse", "main"]
        return subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split()


def history() -> History:
    """Return the same history each time: noise of 1 %, and a step of 10 % in each fifth trace."""
    generator = np.random.default_rng(17)
    levels = generator.uniform(100, 10_000, TRACES)
    values = levels[:, None] * (1 + 0.01 * generator.standard_normal((TRACES, COMMITS)))
    for trace in range(0, TRACES, 5):
        values[trace, generator.integers(100, 900) :] *= 1.1
    return History(values, tuple(_BEGIN + timedelta(hours=7 * position) for position in range(COMMITS)))


def make_instance(directory: Path, data: bytes) -> None:
    """Make an instance that imported the ``data`` of :meth:`History.chart_data`, and whose default alert has run."""
    create_instance(directory, repositories={_REPOSITORY: ""}).close()
    with open_instance(directory) as instance:
        summary = import_data(instance, data, source="history", stated=Sidecar(repository=_REPOSITORY))
        assert not summary.failed, summary.lines()
        run_alerts(instance.store, instance.alerts, as_work=True)


def publish_site(directory: Path, site: Path) -> Published:
    """Publish the instance in ``directory`` to ``site``."""
    with open_instance(directory) as instance:
        return publish(instance, site, Chosen([_REPOSITORY], datetime.now(UTC)))
