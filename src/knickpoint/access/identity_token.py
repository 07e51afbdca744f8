"""Read and verify the identity token of a CI job: a JSON Web Token that its CI service signs (RFC 7519, RFC 8725).

Everything in a token is chosen by whoever sends it, until its signature has been verified with a key that the issuer
publishes. So the token never chooses how it is verified: algorithms come from a list here, keys from the issuer.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from knickpoint.model.errors import NotSignedInError

_LOG: Final = logging.getLogger("knickpoint.access")

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""The accepted signatures: asymmetric ones only, so that a public key can never serve as a shared secret."""

_LONGEST: Final = 32_000
"""Characters of a token. Those of GitHub have about 2,000; those of GitLab list up to 200 groups."""

_FORM: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_REFUSED_HEADERS: Final = frozenset({"jwk", "jku", "x5u", "x5c", "crit", "b64", "zip", "enc"})
"""Headers that bring a key, an address of keys, or another way to read the token."""

_LEEWAY: Final = 60.0
"""Seconds by which the clock of the issuer may differ."""

_LONGEST_LIFE: Final = 24 * 3600.0
"""Seconds for which a token may be valid. GitHub's are for minutes, GitLab's for as long as the job may take."""

_LAST_SECOND: Final = 253_402_300_800
"""The end of the year 9999, in seconds since 1970."""


@dataclass(frozen=True, slots=True)
class IdentityToken:
    """A token that can be read. Nothing in it is verified."""

    text: str
    algorithm: str
    key_id: str
    issuer: str


class _Registry(jws.JWSRegistry):
    """The accepted algorithms, for tokens of the accepted length; headers without a meaning here are ignored."""

    max_header_length = _LONGEST
    max_payload_length = _LONGEST

    def __init__(self) -> None:
        super().__init__(algorithms=ALGORITHMS, strict_check_header=False)


def refused(reason: str) -> NotSignedInError:
    """Log why a token is refused, and return the error for its sender, which is the same for every reason."""
    _LOG.warning("the identity token of a CI job is refused: %s", reason)
    return NotSignedInError(
        "the identity token of the CI job is not accepted",
        where="Authorization",
        remedy="The log of the server has the reason; [ci_jobs] of knickpoint.toml names the jobs that may upload.",
    )


def read_token(text: str) -> IdentityToken:
    """Read the header and the issuer of a token, to find the key that verifies it.

    Raises:
        NotSignedInError: it is not a token, or it asks for another way of verification.
    """
    if len(text) > _LONGEST:
        raise refused(f"it has {len(text):,} characters")
    if not _FORM.fullmatch(text):
        raise refused("it does not have three parts in base64url")
    first, second, _ = text.split(".")
    header, claims = _object(first, "header"), _object(second, "payload")
    if not _REFUSED_HEADERS.isdisjoint(header):
        raise refused(f"its header has {', '.join(sorted(_REFUSED_HEADERS.intersection(header)))}")
    algorithm, key_id, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
    if algorithm not in ALGORITHMS:
        raise refused("its algorithm is not one of the accepted ones")
    if not isinstance(key_id, str) or not key_id:
        raise refused("its header names no key")
    if not isinstance(kind, str) or kind.upper() != "JWT":
        raise refused("its header says that it is something else than a JWT")
    issuer = claims.get("iss")
    if not isinstance(issuer, str):
        raise refused("it names no issuer")
    return IdentityToken(text, str(algorithm), key_id, issuer)


def verify(token: IdentityToken, key: RSAKey | ECKey) -> Mapping[str, object]:
    """Verify the signature of a token, and return its claims.

    Raises:
        NotSignedInError: the signature is not one by ``key`` with the algorithm of the token.
    """
    # The key states its algorithm (RFC 7517, 4.4): then no other one may be used with it.
    if key.get("alg") not in (None, token.algorithm):
        raise refused("its algorithm is not that of the key")
    try:
        signed = jws.deserialize_compact(token.text, key, algorithms=ALGORITHMS, registry=_Registry())
    except (JoseError, ValueError) as error:
        raise refused(f"its signature is not that of the issuer ({type(error).__name__})") from error
    claims = parse_json(signed.payload or b"")
    if not isinstance(claims, dict):
        raise refused("its payload is not an object of JSON in which each name occurs once")
    return claims


def check_times(claims: Mapping[str, object], now: datetime) -> None:
    """Check that a token is valid at ``now``, and only for a limited time.

    Raises:
        NotSignedInError: it is expired, not valid yet, or valid for too long, or it lacks ``exp`` or ``nbf``.
    """
    moment = now.timestamp()
    end, begin = _number(claims, "exp"), _number(claims, "nbf")
    made = _number(claims, "iat") if "iat" in claims else begin
    if end <= moment - _LEEWAY:
        raise refused("it has expired")
    if max(begin, made) > moment + _LEEWAY:
        raise refused("it is not valid yet")
    if end - min(begin, made) > _LONGEST_LIFE:
        raise refused("it is valid for more than 24 hours")


def check_audience(claims: Mapping[str, object], accepted: Collection[str]) -> frozenset[str]:
    """Return those of the ``accepted`` audiences that a token is made for.

    Raises:
        NotSignedInError: it is made for none of them, or its audience is neither a text nor a list of texts.
    """
    stated = claims.get("aud")
    audiences = stated if isinstance(stated, list) else [stated]
    if not all(isinstance(each, str) for each in audiences):
        raise refused("its audience is neither a text nor a list of texts")
    found = frozenset(accepted).intersection(audiences)
    if not found:
        raise refused("it is made for another audience")
    return found


def parse_json(data: bytes) -> object:
    """Return a document of JSON; None where it cannot be read, or where a name occurs twice in an object.

    Two readers of the same bytes may take the first or the last of two equal names.
    """
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_unique_names)
    except (ValueError, RecursionError):
        return None


def _unique_names(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _object(part: str, name: str) -> dict[str, object]:
    try:
        data = base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise refused(f"its {name} is not base64url") from error
    found = parse_json(data)
    if not isinstance(found, dict):
        raise refused(f"its {name} is not an object of JSON in which each name occurs once")
    return found


def _number(claims: Mapping[str, object], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LAST_SECOND:
        raise refused(f"its claim {name} is missing or no time")
    return float(value)
