"""The pool of this machine, probes in processes of their own; and the pool that the configuration asks for."""

from __future__ import annotations

import platform
import queue
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from knickpoint.bisect.job import Device, DevicePool, ProbeJob
from knickpoint.bisect.pool.access import pool_access
from knickpoint.bisect.pool.job_table import JobTable, Run, time_limit
from knickpoint.bisect.pool.probe_run import RUN_PROBE, ProbeRun, WorkspacePlace, lost
from knickpoint.bisect.runner.machine_slots import machine_slot
from knickpoint.bisect.settings import DeviceSettings, PoolSettings
from knickpoint.model.bisection import ProbeResult
from knickpoint.model.errors import InputError

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_CLOSE_SECONDS: Final = 15.0


def machine_name() -> str:
    """Return the name of this machine as that of a device."""
    return _UNSAFE.sub("-", platform.node()).strip("-.") or "this-machine"


@dataclass(frozen=True, slots=True)
class _Thread:
    """A probe under way, and the thread that follows it."""

    probe: ProbeRun
    thread: threading.Thread


class LocalPool:
    """Makes probes in processes of this machine; see :class:`~knickpoint.bisect.job.DevicePool`.

    At most ``at_once`` probes run at a time, those of other pools and programs of the user on this machine included:
    they share its slots. Where ``of_machine`` is false, this machine is only the host of the devices, and those over
    the same workspace share slots. Without ``devices`` there is one device, with the name of the machine. ``progress``
    hears, from other threads, what a probe does: its id and a line.
    """

    def __init__(
        self,
        workspace: WorkspacePlace,
        devices: Sequence[Device] = (),
        at_once: int = 1,
        *,
        progress: Callable[[str, str], None] | None = None,
        call: str = RUN_PROBE,
        grace: float | None = None,
        of_machine: bool = True,
    ) -> None:
        self._workspace = workspace
        self._progress = progress or (lambda _probe, _text: None)
        self._call = call
        self._grace = grace
        self._of_machine = of_machine
        self._at_once = at_once
        self._table = JobTable(most=at_once)
        for device in devices or (Device(machine_name(), slots=at_once),):
            self._table.join(device)
        self._results: queue.SimpleQueue[ProbeResult] = queue.SimpleQueue()
        self._threads: dict[str, _Thread] = {}
        self._lock = threading.RLock()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def devices(self) -> tuple[Device, ...]:
        """Return the devices of this machine, by name."""
        with self._lock:
            return tuple(sorted(self._table.devices.values(), key=lambda device: device.name))

    def submit(self, job: ProbeJob) -> None:
        """Take a job; it waits until a device that fits is free. The same probe id twice is one job."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool is closed")
            self._table.submit(job)
            self._start_waiting()

    def cancel(self, probe: str) -> None:
        """Drop a job, and end it where it runs, unless other jobs share its probe; it has no result."""
        with self._lock:
            ended = self._table.cancel(probe)
            if ended is not None:
                self._threads[ended.id].probe.cancel()

    def wait(self, seconds: float) -> Sequence[ProbeResult]:
        """Return the results since the last call, as soon as there is one, or none after ``seconds``."""
        found: list[ProbeResult] = []
        try:
            found.append(self._results.get(timeout=max(0.0, seconds)))
            while True:
                found.append(self._results.get_nowait())
        except queue.Empty:
            return found

    def close(self) -> None:
        """End all jobs and their processes; wait until they ended."""
        with self._lock:
            self._closed = True
            threads = tuple(self._threads.values())
            self._table.waiting.clear()
            for each in threads:
                each.probe.cancel()
        for each in threads:
            each.thread.join(_CLOSE_SECONDS)

    def _start_waiting(self) -> None:
        """Start what the free slots allow; a slot counts as busy until the processes of a cancelled probe ended."""
        if self._closed or len(self._threads) > len(self._table.runs):
            return
        for run in self._table.start(time.monotonic()):
            limit = time_limit(run.job) if self._grace is None else time_limit(run.job, self._grace)
            probe = ProbeRun(run.job, run.device, self._workspace, limit, self._call)
            thread = threading.Thread(target=self._make, args=(run, probe), name=f"probe {run.job.probe}", daemon=True)
            self._threads[run.id] = _Thread(probe, thread)
            thread.start()

    def _make(self, run: Run, probe: ProbeRun) -> None:
        result = self._result(run, probe)
        with self._lock:
            for job in self._table.finish(run.id, time.monotonic()):
                self._results.put(replace(result, probe=job.probe))
            del self._threads[run.id]
            self._start_waiting()

    def _result(self, run: Run, probe: ProbeRun) -> ProbeResult:
        def progress(text: str) -> None:
            self._progress(run.job.probe, text)

        try:
            with machine_slot(
                self._workspace.directory,
                self._at_once,
                of_machine=self._of_machine,
                given_up=lambda: probe.cancelled,
                waits=lambda: progress("waits for a probe of another program on this machine"),
            ) as lock:
                if lock is None:
                    return lost(run.job, run.device, "the probe was cancelled")
                return probe.make(progress, slot_lock=lock)
        except OSError as error:
            return lost(run.job, run.device, f"the workspace cannot be used: {error}")


LOCAL: Final = "local"
"""The name of this machine, whatever the pool."""


def measures_here(settings: PoolSettings, only: Collection[str]) -> bool:
    """Whether this machine makes the probes: it is named, or there is no pool of devices."""
    return set(only) == {LOCAL} or not settings.address


def open_pool(
    settings: PoolSettings,
    directory: Path,
    workspace: WorkspacePlace,
    *,
    devices: Mapping[str, DeviceSettings] | None = None,
    params: Mapping[str, str] | None = None,
    progress: Callable[[str, str], None] | None = None,
    announce: Callable[[str], None] | None = None,
    only: Collection[str] = (),
) -> DevicePool:
    """Open the pool of ``settings``, whose files are relative to ``directory``; close it at the end.

    Without an address, this machine makes the probes, in ``workspace``. It is described by the section of ``devices``
    with its name; without one it states ``params``. ``progress`` hears of each of its probes the id and a line. With an
    address, ``announce`` hears when the scheduler is away or comes back. ``only`` names the devices to use,
    :data:`LOCAL` for this machine.

    Raises:
        InputError: one of the devices that are named takes no probes.
        ConfigError: the address or the credentials cannot be used.
        ServiceError: Dask is not installed, or the scheduler does not answer.
    """
    if not measures_here(settings, only):
        access = pool_access(settings, directory)
        access.configure(settings.heartbeat_seconds)
        from knickpoint.bisect.pool.dask_pool import DaskPool

        return DaskPool(access, heartbeat_seconds=settings.heartbeat_seconds, announce=announce, only=only)
    name = machine_name()
    if missing := sorted(set(only) - {LOCAL, name}):
        raise InputError(
            f"there is no device {missing[0]}: without a pool, probes run on this machine only",
            where="--device",
            remedy="Leave --device out, or give the address of the pool in [pool].",
        )
    described = (devices or {}).get(name)
    if described is not None:
        device = Device(name, described.params, described.use, settings.at_once)
    else:
        device = Device(name, params or {}, slots=settings.at_once)
    return LocalPool(workspace, (device,), settings.at_once, progress=progress)
