"""Publish the events of the outbox in order, and mark them done when the server has acknowledged them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knickpoint.instance.relay.message import LARGEST_BYTES, encode_event, message_id
from knickpoint.instance.relay.subjects import RELAYED, Subjects
from knickpoint.store import Event, Store

if TYPE_CHECKING:
    from nats.js import JetStreamContext

__all__ = ["BATCH", "CONSUMER", "Publisher", "listen_to_outbox"]

CONSUMER: Final = "nats"
"""Name of the relay among the consumers of the outbox."""

BATCH: Final = 64
"""Events that one round publishes."""

_ACK_SECONDS: Final = 5.0
_MESSAGE_ID: Final = "Nats-Msg-Id"


def listen_to_outbox(store: Store, *, wanted: bool) -> None:
    """Subscribe the relay to the outbox, so that it keeps events for NATS; or unsubscribe it."""
    store.outbox.subscribe(CONSUMER, RELAYED if wanted else ())


@dataclass(frozen=True)
class Publisher:
    """Publishes events for one worker; only one worker does so at a time, which keeps their order."""

    store: Store
    subjects: Subjects
    worker: str
    lease_seconds: float

    async def round(self, jetstream: JetStreamContext, largest: int = LARGEST_BYTES) -> int:
        """Publish up to :data:`BATCH` events, and return how many the server acknowledged.

        The others go back into the outbox. An event that was published but could not be marked as done is published
        again with the same id, which the server recognises.

        Raises:
            nats.errors.Error, OSError, TimeoutError: the server does not accept an event.
            StoreError: the outbox cannot be read or written.
        """
        events = await asyncio.to_thread(self._claim)
        acknowledged: list[Event] = []
        try:
            for event in events:
                await jetstream.publish(
                    self.subjects.of_kind(event.kind),
                    encode_event(event, self.subjects.instance, min(largest, LARGEST_BYTES)),
                    timeout=_ACK_SECONDS,
                    stream=self.subjects.stream,
                    headers={_MESSAGE_ID: message_id(event, self.subjects.instance)},
                )
                acknowledged.append(event)
        finally:
            if events:
                await asyncio.to_thread(self._mark_done, acknowledged, events[len(acknowledged) :])
        return len(acknowledged)

    def _claim(self) -> list[Event]:
        return self.store.outbox.claim(
            RELAYED, self.worker, self.lease_seconds, BATCH, consumer=CONSUMER, in_order=True
        )

    def _mark_done(self, acknowledged: list[Event], others: list[Event]) -> None:
        with self.store.transaction():
            for event in acknowledged:
                self.store.outbox.done(event)
            for event in others:
                self.store.outbox.release(event)
