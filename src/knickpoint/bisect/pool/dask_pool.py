"""The pool over machines, as those see it who submit jobs: a session at the scheduler."""

from __future__ import annotations

import asyncio
import queue
import threading
import uuid
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from knickpoint.bisect.job import Device, ProbeJob
from knickpoint.bisect.pool.access import PoolAccess, connection_trouble
from knickpoint.bisect.pool.documents import DeviceStatus, device_of, request_document, result_from_text, status_of
from knickpoint.model.bisection import ProbeResult
from knickpoint.model.errors import AbsentError, InputError, KnickpointError, ServiceError

_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 10.0
_ANSWER_SECONDS: Final = 5.0
_CLOSE_SECONDS: Final = 10.0
_HEARTBEAT_SECONDS: Final = 30.0
_TROUBLE: Final = (OSError, TimeoutError, RuntimeError, ValueError)
"""What a connection raises; Dask closes connections with errors of each of these kinds."""

Answer = TypeVar("Answer")


class DaskPool:
    """Submits jobs to the scheduler at ``access``; see :class:`~knickpoint.bisect.job.DevicePool`.

    A scheduler that is away, or starts again, costs nothing but time: the jobs without a result are submitted again,
    under their ids. ``announce`` hears one line when the connection is lost or comes back.

    ``only`` names the devices to use; without it, all are.

    Raises:
        ServiceError: no scheduler answers at the start, or it refuses the secret.
        InputError: a device of ``only`` takes no probes.
    """

    def __init__(
        self,
        access: PoolAccess,
        *,
        heartbeat_seconds: float = _HEARTBEAT_SECONDS,
        announce: Callable[[str], None] | None = None,
        only: Collection[str] = (),
    ) -> None:
        access.configure(heartbeat_seconds)
        self._access = access
        self._heartbeat_seconds = heartbeat_seconds
        self._announce = announce or (lambda _line: None)
        self._session = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._jobs: dict[str, ProbeJob] = {}
        self._needed: set[str] = set()
        self._taken: set[str] = set()
        self._devices: tuple[Device, ...] = ()
        self._results: queue.SimpleQueue[ProbeResult | KnickpointError] = queue.SimpleQueue()
        self._closing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed: asyncio.Event | None = None
        self._joined = threading.Event()
        self._devices = tuple(
            status.device for status in device_statuses(access, session=self._session) if status.state.takes_jobs
        )
        self._only = frozenset(only)
        _check_names(self._only, self._devices, access.address)
        self._thread = threading.Thread(target=self._run, name="device pool", daemon=True)
        self._thread.start()
        self._joined.wait(_ANSWER_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def devices(self) -> tuple[Device, ...]:
        """Return the devices that take jobs, by name, as the scheduler last said."""
        with self._lock:
            return tuple(each for each in self._devices if not self._only or each.name in self._only)

    def submit(self, job: ProbeJob) -> None:
        """Take a job; it waits until a device that fits is free. The same probe id twice is one job."""
        with self._lock:
            if self._closing:
                raise RuntimeError("the pool is closed")
            if job.probe in self._jobs:
                return
            self._jobs[job.probe] = job
            self._needed.add(job.probe)
        self._tell()

    def cancel(self, probe: str) -> None:
        """Drop a job, and end it where it runs, unless other jobs share its probe; it has no result."""
        with self._lock:
            self._jobs.pop(probe, None)
            self._needed.discard(probe)
        self._tell()

    def wait(self, seconds: float) -> Sequence[ProbeResult]:
        """Return the results since the last call, as soon as there is one, or none after ``seconds``.

        Raises:
            KnickpointError: the scheduler does not make a job, for its configuration lacks the recipe.
        """
        found: list[ProbeResult] = []
        try:
            item = self._results.get(timeout=max(0.0, seconds))
            while True:
                if isinstance(item, KnickpointError):
                    raise item
                found.append(item)
                item = self._results.get_nowait()
        except queue.Empty:
            return found

    def close(self) -> None:
        """End the jobs of this pool, and its connection."""
        with self._lock:
            self._closing = True
            self._jobs.clear()
        self._tell()
        self._thread.join(_CLOSE_SECONDS)

    # The thread of the connection.

    def _tell(self) -> None:
        loop, changed = self._loop, self._changed
        if loop is not None and changed is not None and not loop.is_closed():
            loop.call_soon_threadsafe(changed.set)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._changed = asyncio.get_running_loop(), asyncio.Event()
        self._joined.set()
        self._changed.set()
        scheduler = self._access.scheduler(_ANSWER_SECONDS)
        collector = asyncio.create_task(self._collect(scheduler))
        try:
            await self._submit(scheduler)
            collector.cancel()
            await asyncio.wait([collector])
            await asyncio.wait_for(self._ask(scheduler, "knick-end-session"), _ANSWER_SECONDS)
        except _TROUBLE:
            pass  # The scheduler forgets the session by itself.
        finally:
            collector.cancel()
            await scheduler.close_rpc()

    async def _submit(self, scheduler: Any) -> None:
        """Keep the scheduler informed of the jobs that have no result yet."""
        assert self._changed is not None
        number, pause = 0, _FIRST_PAUSE
        while not self._closing:
            await self._changed.wait()
            self._changed.clear()
            with self._lock:
                jobs = dict(self._jobs)
                new = [request_document(jobs[probe]) for probe in sorted(self._needed) if probe in jobs]
            number += 1
            try:
                answer = await self._ask(scheduler, "knick-submit", number=number, probes=list(jobs), jobs=new)
            except _TROUBLE:
                self._changed.set()
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, 2 * pause)
                continue
            pause = _FIRST_PAUSE
            needed = set(answer["needed"])
            with self._lock:
                self._needed = (self._needed - set(jobs)) | (needed & set(self._jobs))
                again = bool(self._needed)
            if again:
                self._changed.set()

    async def _collect(self, scheduler: Any) -> None:
        """Take results as they come."""
        assert self._changed is not None
        pause, away = _FIRST_PAUSE, False
        while True:
            taken = tuple(self._taken)
            try:
                answer = await self._ask(
                    scheduler, "knick-results", taken=list(taken), seconds=min(10.0, self._heartbeat_seconds / 3)
                )
            except _TROUBLE as error:
                if not away:
                    self._announce(f"the pool at {self._access.address} does not answer: {connection_trouble(error)}")
                away = True
                with self._lock:
                    self._devices = ()
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, 2 * pause)
                continue
            if away:
                self._announce(f"the pool at {self._access.address} answers again")
            away, pause = False, _FIRST_PAUSE
            self._taken.difference_update(taken)
            self._take(answer)
            if not answer["known"]:
                # The scheduler is a new one: it gets all jobs again.
                with self._lock:
                    self._needed = set(self._jobs)
                    waits = bool(self._needed)
                if waits:
                    self._changed.set()
                await asyncio.sleep(_FIRST_PAUSE)

    def _take(self, answer: Mapping[str, Any]) -> None:
        results = [result_from_text(text) for text in answer["results"]]
        with self._lock:
            self._devices = tuple(device_of(document) for document in answer["devices"])
            for result in results:
                self._taken.add(result.probe)
                # A result that came twice, or whose job was cancelled, counts as nothing.
                if self._jobs.pop(result.probe, None) is not None:
                    self._results.put(result)
            for probe, reason in answer["refused"].items():
                if self._jobs.pop(probe, None) is not None:
                    self._results.put(
                        ServiceError(
                            reason, where=self._access.address, remedy="Correct it, and start knick pool again."
                        )
                    )
        if answer["refused"]:
            self._tell()

    async def _ask(self, scheduler: Any, operation: str, **message: Any) -> Any:
        return await getattr(scheduler, operation)(
            session=self._session, proof=self._access.proof(self._session), **message
        )


def _check_names(only: Collection[str], devices: Sequence[Device], address: str) -> None:
    names = {device.name for device in devices}
    if missing := sorted(set(only) - names):
        raise InputError(
            f"the pool at {address} has no device {missing[0]} that takes probes",
            where="--device",
            remedy=f"Devices that do: {', '.join(sorted(names)) or 'none'}. Measure on this machine with --device "
            "local.",
        )


def device_statuses(access: PoolAccess, *, session: str = "knick devices") -> tuple[DeviceStatus, ...]:
    """Return the status of each device of a pool, by name.

    Raises:
        ServiceError: no scheduler answers, or it refuses the credentials.
    """
    answer = _once(access, lambda scheduler: getattr(scheduler, "knick-devices")(**_identity(access, session)))
    return tuple(status_of(document) for document in answer)


def drain_device(access: PoolAccess, name: str, *, resume: bool = False) -> None:
    """Give a device no further probe, or, to ``resume`` it, probes again.

    Raises:
        ServiceError: no scheduler answers, or it refuses the credentials.
        AbsentError: the pool has no such device, or it is not drained.
    """
    known = _once(
        access,
        lambda scheduler: getattr(scheduler, "knick-drain")(
            **_identity(access, "knick devices"), device=name, resume=resume
        ),
    )
    if not known:
        reason = "is not drained" if resume else "has not joined since the scheduler started"
        raise AbsentError(f"the device {reason}", where=name, remedy="List them with: knick devices")


def _identity(access: PoolAccess, session: str) -> dict[str, str]:
    return {"session": session, "proof": access.proof(session)}


def _once(access: PoolAccess, ask: Callable[[Any], Coroutine[Any, Any, Answer]]) -> Answer:
    """Ask the scheduler one thing."""
    access.configure(_HEARTBEAT_SECONDS)

    async def call() -> Answer:
        async with access.scheduler(_ANSWER_SECONDS) as scheduler:
            return await asyncio.wait_for(ask(scheduler), 2 * _ANSWER_SECONDS)

    try:
        return asyncio.run(call())
    except PermissionError as error:
        raise ServiceError(
            str(error), where=access.address, remedy="Set secret of [pool] as the pool has it."
        ) from error
    except _TROUBLE as error:
        raise ServiceError(
            f"the pool does not answer: {connection_trouble(error)}",
            where=access.address,
            remedy="Start it with knick pool, or correct address and credentials of [pool].",
        ) from error
