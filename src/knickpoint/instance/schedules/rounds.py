"""Choose, measure and import for the schedules of an instance, round after round.

What a schedule chose is in the store before a device begins with it, and a probe is held by a lease. So a worker that
is killed loses the time of its probes, and nothing else: another worker, or the same one after a restart, makes them
again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.settings import DeviceUse
from knickpoint.instance.instance import Instance
from knickpoint.instance.probes import absolute_recipe, git_location, import_probe_results, open_probe_pool
from knickpoint.instance.schedules.planning import (
    ScheduledLine,
    pins_for,
    plan_fills,
    plan_new,
    read_scheduled_line,
    repository_of,
)
from knickpoint.model.bisection import SCHEDULE_FACT, ProbeOutcome, ProbeResult, Target
from knickpoint.model.errors import ConfigError, HistoryError, KnickpointError
from knickpoint.model.plain_text import plain_line
from knickpoint.store.schedules import ChosenCommit, ScheduledProbe, ScheduledProbeState

if TYPE_CHECKING:
    from knickpoint.bisect.job import DevicePool

_LEASE: Final = timedelta(minutes=2)
_MOST_ATTEMPTS: Final = 5
_FIRST_PAUSE: Final = timedelta(seconds=30)
_LONGEST_REASON: Final = 300


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class ScheduleRounds:
    """Runs the schedules of an instance for one worker; other workers may run them as well.

    Attributes:
        instance: the open instance.
        worker: name of the worker.
        announce: receives one line about each thing that a schedule did.
        open_pool: opens the pool of devices, when there is something to measure for the first time.
        now: returns the time, aware.
        fetch_seconds: how often the repositories at a URL are fetched.
    """

    instance: Instance
    worker: str
    announce: Callable[[str], None] = lambda _line: None
    open_pool: Callable[[Instance], DevicePool] = open_probe_pool
    now: Callable[[], datetime] = _now
    fetch_seconds: float = 60.0
    _pool: DevicePool | None = field(default=None, init=False)
    _under_way: dict[str, ScheduledProbe] = field(default_factory=dict, init=False)
    _fetched: datetime | None = field(default=None, init=False)

    @property
    def busy(self) -> bool:
        """Whether probes of this worker are under way."""
        return bool(self._under_way)

    def step(self, seconds: float = 1.0) -> bool:
        """Choose, submit and collect; wait for results for at most ``seconds`` where probes are under way.

        Returns whether anything was chosen, begun or ended. A schedule that fails does not hold up the others: its
        error is raised at the end.

        Raises:
            KnickpointError: a schedule cannot be run.
        """
        failures = self.follow()
        active = False
        for name in self.instance.config.schedule:
            try:
                active = self._choose(name) or active
                active = self._submit(name) or active
            except KnickpointError as error:
                failures.append(error)
        active = self._collect(seconds) or active
        if failures:
            raise failures[0]
        return active

    def start(self) -> DevicePool:
        """Open the pool unless it is open, and return it."""
        if self._pool is None:
            self._pool = self.open_pool(self.instance)
        return self._pool

    def close(self) -> None:
        """End the probes that are under way, and let them wait for the next worker."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None
            self._under_way.clear()
            self.instance.store.schedules.release(self.worker)

    def follow(self) -> list[KnickpointError]:
        """Bring the lines of the repositories that take part up to date; return why some of them could not be read."""
        from knickpoint.ingest.commit_sources.selection import CommitSources

        config = self.instance.config
        fetch = self._fetched is None or self.now() - self._fetched >= timedelta(seconds=self.fetch_seconds)
        if fetch:
            self._fetched = self.now()
        names: dict[str, None] = {}
        failures: list[KnickpointError] = []
        for schedule, settings in config.schedule.items():
            recipe = config.bisect[settings.recipe]
            with suppress(ConfigError):  # the schedule itself fails with it
                names |= dict.fromkeys([repository_of(self.instance, recipe, schedule), *recipe.also])
        sources = CommitSources(self.instance)
        for name in names:
            try:
                source = sources.open(name)
                if fetch:
                    source.sync(fetch=True)
            except HistoryError as error:
                failures.append(error)
        return failures

    # --- stages --------------------------------------------------------------------------------------

    def _choose(self, name: str) -> bool:
        """Choose commits, in one transaction with the look at what was chosen before: workers must not choose twice."""
        at_once = self._devices_for(name)
        schedules, now = self.instance.store.schedules, self.now()
        scheduled = read_scheduled_line(self.instance, name)
        fills = plan_fills(self.instance, scheduled, now, at_once)
        with self.instance.store.transaction():
            scheduled = replace(scheduled, probes=tuple(schedules.of_schedule(scheduled.repository, name)))
            new = plan_new(scheduled, now)
            fills = [each for each in fills if each.commit not in scheduled.chosen]
            chosen = self._pinned(scheduled, [*new, *fills])
            schedules.add(scheduled.repository, name, chosen, now)
        for choice in chosen:
            self.announce(f"schedule {name}: measures {choice.commit[:10]}{_why(choice)}")
        return bool(chosen)

    def _pinned(self, scheduled: ScheduledLine, choices: list[ChosenCommit]) -> list[ChosenCommit]:
        if not choices or not scheduled.recipe.also:
            return choices
        pins = pins_for(self.instance, scheduled.recipe)
        return [replace(choice, pins=pins) for choice in choices]

    def _devices_for(self, name: str) -> int:
        """Return the number of probes of a schedule that the pool could make at once; without a pool so far, one."""
        if self._pool is None:
            return 1
        job = self._job(name)
        return sum(device.slots for device in self._pool.devices() if device.fits(job))

    def _submit(self, name: str) -> bool:
        """Give the pool as many probes as it can make at once.

        The others wait in the store, where the order can change.
        """
        schedules, now = self.instance.store.schedules, self.now()
        if not schedules.waits(name, now):
            return False
        pool = self.start()
        fitting = self._devices_for(name)
        if not fitting:
            schedules.remark(name, _no_device(self.instance, name))
            return False
        schedules.remark(name, "")
        free = fitting - sum(probe.schedule == name for probe in self._under_way.values())
        claimed = schedules.claim(name, self.worker, now, _LEASE.total_seconds(), limit=free) if free > 0 else []
        for probe in claimed:
            self._under_way[probe.name] = probe
            pool.submit(self._job(name, probe.name, probe.choice))
        return bool(claimed)

    def _job(self, name: str, probe: str = "", choice: ChosenCommit | None = None) -> ProbeJob:
        """Return the job of a probe of a schedule; without a commit, one that says which devices fit."""
        settings = self.instance.config.schedule[name]
        recipe = absolute_recipe(self.instance, self.instance.config.bisect[settings.recipe])
        repository = repository_of(self.instance, recipe, name)
        locations = {other: git_location(self.instance, other) for other in recipe.also}
        return ProbeJob(
            probe=probe,
            target=Target(choice.commit, choice.pins) if choice else Target(""),
            recipe=recipe,
            locations={"": git_location(self.instance, repository), **locations},
            requester=f"schedule {name}",
            use=DeviceUse.SCHEDULE,
            priority=settings.priority,
            ingest=replace(self.instance.ingest, sources={}),
        )

    def _collect(self, seconds: float) -> bool:
        """Import the results that are there, and keep the leases of the other probes."""
        if self._pool is None or not self._under_way:
            return False
        results = self._pool.wait(seconds)
        for result in results:
            probe = self._under_way.pop(result.probe, None)
            if probe is not None:
                self._end(probe, result)
        keys = {probe.id: name for name, probe in self._under_way.items()}
        held = self.instance.store.schedules.renew(keys.keys(), self.worker, self.now() + _LEASE)
        for key in keys.keys() - held:
            self._pool.cancel(keys[key])  # another worker has it now
            del self._under_way[keys[key]]
        return bool(results)

    def _end(self, probe: ScheduledProbe, result: ProbeResult) -> None:
        schedules, now = self.instance.store.schedules, self.now()
        if not schedules.renew([probe.id], self.worker, now + _LEASE):
            return
        if result.outcome is ProbeOutcome.LOST and probe.attempts < _MOST_ATTEMPTS:
            pause = _FIRST_PAUSE * 2 ** (probe.attempts - 1)
            schedules.retry(
                probe, now + pause, seconds=result.seconds, reason=plain_line(result.reason, _LONGEST_REASON)
            )
            self.announce(
                f"schedule {probe.schedule}: lost {probe.choice.commit[:10]} on {result.device}: {result.reason}"
            )
            return
        state, reason = self._state_of(probe, result)
        schedules.finish(probe, state, now=now, device=result.device, seconds=result.seconds, reason=reason)
        said = f": {reason}" if reason else f" on {result.device} in {result.seconds:,.0f} s"
        self.announce(f"schedule {probe.schedule}: {state.value} {probe.choice.commit[:10]}{said}")

    def _state_of(self, probe: ScheduledProbe, result: ProbeResult) -> tuple[ScheduledProbeState, str]:
        """Return the end of a probe, and the reason if it has no results; those that there are, are imported."""
        reason = plain_line(result.reason, _LONGEST_REASON)
        if result.outcome is ProbeOutcome.SKIPPED:
            return ScheduledProbeState.SKIPPED, reason
        if result.outcome is not ProbeOutcome.MEASURED or not result.files:
            return ScheduledProbeState.FAILED, reason or "its recipe wrote no results"
        settings = self.instance.config.schedule[probe.schedule]
        recipe = self.instance.config.bisect[settings.recipe]
        summary = import_probe_results(
            self.instance,
            repository_of(self.instance, recipe, probe.schedule),
            result,
            execution=f"schedule {probe.schedule} {probe.id}",
            format=recipe.format,
            branch=settings.branch,
            environment={SCHEDULE_FACT: probe.schedule},
        )
        if summary.failed:
            lines = [line for file in summary.files for line in file.lines()]
            return ScheduledProbeState.FAILED, plain_line(
                lines[0] if lines else "its results are refused", _LONGEST_REASON
            )
        return ScheduledProbeState.MEASURED, ""


def _why(choice: ChosenCommit) -> str:
    return f" to narrow R{choice.change}" if choice.change else ""


def _no_device(instance: Instance, name: str) -> str:
    """Name the missing device."""
    params = instance.config.bisect[instance.config.schedule[name].recipe].params
    wanted = " ".join(f"{key}={value}" for key, value in sorted(params.items()))
    return f"no device of the pool takes its probes{f' with {wanted}' if wanted else ''}"
