"""Measure ``knick publish`` on 100 traces × 1,000 commits: how long it takes, and what the files weigh.

    python benchmarks/publish.py             # a minute, most of it to make the instance

Every value has all the digits of a double, a fifth of the traces have a step, and the default alert has looked at them. Size is the
sum of the files, each compressed with gzip where that makes it smaller, as web servers send them. The peer is the ``data.js``
that github-action-benchmark publishes of the same values; its page, and the Chart.js that it loads, come on top.
"""

from __future__ import annotations

import gzip
import json
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from knickpoint.ingest.context.sidecar import Sidecar
from knickpoint.ingest.file_import import import_data
from knickpoint.instance import create_instance, open_instance
from knickpoint.publish import Chosen, publish
from knickpoint.watch.alert_run.run import run_alerts
from table import Reach, Row, finish

_TRACES: Final = 100
_COMMITS: Final = 1000
_REPOSITORY: Final = "ada/engine"
_MEGABYTE: Final = 1e6


def _history() -> bytes:
    """Return the history as github-action-benchmark's data.js, with a step of 10 % in each fifth trace."""
    generator = np.random.default_rng(17)
    levels = generator.uniform(100, 10_000, _TRACES)
    values = levels[:, None] * (1 + 0.01 * generator.standard_normal((_TRACES, _COMMITS)))
    for trace in range(0, _TRACES, 5):
        values[trace, generator.integers(100, 900) :] *= 1.1
    begin = datetime(2024, 1, 1, tzinfo=UTC)
    person = {"name": "Ada Lovelace", "email": "ada@example.org", "username": "ada"}
    entries = []
    for position in range(_COMMITS):
        # Forty zeros are no commit, so the first one is 1.
        moment, name = begin + timedelta(hours=7 * position), f"{position + 1:040x}"
        commit = {
            "author": person,
            "committer": person,
            "id": name,
            "message": f"Change number {position}",
            "timestamp": moment.isoformat(),
            "url": f"https://example.org/{_REPOSITORY}/commit/{name}",
        }
        benches = [
            {"name": f"case_{trace}", "value": float(values[trace, position]), "unit": "ns/iter"}
            for trace in range(_TRACES)
        ]
        entries.append({"commit": commit, "date": int(moment.timestamp() * 1000), "tool": "cargo", "benches": benches})
    document = {"lastUpdate": 0, "repoUrl": f"https://example.org/{_REPOSITORY}", "entries": {"speed": entries}}
    return f"window.BENCHMARK_DATA = {json.dumps(document)}".encode()


def main() -> None:
    """Measure and print the table."""
    history = _history()
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "instance"
        create_instance(directory, repositories={_REPOSITORY: ""}).close()
        with open_instance(directory) as instance:
            summary = import_data(instance, history, source="history", stated=Sidecar(repository=_REPOSITORY))
            assert not summary.failed, summary.lines()
            run_alerts(instance.store, instance.alerts, as_work=True)
        with open_instance(directory) as instance:
            wall, processor = time.perf_counter(), time.process_time()
            done = publish(instance, Path(scratch) / "site", Chosen([_REPOSITORY], datetime.now(UTC)))
            wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peer, name = len(gzip.compress(history, 6)) / _MEGABYTE, "data.js of github-action-benchmark"
    rows = [
        Row("time to publish", "s", wall, reach=Reach.AT_MOST, bound=5),
        Row("processor time to publish", "s", processor),
        Row("files, compressed", "MB", done.compressed / _MEGABYTE, peer, name, Reach.AT_MOST, 1),
        Row("files, as written", "MB", done.size / _MEGABYTE, len(history) / _MEGABYTE, name),
    ]
    finish("publish", rows)


if __name__ == "__main__":
    main()
