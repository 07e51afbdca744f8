"""The scheduler of a pool: a Dask scheduler whose workers are agents, with the broker behind it.

Dask carries the members, their heartbeats, their resources (the slots of a device) and the messages. No probe is a task
of Dask: it would run the task of a worker that died elsewhere by itself, and cannot end one that runs. An agent makes
all connections itself, so that a device needs no port that others reach.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from distributed import Scheduler
from distributed.diagnostics.plugin import SchedulerPlugin

from knickpoint.bisect.pool.access import PoolAccess
from knickpoint.bisect.pool.broker import Broker, Order, PoolRules
from knickpoint.bisect.pool.documents import (
    Offer,
    device_document,
    offer_of,
    request_of,
    result_from_text,
    status_document,
    text_of_job,
    text_of_result,
)
from knickpoint.model.errors import InputError, KnickpointError

OFFER: Final = "knickpoint"
"""The key under which an agent states its offer when it joins."""

_LONGEST_WAIT: Final = 60.0
_TICK_SECONDS: Final = 0.5


def read_drained(file: Path) -> tuple[str, ...]:
    """Return the devices that were drained when the scheduler last ran; none where the file is missing or damaged."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        return tuple(str(name) for name in json.loads(file.read_text(encoding="utf-8"))["drained"])
    return ()


class PoolScheduler(Scheduler):
    """Joins agents, takes jobs and hands out results.

    ``drained_file`` keeps which devices people drained; ``announce`` hears one line about each agent that joins or
    leaves.
    """

    def __init__(
        self,
        access: PoolAccess,
        rules: Callable[[], PoolRules],
        *,
        host: str,
        drained_file: Path,
        announce: Callable[[str], None],
    ) -> None:
        super().__init__(
            host=host,
            port=access.port,
            protocol="tls",
            security=access.security(),
            # Dask opens a port for HTTP in any case; nothing is served there.
            dashboard_address="127.0.0.1:0",
            dashboard=False,
        )
        self._access = access
        self._rules = rules
        self._drained_file = drained_file
        self._announce = announce
        self.broker = Broker(rules, read_drained(drained_file))
        self._names: dict[str, str] = {}
        self._changed = asyncio.Condition()
        self.handlers.update(
            {
                "knick-offer": self.take_offer,
                "knick-submit": self.take_jobs,
                "knick-results": self.give_results,
                "knick-end-session": self.end_session,
                "knick-devices": self.give_devices,
                "knick-drain": self.drain,
            }
        )
        self.stream_handlers.update(
            {
                "knick-progress": self.hear_progress,
                "knick-result": self.take_result,
                "knick-draining": self.drain_agent,
            }
        )
        self.add_plugin(_Members(self))
        self._ticker: asyncio.Task[None] | None = None

    async def start_unsafe(self) -> Any:
        """Start to listen, and to watch for what is silent."""
        started = await super().start_unsafe()
        self._ticker = asyncio.create_task(self._watch())
        return started

    async def close(self, *args: Any, **kwargs: Any) -> None:
        """Stop to listen; agents wait for the next scheduler."""
        if self._ticker is not None:
            self._ticker.cancel()
        await super().close(*args, **kwargs)

    def end_after_probes(self) -> int:
        """Give no further probe; return how many are under way."""
        self.broker.end_after_probes()
        return self.broker.under_way

    async def finished(self) -> None:
        """Wait until no probe is under way, and those who asked have all results."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.broker.finished)

    def heartbeat_worker(self, *args: Any, address: str, **kwargs: Any) -> dict[str, Any]:
        """Note the heartbeat of an agent, and say when the next one is due."""
        answer: dict[str, Any] = super().heartbeat_worker(*args, address=address, **kwargs)
        if address in self._names:
            self.broker.hear(self._names[address], time.monotonic())
        answer["heartbeat-interval"] = self._rules().heartbeat_seconds / 4
        return answer

    # Agents.

    async def take_offer(
        self, offer: Mapping[str, Any], proof: str, results: Sequence[Mapping[str, str]]
    ) -> dict[str, Any]:
        """Answer whether an agent may join; an earlier registration of the same process ends.

        ``results`` are those that the agent made before, and that no scheduler has confirmed.
        """
        try:
            read = offer_of(offer)
        except InputError as error:
            return {"refused": str(error)}
        if not self._access.proves(read.agent, proof):
            return {"refused": "the secret of the agent is not that of the pool"}
        refusal = self.broker.refusal(read)
        if not refusal:
            for made in results:
                self._take_result(read.device.name, made["run"], made["digest"], made["result"])
            self._after_change()
            for address, name in tuple(self._names.items()):
                if name == read.device.name:
                    await self.remove_worker(address, stimulus_id="knick-joins-again")
        return {"refused": refusal, "heartbeat_seconds": self._rules().heartbeat_seconds}

    def joined(self, address: str) -> None:
        """Take a worker of Dask as the agent of a device."""
        offer = self._offer(address)
        if offer is None:
            self._ongoing_background_tasks.call_soon(self._remove, address)
            return
        self._names[address] = offer.device.name
        self.broker.join(offer, time.monotonic())
        self._announce(f"device {offer.device.name} joined")
        self._after_change()

    def left(self, address: str) -> None:
        """Drop the agent of a worker that Dask removed."""
        name = self._names.pop(address, None)
        if name is not None:
            self.broker.leave(name, "the connection to the device was lost", time.monotonic())
            self._announce(f"device {name} left")
            self._after_change()

    def hear_progress(self, worker: str, run: str, text: str) -> None:
        """Note what an agent says of its probe."""
        if worker in self._names:
            self.broker.progress(self._names[worker], run, text, time.monotonic())

    def take_result(self, worker: str, run: str, digest: str, result: str) -> None:
        """Take the result of a probe, and confirm it: the agent keeps it until then."""
        if worker in self._names:
            self._take_result(self._names[worker], run, digest, result)
            self._after_change()
            self.worker_send(worker, {"op": "knick-taken", "run": run})

    def _take_result(self, device: str, run: str, digest: str, result: str) -> None:
        try:
            read = result_from_text(result)
        except InputError as error:
            self._announce(f"device {device}: {error}")
            self.broker.lose(device, run, str(error), time.monotonic())
        else:
            self.broker.result(device, run, digest, read, time.monotonic())

    def drain_agent(self, worker: str) -> None:
        """Give an agent that is about to end no further probe."""
        if worker in self._names:
            self.broker.drain_agent(self._names[worker], time.monotonic())
            self._after_change()
            self.worker_send(worker, {"op": "knick-drained"})

    # Requests.

    async def take_jobs(
        self, session: str, proof: str, number: int, probes: Sequence[str], jobs: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Take what a session asks for; answer which jobs are not known here."""
        self._check(session, proof)
        requests = [request_of(job) for job in jobs]
        needed = self.broker.submit(session, number, probes, requests, time.monotonic())
        self._after_change()
        return {"needed": list(needed)}

    async def give_results(self, session: str, proof: str, taken: Sequence[str], seconds: float) -> dict[str, Any]:
        """Answer with the results of a session as soon as there is one, or after ``seconds``."""
        self._check(session, proof)
        until = time.monotonic() + min(seconds, _LONGEST_WAIT)
        while True:
            results = self.broker.collect(session, taken, time.monotonic())
            refused = self.broker.refused(session)
            known = self.broker.knows(session)
            left = until - time.monotonic()
            if results or refused or not known or left <= 0:
                return {
                    "known": known,
                    "results": [text_of_result(result) for result in results],
                    "refused": dict(refused),
                    "devices": [device_document(device) for device in self.broker.devices()],
                }
            async with self._changed:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), left)

    async def end_session(self, session: str, proof: str) -> None:
        """Forget a session, and end what only it asked for."""
        self._check(session, proof)
        self.broker.end_session(session, time.monotonic())
        self._after_change()

    async def give_devices(self, session: str, proof: str) -> list[Any]:
        """Answer with the status of each device."""
        self._check(session, proof)
        return [status_document(status) for status in self.broker.statuses()]

    async def drain(self, session: str, proof: str, device: str, resume: bool) -> bool:  # noqa: FBT001 - a message
        """Give a device no further probe, or probes again; answer whether it is known."""
        self._check(session, proof)
        known = self.broker.resume(device, time.monotonic()) if resume else self.broker.drain(device)
        await asyncio.to_thread(self._keep_drained, self.broker.drained)
        self._after_change()
        return known

    # Parts.

    def _check(self, session: str, proof: str) -> None:
        if not self._access.proves(session, proof):
            raise PermissionError("the secret of the request is not that of the pool")

    def _offer(self, address: str) -> Offer | None:
        """Return the offer of a worker that may join, None for one that did not ask."""
        stated: Any = self.workers[address].extra.get(OFFER)
        try:
            offer = offer_of(stated["offer"])
            proof = str(stated["proof"])
        except (InputError, KeyError, TypeError):
            return None
        may = self._access.proves(offer.agent, proof) and not self.broker.refusal(offer)
        return offer if may and self.workers[address].name == offer.device.name else None

    def _after_change(self) -> None:
        """Send the orders of the broker, and wake those who wait for results."""
        for order in self.broker.take_orders():
            self._send(order)
        self._ongoing_background_tasks.call_soon(self._wake)

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _send(self, order: Order) -> None:
        address = next((address for address, name in self._names.items() if name == order.device), None)
        if address is None or address not in self.stream_comms:
            return
        message = {"op": "knick-cancel", "run": order.run}
        if order.job is not None:
            message = {"op": "knick-probe", "run": order.run, "digest": order.job.recipe.digest}
            message["job"] = text_of_job(order.job)
        self.worker_send(address, message)

    async def _watch(self) -> None:
        """Notice agents, probes and sessions that are silent for too long."""
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            try:
                for name in self.broker.tick(time.monotonic()):
                    self._announce(f"device {name} is silent")
                    for address in [each for each, known in self._names.items() if known == name]:
                        await self._remove(address)
            except KnickpointError as error:
                self._announce(str(error))
            self._after_change()

    async def _remove(self, address: str) -> None:
        await self.remove_worker(address, stimulus_id="knick-removes")

    def _keep_drained(self, drained: Sequence[str]) -> None:
        self._drained_file.parent.mkdir(parents=True, exist_ok=True)
        new = self._drained_file.with_suffix(".new")
        new.write_text(json.dumps({"drained": list(drained)}) + "\n", encoding="utf-8")
        new.replace(self._drained_file)


class _Members(SchedulerPlugin):
    """Tells the scheduler of a pool which workers come and go."""

    def __init__(self, scheduler: PoolScheduler) -> None:
        self.name = "knickpoint-members"
        self._pool = scheduler

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:  # noqa: ARG002 - as Dask calls it
        """Take an agent."""
        self._pool.joined(worker)

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:  # noqa: ARG002 - as Dask calls it
        """Drop an agent."""
        self._pool.left(worker)
