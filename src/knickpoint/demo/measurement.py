"""Benchmark the commits of textmill: interleaved, repeated, and beside a reference that no commit changes.

Other programs on the machine may slow code to half its speed for a second or less. Each benchmark therefore takes turns
with a reference, and a sample is the ratio of the two, scaled to the median time of the reference. The page
``docs/decisions/packages-and-plugins.md`` compares this with other ways.
"""

from __future__ import annotations

import json
import os
import platform
import random
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Final

from knickpoint.demo.history import PlannedCommit
from knickpoint.model.errors import HistoryError, ServiceError

ROUNDS: Final = 12
"""Processes a commit; each gives one sample a benchmark, and the point is the median of the samples."""

_TIMEOUT_SECONDS: Final = 60
_SEED: Final = 20260302

Times = dict[str, tuple[float, float]]
"""Benchmark → its seconds, and those of the reference beside it."""


def _run_once(checkout: Path, number: int) -> Times:
    """Run the benchmarks of one checkout in a new process.

    The round ``number`` seeds the hashes of strings, and with them the layout of objects in memory. The layout then
    differs between rounds, and not between commits.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-S", "benchmarks/suite.py"],
        cwd=checkout,
        env={**inherited, "PYTHONHASHSEED": str(number)},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode:
        raise ServiceError(f"the benchmarks failed: {done.stderr.strip().splitlines()[-1:]}", where=str(checkout))
    times: Times = json.loads(done.stdout)
    return times


def calibrate(runs: Mapping[str, Sequence[Times]]) -> dict[str, dict[str, list[float]]]:
    """Return revision → benchmark → samples, as if each reference had taken the median time of all references."""
    usual = median(reference for run in chain.from_iterable(runs.values()) for _, reference in run.values())
    return {
        revision: {name: [run[name][0] / run[name][1] * usual for run in rounds] for name in rounds[0]}
        for revision, rounds in runs.items()
    }


def measure(
    checkouts: Mapping[str, Path],
    *,
    rounds: int = ROUNDS,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> dict[str, dict[str, list[float]]]:
    """Run every checkout once a round, each round in another order, which is seeded.

    Returns revision → benchmark → ``rounds`` samples in seconds, as :func:`calibrate` returns them.

    Raises:
        ServiceError: a benchmark failed.
    """
    revisions = list(checkouts)
    shuffle = random.Random(_SEED).shuffle  # noqa: S311
    runs: dict[str, list[Times]] = {revision: [] for revision in revisions}
    done = 0
    for number in range(rounds):
        shuffle(revisions)
        for revision in revisions:
            runs[revision].append(_run_once(checkouts[revision], number))
            done += 1
            progress(done, rounds * len(revisions))
    return calibrate(runs)


def environment() -> dict[str, str]:
    """Return the environment of the runs: facts about this machine."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": str(os.cpu_count() or 0),
    }


def write_results(samples: Mapping[str, Mapping[str, Sequence[float]]], directory: Path) -> list[Path]:
    """Write one results file a revision into ``directory``, in the format of Skia Perf (version 1); return the paths.

    A benchmark has one entry a sample: repeated names are samples of one point.
    """
    directory.mkdir(parents=True, exist_ok=True)
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
        path = directory / f"{number:03d}-{revision[:10]}.json"
        path.write_text(json.dumps(report, indent=1))
        paths.append(path)
    return paths


# Profile a benchmark: the same calls each time, so that samples can be compared.


PROFILES: Final = 4
"""Profiles a commit."""

_PROFILED_CALLS: Final = 25_000

_SAMPLER: Final = """
import collections, os, signal, sys
here = os.getcwd() + "/"
sys.path[:0] = [here, here + "benchmarks"]
import suite
samples = collections.Counter()
def sample(_, frame):
    stack = []
    while frame is not None:
        code = frame.f_code
        stack.append(f"{code.co_name} ({code.co_filename.removeprefix(here)}:{code.co_firstlineno})")
        frame = frame.f_back
    samples[";".join(reversed(stack))] += 1
run = getattr(suite, sys.argv[1])()
signal.signal(signal.SIGPROF, sample)
signal.setitimer(signal.ITIMER_PROF, 0.004, 0.004)
for _ in range(int(sys.argv[2])):
    run()
signal.setitimer(signal.ITIMER_PROF, 0)
print("\\n".join(f"{stack} {count}" for stack, count in samples.items()))
"""
"""Samples the stack each 4 ms of processor time, and prints folded stacks; a tracing profiler slows calls down."""


def profile_benchmark(benchmark: str, checkouts: Mapping[str, Path], directory: Path) -> list[Path]:
    """Write profiles of a benchmark at each revision, in turns; the directory of a profile has its revision as name.

    Raises:
        ServiceError: the benchmark failed.
    """
    paths = []
    for number in range(1, PROFILES + 1):
        for revision, checkout in checkouts.items():
            done = subprocess.run(  # noqa: S603
                [sys.executable, "-S", "-c", _SAMPLER, benchmark, str(_PROFILED_CALLS)],
                cwd=checkout,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
            if done.returncode:
                raise ServiceError(f"the profile failed: {done.stderr.strip()[-200:]}", where=str(checkout))
            path = directory / revision / f"{benchmark}.{number}.folded"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(done.stdout)
            paths.append(path)
    return paths


# Create the git repository of textmill, and check out its commits.


def _git(repository: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    """Run git in ``repository``. Raises ``HistoryError`` with the message of git when it fails."""
    try:
        done = subprocess.run(["git", "-C", str(repository), *arguments], input=stdin, capture_output=True, check=False)  # noqa: S603, S607
    except FileNotFoundError:
        raise HistoryError(
            "the program git is missing", remedy="Install it, for example: apt-get install git"
        ) from None
    if done.returncode:
        raise HistoryError(
            f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}", where=str(repository)
        )
    return done.stdout


def _stream(commits: Iterable[PlannedCommit]) -> bytes:
    """Return the commits as input of ``git fast-import``."""
    parts: list[bytes] = [b"feature done\n"]
    before: Mapping[str, str] = {}
    for commit in commits:
        who = f"{commit.author} <{commit.email}> {int(commit.time.timestamp())} +0000"
        message = commit.message.encode()
        parts.append(
            f"commit refs/heads/main\nmark :{commit.position + 1}\nauthor {who}\ncommitter {who}\n".encode()
            + b"data %d\n%s\n" % (len(message), message)
        )
        for path, text in sorted(commit.files.items()):
            if before.get(path) != text:
                content = text.encode()
                parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content))
        parts.append(b"\n")
        before = commit.files
    parts.append(b"done\n")
    return b"".join(parts)


def make_repository(directory: Path, commits: Iterable[PlannedCommit]) -> list[str]:
    """Create a git repository with ``commits`` in ``directory``, and return their hashes, oldest first.

    Raises:
        HistoryError: git is missing or fails.
    """
    directory.mkdir(parents=True)
    _git(directory, "init", "--quiet", "--initial-branch=main")
    _git(directory, "fast-import", "--quiet", stdin=_stream(commits))
    _git(directory, "reset", "--quiet", "--hard")
    return _git(directory, "rev-list", "--first-parent", "--reverse", "main").decode().split()


def check_out(repository: Path, revision: str, directory: Path) -> None:
    """Write the files of ``revision`` into ``directory``. Raises ``HistoryError`` when git fails."""
    archive = _git(repository, "archive", "--format=tar", revision)
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(directory, filter="data")
