"""The agent: it lends this machine to a pool, one device with some slots.

It is a worker of Dask that runs no tasks: orders come over its connection to the scheduler, and a pool of this machine
makes the probes. It joins again by itself when the scheduler was away.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from distributed import Worker

from knickpoint.bisect.job import Device
from knickpoint.bisect.pool.access import PoolAccess, connection_trouble, is_refusal
from knickpoint.bisect.pool.documents import Offer, bounded, check_device, job_from_text, offer_document, text_of_result
from knickpoint.bisect.pool.local import LocalPool
from knickpoint.bisect.pool.probe_run import RUN_PROBE, WorkspacePlace
from knickpoint.bisect.pool.scheduler import OFFER
from knickpoint.model.bisection import ProbeResult
from knickpoint.model.errors import ServiceError

_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_ANSWER_SECONDS: Final = 10.0
_RESULT_SECONDS: Final = 0.5


class RefusedError(ServiceError):
    """The pool does not take this agent."""


@dataclass(slots=True)
class Agent:
    """Lends a device to the pool at ``access`` until it is drained or stopped.

    ``announce`` hears one line about each probe and connection. ``call`` makes a probe, as module:name. A result is
    kept until the scheduler says that it has it, and handed in before the agent joins again.
    """

    access: PoolAccess
    device: Device
    workspace: WorkspacePlace
    announce: Callable[[str], None]
    call: str = RUN_PROBE
    identity: str = field(default_factory=lambda: uuid.uuid4().hex)
    unconfirmed: dict[str, dict[str, Any]] = field(default_factory=dict, init=False, repr=False)
    _draining: asyncio.Event = field(default_factory=asyncio.Event)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    def drain(self) -> None:
        """End after the probes under way; call it from the loop of the agent."""
        self._draining.set()

    def stop(self) -> None:
        """End now, with all processes; call it from the loop of the agent."""
        self._draining.set()
        self._stopped.set()

    async def serve(self) -> None:
        """Join the pool and make probes, again and again, until the agent is drained or stopped.

        Raises:
            RefusedError: the pool does not take this agent.
            InputError: the device cannot be described so.
        """
        check_device(self.device)
        pause = _FIRST_PAUSE
        while not self._draining.is_set():
            joined = False
            try:
                self.access.configure(await self._ask())
                joined = await self._lend()
            except (OSError, TimeoutError) as error:
                if is_refusal(error):
                    raise RefusedError(connection_trouble(error), where=self.access.address) from error
                self.announce(
                    f"the pool at {self.access.address} does not answer: {connection_trouble(error)}; tried again in "
                    f"{pause:g} s"
                )
            if joined:
                pause = _FIRST_PAUSE
            if not self._draining.is_set():
                await _first(self._draining.wait(), asyncio.sleep(pause))
                pause = min(_LONGEST_PAUSE, 2 * pause)

    async def _ask(self) -> float:
        """Hand in what no scheduler has confirmed, ask to join, and return the ``heartbeat_seconds`` of the pool."""
        kept = dict(self.unconfirmed)
        async with self.access.scheduler(_ANSWER_SECONDS) as scheduler:
            answer: dict[str, Any] = await getattr(scheduler, "knick-offer")(
                offer=offer_document(self._offer), proof=self.access.proof(self.identity), results=list(kept.values())
            )
        if answer["refused"]:
            raise RefusedError(answer["refused"], where=f"device {self.device.name}")
        for run in kept:
            self.unconfirmed.pop(run, None)
        return float(answer["heartbeat_seconds"])

    @property
    def _offer(self) -> Offer:
        return Offer(self.device, self.identity)

    async def _lend(self) -> bool:
        """Be a member until the connection ends or the agent is drained; return whether it was one."""
        with tempfile.TemporaryDirectory(prefix="knick-agent-") as directory:
            worker: Any = _AgentWorker(self, Path(directory))
            try:
                await worker
            except (OSError, ValueError, RuntimeError, TimeoutError) as error:
                self.announce(f"the pool did not take the agent: {connection_trouble(error)}")
                await worker.close(nanny=False)
                return False
            self.announce(f"device {self.device.name} joined the pool at {self.access.address}")
            finished = asyncio.ensure_future(worker.finished())
            try:
                await _first(finished, self._draining.wait())
                if not finished.done():
                    worker.send({"op": "knick-draining"})
                    await _first(finished, self._stopped.wait(), worker.drained())
            finally:
                await worker.end_probes()
                await worker.close(nanny=False, executor_wait=False)
            if not self._draining.is_set():
                self.announce("the connection to the pool was lost; the probes under way were ended")
            return True


@dataclass(frozen=True, slots=True)
class _Ordered:
    """A probe that the scheduler ordered, and the digest of its recipe."""

    probe: str
    digest: str


class _AgentWorker(Worker):
    """A worker of Dask for one connection to the scheduler, with a pool of this machine."""

    def __init__(self, agent: Agent, directory: Path) -> None:
        access = agent.access
        super().__init__(
            access.address,
            name=agent.device.name,
            security=access.security(),
            protocol="tls",
            # Nothing has to reach an agent: it is the one that connects.
            host="127.0.0.1",
            nthreads=1,
            memory_limit=0,
            resources={"probe": agent.device.slots},
            local_directory=str(directory),
            startup_information={
                OFFER: lambda _worker: {
                    "offer": offer_document(Offer(agent.device, agent.identity)),
                    "proof": access.proof(agent.identity),
                }
            },
            dashboard=False,
        )
        self._agent = agent
        self._runs: dict[str, _Ordered] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._no_more_orders = asyncio.Event()
        # A run of the scheduler is a job of its own here: one requester, so that no two share a probe.
        self._pool = LocalPool(
            agent.workspace,
            (agent.device,),
            at_once=agent.device.slots,
            progress=self._progress,
            call=agent.call,
            of_machine=False,
        )
        self._asyncio_loop = asyncio.get_running_loop()
        self._ended = threading.Event()
        self._follower = threading.Thread(target=self._follow, name="probes", daemon=True)
        self._follower.start()
        self.stream_handlers.update(
            {
                "knick-probe": self.take_probe,
                "knick-cancel": self.cancel_probe,
                "knick-taken": self.confirm_result,
                "knick-drained": self._no_more_orders.set,
            }
        )

    def take_probe(self, run: str, digest: str, job: str) -> None:
        """Make a probe; its result goes back with ``digest``, that of the recipe, which changes on its way."""
        read = job_from_text(job)
        self._runs[run] = _Ordered(read.probe, digest)
        self._idle.clear()
        self._agent.announce(f"probe {read.probe}: {read.target.commit[:12]} with {read.recipe.name}")
        self._pool.submit(replace(read, probe=run, device="", requester=""))

    def cancel_probe(self, run: str) -> None:
        """End a probe that is not needed any more."""
        if run in self._runs:
            self._agent.announce(f"probe {self._runs.pop(run).probe}: cancelled")
            self._pool.cancel(run)
            self._note_idle()

    def confirm_result(self, run: str) -> None:
        """Forget a result that the scheduler has."""
        self._agent.unconfirmed.pop(run, None)
        self._note_idle()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the scheduler, unless the connection is lost."""
        stream: Any = self.batched_stream
        if stream is not None and not stream.closed():
            stream.send(message)

    async def drained(self) -> None:
        """Wait until the scheduler gives no further order and has the results of the probes that were under way."""
        await self._no_more_orders.wait()
        await self._idle.wait()

    async def end_probes(self) -> None:
        """End all probes and their processes; what ended before is kept."""
        self._ended.set()
        await asyncio.to_thread(self._follower.join)
        for result in self._pool.wait(0.0):
            self._report(result)
        self._runs.clear()  # what a probe that is ended says from now on is not a result
        await asyncio.to_thread(self._pool.close)

    def _note_idle(self) -> None:
        if not self._runs and not self._agent.unconfirmed:
            self._idle.set()

    def _progress(self, run: str, text: str) -> None:
        """Pass a line of progress on, from the thread of a probe."""
        self._call(self.send, {"op": "knick-progress", "run": run, "text": text[:500]})

    def _follow(self) -> None:
        """Pass results on, in a thread of its own."""
        while not self._ended.is_set():
            for result in self._pool.wait(_RESULT_SECONDS):
                self._call(self._report, result)

    def _report(self, result: ProbeResult) -> None:
        run = result.probe
        ordered = self._runs.pop(run, None)
        if ordered is None:
            return
        reason = f", {result.reason}" if result.reason else ""
        self._agent.announce(f"probe {ordered.probe}: {result.outcome.value}{reason}")
        text = text_of_result(bounded(replace(result, probe=ordered.probe)))
        message = {"run": run, "digest": ordered.digest, "result": text}
        self._agent.unconfirmed[run] = message
        self.send({"op": "knick-result", **message})

    def _call(self, function: Callable[..., None], argument: object) -> None:
        if not self._asyncio_loop.is_closed():
            self._asyncio_loop.call_soon_threadsafe(function, argument)


async def _first(*waits: Any) -> None:
    """Wait until the first of some things happens."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task, wait in zip(tasks, waits, strict=True):
            if task is not wait:
                task.cancel()
