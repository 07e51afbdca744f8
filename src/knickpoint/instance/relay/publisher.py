"""Publish the events of the outbox, in order, and mark them done when the server has them."""

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
"""What the relay is called among the consumers of the outbox."""

BATCH: Final = 64
_ACK_SECONDS: Final = 5.0
_MESSAGE_ID: Final = "Nats-Msg-Id"


def listen_to_outbox(store: Store, *, wanted: bool) -> None:
    """Have the outbox keep a copy of every event from now on, or no more."""
    store.outbox.subscribe(CONSUMER, RELAYED if wanted else ())


@dataclass(frozen=True)
class Publisher:
    """Passes events on; of many workers of an instance one does so at a time, which keeps the order."""

    store: Store
    subjects: Subjects
    worker: str
    lease_seconds: float

    async def round(self, jetstream: JetStreamContext, largest: int = LARGEST_BYTES) -> int:
        """Publish up to :data:`BATCH` events and return how many the server has.

        What it did not acknowledge goes back into the outbox. An event that was published but could not be
        marked is published again, under the same id.

        Raises:
            nats.errors.Error, OSError, TimeoutError: the server does not take it.
            StoreError: the outbox cannot be read or written.
        """
        events = await asyncio.to_thread(self._claim)
        taken: list[Event] = []
        try:
            for event in events:
                await jetstream.publish(
                    self.subjects.of_kind(event.kind),
                    encode_event(event, self.subjects.instance, min(largest, LARGEST_BYTES)),
                    timeout=_ACK_SECONDS,
                    stream=self.subjects.stream,
                    headers={_MESSAGE_ID: message_id(event, self.subjects.instance)},
                )
                taken.append(event)
        finally:
            if events:
                await asyncio.to_thread(self._settle, taken, events[len(taken) :])
        return len(taken)

    def _claim(self) -> list[Event]:
        return self.store.outbox.claim(
            RELAYED, self.worker, self.lease_seconds, BATCH, consumer=CONSUMER, in_order=True
        )

    def _settle(self, taken: list[Event], rest: list[Event]) -> None:
        with self.store.transaction():
            for event in taken:
                self.store.outbox.done(event)
            for event in rest:
                self.store.outbox.release(event)
