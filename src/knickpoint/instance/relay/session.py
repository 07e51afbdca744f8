"""Publish and receive on one connection to NATS, until it is lost or the work ends: subjects, stream, messages.

The two directions are independent loops. When one of them fails, the connection is lost, or the work ends, both loops
finish their current message and the session is over; the relay opens the next one.
"""

from __future__ import annotations

import asyncio
import json
import re
import unicodedata
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Self

from knickpoint.ingest import FileSummary, ImportState, ImportSummary, import_bucket_event
from knickpoint.ingest.bucket_events import bucket_event_urls, quarantine_bucket_event
from knickpoint.instance.instance import Instance
from knickpoint.instance.separate_import import separate_reader
from knickpoint.model.errors import ConfigError, InputError, KnickpointError
from knickpoint.model.report import Problem
from knickpoint.store import Event, EventKind, Store

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext


# The names of the subjects, the stream and the consumer of an instance on NATS.


_APP: Final = "knickpoint"
_LONGEST: Final = 64
_OTHER: Final = re.compile(r"[^a-z0-9]+")

RELAYED: Final = (EventKind.TRACES_CHANGED, EventKind.CHANGES_UPDATED)
"""The kinds of events that are published."""


def subject_name(instance: str) -> str:
    """Return the name of an instance as part of a subject.

    Accents are dropped, letters become lower case, each run of other characters becomes one hyphen, and 64 characters
    are kept: ``Lab München/2`` is ``lab-munchen-2``.

    Raises:
        ConfigError: no character is left.
    """
    plain = unicodedata.normalize("NFKD", instance).encode("ascii", "ignore").decode().lower()
    name = _OTHER.sub("-", plain).strip("-")[:_LONGEST].strip("-")
    if not name:
        raise ConfigError(
            f"the instance's name {instance!r} has no letter from a to z and no digit, which subjects of NATS need",
            remedy="Give the instance another name in knickpoint.toml.",
        )
    return name


@dataclass(frozen=True, slots=True)
class Subjects:
    """The names of one instance: ``<app>-<function>-<instance>``, each a single token."""

    instance: str
    stream: str

    @classmethod
    def of(cls, instance: str, stream: str = "") -> Self:
        """Return the names for an instance; without ``stream``, the stream belongs to this instance only.

        Raises:
            ConfigError: the name of the instance cannot be part of a subject.
        """
        name = subject_name(instance)
        return cls(name, stream or f"{_APP}-{name}")

    def of_kind(self, kind: EventKind) -> str:
        """Return the subject of events of a kind."""
        return self._subject(kind.value)

    @property
    def files_arrived(self) -> str:
        """The subject under which files are announced."""
        return self._subject("files-arrived")

    @property
    def consumer(self) -> str:
        """The durable consumer of announced files, which all workers of the instance share."""
        return self.files_arrived

    @property
    def all(self) -> tuple[str, ...]:
        """Every subject of the instance."""
        return (*(self.of_kind(kind) for kind in RELAYED), self.files_arrived)

    def _subject(self, function: str) -> str:
        return f"{_APP}-{function}-{self.instance}"


# Encode an event as a message of bounded size.


LARGEST_BYTES: Final = 256 * 1024
_IDS: Final = frozenset({"first", "wide", "steps", "chunks", "bitmaps"})
"""The members of a payload that encode trace ids; they are of use only together."""


def message_id(event: Event, instance: str) -> str:
    """Return the id by which the server recognises a second delivery of the same event.

    It includes the time, because a restored store assigns the ids since its backup again.
    """
    return f"{instance}/{event.id}/{event.created.timestamp():.6f}"


def encode_event(event: Event, instance: str, largest: int = LARGEST_BYTES) -> bytes:
    """Return an event as JSON of at most ``largest`` bytes.

    If it would be larger, it leaves out the largest members of the payload, trace ids as a whole, and names them in
    ``left_out``; a consumer reads them from the store.
    """
    # Members that leave together, smallest group first.
    members = {name: (name,) for name in event.payload}
    ids = tuple(name for name in event.payload if name in _IDS)
    groups = list({members[name] if name not in _IDS else ids: None for name in event.payload})
    groups.sort(key=lambda group: sum(len(_to_json(event.payload[name])) for name in group))
    # Leave out the largest group until the message is small enough.
    left_out: list[str] = []
    while True:
        payload = {name: value for name, value in event.payload.items() if name not in left_out}
        data = _to_json(_message(event, instance, payload, left_out))
        if len(data) <= largest or not groups:
            return data
        left_out += groups.pop()


def _message(event: Event, instance: str, payload: Mapping[str, Any], left_out: list[str]) -> dict[str, Any]:
    message = {
        "id": event.id,
        "kind": event.kind.value,
        "instance": instance,
        "created": event.created.isoformat(),
        "payload": payload,
    }
    return message | ({"left_out": sorted(left_out)} if left_out else {})


def _to_json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


# Create the stream of an instance where it is missing, and add the subjects that it lacks.


_DAY_SECONDS: Final = 86_400
_KEPT_SECONDS: Final = 7 * _DAY_SECONDS
_KEPT_MESSAGES: Final = 1_000_000
_DUPLICATES_SECONDS: Final = 3600
"""How long the server recognises the id of a message; longer than a worker may hold an event."""

_EVERYTHING: Final = frozenset({"*", ">"})


async def prepare_stream(jetstream: JetStreamContext, subjects: Subjects, replicas: int = 1) -> int:
    """Create the stream where it is missing, on ``replicas`` nodes of a cluster, and add subjects that it lacks.

    Other settings are never changed.

    Returns:
        the size in bytes of the largest message that it accepts, -1 for no limit.

    Raises:
        nats.errors.Error, OSError, TimeoutError: the server refuses, or does not answer.
    """
    from nats.js.api import StorageType, StreamConfig
    from nats.js.errors import NotFoundError

    try:
        info = await jetstream.stream_info(subjects.stream)
    except NotFoundError:
        info = await jetstream.add_stream(
            StreamConfig(
                name=subjects.stream,
                subjects=list(subjects.all),
                max_age=_KEPT_SECONDS,
                max_msgs=_KEPT_MESSAGES,
                duplicate_window=_DUPLICATES_SECONDS,
                storage=StorageType.FILE,
                num_replicas=replicas,
            )
        )
    known = info.config.subjects or []
    missing = [subject for subject in subjects.all if subject not in known]
    if missing and _EVERYTHING.isdisjoint(known):
        info = await jetstream.update_stream(info.config.evolve(subjects=[*known, *missing]))
    return info.config.max_msg_size or -1


# Publish the events of the outbox in order, and mark them done when the server has acknowledged them.


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


# Import the files that messages announce, and acknowledge a message when its files are in the store.
#
# The reply to the server depends on why an import fails. What may work later, such as a bucket that does not answer, is
# delivered again with a growing delay. What can never work goes into quarantine, and the server drops the message.


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
