"""Import the files that messages announce, and acknowledge a message when its files are in the store.

The reply to the server depends on why an import fails. What may work later, such as a bucket that does not answer, is
delivered again with a growing delay. What can never work goes into quarantine, and the server drops the message.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from knickpoint.ingest import FileSummary, ImportState, ImportSummary, import_bucket_event
from knickpoint.ingest.bucket_events import bucket_event_urls, quarantine_bucket_event
from knickpoint.instance.instance import Instance
from knickpoint.instance.relay.subjects import Subjects
from knickpoint.instance.separate_import import separate_reader
from knickpoint.model.errors import InputError, KnickpointError
from knickpoint.model.report import Problem

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

__all__ = ["ACK_SECONDS", "HandledMessage", "Receiver", "Reply"]

ACK_SECONDS: Final = 60.0
"""The server delivers a message again when it has no sign of progress for so long."""

_PENDING: Final = 10_000
_REPLY_SECONDS: Final = 5.0
_TRIES: Final = 5
"""Deliveries after which an unreadable file goes into quarantine."""

_LONGEST_PAUSE_SECONDS: Final = 300


class Reply(Enum):
    """What the server is to do with a message: drop it as done, deliver it again, or drop it as useless."""

    DONE = "done"
    AGAIN = "again"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class HandledMessage:
    """The reply to the server about a message, and the lines to announce."""

    reply: Reply
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Receiver:
    """Receives messages from the durable consumer that all workers of an instance share."""

    instance: Instance
    subjects: Subjects

    async def subscription(self, jetstream: JetStreamContext) -> JetStreamContext.PullSubscription:
        """Subscribe to the durable consumer, which is created where it is missing.

        Raises:
            nats.errors.Error, OSError, TimeoutError: the server refuses, or does not answer.
        """
        from nats.js.api import ConsumerConfig

        return await jetstream.pull_subscribe(
            self.subjects.files_arrived,
            durable=self.subjects.consumer,
            stream=self.subjects.stream,
            config=ConsumerConfig(ack_wait=ACK_SECONDS, max_ack_pending=_PENDING),
        )

    async def handle(self, message: Msg) -> HandledMessage:
        """Import what a message announces, and reply to the server; a failure is announced at the first delivery only.

        Raises:
            nats.errors.Error, OSError, TimeoutError: the reply is lost; the server delivers the message again.
        """
        deliveries = message.metadata.num_delivered
        async with _in_progress(message):
            handled = await asyncio.to_thread(self.import_message, message.data, deliveries)
        match handled.reply:
            case Reply.DONE:
                await message.ack_sync(timeout=_REPLY_SECONDS)
            case Reply.AGAIN:
                await message.nak(delay=min(_LONGEST_PAUSE_SECONDS, 2**deliveries))
            case Reply.NEVER:
                await message.term()
        return handled if deliveries == 1 or handled.reply is not Reply.AGAIN else HandledMessage(handled.reply)

    def import_message(self, body: bytes, deliveries: int) -> HandledMessage:
        """Import the files that one message announces, each by itself.

        A message that cannot be read, and a file that cannot be read in ``5`` deliveries, go into quarantine. Buckets
        that do not answer are tried again as long as the stream keeps the message.
        """
        subject = self.subjects.files_arrived
        try:
            urls = bucket_event_urls(body)
        except InputError as error:
            return self._quarantine(body, f"nats:{subject}", Problem.of(error))
        files = [self._import_file(url, deliveries) for url in urls]
        lines = tuple(line for file in files for line in file.lines)
        replies = {file.reply for file in files}
        # One file that needs another delivery decides for the whole message; imports are exactly once.
        for reply in (Reply.AGAIN, Reply.NEVER):
            if reply in replies:
                return HandledMessage(reply, lines)
        return HandledMessage(Reply.DONE, lines)

    def _import_file(self, url: str, deliveries: int) -> HandledMessage:
        body = json.dumps({"url": url}).encode()
        try:
            outcomes = import_bucket_event(self.instance, body, reader=separate_reader(self.instance)).files
        except InputError as error:
            return HandledMessage(Reply.NEVER, (f"{self.subjects.files_arrived}: {error}",))
        except KnickpointError as error:
            return HandledMessage(Reply.AGAIN, (f"{self.subjects.files_arrived}: {error}",))
        unread = [outcome for outcome in outcomes if outcome.state is ImportState.UNREADABLE]
        if unread and deliveries >= _TRIES:
            return self._quarantine(body, url, unread[0].problems[0])
        return HandledMessage(Reply.AGAIN if unread else Reply.DONE, _lines(outcomes))

    def _quarantine(self, body: bytes, source: str, problem: Problem) -> HandledMessage:
        try:
            outcome = quarantine_bucket_event(self.instance, body, source, problem)
        except KnickpointError as error:
            return HandledMessage(Reply.AGAIN, (f"{self.subjects.files_arrived}: {error}",))
        return HandledMessage(Reply.NEVER, _lines((outcome,)))


def _lines(outcomes: tuple[FileSummary, ...]) -> tuple[str, ...]:
    lines = [line for outcome in outcomes for line in outcome.lines()]
    return (*lines, *ImportSummary(outcomes).remarks)


@asynccontextmanager
async def _in_progress(message: Msg) -> AsyncIterator[None]:
    """Report to the server, while the ``with`` lasts, that the import of a message is in progress."""

    async def report() -> None:
        while True:
            await asyncio.sleep(ACK_SECONDS / 3)
            await message.in_progress()

    reports = asyncio.create_task(report())
    try:
        yield
    finally:
        reports.cancel()
        await asyncio.gather(reports, return_exceptions=True)  # where a report failed, the reply fails as well
