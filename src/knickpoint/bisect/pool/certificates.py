"""Certificates of a pool: derived from a secret, or made as files for an authority of its own."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from knickpoint.model.errors import ConfigError, InputError

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
