"""Sign claims that a browser keeps, and read them back.

The text is a compact JWS with HMAC-SHA256. Each purpose has a key of its own, derived from the key of the instance, so that a
text that was signed for one purpose is never read for another one.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from joserfc.jwk import OctKey

__all__ = ["Purpose", "derived_key", "read_claims", "sign_claims"]

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
