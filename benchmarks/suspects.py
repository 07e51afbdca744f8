"""Count how often the true cause ranks first, and measure what ranking adds to a run of the alerts.

The causes are those of the demonstration, as if only every 4th, 8th and 16th commit had been measured; of every 8th, with
profiles of both ends by cProfile as well. The time is that
of 2,000 findings in one run, over a history of 250 commits in a real git repository of which every fourth is measured.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from knickpoint.bisect.profiling import read_profiler
from knickpoint.demo.history import CHANGES, PlannedCommit, plan
from knickpoint.demo.measurement import make_repository
from knickpoint.demo.textmill import BENCHMARKS
from knickpoint.history import Git, read_touched_files
from knickpoint.model.alert import Alert
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.model.settlement import Certainty
from knickpoint.profiles import Profile, difference, read_profile
from knickpoint.store import RunWrite, create_store
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.suspects.commit_facts import CommitFacts, contrast, count_words
from knickpoint.watch.suspects.ranking import NONE, rank_suspects
from knickpoint.watch.suspects.update import update_suspects
from table import Reach, Row, finish

COMMITS: Final = 250
TRACES: Final = 2_000
EVERY: Final = 4
_RANGE: Final = 8
_PROFILES: Final = 3
_PROFILED: Final = """import sys
sys.path[:0] = ["src", "benchmarks"]
import suite
run = getattr(suite, sys.argv[1])()
for _ in range(40):
    run()
"""
"""Runs one benchmark of the demonstration, without its clock."""


def causes(every: int) -> list[tuple[int, tuple[str, ...]]]:
    """List the position of each true cause, reverts included, and the benchmarks that it moves.

    Without those that are taken back in their range: nothing that is measured or profiled at its ends shows them.
    """
    found = []
    for change in CHANGES:
        if change.reverted is None or change.position // every != change.reverted // every:
            found += [(place, change.benchmarks) for place in (change.position, change.reverted) if place is not None]
    return found


def profiled(git: Git, directory: Path, ends: tuple[str, str], benchmarks: Sequence[str]) -> dict[str, str]:
    """Profile benchmarks at both ends, in turns, and return file → function of what explains the differences."""
    checkouts = [directory / name for name in ends]
    for checkout in checkouts:
        if not checkout.exists():
            git.run("worktree", "add", "--quiet", "--detach", str(checkout), checkout.name)
        (checkout / "profiled.py").write_text(_PROFILED)
    found: dict[str, str] = {}
    for name in benchmarks:
        sides: tuple[list[Profile], list[Profile]] = ([], [])
        for turn in range(_PROFILES):
            for side in (0, 1) if turn % 2 else (1, 0):
                out = directory / "profile"
                command = (sys.executable, "profiled.py", name)
                words = read_profiler("cprofile").over(command, out)
                subprocess.run(words, cwd=checkouts[side], check=True, capture_output=True)
                sides[side].append(read_profile(out.read_bytes()))
        for cause in difference(*sides).causes:
            found.setdefault(cause.file, cause.name)
    return found


def count_first(git: Git, every: int, directory: Path | None = None) -> int:
    """Count the causes that rank first if only every ``every``-th commit is measured; with profiles in ``directory``."""
    commits = git.first_parents("main")
    files = read_touched_files(git, [commit.hash for commit in commits])
    facts = [CommitFacts(k, k, commit.subject, files[commit.hash]) for k, commit in enumerate(commits)]
    all_words = count_words(f",benchmark={name}," for name in BENCHMARKS)
    first = 0
    for position, benchmarks in causes(every):
        begin = position - position % every
        words = contrast(count_words(f",benchmark={name}," for name in benchmarks), all_words)
        slower: dict[str, str] = {}
        if directory is not None:
            ends = commits[begin - 1].hash, commits[min(begin + every, len(commits)) - 1].hash
            slower = profiled(git, directory, ends, benchmarks)
        ranked = rank_suspects(facts[begin : begin + every], words, none=NONE[Certainty.SETTLED], slower=slower)
        if ranked[0].slot != position:
            print(f"ranges of {every}, {sorted(slower.values())}: commit {position} is not the first")
        first += ranked[0].slot == position
    return first


def planned() -> Iterator[PlannedCommit]:
    """Yield commits that touch a few of 100 files each, ten lines at a time."""
    files: dict[str, str] = {}
    for position in range(COMMITS):
        for k in range(3):
            path = f"src/module{(7 * position + 13 * k) % 100}/part{position % 5}.py"
            files[path] = f"{files.get(path, '')}{position}\n" * 2
            files[path] = files[path][-2_000:]
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=position)
        yield PlannedCommit(position, "Ada", "ada@example.org", moment, f"Change part {position}", dict(files))


def measure_time(directory: Path) -> tuple[float, float, int]:
    """Return the seconds of the alerts, those of the ranking, and the number of changes."""
    make_repository(directory / "project", planned())
    git = Git.at(directory / "project")
    with create_store(directory / "store.db") as store:
        repository = store.commits.add_repository("project")
        store.commits.add(repository, git.first_parents("main"))
        store.commits.set_line(repository, "main", range(COMMITS))
        with store.transaction():
            for slot in range(0, COMMITS, EVERY):
                results = (
                    Result({"benchmark": f"module{trace % 100}_{trace}", "os": "linux"}, (_value(trace, slot),), "ms")
                    for trace in range(TRACES)
                )
                run = RunReport(ResultTable.of(results), identity=str(slot))
                store.runs.write(repository, [RunWrite(slot, run, str(slot), str(slot), "benchmark")])
        begin = time.perf_counter()
        summary = run_alerts(store, [Alert("all")], as_work=True)
        alerts = time.perf_counter() - begin
        begin = time.perf_counter()
        changes = update_suspects(store, lambda _repository: git)
        print(f"{summary.new} findings in {changes} changes")
        return alerts, time.perf_counter() - begin, changes


def _value(trace: int, slot: int) -> float:
    """Return a level with a small regular noise, and one step at a commit of its own."""
    step = 40 + (trace * 7) % 170
    noise = ((trace * 31 + slot * 17) % 11 - 5) * 0.002
    return (100.0 if slot < step else 120.0) * (1 + noise)


def main() -> None:
    """Measure both, and print the table."""
    with tempfile.TemporaryDirectory() as room:
        make_repository(Path(room) / "textmill", plan())
        git = Git.at(Path(room) / "textmill")
        rows = [
            Row(
                f"causes that rank first in ranges of {every}, of {len(causes(every))}",
                "",
                count_first(git, every),
                None,
                "",
                Reach.SHOWN,
                0,
            )
            for every in (4, 8, 16)
        ]
        with_profiles = count_first(git, _RANGE, Path(room) / "checkouts")
        rows.append(
            Row(
                f"the same in ranges of {_RANGE}, with profiles",
                "%",
                100 * with_profiles / len(causes(_RANGE)),
                None,
                "",
                Reach.AT_LEAST,
                90,
            )
        )
        alerts, ranking, changes = measure_time(Path(room))
    what = f"rank the suspects of {changes} changes"
    rows.append(Row(what, "s", ranking, alerts, "the run of the alerts", Reach.AT_MOST_TIMES, 0.05))
    finish("suspects", rows)


if __name__ == "__main__":
    main()
