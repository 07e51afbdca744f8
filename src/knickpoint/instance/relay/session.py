"""Publish and receive on one connection to NATS, until it is lost or the work ends.

The two directions are independent loops. When one of them fails, the connection is lost, or the work ends, both loops
finish their current message and the session is over; the relay opens the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knickpoint.instance.relay.message import LARGEST_BYTES
from knickpoint.instance.relay.publisher import BATCH, Publisher
from knickpoint.instance.relay.receiver import Receiver

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

__all__ = ["Session", "wait_for_end"]

_FETCH_SECONDS: Final = 30.0
_BRIEF_SECONDS: Final = 2.0
_LOST: Final = "the connection was lost"


@dataclass
class Session:
    """Publishes, receives, or both on one connection."""

    client: Client
    jetstream: JetStreamContext
    publisher: Publisher | None
    receiver: Receiver | None
    announce: Callable[[str], None]
    poll_seconds: float
    lost: asyncio.Event
    largest: int = LARGEST_BYTES
    _inbox: JetStreamContext.PullSubscription | None = field(default=None, init=False)

    async def begin(self) -> None:
        """Subscribe and publish a first batch, which shows that the server works."""
        if self.receiver is not None:
            self._inbox = await self.receiver.subscription(self.jetstream)
        if self.publisher is not None:
            await self.publisher.round(self.jetstream, self.largest)

    async def drain(self) -> None:
        """Import what is announced now, and publish the events of the outbox."""
        waiting = (await self._inbox.consumer_info()).num_pending if self._inbox is not None else 0
        for _ in range(waiting or 0):
            message = await self._next(_BRIEF_SECONDS)
            if message is not None:
                await self._handle(message)
        while self.publisher is not None and await self.publisher.round(self.jetstream, self.largest) == BATCH:
            pass

    async def work(self, halt: asyncio.Event) -> None:
        """Publish and receive until ``halt`` is set, and finish the current message.

        Raises:
            ServiceError: the connection was lost.
        """
        ending = asyncio.Event()
        # Start both loops; one without a publisher or an inbox returns at once.
        work = [asyncio.create_task(loop) for loop in (self._publish(ending), self._receive(ending))]
        # Wait for the end of the work, of the connection, or of a loop that should not end.
        signs = [asyncio.create_task(sign.wait()) for sign in (halt, self.lost)]
        running = {task for task, part in zip(work, (self.publisher, self._inbox), strict=True) if part is not None}
        await asyncio.wait({*running, *signs}, return_when=asyncio.FIRST_COMPLETED)
        # Let the loops finish, and raise what ended one of them.
        ending.set()
        results = await asyncio.gather(*work, return_exceptions=True)
        for sign in signs:
            sign.cancel()
        for result in results:
            if isinstance(result, asyncio.CancelledError):  # closing a connection cancels what waits for it
                raise ConnectionError(_LOST) from result
            if result is not None:
                raise result
        if self.lost.is_set() and not halt.is_set():
            raise ConnectionError(_LOST)

    async def _publish(self, ending: asyncio.Event) -> None:
        while self.publisher is not None and not ending.is_set():
            if await self.publisher.round(self.jetstream, self.largest) < BATCH:
                await wait_for_end(ending, self.poll_seconds)

    async def _receive(self, ending: asyncio.Event) -> None:
        over = asyncio.create_task(ending.wait())
        while self._inbox is not None and not ending.is_set():
            coming = asyncio.create_task(self._next(_FETCH_SECONDS))
            await asyncio.wait({coming, over}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                with suppress(asyncio.CancelledError):
                    await coming
                break
            if coming.cancelled():
                raise ConnectionError(_LOST)
            message = coming.result()
            if message is not None:
                await self._handle(message)
        over.cancel()

    async def _next(self, seconds: float) -> Msg | None:
        """Return the next announcement, None if none arrives in time."""
        if self._inbox is None:
            return None
        with suppress(TimeoutError):
            return (await self._inbox.fetch(1, timeout=seconds))[0]
        return None

    async def _handle(self, message: Msg) -> None:
        assert self.receiver is not None
        for line in (await self.receiver.handle(message)).lines:
            self.announce(line)


async def wait_for_end(ending: asyncio.Event, seconds: float) -> None:
    """Wait until ``ending`` is set, but not longer than ``seconds``."""
    with suppress(TimeoutError):
        await asyncio.wait_for(ending.wait(), seconds)
