"""Measure ``knick publish`` on 100 traces × 1,000 commits: how long it takes, and what the files weigh.

    python benchmarks/publish.py             # a minute, most of it to make the instance

Every value has all the digits of a double, a fifth of the traces have a step, and the default alert has looked at them.
Size is the sum of the files, each compressed with gzip where that makes it smaller, as web servers send them. The peer
is the ``data.js`` that github-action-benchmark publishes of the same values; its page, and the Chart.js that it loads,
come on top.
"""

from __future__ import annotations

import gzip
import tempfile
import time
from pathlib import Path
from typing import Final

from published_history import history, make_instance, publish_site
from table import Reach, Row, finish

_MEGABYTE: Final = 1e6


def main() -> None:
    """Measure and print the table."""
    data = history().chart_data()
    with tempfile.TemporaryDirectory() as scratch:
        make_instance(Path(scratch) / "instance", data)
        wall, processor = time.perf_counter(), time.process_time()
        done = publish_site(Path(scratch) / "instance", Path(scratch) / "site")
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    peer, name = len(gzip.compress(data, 6)) / _MEGABYTE, "data.js of github-action-benchmark"
    rows = [
        Row("time to publish", "s", wall, reach=Reach.AT_MOST, bound=5),
        Row("processor time to publish", "s", processor),
        Row("files, compressed", "MB", done.compressed / _MEGABYTE, peer, name, Reach.AT_MOST, 1),
        Row("files, as written", "MB", done.size / _MEGABYTE, len(data) / _MEGABYTE, name),
    ]
    finish("publish", rows)


if __name__ == "__main__":
    main()
