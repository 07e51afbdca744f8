"""Take in the files that messages announce; a message is acknowledged when what it brought is durable."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from knickpoint.ingest import FileSummary, ImportState, ImportSummary, import_bucket_event
from knickpoint.ingest.watched_source import bucket_event_urls, quarantine_bucket_event
from knickpoint.instance.instance import Instance
from knickpoint.instance.relay.subjects import Subjects
from knickpoint.model.errors import InputError, KnickpointError
from knickpoint.model.report import Problem

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

__all__ = ["ACK_SECONDS", "Answer", "Receiver", "Taken"]

ACK_SECONDS: Final = 60.0
"""The server delivers a message again when it has heard nothing about it for so long."""

_PENDING: Final = 10_000
_ANSWER_SECONDS: Final = 5.0
_TRIES: Final = 5
_LONGEST_PAUSE_SECONDS: Final = 300


class Answer(Enum):
    """Say what the server is to do with a message."""

    DONE = "done"
    AGAIN = "again"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Taken:
    """What a message became: the answer to the server, and lines for people."""

    answer: Answer
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Receiver:
    """Reads the durable consumer that all workers of an instance share."""

    instance: Instance
    subjects: Subjects

    async def subscription(self, jetstream: JetStreamContext) -> JetStreamContext.PullSubscription:
        """Return the durable consumer, which is made where missing.

        Raises:
            nats.errors.Error, OSError, TimeoutError: the server does not do its part.
        """
        from nats.js.api import ConsumerConfig

        return await jetstream.pull_subscribe(
            self.subjects.files_arrived,
            durable=self.subjects.consumer,
            stream=self.subjects.stream,
            config=ConsumerConfig(ack_wait=ACK_SECONDS, max_ack_pending=_PENDING),
        )

    async def handle(self, message: Msg) -> Taken:
        """Take in what a message announces, and answer the server; what is tried again is told once.

        Raises:
            nats.errors.Error, OSError, TimeoutError: the answer did not get through; the message comes again.
        """
        deliveries = message.metadata.num_delivered
        async with _kept(message):
            taken = await asyncio.to_thread(self.take, message.data, deliveries)
        match taken.answer:
            case Answer.DONE:
                await message.ack_sync(timeout=_ANSWER_SECONDS)
            case Answer.AGAIN:
                await message.nak(delay=min(_LONGEST_PAUSE_SECONDS, 2**deliveries))
            case Answer.NEVER:
                await message.term()
        return taken if deliveries == 1 or taken.answer is not Answer.AGAIN else Taken(taken.answer)

    def take(self, body: bytes, deliveries: int) -> Taken:
        """Take in what one message announces, each file by itself.

        A message that cannot be read, and a file that cannot be read ``5`` times, go into quarantine. Places
        that do not answer are tried again for as long as the stream keeps the message.
        """
        subject = self.subjects.files_arrived
        try:
            names = bucket_event_urls(body)
        except InputError as error:
            problem = Problem(error.message, error.where, error.remedy)
            return self._quarantine(body, f"nats:{subject}", problem)
        taken = [self._take_file(name, deliveries) for name in names]
        lines = tuple(line for one in taken for line in one.lines)
        answers = {one.answer for one in taken}
        for answer in (Answer.AGAIN, Answer.NEVER):
            if answer in answers:
                return Taken(answer, lines)
        return Taken(Answer.DONE, lines)

    def _take_file(self, url: str, deliveries: int) -> Taken:
        body = json.dumps({"url": url}).encode()
        try:
            outcomes = import_bucket_event(self.instance, body).files
        except InputError as error:
            return Taken(Answer.NEVER, (f"{self.subjects.files_arrived}: {error}",))
        except KnickpointError as error:
            return Taken(Answer.AGAIN, (f"{self.subjects.files_arrived}: {error}",))
        unread = [outcome for outcome in outcomes if outcome.state is ImportState.UNREADABLE]
        if unread and deliveries >= _TRIES:
            return self._quarantine(body, url, unread[0].problems[0])
        return Taken(Answer.AGAIN if unread else Answer.DONE, _lines(outcomes))

    def _quarantine(self, body: bytes, source: str, problem: Problem) -> Taken:
        try:
            outcome = quarantine_bucket_event(self.instance, body, source, problem)
        except KnickpointError as error:
            return Taken(Answer.AGAIN, (f"{self.subjects.files_arrived}: {error}",))
        return Taken(Answer.NEVER, _lines((outcome,)))


def _lines(outcomes: tuple[FileSummary, ...]) -> tuple[str, ...]:
    lines = [line for outcome in outcomes for line in outcome.lines()]
    return (*lines, *ImportSummary(outcomes).remarks)


@asynccontextmanager
async def _kept(message: Msg) -> AsyncIterator[None]:
    """Tell the server again and again that work on a message goes on."""

    async def tell() -> None:
        while True:
            await asyncio.sleep(ACK_SECONDS / 3)
            await message.in_progress()

    telling = asyncio.create_task(tell())
    try:
        yield
    finally:
        telling.cancel()
        await asyncio.gather(telling, return_exceptions=True)  # where it failed, the answer fails as well
