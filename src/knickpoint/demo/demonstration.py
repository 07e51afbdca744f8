"""Run the demonstration: make and benchmark a repository, import, run the alerts, compare with the truth."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from knickpoint.demo.history import CHANGES, LAST_RANGE, Comparison, Found, compare, plan
from knickpoint.demo.measurement import check_out, make_repository, measure, profile_benchmark, write_results
from knickpoint.ingest import import_files
from knickpoint.instance import Instance, create_instance, rank_new_suspects
from knickpoint.model.errors import ConfigError, KnickpointError
from knickpoint.model.params import decode_key
from knickpoint.watch.alert_run.run import run_alerts

_MARK: Final = "made-by-knick-demo"
_REPOSITORY: Final = "textmill"

Progress = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
"""Opens a progress bar with a label; the bar is called with (done, total)."""


def _clear(directory: Path) -> None:
    """Remove ``directory`` if an earlier demonstration created it."""
    if not directory.exists():
        return
    if any(directory.iterdir()) and not (directory / _MARK).exists():
        raise ConfigError(
            "the directory has files that are not from a demonstration",
            where=str(directory),
            remedy="Name another directory: knick demo DIRECTORY.",
        )
    shutil.rmtree(directory)


def _found(instance: Instance, hashes: list[str]) -> list[Found]:
    """Return the change points of the instance by position in the history."""
    repository = instance.store.commits.repository(_REPOSITORY)
    position_of = {name: position for position, name in enumerate(hashes)}
    line = instance.store.commits.line(repository)
    positions = {
        slotted.slot: position_of[slotted.commit.hash] for slotted in instance.store.commits.get(repository, line.slots)
    }
    return [
        Found(
            decode_key(point.key)["benchmark"],
            positions[point.suspect_range.previous],
            positions[point.suspect_range.slot],
            point.numbers.relative_size,
        )
        for change in instance.store.findings.changes(repository)
        for point in change.members
    ]


def _benchmark(
    results: Path,
    repository: Path,
    revisions: Sequence[str],
    profiled: Sequence[str],
    *,
    rounds: int,
    progress: Progress,
) -> None:
    """Check out and measure ``revisions``, and write results into ``results`` and profiles beside it."""
    checkouts = {revision: results.parent / "checkouts" / revision for revision in revisions}
    for revision, checkout in checkouts.items():
        check_out(repository, revision, checkout)
    with progress("Benchmarking") as advance:
        samples = measure(checkouts, rounds=rounds, progress=advance)
    write_results(samples, results)
    around = {revision: checkouts[revision] for revision in profiled}
    profile_benchmark(CHANGES[-1].benchmarks[0], around, results.parent / "profiles")
    shutil.rmtree(results.parent / "checkouts")


def _add_recipe(directory: Path) -> None:
    """Say in the configuration how commits of textmill are built and measured, for ``knick bisect``."""
    python = json.dumps(sys.executable)
    with (directory / "knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write(
            f"\n[bisect.{_REPOSITORY}]\n"
            f'build = [{python}, "-m", "compileall", "-q", "textmill"]\n'
            f'measure = [{python}, "-S", "benchmarks/report.py"]\n'
            'results = ["build/results.json"]\n'
            "measure_seconds = 60\n"
        )


def run_demonstration(
    directory: Path, *, rounds: int, announce: Callable[[str], object], progress: Progress
) -> Comparison:
    """Create everything anew in ``directory`` (repository, results, instance, findings); return findings and truth.

    The alerts see the results files only; the truth does not reach them.

    Raises:
        ConfigError: the directory has other files.
        HistoryError: git is missing.
        KnickpointError: the import refused a file.
    """
    _clear(directory)
    try:
        directory.mkdir(parents=True)
    except OSError as error:
        raise ConfigError(
            f"the directory cannot be made: {error.strerror}",
            where=str(directory),
            remedy="Give a DIRECTORY that you may write.",
        ) from error
    (directory / _MARK).touch()
    # A repository with known changes.
    commits = list(plan())
    repository = directory / _REPOSITORY
    hashes = make_repository(repository, commits)
    benchmarked = [commit.position for commit in commits if commit.benchmarked]
    announce(f"Made a git repository of {len(hashes)} commits in {repository}.")
    # Its benchmarks.
    revisions = [hashes[position] for position in benchmarked]
    around = [hashes[position] for position in LAST_RANGE]
    _benchmark(directory / "results", repository, revisions, around, rounds=rounds, progress=progress)
    announce(
        f"Benchmarked {len(benchmarked)} of them, {rounds} processes each, in turn and beside a reference. Profiled"
        f" {CHANGES[-1].benchmarks[0]} before and after its last change."
    )
    # An instance, the results, and the findings.
    with create_instance(
        directory, name="Demonstration", repositories={_REPOSITORY: str(repository.resolve())}, as_work=True
    ) as instance:
        with progress("Importing") as advance:
            summary = import_files(instance, [directory / "results", directory / "profiles"], progress=advance)
        if summary.failed:
            raise KnickpointError("the import failed", where=str(directory), remedy="\n".join(summary.lines()))
        _add_recipe(directory)
        profiles = sum(bool(file.profile) for file in summary.files)
        announce(
            f"Imported {len(summary.files) - profiles} results files and {profiles} profiles:"
            f" {summary.new_traces} traces."
        )
        with progress("Checking traces") as advance:
            run = run_alerts(instance.store, instance.alerts, progress=advance, as_work=instance.config.history.as_work)
        rank_new_suspects(instance)
        announce(
            f"Ran the alerts: {run.new} change points in {len(run.new_changes)} changes."
            " All are in the work list, none is history: the instance is made as by `knick init --as-work`."
        )
        return compare(_found(instance, hashes), benchmarked)
