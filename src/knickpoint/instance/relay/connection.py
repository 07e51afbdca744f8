"""Connect to a NATS server, and turn its errors into errors with a remedy."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.instance.config import NatsSettings
from knickpoint.instance.relay.message import LARGEST_BYTES
from knickpoint.instance.relay.publisher import Publisher
from knickpoint.instance.relay.receiver import Receiver
from knickpoint.instance.relay.session import Session
from knickpoint.instance.relay.stream import prepare_stream
from knickpoint.instance.relay.subjects import Subjects
from knickpoint.model.errors import ServiceError
from knickpoint.model.secrets import without_secrets

if TYPE_CHECKING:
    from nats.aio.client import Client

__all__ = ["authorities_file", "connected", "credentials_file", "servers_shown"]

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
                f"NATS does not let us in: {without_secrets(str(error))}", where=where, remedy=remedy
            ) from error
        remedy = "Start the server, or correct url in [nats]; nothing is lost in the meantime."
        raise ServiceError(
            f"NATS does not answer: {without_secrets(str(error)) or type(error).__name__}", where=where, remedy=remedy
        ) from error
