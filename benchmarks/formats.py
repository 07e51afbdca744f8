"""Measure reading results files beside ``json.loads`` of the same files, which is the least that it can cost."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable

from knickpoint.formats import read_report
from table import Reach, Row, finish

_REPEATS = 15


def _best(call: Callable[[], object]) -> float:
    """Return the least milliseconds of processor time that ``call`` took."""
    best = float("inf")
    for _ in range(_REPEATS):
        start = time.process_time()
        call()
        best = min(best, time.process_time() - start)
    return best * 1000


def _skia(results: list[dict[str, object]]) -> bytes:
    common = {"arch": "x86", "config": "8888", "os": "Ubuntu"}
    return json.dumps({"version": 1, "git_hash": "a" * 40, "key": common, "results": results}).encode()


def _files() -> dict[str, bytes]:
    draw = random.Random(7)
    stats = ("min", "max", "mean", "median")
    grouped = [
        {
            "key": {"test": f"draw_{number}", "source_type": "bench", "sub": f"s{number % 7}"},
            "measurements": {"stat": [{"value": stat, "measurement": draw.random()} for stat in stats]},
        }
        for number in range(10_000)
    ]
    single: list[dict[str, object]] = [
        {"key": {"test": f"draw_{number}", "source_type": "bench", "units": "ms"}, "measurement": draw.random()}
        for number in range(40_000)
    ]
    encoded: list[dict[str, object]] = [
        {"key": {"test": f"draw[a=1,b={number}]", "source_type": "bench", "units": "ms"}, "measurement": draw.random()}
        for number in range(40_000)
    ]
    return {
        "Skia v1, 10,000 results of 4": _skia(grouped),
        "Skia v1, 40,000 results": _skia(single),
        "Skia v1, 40,000 with , and = in names": _skia(encoded),
    }


def _history() -> bytes:
    """Return a history of 440 commits with 27 benchmarks, the size of the largest published ones."""
    draw = random.Random(7)
    entries = [
        {
            "commit": {
                "id": f"{number + 1:040x}",
                "message": f"Change {number}",
                "timestamp": "2026-08-20T10:11:12+02:00",
                "url": f"https://github.com/org/repo/commit/{number + 1:040x}",
                "author": {"name": "A. Uthor", "email": "a@example.org", "username": "a"},
            },
            "date": 1786961600000 + number * 3_600_000,
            "tool": "cargo",
            "benches": [
                {"name": f"bench_{bench}", "value": draw.randrange(10**6), "range": "± 12.5", "unit": "ns/iter"}
                for bench in range(27)
            ],
        }
        for number in range(440)
    ]
    history = {
        "lastUpdate": 1786961600000,
        "repoUrl": "https://github.com/org/repo",
        "entries": {"end to end": entries},
    }
    return b"window.BENCHMARK_DATA = " + json.dumps(history).encode()


def main() -> None:
    """Print the table and write ``build/bench/formats.json``."""
    rows = []
    for name, data in _files().items():
        ours = _best(lambda data=data: read_report(data))  # type: ignore[misc]
        peer = _best(lambda data=data: json.loads(data))  # type: ignore[misc]
        rows.append(Row(f"read {name}", "ms", ours, peer, "json.loads", Reach.AT_MOST_TIMES, 2.0))
    history = _history()
    rows.append(
        Row(
            "read data.js, 440 commits × 27",
            "ms",
            _best(lambda: read_report(history)),
            reach=Reach.AT_MOST,
            bound=300.0,
        )
    )
    finish("formats", rows)


if __name__ == "__main__":
    main()
