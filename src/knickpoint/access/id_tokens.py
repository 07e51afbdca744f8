"""Verify the ID token of an OpenID provider (OpenID Connect Core 1.0, 3.1.3.7)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey
from joserfc.jws import JWSRegistry

from knickpoint.access.identity_token import ALGORITHMS
from knickpoint.access.issuer_keys import KeySource
from knickpoint.model.errors import NotSignedInError

__all__ = ["ExpectedToken", "verify_id_token"]

_LEEWAY_SECONDS: Final = 60
"""How far the clock of the provider may differ."""

_LONGEST: Final = 100_000
"""Characters of a token; one with some thousand groups fits."""

_LONGEST_HEADER: Final = 8_000
"""Bytes of its header, which may hold a chain of certificates."""

_LONGEST_SUBJECT: Final = 255


@dataclass(frozen=True, slots=True)
class ExpectedToken:
    """What the claims of a token must agree with; ``algorithms`` are those that the provider says it uses."""

    issuer: str
    client_id: str
    nonce: str
    access_token: str
    algorithms: Collection[str]


def verify_id_token(text: object, expected: ExpectedToken, keys: KeySource, now: datetime) -> dict[str, Any]:
    """Return the claims of an ID token.

    Raises:
        NotSignedInError: it is not signed by a key of the issuer with an asymmetric algorithm, is made for another client, for
            another sign-in or by another issuer, or has expired.
        ServiceError: the keys of the issuer cannot be fetched.
    """
    if not isinstance(text, str) or not text.isascii() or len(text) > _LONGEST:
        raise _refused("it is no token")
    algorithms = frozenset(ALGORITHMS).intersection(expected.algorithms)
    if not algorithms:  # an empty list would mean the defaults of the library
        raise _refused("the provider names no asymmetric algorithm")
    registry = JWSRegistry(algorithms=algorithms, strict_check_header=False)
    registry.max_header_length = _LONGEST_HEADER
    try:
        token = jwt.decode(text, lambda signed: _key(signed.headers(), expected.issuer, keys), registry=registry)
        claims = CodeIDToken(
            token.claims,
            token.header,
            {
                "iss": {"essential": True, "values": [expected.issuer]},
                "aud": {"essential": True, "values": [expected.client_id]},
                "sub": {"essential": True},
            },
            {"nonce": expected.nonce, "client_id": expected.client_id, "access_token": expected.access_token},
        )
        claims.validate(now=int(now.timestamp()), leeway=_LEEWAY_SECONDS)
    except (JoseError, ValueError, TypeError) as error:
        raise _refused(str(error) or type(error).__name__) from error
    if len(token.claims["sub"]) > _LONGEST_SUBJECT:
        raise _refused("its subject is too long")
    return dict(token.claims)


def _key(header: Mapping[str, Any], issuer: str, keys: KeySource) -> RSAKey | ECKey:
    key_id = header.get("kid", "")
    key = keys.find(issuer, key_id) if isinstance(key_id, str) else None
    if key is None:
        raise _refused("it is signed with a key that the provider does not publish")
    return key


def _refused(why: str) -> NotSignedInError:
    return NotSignedInError(f"the ID token is refused: {why[:200]}", remedy="Sign in again.")
