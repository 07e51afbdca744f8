"""The key that signs the cookies of an instance: a secret of the configuration, or a file that the server makes."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from knickpoint.access.settings import AccessSettings
from knickpoint.model.errors import ConfigError

if TYPE_CHECKING:
    from joserfc.jwk import OctKey


KEY_FILE: Final = "session.key"
"""Name of the file in the directory of the instance."""

_KEY_BYTES: Final = 32
_SHORTEST_SECRET: Final = 32
"""Characters of a secret: 128 bits where they are hexadecimal digits."""

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def session_key(directory: Path, settings: AccessSettings) -> bytes:
    """Return the key of the instance in ``directory``; make its file where there is neither a secret nor a file.

    Servers that start at the same time use the same file.

    Raises:
        ConfigError: the secret is short, or the file cannot be made, can be read by others, or holds no key.
    """
    if settings.session_secret:
        check_secret(settings, "[access]")
        return settings.session_secret.encode()
    path = directory / KEY_FILE
    try:
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as error:
        raise ConfigError(
            f"the key of the sessions cannot be read or made: {error.strerror}",
            where=str(path),
            remedy="Make it readable and its directory writable for the server, or set session_secret of [access].",
        ) from error


def check_secret(settings: AccessSettings, where: str) -> None:
    """Check that the secret of the configuration, if there is one, is long enough.

    Raises:
        ConfigError: it is short.
    """
    if 0 < len(settings.session_secret) < _SHORTEST_SECRET:
        raise ConfigError(
            f"session_secret has fewer than {_SHORTEST_SECRET} characters",
            where=where,
            remedy="Use a random one, as openssl rand -hex 32 writes it.",
        )


def _make(path: Path) -> None:
    """Make a complete file, unless another process makes it first."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_KEY_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        # A link fails where the name exists, so that the first complete file wins and stays.
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink()


def _read(path: Path) -> bytes:
    with path.open(encoding="ascii", errors="replace") as file:
        mode = os.fstat(file.fileno()).st_mode
        text = file.read(1_024).strip()
    if mode & _OTHERS:
        raise ConfigError(
            "the key of the sessions can be read or written by other users",
            where=str(path),
            remedy=f"Delete it, and the server makes a new one; or, where it was not read, run chmod 600 {path.name}.",
        )
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) < _KEY_BYTES:
        raise ConfigError(
            "the file holds no key of sessions",
            where=str(path),
            remedy="Delete it; the server makes a new one, and everyone signs in again.",
        )
    return key


# Sign claims that a browser keeps, and read them back.
#
# The text is a compact JWS with HMAC-SHA256. Each purpose has a key of its own, derived from the key of the instance,
# so that a text that was signed for one purpose is never read for another one.


_ALGORITHM: Final = "HS256"
_LONGEST: Final = 8_192
"""Characters of a text that are looked at; browsers keep about 4,096."""


class Purpose(Enum):
    """What a signed text, or a derived key, is for."""

    SESSION = "knickpoint session 1"
    SIGN_IN = "knickpoint sign-in 1"
    NONCE = "knickpoint nonce 1"
    VERIFIER = "knickpoint code verifier 1"
    LINK = "knickpoint signed link 1"


def derived_key(key: bytes, purpose: Purpose, text: str = "") -> bytes:
    """Return 32 bytes for one purpose, and for ``text`` within it, from which ``key`` cannot be computed."""
    return hmac.digest(key, f"{purpose.value}\n{text}".encode(), hashlib.sha256)


def sign_claims(claims: Mapping[str, Any], key: bytes, purpose: Purpose) -> str:
    """Return ``claims`` as a signed text for ``purpose``; `exp`, in seconds since 1970, says until when it counts."""
    from joserfc import jwt

    assert isinstance(claims["exp"], int)
    return jwt.encode({"alg": _ALGORITHM}, dict(claims), _key(key, purpose), algorithms=[_ALGORITHM])


def read_claims(text: str, key: bytes, purpose: Purpose, now: datetime) -> dict[str, Any] | None:
    """Return the claims of a text that was signed for ``purpose`` and has not expired, else nothing."""
    from joserfc import jwt
    from joserfc.errors import JoseError

    if len(text) > _LONGEST or not text.isascii():
        return None
    try:
        claims = jwt.decode(text, _key(key, purpose), algorithms=[_ALGORITHM]).claims
    except (JoseError, ValueError):
        return None
    expires = claims.get("exp")
    return claims if isinstance(expires, int) and now < datetime.fromtimestamp(expires, UTC) else None


def _key(key: bytes, purpose: Purpose) -> OctKey:
    from joserfc.jwk import OctKey

    return OctKey.import_key(derived_key(key, purpose))
