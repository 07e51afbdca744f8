"""A git repository with a build and a benchmark, an instance with a schedule, and a device that works in this process."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.repositories import GitRepository

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.bisect.runner import Workspace, run_probe
from knickpoint.instance import Instance, create_instance, open_instance
from knickpoint.instance.schedules import ScheduleRounds
from knickpoint.model.bisection import ProbeOutcome, ProbeResult
from knickpoint.store.schedules import ScheduledProbe

START = datetime.fromtimestamp(1_700_000_000, UTC)
"""The time of a commit that a new repository has no minutes of yet."""

_MEASURE = """\
import json, pathlib
level = float(pathlib.Path("built").read_text())
pathlib.Path("out.json").write_text(json.dumps([{"name": "parse", "unit": "ms", "value": level}]))
"""

CONFIG = """\
[store]
location = "knickpoint.db"

[repositories.lib]
location = "lib"

[bisect.bench]
repository = "lib"
build = ["cp", "level", "built"]
measure = ["python3", "bench.py"]
results = ["out.json"]

[schedule.nightly]
recipe = "bench"
mode = "every"
commits = 4
minutes = 60
"""


@dataclass
class InlinePool:
    """A pool of devices that make probes in this process, in the order of submission, when a caller waits for them.

    ``lost`` says how many of the next probes are lost.
    """

    directory: Path
    names: tuple[str, ...] = ("alpha",)
    lost: int = 0
    jobs: list[ProbeJob] = field(default_factory=list)
    made: list[ProbeJob] = field(default_factory=list)
    closed: bool = False

    def devices(self) -> tuple[Device, ...]:
        return tuple(Device(name) for name in self.names)

    def submit(self, job: ProbeJob) -> None:
        self.jobs.append(job)

    def cancel(self, probe: str) -> None:
        self.jobs = [job for job in self.jobs if job.probe != probe]

    def wait(self, seconds: float) -> Sequence[ProbeResult]:  # noqa: ARG002 - the interface
        jobs, self.jobs = self.jobs, []
        self.made += jobs
        return [self._make(job, self.names[place % len(self.names)]) for place, job in enumerate(jobs)]

    def _make(self, job: ProbeJob, device: str) -> ProbeResult:
        if self.lost:
            self.lost -= 1
            return ProbeResult(job.probe, job.target, device, ProbeOutcome.LOST, START, 1.0, reason="it went silent")
        stop = threading.Event()
        return run_probe(job, Workspace(self.directory), device, cancelled=stop.is_set, progress=lambda _text: None)

    def close(self) -> None:
        self.closed = True


@dataclass
class ScheduleWorld:
    """A repository that gets commits, and an instance whose schedule measures them.

    ``now`` is what the schedule takes for the time.
    """

    directory: Path
    lib: GitRepository
    pool: InlinePool
    said: list[str] = field(default_factory=list)
    now: datetime = START
    commits: list[str] = field(default_factory=list)

    @classmethod
    def make(cls, directory: Path, config: str = CONFIG) -> ScheduleWorld:
        lib = GitRepository.make(directory / "lib")
        (directory / "lib" / "bench.py").write_text(_MEASURE)
        create_instance(directory, repositories={"lib": "lib"}).close()
        (directory / "knickpoint.toml").write_text(config)
        return cls(directory, lib, InlinePool(directory / "probes"))

    def copy(self, directory: Path) -> ScheduleWorld:
        """Return the same world in another directory, with a device of its own."""
        shutil.copytree(self.directory, directory, symlinks=True)
        lib = GitRepository(directory / "lib", self.lib.minutes)
        pool = InlinePool(directory / "probes", made=[*self.pool.made])
        return ScheduleWorld(directory, lib, pool, now=self.now, commits=[*self.commits])

    def commit(self, level: float | str = 10.0) -> str:
        """Commit a level that the benchmark measures; a text is none, and fails to measure."""
        (self.lib.directory / "level").write_text(str(level))
        (self.lib.directory / "count").write_text(str(self.lib.minutes))
        self.lib.git("add", "--all")
        name = self.lib.commit(f"Set the level to {level}")
        self.now = max(self.now, START + timedelta(minutes=self.lib.minutes))
        return name

    def commit_levels(self, levels: Sequence[float]) -> list[str]:
        """Commit levels one after the other, as :meth:`commit` does."""
        first = self.lib.minutes
        changes = [
            (f"Set the level to {level}", {"level": str(level), "count": str(first + place)})
            for place, level in enumerate(levels)
        ]
        names = self.lib.commit_files(changes)
        self.now = max(self.now, self.time_of_newest)
        return names

    @property
    def time_of_newest(self) -> datetime:
        """The time of the newest commit."""
        return START + timedelta(minutes=self.lib.minutes)

    def open(self) -> Instance:
        return open_instance(self.directory)

    def rounds(self, instance: Instance, worker: str = "w") -> ScheduleRounds:
        return ScheduleRounds(
            instance, worker, self.said.append, open_pool=lambda _instance: self.pool, now=lambda: self.now
        )

    def run(self) -> list[ScheduledProbe]:
        """Run the schedules until nothing is left to do now, and return the probes of the schedule nightly."""
        with self.open() as instance:
            rounds = self.rounds(instance)
            while rounds.step() or rounds.busy:
                pass
            rounds.close()
        return self.probes()

    def probes(self, schedule: str = "nightly", repository: str = "lib") -> list[ScheduledProbe]:
        with self.open() as instance:
            found = instance.store.commits.repository(repository)
            return instance.store.schedules.of_schedule(found, schedule)

    def measured(self) -> list[str]:
        """Return the commits that the device made probes of, in their order."""
        return [job.target.commit for job in self.pool.made]
