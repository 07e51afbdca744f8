"""An instance with a real repository in which `parse` became slower between two measured commits."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from tests.repositories import GitRepository
from tests.watch.conftest import QUICK, World, levels

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.bisect.settings import RecipeSettings
from knickpoint.history import Git
from knickpoint.instance import Instance, create_instance, open_instance
from knickpoint.model.bisection import Measured, ProbeOutcome, ProbeResult, ResultsFile
from knickpoint.watch.alert_run.run import run_alerts

GOOD, CULPRIT, BAD = 20, 22, 25
"""Slots: the last one measured at the old level, the one that is slower, the first one measured at the new level."""

COMMITS = 40
PARSE = ",benchmark=parse,kind=p,"
WRITES = """
import pathlib, subprocess, sys
source = pathlib.Path("src/parser.py").read_text() if pathlib.Path("src/parser.py").exists() else ""
value = {fast} if not source else {slow}
head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
wobble = int(head[:4], 16) / 65536 * 0.4
pathlib.Path("out.csv").write_text("benchmark,kind,unit,value\\n" + f"parse,p,ms,{{value + wobble}}\\n")
"""


def recipe(**changes: object) -> RecipeSettings:
    """Return a recipe that measures 100 ms before the culprit and 130 ms from it on."""
    made = RecipeSettings(
        name="quick",
        measure=("python3", "-c", WRITES.format(fast=100.0, slow=130.0)),
        results=("out.csv",),
        query="benchmark=parse",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def make_repository(directory: Path) -> GitRepository:
    """Make 40 commits; the culprit makes src/parser.py, the others touch files that are named after nothing."""
    made = GitRepository.make(directory)
    made.commit_files(
        (
            f"Change number {position}",
            {"src/parser.py" if position == CULPRIT else f"src/x{position % 3}.py": f"{position}\n"},
        )
        for position in range(COMMITS)
    )
    return made


@dataclass
class Bisectable:
    """The instance, and its only change."""

    instance: Instance
    world: World

    @property
    def change(self) -> int:
        """The id of the change."""
        (key,) = self.instance.store.findings.groups.suspect_ranges(self.world.repository)
        return key

    def run(self) -> None:
        """Run the alerts."""
        run_alerts(self.instance.store, (QUICK,), as_work=True)

    def with_recipes(self, *recipes: RecipeSettings) -> Instance:
        """Return the instance with these recipes in its configuration."""
        config = replace(self.instance.config, bisect={each.name: each for each in recipes})
        return replace(self.instance, config=config)


def make_instance(directory: Path, project: GitRepository) -> None:
    """Make the instance; `render` is measured as well, and does not move."""
    commits = Git.at(project.directory).first_parents("main")
    with create_instance(directory, repositories={"project": str(project.directory)}) as instance:
        store = instance.store
        repository = store.commits.add_repository("project", str(project.directory))
        store.commits.add(repository, commits)
        store.commits.set_line(repository, "main", range(len(commits)))
        world = World(store, repository)
        with store.transaction():
            for name, series in (("parse", levels((21, 100.0), (19, 130.0))), ("render", levels((COMMITS, 100.0)))):
                for slot, value in enumerate(series):
                    if not GOOD < slot < BAD:
                        world.put(slot, {name: value})
        Bisectable(instance, world).run()


@contextmanager
def bisectable(template: Path, directory: Path) -> Iterator[Bisectable]:
    """Open a copy of the instance that :func:`make_instance` made."""
    shutil.copytree(template, directory)
    with open_instance(directory) as instance:
        yield Bisectable(instance, World(instance.store, instance.store.commits.repository("project")))


def slower_at_the_culprit(place: int) -> float:
    """Return the level of the commit number ``place``."""
    return 100.0 if place < CULPRIT else 130.0


@dataclass
class QuickPool:
    """A device that answers at once with what the measure command of :func:`recipe` would write.

    ``level`` is the level of each commit, ``level_of`` that of a job, where other repositories count as well.
    ``before`` is called with each job before it has a result. While it is ``silent``, there are no results.
    """

    commits: Sequence[str]
    before: Callable[[ProbeJob], None] = lambda _job: None
    jobs: list[ProbeJob] = field(default_factory=list)
    waiting: list[ProbeJob] = field(default_factory=list)
    silent: threading.Event = field(default_factory=threading.Event)
    level: Callable[[int], float] = slower_at_the_culprit
    level_of: Callable[[ProbeJob], float] | None = None

    def devices(self) -> tuple[Device, ...]:
        return (Device("lab-1"),)

    def submit(self, job: ProbeJob) -> None:
        self.jobs.append(job)
        self.waiting.append(job)

    def cancel(self, probe: str) -> None:
        self.waiting = [job for job in self.waiting if job.probe != probe]

    def wait(self, seconds: float) -> Sequence[ProbeResult]:
        if self.silent.is_set() or not self.waiting:
            threading.Event().wait(seconds)
            return ()
        job = self.waiting.pop(0)
        self.before(job)
        place = self.commits.index(job.target.commit)
        level = self.level_of(job) if self.level_of is not None else self.level(place)
        value = level + (place * 7 + len(self.jobs) * 3) % 5 * 0.1
        content = f"benchmark,kind,unit,value\nparse,p,ms,{value}\n".encode()
        files = (ResultsFile("out.csv", content),)
        measured = {PARSE: Measured(value, (value,), "ms")}
        now, outcome = datetime.now(UTC), ProbeOutcome.MEASURED
        return [ProbeResult(job.probe, job.target, "lab-1", outcome, now, 1.0, measured, files)]

    def close(self) -> None:
        self.waiting.clear()
