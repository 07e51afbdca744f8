"""Tell the whole story: a repository, its benchmarks, an instance, findings, and what is true."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from knickpoint.demo.comparison import Comparison, Found, compare
from knickpoint.demo.history import plan
from knickpoint.demo.measurement import measure, write_results
from knickpoint.demo.repository import check_out, make_repository
from knickpoint.ingest import import_files
from knickpoint.instance import Instance, create_instance
from knickpoint.model.errors import ConfigError, KnickpointError
from knickpoint.model.params import decode_key
from knickpoint.watch.alert_run.run import run_alerts

__all__ = ["Story", "tell"]

_MARK: Final = "made-by-knick-demo"
_REPOSITORY: Final = "textmill"

Progress = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
"""Opens a progress bar under a label; it is told (done, total)."""


@dataclass(frozen=True, slots=True)
class Story:
    """What came of the demonstration; the instance lies in ``directory``."""

    directory: Path
    comparison: Comparison


def _clear(directory: Path) -> None:
    """Make ``directory`` empty; only what an earlier demonstration made is removed."""
    if not directory.exists():
        return
    if any(directory.iterdir()) and not (directory / _MARK).exists():
        raise ConfigError(
            "the directory holds something that is not from a demonstration",
            where=str(directory),
            remedy="Name another directory: knick demo DIRECTORY.",
        )
    shutil.rmtree(directory)


def _found(instance: Instance, hashes: list[str]) -> list[Found]:
    """Return the change points of the instance by position in the history."""
    repository = instance.store.commits.repository(_REPOSITORY)
    position = {hash_: place for place, hash_ in enumerate(hashes)}
    line = instance.store.commits.line(repository)
    places = {
        slotted.slot: position[slotted.commit.hash] for slotted in instance.store.commits.get(repository, line.slots)
    }
    return [
        Found(
            decode_key(point.key)["benchmark"],
            places[point.suspect_range.previous],
            places[point.suspect_range.slot],
            point.numbers.relative_size,
        )
        for regression in instance.store.findings.regressions(repository)
        for point in regression.members
    ]


def _benchmark(place: Path, repository: Path, revisions: Sequence[str], *, rounds: int, progress: Progress) -> None:
    """Check out and measure ``revisions``; the results files come to lie in ``place``."""
    checkouts = {revision: place.parent / "checkouts" / revision for revision in revisions}
    for revision, checkout in checkouts.items():
        check_out(repository, revision, checkout)
    with progress("Benchmarking") as advance:
        samples = measure(checkouts, rounds=rounds, progress=advance)
    write_results(samples, place)
    shutil.rmtree(place.parent / "checkouts")


def tell(directory: Path, *, rounds: int, say: Callable[[str], object], progress: Progress) -> Story:
    """Make everything anew in ``directory``: repository, results, instance, findings.

    Nothing of what is true reaches the detection: it sees the results files only, as a user's would be.

    Raises:
        ConfigError: the directory holds something else.
        HistoryError: git is missing.
        KnickpointError: the import did not take every file.
    """
    _clear(directory)
    directory.mkdir(parents=True)
    (directory / _MARK).touch()
    commits = list(plan())
    repository = directory / _REPOSITORY
    hashes = make_repository(repository, commits)
    benchmarked = [commit.position for commit in commits if commit.benchmarked]
    say(f"Made a git repository of {len(hashes)} commits in {repository}.")
    revisions = [hashes[position] for position in benchmarked]
    _benchmark(directory / "results", repository, revisions, rounds=rounds, progress=progress)
    say(f"Benchmarked {len(benchmarked)} of them, {rounds} processes each, in turn and beside a reference.")
    with create_instance(
        directory, name="Demonstration", repositories={_REPOSITORY: str(repository.resolve())}, as_work=True
    ) as instance:
        with progress("Importing") as advance:
            summary = import_files(instance, [directory / "results"], progress=advance)
        if summary.failed:
            raise KnickpointError("the import failed", where=str(directory), remedy="\n".join(summary.lines()))
        say(f"Imported {len(summary.files)} results files: {summary.new_traces} traces.")
        with progress("Looking at traces") as advance:
            run = run_alerts(instance.store, instance.alerts, progress=advance, as_work=instance.config.history.as_work)
        say(
            f"Ran the alerts: {run.new} change points in {len(run.new_regressions)} regressions."
            " All are in the work list, none is history: the instance is made as by `knick init --as-work`."
        )
        return Story(directory, compare(_found(instance, hashes), benchmarked))
