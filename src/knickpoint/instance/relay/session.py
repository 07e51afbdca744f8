"""Work on one connection to NATS, until it is lost or the work is to end."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from knickpoint.instance.config import NatsSettings
from knickpoint.instance.relay.message import LARGEST_BYTES
from knickpoint.instance.relay.publisher import BATCH, Publisher
from knickpoint.instance.relay.receiver import Receiver
from knickpoint.instance.relay.stream import prepare_stream
from knickpoint.instance.relay.subjects import Subjects
from knickpoint.model.errors import ServiceError

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

__all__ = ["Session", "authorities_file", "connected", "credentials_file", "rest", "without_secrets"]

_CONNECT_SECONDS: Final = 5
_CLOSE_SECONDS: Final = 5.0
_PING_SECONDS: Final = 20
_FETCH_SECONDS: Final = 30.0
_BRIEF_SECONDS: Final = 2.0
_HEADER_BYTES: Final = 1024
_TOKEN: Final = b"BEGIN NATS USER JWT"
_LOST: Final = "the connection was lost"


@dataclass
class Session:
    """What is done on one connection: publishing, receiving, or both."""

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
        """Do a first piece of everything, which shows that it works."""
        if self.receiver is not None:
            self._inbox = await self.receiver.subscription(self.jetstream)
        if self.publisher is not None:
            await self.publisher.round(self.jetstream, self.largest)

    async def drain(self) -> None:
        """Publish what is there and take in what was announced, then end."""
        waiting = (await self._inbox.consumer_info()).num_pending if self._inbox is not None else 0
        for _ in range(waiting or 0):
            message = await self._next(_BRIEF_SECONDS)
            if message is not None:
                await self._handle(message)
        while self.publisher is not None and await self.publisher.round(self.jetstream, self.largest) == BATCH:
            pass

    async def work(self, halt: asyncio.Event) -> None:
        """Work until ``halt`` is set; what is under way is finished.

        Raises:
            ServiceError: the connection was lost.
        """
        ending = asyncio.Event()
        work = [asyncio.create_task(loop) for loop in (self._publish(ending), self._receive(ending))]
        signs = [asyncio.create_task(sign.wait()) for sign in (halt, self.lost)]
        running = {task for task, part in zip(work, (self.publisher, self._inbox), strict=True) if part is not None}
        await asyncio.wait({*running, *signs}, return_when=asyncio.FIRST_COMPLETED)
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
                await rest(ending, self.poll_seconds)

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
        """Return the next announcement, None where none came in time."""
        if self._inbox is None:
            return None
        with suppress(TimeoutError):
            return (await self._inbox.fetch(1, timeout=seconds))[0]
        return None

    async def _handle(self, message: Msg) -> None:
        assert self.receiver is not None
        for line in (await self.receiver.handle(message)).lines:
            self.announce(line)


@asynccontextmanager
async def connected(
    settings: NatsSettings,
    directory: Path,
    subjects: Subjects,
    *,
    publisher: Publisher | None,
    receiver: Receiver | None,
    announce: Callable[[str], None],
    poll_seconds: float,
) -> AsyncIterator[Session]:
    """Connect, see that the stream is there, and give a session on it.

    Raises:
        ServiceError: no server lets us in, or one does not do its part; while the ``with`` lasts, too.
    """
    lost = asyncio.Event()
    with _told(settings.url):
        client = await _connect(settings, directory, lost)
        try:
            jetstream = client.jetstream()
            accepted = await prepare_stream(jetstream, subjects)
            sizes = [size for size in (accepted, client.max_payload) if size > 0]
            session = Session(client, jetstream, publisher, receiver, announce, poll_seconds, lost)
            session.largest = min(LARGEST_BYTES, *(size - _HEADER_BYTES for size in sizes))
            await session.begin()
            yield session
        finally:
            await _close(client)


async def _connect(settings: NatsSettings, directory: Path, lost: asyncio.Event) -> Client:
    """Connect to the first server that lets us in; one connection, never mended: the relay makes a new one."""
    from nats.aio.client import Client
    from nats.errors import Error, NoServersError

    reasons: list[Exception] = [ConnectionError("no server is named")]

    async def told(error: Exception) -> None:
        reasons.append(error)

    async def closed() -> None:
        lost.set()

    token, seed = _proof(credentials_file(settings, directory))
    authorities = authorities_file(settings, directory)
    trusted = ssl.create_default_context(cafile=authorities) if authorities is not None else None
    for url in filter(None, (part.strip() for part in settings.url.split(","))):
        client = Client()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS + _CLOSE_SECONDS):
                await client.connect(
                    url,
                    name=f"knickpoint {settings.stream}".strip(),
                    error_cb=told,
                    closed_cb=closed,
                    allow_reconnect=False,
                    max_reconnect_attempts=1,
                    reconnect_time_wait=0,
                    connect_timeout=_CONNECT_SECONDS,
                    ping_interval=_PING_SECONDS,
                    tls=trusted,
                    user_credentials=token,
                    nkeys_seed=seed,
                )
        except (Error, OSError) as error:
            if not isinstance(error, NoServersError):
                reasons.append(error)
            await _close(client)
        else:
            return client
    raise next((reason for reason in reversed(reasons) if isinstance(reason, ssl.SSLError)), reasons[-1])


async def _close(client: Client) -> None:
    """Close a connection; one whose encryption failed never says that it is closed."""
    with suppress(TimeoutError):
        await asyncio.wait_for(client.close(), _CLOSE_SECONDS)


def _proof(credentials: Path | None) -> tuple[str | None, str | None]:
    """Return the file that shows who we are as one with a signed token, or as one with the bare seed of an nkey."""
    if credentials is None:
        return None, None
    return (str(credentials), None) if _TOKEN in credentials.read_bytes() else (None, str(credentials))


def authorities_file(settings: NatsSettings, directory: Path) -> Path | None:
    """Return the path of the certificates to trust, None where the configuration names none."""
    return directory / Path(settings.authorities).expanduser() if settings.authorities else None


def credentials_file(settings: NatsSettings, directory: Path) -> Path | None:
    """Return the path of the credentials, None where the configuration names none."""
    return directory / Path(settings.credentials).expanduser() if settings.credentials else None


async def rest(ending: asyncio.Event, seconds: float) -> None:
    """Wait, but not beyond the end."""
    with suppress(TimeoutError):
        await asyncio.wait_for(ending.wait(), seconds)


def without_secrets(url: str) -> str:
    """Return the addresses of servers without users, passwords and tokens."""
    return ", ".join(
        part.strip().replace(f"{urlsplit(part.strip()).netloc.rpartition('@')[0]}@", "") for part in url.split(",")
    )


@contextmanager
def _told(url: str) -> Iterator[None]:
    """Turn the errors of NATS into ours, in this one place."""
    from nats.errors import Error
    from nats.js.errors import APIError, NoStreamResponseError, ServiceUnavailableError

    where = without_secrets(url)
    try:
        yield
    except (NoStreamResponseError, ServiceUnavailableError) as error:
        remedy = "Start the server with JetStream (nats-server -js)."
        raise ServiceError("NATS does not offer JetStream", where=where, remedy=remedy) from error
    except APIError as error:
        remedy = "Correct stream in [nats], or the rights of the account."
        raise ServiceError(f"JetStream refuses: {error.description}", where=where, remedy=remedy) from error
    except ssl.SSLError as error:
        remedy = "Name the certificates that signed the server's in authorities of [nats], or correct its certificate."
        raise ServiceError(f"NATS cannot be trusted: {error}", where=where, remedy=remedy) from error
    except (Error, OSError) as error:
        if "authori" in str(error).lower() or "authenti" in str(error).lower():
            remedy = "Correct the user, the token or the credentials in [nats]."
            raise ServiceError(f"NATS does not let us in: {error}", where=where, remedy=remedy) from error
        remedy = "Start the server, or correct url in [nats]; nothing is lost in the meantime."
        raise ServiceError(
            f"NATS does not answer: {error or type(error).__name__}", where=where, remedy=remedy
        ) from error
