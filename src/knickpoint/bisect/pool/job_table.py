"""The job table: jobs that wait, probes under way, devices and what each requester has used; no clock, no processes.

Each pool keeps one. It says what to start; the pool starts it, and reports what became of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.model.bisection import ProbeResult

# Assignment: which waiting jobs go to which devices now; pure.
#
# The order among jobs is by priority, then by what their requesters have used so far, then by time of submission. So a
# bisection that asks for a thousand probes does not hold up a second one: each gets its share of the devices.


@dataclass(frozen=True, slots=True)
class Assignment:
    """One probe to start: its device, and the jobs that its result serves; the first one is the job to make."""

    device: str
    jobs: tuple[ProbeJob, ...]


def assign(
    waiting: Sequence[ProbeJob],
    devices: Sequence[Device],
    free: Mapping[str, int],
    usage: Mapping[str, float],
    *,
    seconds: float = 1.0,
    most: int | None = None,
) -> tuple[Assignment, ...]:
    """Return the probes to start.

    ``waiting`` is in the order of submission. ``free`` has the number of free slots by name of the device. ``usage``
    has the device seconds that each requester has used so far, probes under way included; ``seconds`` is what one more
    probe is expected to take. At most ``most`` probes start.

    Takes O(starts × jobs × devices).
    """
    left = list(waiting)
    slots = {device.name: free.get(device.name, 0) for device in devices}
    spent = dict(usage)
    found: list[Assignment] = []
    while left and (most is None or len(found) < most):
        open_devices = [device for device in devices if slots[device.name] > 0]
        fitting = [job for job in left if any(device.fits(job) for device in open_devices)]
        if not fitting:
            break
        # The next job: min() takes the first of equals, so that the order of submission decides.
        job = min(fitting, key=lambda job: (-job.priority, spent.get(job.requester, 0.0)))
        device = _device_for(job, open_devices, fitting)
        # Jobs of others that want the same are served by the same probe.
        jobs = (job, *_sharers(job, left, device))
        left = [job for job in left if all(job.probe != taken.probe for taken in jobs)]
        slots[device.name] -= 1
        for taken in jobs:
            spent[taken.requester] = spent.get(taken.requester, 0.0) + seconds / len(jobs)
        found.append(Assignment(device.name, jobs))
    return tuple(found)


def can_share(job: ProbeJob, jobs: Sequence[ProbeJob], device: Device) -> bool:
    """Return True if a probe of ``jobs`` on a device serves ``job`` as well: it measures the same, and reads it alike.

    Two jobs of one requester never share: they are two measurements of one commit, and one value counts once.
    """
    first = jobs[0]
    # The cheap comparisons come first: there are many jobs, and few are alike.
    return (
        job.target == first.target
        and all(job.requester != other.requester and job.probe != other.probe for other in jobs)
        and job.key == first.key
        and _reading(job) == _reading(first)
        and device.fits(job)
    )


def _reading(job: ProbeJob) -> tuple[object, ...]:
    """Return the settings by which the results of a probe are read and named."""
    return replace(job.ingest, sources={}), dict(job.added_params)


def _sharers(job: ProbeJob, waiting: Sequence[ProbeJob], device: Device) -> list[ProbeJob]:
    found = [job]
    for other in waiting:
        if other.requester != job.requester and can_share(other, found, device):
            found.append(other)
    return found[1:]


def _device_for(job: ProbeJob, devices: Sequence[Device], waiting: Sequence[ProbeJob]) -> Device:
    """Return the device that the fewest waiting jobs could use, so that scarce devices stay free."""
    choices = [device for device in devices if device.fits(job)]
    if len(choices) == 1:
        return choices[0]
    return min(choices, key=lambda device: (sum(device.fits(other) for other in waiting), device.name))


_GRACE_SECONDS: Final = 600.0
"""What a probe may take beyond the time limits of its steps: fetching commits, copying artefacts."""


@dataclass(frozen=True, slots=True)
class Run:
    """A probe under way: the jobs that it serves, its device, when it started and was last heard of, what it does.

    Times are seconds of the clock of the pool.
    """

    id: str
    device: str
    jobs: tuple[ProbeJob, ...]
    started: float
    heard: float
    progress: str = ""

    @property
    def job(self) -> ProbeJob:
        """The job that the device makes; the others are served by its result."""
        return self.jobs[0]


def time_limit(job: ProbeJob, grace: float = _GRACE_SECONDS) -> float:
    """Return after how many seconds without progress a probe hangs: the limits of its steps, and some grace."""
    recipe = job.recipe
    return recipe.prepare_seconds + recipe.build_seconds + recipe.measure_seconds * max(1, recipe.repeats) + grace


@dataclass(slots=True)
class JobTable:
    """What a pool knows. ``most`` bounds the probes under way on all devices together; None has no bound."""

    most: int | None = None
    devices: dict[str, Device] = field(default_factory=dict)
    drained: set[str] = field(default_factory=set)
    waiting: dict[str, ProbeJob] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    _usage: dict[str, float] = field(default_factory=dict)
    _finished: int = 0
    _finished_seconds: float = 0.0
    _number: int = 0

    def submit(self, job: ProbeJob) -> None:
        """Take a job; one that waits or is under way with this probe id is the same job."""
        if self.has(job.probe):
            return
        active = {other.requester for other in self._jobs()}
        if job.requester not in active:
            # A requester starts beside the others, neither ahead of them by its absence nor behind by its past.
            least = min((self._usage.get(name, 0.0) for name in active), default=0.0)
            self._usage = {name: used for name, used in self._usage.items() if name in active}
            self._usage[job.requester] = least
        self.waiting[job.probe] = job

    def has(self, probe: str) -> bool:
        """Return True if a job waits or is under way."""
        return self.job(probe) is not None

    def job(self, probe: str) -> ProbeJob | None:
        """Return a job that waits or is under way, None where there is none."""
        return next((job for job in self._jobs() if job.probe == probe), None)

    def cancel(self, probe: str) -> Run | None:
        """Drop a job; return the run to end, where no other job needs it."""
        if self.waiting.pop(probe, None) is not None:
            return None
        for run in self.runs.values():
            left = tuple(job for job in run.jobs if job.probe != probe)
            if len(left) == len(run.jobs):
                continue
            if not left:
                return self.runs.pop(run.id)
            self.runs[run.id] = replace(run, jobs=left)
            return None
        return None

    def join(self, device: Device) -> None:
        """Take a device, or its new description."""
        self.devices[device.name] = device

    def leave(self, name: str) -> tuple[Run, ...]:
        """Drop a device, and return its runs, which are lost."""
        self.devices.pop(name, None)
        lost = tuple(run for run in self.runs.values() if run.device == name)
        for run in lost:
            del self.runs[run.id]
        return lost

    def start(self, now: float) -> tuple[Run, ...]:
        """Assign waiting jobs to free devices, and return the runs to start; they count as under way from now on."""
        self._share_runs()
        devices = sorted(
            (each for each in self.devices.values() if each.name not in self.drained), key=lambda d: d.name
        )
        busy = [run.device for run in self.runs.values()]
        free = {device.name: device.slots - busy.count(device.name) for device in devices}
        most = None if self.most is None else self.most - len(busy)
        assigned = assign(
            tuple(self.waiting.values()), devices, free, self.usage(now), seconds=self._typical_seconds(), most=most
        )
        started = []
        for each in assigned:
            self._number += 1
            run = Run(f"{each.jobs[0].probe}#{self._number}", each.device, each.jobs, now, now)
            self.runs[run.id] = run
            started.append(run)
            for job in each.jobs:
                del self.waiting[job.probe]
        return tuple(started)

    def hear(self, run: str, now: float, progress: str) -> None:
        """Note a sign of life of a run."""
        if run in self.runs:
            self.runs[run] = replace(self.runs[run], heard=now, progress=progress)

    def finish(self, run: str, now: float) -> tuple[ProbeJob, ...]:
        """End a run, and return the jobs that its result serves; none where it is not under way any more."""
        ended = self.runs.pop(run, None)
        if ended is None:
            return ()
        seconds = now - ended.started
        self._finished += 1
        self._finished_seconds += seconds
        for job in ended.jobs:
            self._usage[job.requester] = self._usage.get(job.requester, 0.0) + seconds / len(ended.jobs)
        return ended.jobs

    def hung(self, now: float, grace: float = _GRACE_SECONDS) -> tuple[Run, ...]:
        """Return the runs without a sign of life for longer than their steps may take."""
        return tuple(run for run in self.runs.values() if now - run.heard > time_limit(run.job, grace))

    def usage(self, now: float) -> dict[str, float]:
        """Return the device seconds of each requester, with what its probes under way are expected to take."""
        used = dict(self._usage)
        typical = self._typical_seconds()
        for run in self.runs.values():
            for job in run.jobs:
                used[job.requester] = used.get(job.requester, 0.0) + max(now - run.started, typical) / len(run.jobs)
        return used

    def _typical_seconds(self) -> float:
        return max(1e-6, self._finished_seconds / self._finished) if self._finished else 1.0

    def _jobs(self) -> Iterable[ProbeJob]:
        yield from self.waiting.values()
        for run in self.runs.values():
            yield from run.jobs

    def _share_runs(self) -> None:
        """Let probes under way serve the waiting jobs that ask for the same."""
        for job in tuple(self.waiting.values()):
            for run in self.runs.values():
                device = self.devices.get(run.device)
                if device is not None and can_share(job, run.jobs, device):
                    self.runs[run.id] = replace(run, jobs=(*run.jobs, job))
                    del self.waiting[job.probe]
                    break


# Results of probes that an earlier scheduler ordered: they serve the jobs that are asked for again.


_MOST: Final = 100
"""Results that are kept; the oldest goes first."""


@dataclass(frozen=True, slots=True)
class LateResult:
    """A result, and the digest of the recipe under which it was made."""

    result: ProbeResult
    digest: str

    def serves(self, job: ProbeJob) -> bool:
        """Return True if the probe is that of ``job``: its id, target and recipe, on a device that the job may use."""
        here = job.device in {"", self.result.device}
        asked = (job.probe, job.target, job.recipe.digest)
        return here and asked == (self.result.probe, self.result.target, self.digest)


@dataclass(slots=True)
class LateResults:
    """Late results by probe, each with the time at which it came, in seconds of the clock of the pool."""

    _kept: dict[str, tuple[float, LateResult]] = field(default_factory=dict)

    def keep(self, late: LateResult, now: float) -> None:
        """Keep a result until its job is asked for again."""
        self._kept.pop(late.result.probe, None)
        self._kept[late.result.probe] = now, late
        while len(self._kept) > _MOST:
            del self._kept[next(iter(self._kept))]

    def take(self, job: ProbeJob) -> ProbeResult | None:
        """Return the result that serves ``job``, once; None without one."""
        kept = self._kept.get(job.probe)
        if kept is None or not kept[1].serves(job):
            return None
        del self._kept[job.probe]
        return replace(kept[1].result, probe=job.probe)

    def forget(self, before: float) -> None:
        """Forget what came earlier than ``before``."""
        self._kept = {probe: kept for probe, kept in self._kept.items() if kept[0] >= before}
