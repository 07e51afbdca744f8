"""Benchmark the commits of textmill: interleaved and repeated, so that the machine's own noise does not decide."""

from __future__ import annotations

import json
import os
import platform
import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from knickpoint.model.errors import ServiceError

__all__ = ["ROUNDS", "environment", "measure", "write_results"]

ROUNDS: Final = 15
"""Processes a commit; each gives one sample a benchmark, and the point is their median."""

_TIMEOUT_SECONDS: Final = 60
_SEED: Final = 20260302


def _run_once(checkout: Path, number: int) -> dict[str, float]:
    """Run the benchmarks of one checkout in a process of their own and return seconds by benchmark.

    The round ``number`` seeds their order and the hashes of texts: how objects happen to lie in memory then
    differs from round to round, and not from commit to commit.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(  # noqa: S603 - our own interpreter and the file that we wrote
        [sys.executable, "-S", "benchmarks/suite.py", str(number)],
        cwd=checkout,
        env={**own, "PYTHONHASHSEED": str(number)},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode:
        raise ServiceError(f"the benchmarks failed: {done.stderr.strip().splitlines()[-1:]}", where=str(checkout))
    seconds: dict[str, float] = json.loads(done.stdout)
    return seconds


def measure(
    checkouts: Mapping[str, Path],
    *,
    rounds: int = ROUNDS,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> dict[str, dict[str, list[float]]]:
    """Run every checkout once a round, in another seeded order each round.

    Returns revision → benchmark → ``rounds`` samples in seconds.

    Raises:
        ServiceError: a benchmark failed.
    """
    revisions = list(checkouts)
    shuffle = random.Random(_SEED).shuffle  # noqa: S311
    samples: dict[str, dict[str, list[float]]] = {revision: {} for revision in revisions}
    done = 0
    for number in range(rounds):
        shuffle(revisions)
        for revision in revisions:
            for benchmark, seconds in _run_once(checkouts[revision], number).items():
                samples[revision].setdefault(benchmark, []).append(seconds)
            done += 1
            progress(done, rounds * len(revisions))
    return samples


def environment() -> dict[str, str]:
    """Return the facts about this machine that go with each run."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": str(os.cpu_count() or 0),
    }


def write_results(samples: Mapping[str, Mapping[str, Sequence[float]]], place: Path) -> list[Path]:
    """Write one results file a revision, in the format that Skia Perf reads (version 1), and return the paths.

    A benchmark has one entry a sample: repeated names are samples of one point.
    """
    place.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, (revision, benchmarks) in enumerate(samples.items()):
        report = {
            "version": 1,
            "git_hash": revision,
            "key": {"project": "textmill", "python": f"{sys.version_info.major}.{sys.version_info.minor}"},
            "results": [
                {"key": {"benchmark": benchmark, "unit": "us"}, "measurement": seconds * 1e6}
                for benchmark, values in benchmarks.items()
                for seconds in values
            ],
            "links": {f"environment.{name}": value for name, value in environment().items()},
        }
        path = place / f"{number:03d}-{revision[:10]}.json"
        path.write_text(json.dumps(report, indent=1))
        paths.append(path)
    return paths
