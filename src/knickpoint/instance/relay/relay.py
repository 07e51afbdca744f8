"""Keep an instance connected to NATS, in a thread with its own event loop.

A relay opens one session after the other. When a session fails, it waits, from half a second up to 30 seconds, and
connects again. The outbox keeps the events in the meantime, so nothing is lost.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from knickpoint.instance.config import Config, NatsSettings
from knickpoint.instance.instance import Instance, open_configured_store
from knickpoint.instance.relay.session import (
    LARGEST_BYTES,
    Publisher,
    Receiver,
    Session,
    Subjects,
    listen_to_outbox,
    prepare_stream,
    wait_for_end,
)
from knickpoint.model.errors import ConfigError, KnickpointError, ServiceError
from knickpoint.model.plain_text import without_secrets
from knickpoint.store import Store

if TYPE_CHECKING:
    from nats.aio.client import Client


# Connect to a NATS server, and turn its errors into errors with a remedy.


_CONNECT_SECONDS: Final = 5
_CLOSE_SECONDS: Final = 5.0
_PING_SECONDS: Final = 20
_HEADER_BYTES: Final = 1024
_TOKEN: Final = b"BEGIN NATS USER JWT"


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
    """Connect, prepare the stream, and open a session on it.

    Raises:
        ServiceError: no server accepts the connection, or the server fails while the ``with`` lasts.
    """
    lost = asyncio.Event()
    with _as_service_errors(settings.url):
        client = await _connect(settings, directory, lost)
        try:
            jetstream = client.jetstream()
            accepted = await prepare_stream(jetstream, subjects, settings.replicas)
            sizes = [size for size in (accepted, client.max_payload) if size > 0]
            session = Session(client, jetstream, publisher, receiver, announce, poll_seconds, lost)
            session.largest = min(LARGEST_BYTES, *(size - _HEADER_BYTES for size in sizes))
            await session.begin()
            yield session
        finally:
            await _close(client)


async def _connect(settings: NatsSettings, directory: Path, lost: asyncio.Event) -> Client:
    """Connect to the first server that accepts; the client must not reconnect, because the relay does."""
    from nats.aio.client import Client
    from nats.errors import Error, NoServersError

    reasons: list[Exception] = [ConnectionError("no server is named")]

    async def on_error(error: Exception) -> None:
        reasons.append(error)

    async def on_closed() -> None:
        lost.set()

    token, seed = _credentials(credentials_file(settings, directory))
    authorities = authorities_file(settings, directory)
    trusted = ssl.create_default_context(cafile=authorities) if authorities is not None else None
    for url in filter(None, (part.strip() for part in settings.url.split(","))):
        client = Client()
        try:
            async with asyncio.timeout(_CONNECT_SECONDS + _CLOSE_SECONDS):
                await client.connect(
                    url,
                    name=f"knickpoint {settings.stream}".strip(),
                    error_cb=on_error,
                    closed_cb=on_closed,
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
    """Close a connection; a client whose TLS handshake failed never reports that it is closed."""
    with suppress(TimeoutError):
        await asyncio.wait_for(client.close(), _CLOSE_SECONDS)


def _credentials(credentials: Path | None) -> tuple[str | None, str | None]:
    """Return the file as one with a signed token, or as one with the bare seed of an nkey; the other is None."""
    if credentials is None:
        return None, None
    return (str(credentials), None) if _TOKEN in credentials.read_bytes() else (None, str(credentials))


def authorities_file(settings: NatsSettings, directory: Path) -> Path | None:
    """Return the path of the certificates to trust, None where the configuration names none."""
    return directory / Path(settings.authorities).expanduser() if settings.authorities else None


def credentials_file(settings: NatsSettings, directory: Path) -> Path | None:
    """Return the path of the credentials, None where the configuration names none."""
    return directory / Path(settings.credentials).expanduser() if settings.credentials else None


def servers_shown(url: str) -> str:
    """Return the addresses of servers without users, passwords and tokens."""
    parts = (part.strip() for part in url.split(","))
    return ", ".join(without_secrets(part if "://" in part else f"nats://{part}") for part in parts)


@contextmanager
def _as_service_errors(url: str) -> Iterator[None]:
    """Turn the errors of NATS into a :class:`ServiceError` with a remedy."""
    from nats.errors import Error
    from nats.js.errors import APIError, NoStreamResponseError, ServiceUnavailableError

    where = servers_shown(url)
    try:
        yield
    except (NoStreamResponseError, ServiceUnavailableError) as error:
        remedy = "Start the server with JetStream (nats-server -js)."
        raise ServiceError("NATS does not offer JetStream", where=where, remedy=remedy) from error
    except APIError as error:
        remedy = "Correct stream in [nats], or the rights of the account."
        raise ServiceError(f"JetStream refuses: {error.description}", where=where, remedy=remedy) from error
    except ssl.SSLError as error:
        remedy = "Name the authority of its certificate in authorities of [nats], or correct the certificate."
        raise ServiceError(f"NATS cannot be trusted: {error}", where=where, remedy=remedy) from error
    except (Error, OSError) as error:
        if "authori" in str(error).lower() or "authenti" in str(error).lower():
            remedy = "Correct the user, the token or the credentials in [nats]."
            raise ServiceError(
                f"NATS rejected the login: {without_secrets(str(error))}", where=where, remedy=remedy
            ) from error
        remedy = "Start the server, or correct url in [nats]; nothing is lost in the meantime."
        raise ServiceError(
            f"NATS does not answer: {without_secrets(str(error)) or type(error).__name__}", where=where, remedy=remedy
        ) from error


_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 30.0


def uses_nats(config: Config, directory: Path) -> bool:
    """Return True if the configuration names a NATS server, and check that everything for it is there.

    Raises:
        ConfigError: a package, the file of certificates or the file of credentials is missing, or the name of the
            instance cannot be part of a subject.
    """
    settings = config.nats
    if not settings.url:
        return False
    if find_spec("nats") is None:
        remedy = 'Run: pip install "knickpoint[nats]"'
        raise ConfigError("NATS needs nats-py, which is not installed", where="[nats]", remedy=remedy)
    Subjects.of(config.name, settings.stream)
    authorities = authorities_file(settings, directory)
    if authorities is not None and not authorities.is_file():
        remedy = "Correct authorities in [nats]."
        raise ConfigError("there is no such file of certificates", where=str(authorities), remedy=remedy)
    credentials = credentials_file(settings, directory)
    if credentials is None:
        return True
    if not credentials.is_file():
        remedy = "Correct credentials in [nats]."
        raise ConfigError("there is no such file of credentials", where=str(credentials), remedy=remedy)
    if find_spec("nkeys") is None:
        remedy = 'Run: pip install "nats-py[nkeys]"'
        raise ConfigError("credentials need nkeys, which is not installed", where="[nats]", remedy=remedy)
    return True


@dataclass
class Relay:
    """Publishes events and imports announced files while its ``with`` lasts.

    It opens its own store, so that its threads and those of the worker share no cache.

    Attributes:
        instance: the open instance.
        worker: name of the worker in the outbox.
        announce: receives what was imported, and each failure once until NATS works again.
        publishes: whether it publishes events, where the configuration wants that.
        receives: whether it imports announced files, where the configuration wants that.
        first_pause_seconds: pause after the first failure; each further one doubles it.
    """

    instance: Instance
    worker: str
    announce: Callable[[str], None]
    publishes: bool = True
    receives: bool = True
    first_pause_seconds: float = _FIRST_PAUSE_SECONDS
    _announced: set[str] = field(default_factory=set, init=False)
    _trouble: str = field(default="", init=False)
    _halt: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False)
    _threads: ThreadPoolExecutor | None = field(default=None, init=False)
    _running: Future[None] | None = field(default=None, init=False)

    def __enter__(self) -> Self:
        started = threading.Event()
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="knickpoint-nats")
        self._running = self._threads.submit(lambda: asyncio.run(self._keep_connected(started)))
        self._running.add_done_callback(lambda _future: started.set())
        started.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._threads is not None
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended already
                self._loop.call_soon_threadsafe(self._halt.set)
        self._threads.shutdown()

    def check(self) -> None:
        """Raise the error that ended the relay, if there is one."""
        if self._running is not None and self._running.done():
            self._running.result()

    @property
    def trouble(self) -> str:
        """The newest failure of NATS, empty while it works."""
        return self._trouble

    def once(self) -> None:
        """Import what is announced now, publish the events of the outbox, and end."""
        asyncio.run(self._once())

    async def _once(self) -> None:
        try:
            with self._open() as store:
                async with self._session(store) as session:
                    await session.drain()
        except KnickpointError as error:
            self._announce_once(error)

    async def _keep_connected(self, started: threading.Event) -> None:
        """Open session after session until the ``with`` ends, with growing pauses after failures."""
        self._loop = asyncio.get_running_loop()
        started.set()
        pause = self.first_pause_seconds
        with self._open() as store:
            while not self._halt.is_set():
                try:
                    async with self._session(store) as session:
                        self._recover()
                        pause = self.first_pause_seconds
                        await session.work(self._halt)
                except KnickpointError as error:
                    self._announce_once(error)
                    await wait_for_end(self._halt, pause)
                    pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _open(self) -> Store:
        return open_configured_store(self.instance.config, self.instance.directory)

    def _session(self, store: Store) -> AbstractAsyncContextManager[Session]:
        directory, config = self.instance.directory, self.instance.config
        instance = Instance(directory, config, store)
        subjects = Subjects.of(config.name, config.nats.stream)
        publisher = Publisher(store, subjects, self.worker, config.worker.lease_seconds)
        listen_to_outbox(store, wanted=config.nats.publish)
        return connected(
            config.nats,
            directory,
            subjects,
            publisher=publisher if self.publishes and config.nats.publish else None,
            receiver=Receiver(instance, subjects) if self.receives and config.nats.files else None,
            announce=self.announce,
            poll_seconds=config.worker.poll_seconds,
        )

    def _announce_once(self, error: KnickpointError) -> None:
        self._trouble = str(error)
        if str(error) not in self._announced:
            self.announce(str(error))
        self._announced.add(str(error))

    def _recover(self) -> None:
        if self._announced:
            self.announce(f"{servers_shown(self.instance.config.nats.url)}: NATS is available again")
        self._announced.clear()
        self._trouble = ""
