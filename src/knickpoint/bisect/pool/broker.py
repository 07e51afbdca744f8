"""The broker: what the scheduler of a pool decides, without its network.

It knows the agents that joined, the sessions of those who submit jobs, and the job table. Its methods take the time,
and leave orders for agents, which the scheduler sends. So most of the behaviour of a pool is tested without one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.bisect.pool.documents import DeviceState, DeviceStatus, JobRequest, Offer
from knickpoint.bisect.pool.job_table import JobTable, LateResult, LateResults, Run
from knickpoint.bisect.pool.probe_run import lost
from knickpoint.bisect.settings import DeviceSettings, RecipeSettings
from knickpoint.model.bisection import ProbeOutcome, ProbeResult

_GRACE_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Order:
    """What an agent has to do: make a probe, or end it where ``job`` is None."""

    device: str
    run: str
    job: ProbeJob | None = None


@dataclass(frozen=True, slots=True)
class PoolRules:
    """What the configuration says: recipes and devices by name, and how long silence is not a loss."""

    recipes: Mapping[str, RecipeSettings]
    devices: Mapping[str, DeviceSettings]
    heartbeat_seconds: float = 30.0
    grace_seconds: float = _GRACE_SECONDS


@dataclass(slots=True)
class _Agent:
    """An agent that joined."""

    offer: Offer
    heard: float
    draining: bool = False


@dataclass(slots=True)
class _Session:
    """A process that submits jobs: what it waits for, and the results that it has not acknowledged."""

    heard: float
    number: int = -1
    probes: set[str] = field(default_factory=set)
    results: dict[str, ProbeResult] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


class Broker:
    """Decides which agent makes which probe, and who gets which result.

    ``rules()`` returns the configuration as it is now; ``drained`` are devices that get no jobs until they are resumed.
    """

    def __init__(self, rules: Callable[[], PoolRules], drained: Sequence[str] = ()) -> None:
        self._rules = rules
        self._table = JobTable()
        self._drained = set(drained)
        self._agents: dict[str, _Agent] = {}
        self._sessions: dict[str, _Session] = {}
        self._since: dict[str, datetime] = {}
        self._known: dict[str, Device] = {}
        self._orders: list[Order] = []
        self._late = LateResults()
        self._ending = False

    # Agents.

    def refusal(self, offer: Offer) -> str:
        """Return in one line why an agent may not join now, "" where it may."""
        name = offer.device.name
        joined = self._agents.get(name)
        if joined is not None and joined.offer.agent != offer.agent:
            return f"the device {name} is lent by another agent already; give this one another name"
        settings = self._rules().devices.get(name)
        for param, value in settings.params.items() if settings is not None else ():
            stated = offer.device.params.get(param)
            if stated != value:
                return (
                    f"[devices.{name}] asks for {param}={value}, and the agent states "
                    f"{f'{param}={stated}' if stated is not None else f'no {param}'}"
                )
        return ""

    def join(self, offer: Offer, now: float) -> None:
        """Take an agent; what an earlier registration of it was doing is lost."""
        name = offer.device.name
        if name in self._agents:
            self.leave(name, "its agent joined again", now)
        self._agents[name] = _Agent(offer, now)
        self._known[name] = offer.device
        self._table.join(self._described(offer.device))
        self._note(name)
        self._start(now)

    def leave(self, name: str, reason: str, now: float) -> None:
        """Drop an agent: each of its probes is lost."""
        if self._agents.pop(name, None) is None:
            return
        for run in self._table.leave(name):
            self._deliver(run.jobs, lost(run.job, name, reason, seconds=now - run.started))
        self._note(name)
        self._start(now)

    def hear(self, name: str, now: float) -> None:
        """Note a heartbeat of an agent."""
        if name in self._agents:
            self._agents[name].heard = now

    def progress(self, name: str, run: str, text: str, now: float) -> None:
        """Note what an agent says of its probe."""
        self.hear(name, now)
        if self._device_of(run) == name:
            self._table.hear(run, now, text)

    def result(self, name: str, run: str, digest: str, result: ProbeResult, now: float) -> None:
        """Take the result of an agent, made under the recipe with ``digest``.

        One of a run that the agent does not have any more serves the job that still waits for it: an earlier scheduler
        gave the order. Where no job does yet, it is kept for a while; where the probe was given up, it counts as
        nothing.
        """
        self.hear(name, now)
        read = replace(result, device=name)
        if self._device_of(run) == name:
            self._deliver(self._table.finish(run, now), read)
            self._note(name)
        elif result.outcome is not ProbeOutcome.LOST:
            self._take_late(LateResult(read, digest), now)
        self._start(now)

    def lose(self, name: str, run: str, reason: str, now: float) -> None:
        """End a probe whose result cannot be used."""
        if self._device_of(run) == name:
            job = self._table.runs[run].job
            self._deliver(self._table.finish(run, now), lost(job, name, reason))
            self._note(name)
            self._start(now)

    def drain_agent(self, name: str, now: float) -> None:
        """Give an agent that is about to end no further probe."""
        if name in self._agents:
            self._agents[name].draining = True
            self._note(name)
            self._start(now)

    # Requests.

    def submit(
        self, session: str, number: int, probes: Sequence[str], requests: Sequence[JobRequest], now: float
    ) -> tuple[str, ...]:
        """Make ``probes`` all that a session asks for, and return those of them whose job is not known here.

        ``number`` counts the calls of the session: one that was overtaken by a later one changes nothing. Jobs that are
        not among ``probes`` any more are cancelled, unless another session asks for the same probe.
        """
        known = self._sessions.setdefault(session, _Session(now))
        known.heard = now
        if number < known.number:
            return ()
        known.number = number
        wanted = set(probes)
        for probe in known.probes - wanted:
            self._forget(session, probe)
        for request in requests:
            if request.job.probe in wanted and request.job.probe not in known.results:
                self._take(known, request)
        known.refused = {probe: reason for probe, reason in known.refused.items() if probe in wanted}
        known.probes = {
            probe for probe in wanted if self._table.has(probe) or probe in known.results or probe in known.refused
        }
        self._start(now)
        return tuple(sorted(wanted - known.probes))

    def knows(self, session: str) -> bool:
        """Return True if a session has submitted anything since the scheduler started."""
        return session in self._sessions

    def collect(self, session: str, taken: Sequence[str], now: float) -> tuple[ProbeResult, ...]:
        """Return the results of a session; those that it ``taken`` before are forgotten."""
        known = self._sessions.get(session)
        if known is None:
            return ()
        known.heard = now
        for probe in taken:
            known.results.pop(probe, None)
            known.probes.discard(probe)
        return tuple(known.results.values())

    def refused(self, session: str) -> Mapping[str, str]:
        """Return the reasons for which jobs of a session are refused, by probe."""
        known = self._sessions.get(session)
        return dict(known.refused) if known is not None else {}

    def end_session(self, session: str, now: float) -> None:
        """Forget a session, and end what only it asked for."""
        known = self._sessions.get(session)
        if known is not None:
            for probe in tuple(known.probes):
                self._forget(session, probe)
            del self._sessions[session]
            self._start(now)

    # People.

    def drain(self, name: str) -> bool:
        """Give a device no further probe until it is resumed; return whether it is known."""
        if name not in self._known and name not in self._rules().devices:
            return False
        self._drained.add(name)
        self._note(name)
        return True

    def resume(self, name: str, now: float) -> bool:
        """Give a device probes again; return whether it was drained."""
        was = name in self._drained
        self._drained.discard(name)
        self._note(name)
        self._start(now)
        return was

    @property
    def drained(self) -> tuple[str, ...]:
        """The devices that people drained, sorted."""
        return tuple(sorted(self._drained))

    def devices(self) -> tuple[Device, ...]:
        """Return the devices that take jobs now, by name."""
        self._describe_all()
        if self._ending:
            return ()
        return tuple(device for name, device in sorted(self._table.devices.items()) if name not in self._table.drained)

    def statuses(self) -> tuple[DeviceStatus, ...]:
        """Return all devices of the configuration and of the agents that joined since the start, by name."""
        self._describe_all()
        named = dict(self._known)
        for name, settings in self._rules().devices.items():
            named.setdefault(name, Device(name, settings.params, settings.use))
        return tuple(self._status(self._described(device)) for _, device in sorted(named.items()))

    # The end.

    def end_after_probes(self) -> None:
        """Give no device a further probe."""
        self._ending = True

    @property
    def under_way(self) -> int:
        """How many probes are under way."""
        return len(self._table.runs)

    @property
    def finished(self) -> bool:
        """Whether no probe is under way, and each session has its results."""
        return not self._table.runs and not any(session.results for session in self._sessions.values())

    # Time.

    def tick(self, now: float) -> tuple[str, ...]:
        """End what was silent for too long; return the agents that were."""
        rules = self._rules()
        silent = tuple(name for name, agent in self._agents.items() if now - agent.heard > rules.heartbeat_seconds)
        for name in silent:
            self.leave(name, f"no sign of life of the device for {rules.heartbeat_seconds:g} s", now)
        for run in self._table.hung(now, rules.grace_seconds):
            jobs = self._table.finish(run.id, now)
            self._orders.append(Order(run.device, run.id))
            self._deliver(
                jobs, lost(run.job, run.device, "the probe hung: it made no progress", seconds=now - run.started)
            )
        for session, known in tuple(self._sessions.items()):
            if now - known.heard > 2 * rules.heartbeat_seconds:
                self.end_session(session, now)
        self._late.forget(now - rules.grace_seconds)
        self._start(now)
        return silent

    def take_orders(self) -> tuple[Order, ...]:
        """Return the orders since the last call, in their order."""
        orders, self._orders = tuple(self._orders), []
        return orders

    # Parts.

    def _take(self, session: _Session, request: JobRequest) -> None:
        job = request.job
        recipe = self._rules().recipes.get(job.recipe.name)
        if recipe is None:
            session.refused[job.probe] = f"the configuration of the pool has no recipe {job.recipe.name}"
        elif recipe.digest != request.digest:
            session.refused[job.probe] = (
                f"the recipe {job.recipe.name} of the pool is not that of the request; "
                "run the pool with the same knickpoint.toml and the same environment variables"
            )
        else:
            session.refused.pop(job.probe, None)
            known = replace(job, recipe=recipe)
            late = self._late.take(known)
            if late is not None and not self._table.has(job.probe):
                session.results[job.probe] = late
            else:
                self._table.submit(known)

    def _take_late(self, late: LateResult, now: float) -> None:
        """Deliver a result to the job that waits for it, or keep it for the session that has not asked again yet."""
        job = self._table.job(late.result.probe)
        if job is None:
            self._late.keep(late, now)
        elif late.serves(job):
            self._deliver((job,), late.result)
            self._end_run(job.probe)

    def _forget(self, session: str, probe: str) -> None:
        known = self._sessions[session]
        known.probes.discard(probe)
        known.results.pop(probe, None)
        known.refused.pop(probe, None)
        if any(probe in other.probes for other in self._sessions.values()):
            return
        self._end_run(probe)

    def _end_run(self, probe: str) -> None:
        """Drop a job, and end its probe unless others need it."""
        run = self._table.cancel(probe)
        if run is not None:
            self._orders.append(Order(run.device, run.id))
            self._note(run.device)

    def _start(self, now: float) -> None:
        self._describe_all()
        if self._ending:
            return
        for run in self._table.start(now):
            self._orders.append(Order(run.device, run.id, run.job))
            self._note(run.device)

    def _describe_all(self) -> None:
        """Apply what the configuration says now of the devices, and what is drained."""
        settings = self._rules().devices
        for agent in self._agents.values():
            self._table.join(self._described(agent.offer.device))
        self._table.drained = {
            name
            for name, agent in self._agents.items()
            if agent.draining or name in self._drained or (name in settings and not settings[name].enabled)
        }

    def _described(self, device: Device) -> Device:
        settings = self._rules().devices.get(device.name)
        return device if settings is None else replace(device, use=settings.use)

    def _deliver(self, jobs: Sequence[ProbeJob], result: ProbeResult) -> None:
        for job in jobs:
            for session in self._sessions.values():
                if job.probe in session.probes:
                    session.results[job.probe] = replace(result, probe=job.probe)

    def _device_of(self, run: str) -> str:
        return self._table.runs[run].device if run in self._table.runs else ""

    def _runs_on(self, name: str) -> list[Run]:
        return [run for run in self._table.runs.values() if run.device == name]

    def _status(self, device: Device) -> DeviceStatus:
        runs = self._runs_on(device.name)
        if device.name not in self._agents:
            state = DeviceState.GONE
        elif device.name in self._table.drained:
            state = DeviceState.DRAINING if runs else DeviceState.DRAINED
        else:
            state = DeviceState.BUSY if runs else DeviceState.IDLE
        return DeviceStatus(
            device,
            state,
            self._since.setdefault(device.name, datetime.now(UTC)),
            tuple(job.probe for run in runs for job in run.jobs),
            "; ".join(run.progress for run in runs if run.progress),
        )

    def _note(self, name: str) -> None:
        """Note that the state of a device changed now."""
        self._since[name] = datetime.now(UTC)
