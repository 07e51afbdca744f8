"""What proves that a connection belongs to the pool: certificates on both sides, a secret, or both.

Dask runs what it receives as code. So each connection is TLS, and each side verifies the certificate of the other
before it reads anything.
"""

from __future__ import annotations

import hmac
import logging
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from knickpoint.bisect.pool.certificates import Credentials, credentials_of_secret
from knickpoint.bisect.settings import PoolSettings
from knickpoint.model.errors import ConfigError, ServiceError

# How Dask runs for a pool: without its dashboard and profilers, which would disturb what devices measure.


_LEAST_TCP_SECONDS: Final = 12
"""Dask allows no shorter time for a connection that does not answer."""


def configure_dask(heartbeat_seconds: float) -> None:
    """Configure Dask for this process: a connection that is silent for ``heartbeat_seconds`` is closed.

    Its log is silent but for what is critical: who joins, leaves or is refused is announced by the pool itself.
    """
    import dask
    import distributed  # noqa: F401 - it loads its defaults, which come first

    silent = max(_LEAST_TCP_SECONDS, int(heartbeat_seconds))
    dask.config.set(
        {
            "distributed.comm.timeouts.connect": f"{max(2.0, min(30.0, heartbeat_seconds)):g}s",
            "distributed.comm.timeouts.tcp": f"{silent}s",
            "distributed.comm.retry.count": 0,
            "distributed.scheduler.http.routes": [],
            "distributed.worker.http.routes": [],
            "distributed.worker.profile.enabled": False,
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.pause": False,
            "distributed.worker.memory.terminate": False,
            "distributed.scheduler.work-stealing": False,
            "distributed.scheduler.active-memory-manager.start": False,
            "distributed.admin.tick.interval": "2s",
            "distributed.admin.tick.limit": "1h",
            "distributed.admin.system-monitor.interval": "30s",
            "distributed.admin.system-monitor.gil.enabled": False,
            "distributed.admin.log-length": 100,
        }
    )
    logging.getLogger("distributed").setLevel(logging.CRITICAL)


_DEFAULT_PORT: Final = 8786
_REFUSAL: Final = "FatalCommClosedError"
"""What Dask raises where a certificate is not accepted; it is named here, so that this module needs no Dask."""


@dataclass(frozen=True, slots=True)
class PoolAccess:
    """Where the scheduler of a pool is, and what proves that one may connect.

    ``address`` has a host and a port, as in ``tls://pool.example.org:8786``.
    """

    address: str
    credentials: Credentials
    secret: str = field(repr=False)

    @property
    def host(self) -> str:
        """The host of the scheduler, without brackets."""
        return urlsplit(self.address).hostname or ""

    @property
    def port(self) -> int:
        """The port of the scheduler."""
        return urlsplit(self.address).port or _DEFAULT_PORT

    def configure(self, heartbeat_seconds: float) -> None:
        """Configure Dask for this process; a connection that is silent for so long is closed.

        Raises:
            ServiceError: Dask is not installed.
        """
        try:
            configure_dask(heartbeat_seconds)
        except ImportError as error:
            raise ServiceError(
                "Dask is not installed",
                where=self.address,
                remedy='Install it with: pip install "knickpoint[cluster]".',
            ) from error

    def security(self) -> Any:
        """Return the settings of Dask (``Security``) that verify both sides of each connection.

        Raises:
            ConfigError: the certificates cannot be used.
        """
        from distributed import security

        shown = self.credentials
        settings: Any = security.Security
        made = settings(
            require_encryption=True,
            tls_ca_file=shown.authority,
            **{f"tls_{role}_cert": shown.certificate for role in ("client", "scheduler", "worker")},
            **{f"tls_{role}_key": shown.private_key for role in ("client", "scheduler", "worker")},
        )
        try:
            made.get_connection_args("client")
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"the certificates cannot be used: {error}",
                where="[pool]",
                remedy="Check that certificate, private_key and authorities are PEM files that belong together.",
            ) from error
        return made

    def scheduler(self, seconds: float) -> Any:
        """Return the scheduler as an object (``rpc`` of Dask) whose methods ask it.

        Connecting takes at most ``seconds``.

        Raises:
            ConfigError: the certificates cannot be used.
        """
        connection = self.security().get_connection_args("client")
        from distributed import core

        remote: Any = core.rpc
        return remote(self.address, connection_args=connection, timeout=seconds)

    def proof(self, identity: str) -> str:
        """Return the proof that the holder of ``identity`` knows the secret, "" if the pool has none."""
        return hmac.digest(self.secret.encode(), identity.encode(), "sha256").hex() if self.secret else ""

    def proves(self, identity: str, proof: str) -> bool:
        """Return True if a proof is that of the secret for ``identity``."""
        return hmac.compare_digest(self.proof(identity).encode(), proof.encode())


def pool_access(settings: PoolSettings, directory: Path) -> PoolAccess:
    """Return the access to the pool of a configuration; files are relative to ``directory``.

    Raises:
        ConfigError: the address or the credentials cannot be used, or there are none.
    """
    address = _address(settings.address)
    files = {
        "certificate": settings.certificate,
        "private_key": settings.private_key,
        "authorities": settings.authorities,
    }
    if not any(files.values()):
        if not settings.secret:
            raise ConfigError(
                "the pool has an address but no credentials, so anyone who reaches it could run programs",
                where="[pool]",
                remedy='Set secret = "${KNICKPOINT_POOL_SECRET}", or certificate, private_key and authorities.',
            )
        return PoolAccess(address, credentials_of_secret(settings.secret, "member of a pool"), settings.secret)
    for name, file in files.items():
        if not file and name != "private_key":
            raise ConfigError(
                f"{name} is missing", where="[pool]", remedy="Set certificate, private_key and authorities."
            )
    certificate = _text(directory, "certificate", settings.certificate)
    private_key = _text(directory, "private_key", settings.private_key) if settings.private_key else certificate
    shown = Credentials(certificate, private_key, _text(directory, "authorities", settings.authorities))
    return PoolAccess(address, shown, settings.secret)


def connection_trouble(error: BaseException) -> str:
    """Return in one line why a connection of the pool failed: the first cause, which Dask wraps."""
    if is_refusal(error):
        return "the certificates do not fit: both sides need the same secret, or certificates of the same authority"
    causes = _causes(error)
    text = next((text for cause in reversed(causes) if (text := " ".join(str(cause).split()))), "")
    return text or type(error).__name__


def is_refusal(error: BaseException) -> bool:
    """Return True if a connection failed because a side does not accept the certificate of the other."""
    return any(isinstance(cause, ssl.SSLError) or type(cause).__name__ == _REFUSAL for cause in _causes(error))


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in found:
        found.append(cause)
        cause = cause.__cause__ or cause.__context__
    return found


def _address(address: str) -> str:
    parts = urlsplit(address if "://" in address else f"tls://{address}")
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme != "tls" or not parts.hostname or port == -1 or parts.path.strip("/") or parts.username:
        raise ConfigError(
            f"{address!r} is not an address of a pool",
            where="[pool] address",
            remedy=f"Write tls://HOST:PORT, as in tls://pool.example.org:{_DEFAULT_PORT}; other protocols lack encryption.",
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"tls://{host}:{port if port is not None else _DEFAULT_PORT}"


def _text(directory: Path, name: str, file: str) -> str:
    path = directory / Path(file).expanduser()
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"the file cannot be read: {error}", where=f"[pool] {name}", remedy="Name a PEM file."
        ) from error
