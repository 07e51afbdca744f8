"""What proves that a connection belongs to the pool: certificates on both sides, a secret, or both.

Dask runs what it receives as code. So each connection is TLS, and each side verifies the certificate of the other
before it reads anything. Certificates are derived from the secret, or made as files for an authority of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import ssl
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from knickpoint.bisect.settings import PoolSettings
from knickpoint.model.errors import ConfigError, InputError, ServiceError

_YEARS: Final = timedelta(days=3650)
_DAY: Final = timedelta(days=1)
_LEAST_SECRET: Final = 32
_AUTHORITY: Final = "authority"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What one side of a connection shows and trusts, as PEM texts: its certificate, its key, the authority."""

    certificate: str
    private_key: str = field(repr=False)
    authority: str


def credentials_of_secret(secret: str, name: str) -> Credentials:
    """Return new credentials that only those accept, and can make, who know ``secret``.

    The secret gives the private key of an authority (scrypt, so that a guess is slow), and this signs a new
    certificate. Both sides of a connection show one: the secret itself never travels.

    Raises:
        ConfigError: the secret is short enough to be guessed, or the package ``cryptography`` is missing.
    """
    if len(secret) < _LEAST_SECRET:
        raise ConfigError(
            f"the secret of the pool has {len(secret)} characters, less than {_LEAST_SECRET}",
            where="[pool] secret",
            remedy="Make a random one, for example with: openssl rand -hex 32",
        )
    _need_cryptography()
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    # The parameters of scrypt: 32 MiB and about 0.1 s for each guess.
    seed = hashlib.scrypt(secret.encode(), salt=b"knickpoint pool 1", n=1 << 15, r=8, p=1, maxmem=1 << 26, dklen=32)
    authority_key = ed25519.Ed25519PrivateKey.from_private_bytes(seed)
    authority = _certificate("pool of a secret", authority_key, issuer=None, issuer_key=authority_key)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate(name, key, issuer=authority, issuer_key=authority_key)
    return Credentials(_pem(certificate), _key_pem(key), _pem(authority))


def make_certificate_files(directory: Path, names: tuple[str, ...]) -> tuple[Path, ...]:
    """Make an authority in ``directory``, unless it is there, and a certificate with its key for each name.

    Return the files.

    Raises:
        InputError: a name is none of a file, a certificate is there already, or the directory cannot be written.
        ConfigError: the package ``cryptography`` is missing.
    """
    _need_cryptography()
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    for name in names:
        if not name or name in {_AUTHORITY, ".", ".."} or "/" in name or not name.isprintable():
            raise InputError(f"{name!r} is not a name for a certificate", remedy="Use the name of a device or a host.")
        if (directory / f"{name}.pem").exists():
            raise InputError(
                "the certificate already exists",
                where=str(directory / f"{name}.pem"),
                remedy="Remove it, or take another name.",
            )
    made = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        certificate_file, key_file = directory / f"{_AUTHORITY}.pem", directory / f"{_AUTHORITY}-key.pem"
        if not certificate_file.exists():
            key = ec.generate_private_key(ec.SECP256R1())
            authority = _certificate("authority of a pool", key, issuer=None, issuer_key=key)
            _write(key_file, _key_pem(key))
            _write(certificate_file, _pem(authority))
            made += [certificate_file, key_file]
        authority = x509.load_pem_x509_certificate(certificate_file.read_bytes())
        loaded: Any = serialization.load_pem_private_key(key_file.read_bytes(), None)
        for name in names:
            key = ec.generate_private_key(ec.SECP256R1())
            certificate = _certificate(name, key, issuer=authority, issuer_key=loaded)
            _write(directory / f"{name}-key.pem", _key_pem(key))
            _write(directory / f"{name}.pem", _pem(certificate))
            made += [directory / f"{name}.pem", directory / f"{name}-key.pem"]
    except (OSError, ValueError) as error:
        raise InputError(f"certificates cannot be made: {error}", where=str(directory)) from error
    return tuple(made)


def _need_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            "the package cryptography is missing", remedy='Install it with: pip install "knickpoint[cluster]".'
        ) from error


def _certificate(name: str, key: Any, *, issuer: Any, issuer_key: Any) -> Any:
    """Return a certificate for a key; without ``issuer`` that of an authority, which signs itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ed25519
    from cryptography.x509.oid import NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    public = issuer_key.public_key()
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if issuer is None else issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _YEARS)
        .add_extension(
            x509.BasicConstraints(ca=issuer is None, path_length=0 if issuer is None else None), critical=True
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
    )
    # An authority with an Ed25519 key names no hash.
    return builder.sign(issuer_key, None if isinstance(issuer_key, ed25519.Ed25519PrivateKey) else hashes.SHA256())


def _pem(certificate: Any) -> str:
    from cryptography.hazmat.primitives import serialization

    return str(certificate.public_bytes(serialization.Encoding.PEM).decode())


def _key_pem(key: Any) -> str:
    from cryptography.hazmat.primitives import serialization

    plain = serialization.NoEncryption()
    encoded: bytes = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    return encoded.decode()


def _write(path: Path, text: str) -> None:
    """Write a new file that only its owner may read."""
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(opened, "w", encoding="ascii") as file:
        file.write(text)


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
