"""Measure this checkout, or another one, by counts that no load changes, and judge it by the kept history.

Each benchmark runs in a process with one core, an empty environment and a fixed seed of hashes, once to warm up, then:

- **instructions** of benchmarks whose work is in C, under Callgrind; left out where Valgrind or a compiler is missing;
- **statements**: lines of Python that ran;
- **peak_bytes**: the most memory that Python and NumPy had allocated at a time.

The param ``toolchain`` names what a count depends on besides the code, so another one makes other traces. The benchmarks
call what hardly any commit of the history renamed; one that a checkout does not have is left out.

``python benchmarks/self.py [--checkout DIR] [--output FILE]`` writes a table that Knickpoint reads, a row for each
benchmark. ``--check`` judges it by ``docs/example/knickpoint.csv`` as a pull request (``make bench-self``), and ``--keep``
adds it to that file. The tutorial ``docs/tutorials/self.md`` has the rest.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import ctypes
import gc
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, Final, TextIO

__all__ = ["COLUMNS", "HISTORY", "measure"]

_TOP: Final = Path(__file__).resolve().parent.parent
HISTORY: Final = _TOP / "docs" / "example" / "knickpoint.csv"
COLUMNS: Final = (
    *("commit", "commit_time", "subject", "benchmark", "toolchain", "better"),
    *("instructions", "statements", "peak_bytes"),
)

_RULES: Final = ("--minimum-effect", "0.1", "--false-positives", "0.1")
"""What a hand-in may cost unasked, since most features cost something; and a share that a dozen commits can set."""

_NEWEST: Final = 12
"""Kept commits that the check looks at: older ones differ more from each other than a regression does."""

_REQUESTS: Final = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(const char *name) { CALLGRIND_DUMP_STATS_AT(name); CALLGRIND_STOP_INSTRUMENTATION; }
"""
_SEED: Final = 20261129
_PATIENCE: Final = 900
"""Seconds that the benchmarks of a checkout may take."""

_ACCEPTING: Final = """If it is worth its price, accept it by a trailer (Knickpoint-Accept: benchmark, reason) in a commit message,
and keep the new level: python benchmarks/self.py --keep, after the commit."""

_Work = Callable[[], object]


def _series(count: int, length: int) -> Any:
    """Draw a frame of traces x commits: noise of 2 %, and a step of 5 to 20 % in every second trace."""
    import numpy as np

    rng = np.random.default_rng(_SEED)
    frame = 100 * (1 + 0.02 * rng.standard_normal((count, length)))
    for row in range(0, count, 2):
        frame[row, rng.integers(length // 4, 3 * length // 4) :] *= 1 + rng.uniform(0.05, 0.2)
    return frame


def _detect_series(_place: Path, _calls: int) -> _Work:
    from knickpoint.detect import find_steps

    frame = _series(6, 200)
    return lambda: [find_steps(row) for row in frame]


def _detect_frame(_place: Path, _calls: int) -> _Work:
    from knickpoint.detect import find_steps_many

    frame = _series(20, 200)
    return lambda: find_steps_many(frame, threads=1)


def _divide(_place: Path, _calls: int) -> _Work:
    from knickpoint.detect import e_divisive

    frame = _series(2, 100)
    return lambda: [e_divisive(row) for row in frame]


def _cluster(_place: Path, _calls: int) -> _Work:
    """Cluster traces of eight shapes; more traces than the sample that k-means has been looking at since 94ce167b."""
    import numpy as np

    from knickpoint.detect import cluster

    rng = np.random.default_rng(_SEED)
    shapes = np.cumsum(rng.standard_normal((8, 8)), axis=1)
    frame = (100 + shapes[rng.integers(8, size=50_000)] + 1.5 * rng.standard_normal((50_000, 8))).astype(np.float32)
    return lambda: cluster(frame, k=8, threads=1)


def _read(_place: Path, _calls: int) -> _Work:
    from knickpoint.formats import read_report

    rng = random.Random(_SEED)
    rows = [
        {
            "name": f"BM_Sort/{number}",
            "run_name": f"BM_Sort/{number}",
            "run_type": "iteration",
            "repetitions": 1,
            "iterations": 1000,
            "real_time": rng.uniform(100, 200),
            "cpu_time": rng.uniform(100, 200),
            "time_unit": "ns",
        }
        for number in range(150)
    ]
    context = {
        "date": "2026-11-29T01:00:00+00:00",
        "executable": "./bench",
        "num_cpus": 2,
        "library_build_type": "release",
    }
    data = json.dumps({"context": context, "benchmarks": rows}).encode()
    return lambda: read_report(data)


def _query(_place: Path, _calls: int) -> _Work:
    from knickpoint.model.query import parse_query

    texts = [f"suite=io benchmark~^sort_{number} -machine=arm size=1,2,{number}" for number in range(100)]
    return lambda: [parse_query(text) for text in texts]


def _knick(*arguments: str) -> None:
    """Run the command in this process; its output goes nowhere."""
    from knickpoint.cli import main

    before = sys.argv
    sys.argv = ["knick", *arguments]
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):  # noqa: PTH123
            main()
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(f"knick {' '.join(arguments)} exits with {ended.code}") from None
    finally:
        sys.argv = before


def _instances(place: Path, count: int, *, filled: bool) -> list[tuple[Path, Path]]:
    """Copy an instance ``count`` times, and name a results file of 20 commits with 25 benchmarks each.

    What was made below ``place`` before, such as by a process that Valgrind does not slow down, is used again.
    """
    results, empty, full = place / "results.csv", place / "empty", place / "full"
    if not results.exists():
        rng = random.Random(_SEED)
        lines = ["commit,commit_time,benchmark,unit,value"]
        for commit in range(20):
            moment = f"2026-08-{commit + 1:02}T10:00:00Z"
            for benchmark in range(25):
                level = 100 * (1.2 if benchmark % 4 == 0 and commit >= 10 else 1.0)
                lines.append(f"{commit + 1:040x},{moment},case_{benchmark},ms,{rng.gauss(level, 1):.4f}")
        results.write_text("\n".join(lines) + "\n")
        _knick("init", str(empty))
    if filled and not full.exists():
        shutil.copytree(empty, full)
        _knick("import", str(results), "--instance", str(full))
    first = len(list(place.iterdir()))
    copies = [place / f"instance-{first + number}" for number in range(count)]
    for copy in copies:
        shutil.copytree(full if filled else empty, copy)
    return [(copy, results) for copy in copies]


def _import(place: Path, calls: int) -> _Work:
    """Import a history of 500 values; each call has an instance of its own."""
    made = _instances(place, calls, filled=False)

    def run() -> None:
        instance, results = made.pop()
        _knick("import", str(results), "--instance", str(instance))

    return run


def _run(place: Path, calls: int) -> _Work:
    """Detect in what :func:`_import` imports; each call has an instance of its own."""
    made = _instances(place, calls, filled=True)
    return lambda: _knick("run", "--instance", str(made.pop()[0]))


def _start(_place: Path, _calls: int) -> _Work:
    """Import the command line; only the first call in a process does anything."""

    def run() -> object:
        from knickpoint.cli import program

        return program

    return run


_BENCHMARKS: Final[Mapping[str, Callable[[Path, int], _Work]]] = {
    "start": _start,
    "read results": _read,
    "parse queries": _query,
    "import": _import,
    "run": _run,
    "find steps": _detect_series,
    "find steps of many": _detect_frame,
    "e-divisive": _divide,
    "k-means": _cluster,
}
_IN_C: Final = ("find steps", "find steps of many", "e-divisive")
"""Those whose work is in C, so that statements say little of it.

Of k-means, statements count the passes over blocks of rows; under Callgrind it takes minutes on a busy machine.
"""


def _statements(work: _Work) -> int:
    """Count the lines of Python that ``work`` runs in this thread."""
    count = 0

    def traced(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return traced

    gc.collect()
    sys.settrace(traced)
    try:
        work()
    finally:
        sys.settrace(None)
    return count


def _peak(work: _Work) -> int:
    """Measure how many bytes ``work`` had allocated at a time."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _count_here(name: str, place: Path, requests: str) -> dict[str, float]:
    """Measure one benchmark in this process: under Callgrind with ``requests``, the library that talks to it."""
    work = _BENCHMARKS[name](place, 2 if requests else 3)
    if name == "start":
        if not requests:
            return {"statements": _statements(work)}
    else:
        work()
    if requests:
        library = ctypes.CDLL(requests)
        gc.collect()
        library.begin()
        work()
        library.end(name.encode())
        return {}
    return {"statements": _statements(work), "peak_bytes": _peak(work)}


def _child(names: str, place: Path, requests: str) -> None:
    """Measure benchmarks of the checkout on ``PYTHONPATH``, and print a line of JSON for each."""
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name in names.split(","):
        try:
            found = _count_here(name, place, requests)
        except Exception as error:  # noqa: BLE001 - a checkout without this benchmark says so in its own ways
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        print(json.dumps({"benchmark": name, **found}), flush=True)


def _environment(checkout: Path, home: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": str(checkout / "src"),
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }


def _run_child(checkout: Path, names: str, place: Path, requests: str, *prefix: str) -> list[dict[str, Any]]:
    home = place / "home"
    home.mkdir(exist_ok=True)
    ended = subprocess.run(
        [
            *prefix,
            sys.executable,
            str(Path(__file__).resolve()),
            "--child",
            names,
            "--place",
            str(place),
            "--requests",
            requests,
        ],
        env=_environment(checkout, home),
        cwd=home,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    for line in ended.stderr.splitlines():
        if not line.startswith("=="):
            print(line, file=sys.stderr)
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]


def _requests_library(place: Path) -> str:
    """Compile what talks to Callgrind; "" where Valgrind, its headers or a compiler are missing."""
    if not shutil.which("valgrind") or not shutil.which("cc"):
        return ""
    library = place / "requests.so"
    command = ["cc", "-x", "c", "-", "-shared", "-fPIC", "-o", str(library)]
    built = subprocess.run(command, input=_REQUESTS, text=True, capture_output=True, check=False)
    return str(library) if built.returncode == 0 else ""


def _instructions(checkout: Path, names: str, place: Path, requests: str) -> dict[str, int]:
    """Count the instructions of each benchmark under Callgrind, all in one process."""
    profile = place / "profile"
    valgrind = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={profile}"]
    _run_child(checkout, names, place, requests, *valgrind)
    counts = {}
    for dump in place.glob("profile.*"):
        text = dump.read_text()
        named = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
        total = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
        if named and total:
            counts[named.group(1)] = int(total.group(1))
    return counts


def _version(*command: str) -> str:
    """Ask a tool for its version, of which two numbers count."""
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+\.\d+)(?:\.\d+)?", text)
    return found.group(1) if found else ""


def _toolchain() -> str:
    """Name what a count depends on besides the code."""
    from importlib.metadata import version

    parts = [
        f"{platform.python_implementation()} {'.'.join(platform.python_version_tuple()[:2])}",
        f"NumPy {'.'.join(version('numpy').split('.')[:2])}",
        f"SQLAlchemy {'.'.join(version('sqlalchemy').split('.')[:2])}",
    ]
    if shutil.which("cc"):
        parts.append(f"cc {_version('cc', '-dumpfullversion', '-dumpversion')}")
    if shutil.which("valgrind"):
        parts.append(f"Valgrind {_version('valgrind', '--version')}")
    return " ".join([*parts, platform.machine()])


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def measure(checkout: Path, benchmarks: Sequence[str] = (), *, instructions: bool = True) -> list[dict[str, Any]]:
    """Measure ``checkout``, whose kernels are built, and give a row of :data:`COLUMNS` for each benchmark.

    Without ``benchmarks``, all of them are measured.
    """
    commit, moment, subject = _git(checkout, "log", "-1", "--format=%H %cI %s").strip().split(maxsplit=2)
    names = ",".join(benchmarks or _BENCHMARKS)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        # Bytecode is written by the first process, so that no import that is counted compiles.
        _run_child(checkout, "start", place, "")
        rows = {row["benchmark"]: row for row in _run_child(checkout, names, place, "")}
        requests = _requests_library(place) if instructions else ""
        names = ",".join(name for name in _IN_C if name in rows)
        counts = _instructions(checkout, names, place, requests) if requests and names else {}
    shared = {
        "commit": commit,
        "commit_time": moment,
        "subject": subject,
        "toolchain": _toolchain(),
        "better": "lower",
    }
    return [{**shared, **row, "instructions": counts.get(name, "")} for name, row in rows.items()]


def _write(rows: list[dict[str, Any]], file: TextIO, *, header: bool = True) -> None:
    writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)


def _check(results: Path, *, partial: bool) -> int:
    """Judge ``results`` by the newest commits of the kept history, and give the exit code of ``knick check``."""
    with HISTORY.open(encoding="utf-8", newline="") as file:
        kept = list(csv.DictReader(file))
    head, *ancestors = _git(_TOP, "rev-list", "HEAD").split()
    reached = set(ancestors)
    commits = [commit for commit in dict.fromkeys(row["commit"] for row in kept) if commit in reached][-_NEWEST:]
    if not commits:
        print(
            f"No commit before {head[:12]} has kept values; a shallow clone needs the whole history.", file=sys.stderr
        )
        return 3
    with TemporaryDirectory() as folder:
        recent, instance = Path(folder) / "recent.csv", Path(folder) / "instance"
        with recent.open("w", encoding="utf-8", newline="") as file:
            _write([row for row in kept if row["commit"] in commits], file)
        knick = [sys.executable, "-m", "knickpoint.cli"]
        for command in (
            ["init", str(instance), "--repository", f"knickpoint={_TOP}"],
            ["import", str(recent), "--instance", str(instance)],
        ):
            subprocess.run([*knick, *command], check=True, stdout=subprocess.DEVNULL)
        # With the newest kept commit as the base, a trailer of any commit since then counts.
        rules = ["--base", commits[-1], *_RULES, *(["--partial"] if partial else [])]
        check = [*knick, "check", str(results), "--instance", str(instance), *rules]
        code = subprocess.run(check, cwd=_TOP, check=False).returncode
        if code == 1:
            print(f"\n{_ACCEPTING}", file=sys.stderr)
        return code


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, default=_TOP, help="whose kernels are built; default: this one")
    parser.add_argument("--output", type=Path, help="default: the standard output")
    parser.add_argument(
        "--only", action="append", choices=list(_BENCHMARKS), help="repeatable; default: all benchmarks"
    )
    parser.add_argument("--without-instructions", action="store_true", help="leave Callgrind out, which takes longest")
    parser.add_argument("--check", action="store_true", help="judge the results by the kept history")
    parser.add_argument("--keep", action="store_true", help="add the results of a clean checkout to the kept history")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    parser.add_argument("--place", type=Path, default=Path(), help=argparse.SUPPRESS)
    parser.add_argument("--requests", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        _child(arguments.child, arguments.place, arguments.requests)
        return 0
    checkout = arguments.checkout.resolve()
    if arguments.keep and _git(checkout, "status", "--porcelain", "--", "src"):
        parser.error(f"{checkout / 'src'} has changes that no commit has: commit them first, then keep their values")
    rows = measure(checkout, arguments.only or (), instructions=not arguments.without_instructions)
    if not rows:
        print(f"No benchmark ran in {checkout}: build its kernels first (make setup).", file=sys.stderr)
        return 2
    if arguments.keep:
        with HISTORY.open("a", encoding="utf-8", newline="") as file:
            _write(rows, file, header=False)
    output = arguments.output
    if output is None and not arguments.check:
        _write(rows, sys.stdout)
        return 0
    with TemporaryDirectory() as folder:
        output = output or Path(folder) / "self.csv"
        output.parent.mkdir(parents=True, exist_ok=True)
        with output.open("w", encoding="utf-8", newline="") as file:
            _write(rows, file)
        return _check(output, partial=bool(arguments.only)) if arguments.check else 0


if __name__ == "__main__":
    sys.exit(_main())
