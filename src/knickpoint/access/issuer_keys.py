"""Keep the keys with which issuers sign, fetched from the issuer's own description and fetched anew when they change.

A request never decides which address is contacted, and only at a bounded rate that one is contacted at all.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from joserfc import jwk
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from knickpoint.access.identity_token import parse_json
from knickpoint.model.errors import KnickpointError, ServiceError
from knickpoint.outgoing.fetch import fetch
from knickpoint.outgoing.rule import OutgoingRule

_LOG: Final = logging.getLogger("knickpoint.access")

_DESCRIPTION: Final = "/.well-known/openid-configuration"
_FRESH_SECONDS: Final = 3600.0
"""Age at which cached keys are fetched anew."""
_LONGEST_SECONDS: Final = 24 * 3600.0
"""Age up to which cached keys are used while the issuer does not answer."""
_PAUSE_SECONDS: Final = 30.0
"""Time between two requests to an issuer, whatever tokens arrive."""
_FETCH_SECONDS: Final = 5.0
_LARGEST_BYTES: Final = 500_000
_MOST_KEYS: Final = 100
_SHORTEST_RSA_BITS: Final = 2048
_OK: Final = 200

SigningKey = RSAKey | ECKey


@dataclass(slots=True)
class _Issuer:
    """What is known of an issuer. Times are those of the clock of the source."""

    keys: Mapping[str, SigningKey] | None = None
    fetched: float = 0.0
    asked: float | None = None
    failure: KnickpointError | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class KeySource:
    """Find the keys of issuers; safe for threads.

    Args:
        rule: the hosts that may be contacted where the description of an issuer names another host for its keys.
        clock: seconds that never go back.
    """

    def __init__(self, rule: OutgoingRule | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rule = rule or OutgoingRule()
        self._clock = clock
        self._issuers: dict[str, _Issuer] = {}
        self._lock = threading.Lock()

    def find(self, issuer: str, key_id: str) -> SigningKey | None:
        """Return the key of ``issuer`` with the id ``key_id``, None where it has none.

        ``issuer`` is a configured address.

        Without an id, it is the only key of an issuer that has one.

        Raises:
            ServiceError: the issuer does not answer, and no cached key has this id.
        """
        with self._lock:
            known = self._issuers.setdefault(issuer, _Issuer())
        key = self._cached(known, key_id)
        if key is not None and self._clock() - known.fetched < _FRESH_SECONDS:
            return key
        # Whoever has an old key does not wait for the thread that fetches new ones.
        if not known.lock.acquire(blocking=key is None):
            return key
        try:
            if known.asked is None or self._clock() - known.asked >= _PAUSE_SECONDS:
                self._renew(issuer, known)
            return self._cached_or_raise(issuer, known, key_id)
        finally:
            known.lock.release()

    def _cached(self, known: _Issuer, key_id: str) -> SigningKey | None:
        if known.keys is None or self._clock() - known.fetched >= _LONGEST_SECONDS:
            return None
        only = next(iter(known.keys.values())) if len(known.keys) == 1 else None
        return known.keys.get(key_id) if key_id else only

    def _cached_or_raise(self, issuer: str, known: _Issuer, key_id: str) -> SigningKey | None:
        key = self._cached(known, key_id)
        if key is None and known.failure is not None:
            raise ServiceError(
                f"the keys of the issuer cannot be fetched: {known.failure.message}",
                where=issuer,
                remedy="Try again later; if it stays so, let this server reach the issuer.",
            ) from known.failure
        return key

    def _renew(self, issuer: str, known: _Issuer) -> None:
        """Fetch the keys of ``issuer``; keep the cached ones where that fails."""
        known.asked = self._clock()
        try:
            known.keys = _fetch_keys(issuer, self._rule)
        except KnickpointError as error:
            _LOG.warning("the keys of %s cannot be fetched: %s", issuer, error)
            known.failure = error
        else:
            known.fetched, known.failure = self._clock(), None


def _fetch_keys(issuer: str, rule: OutgoingRule) -> dict[str, SigningKey]:
    """Return the keys of an issuer by their ids.

    Raises:
        KnickpointError: the issuer does not answer, or not as OpenID Connect Discovery says.
    """
    allowed = rule.also(issuer)
    description = _fetch_object(issuer.rstrip("/") + _DESCRIPTION, allowed)
    if description.get("issuer") != issuer:
        raise ServiceError("its description is that of another issuer", where=issuer)
    address = description.get("jwks_uri")
    if not isinstance(address, str) or not address.startswith(f"{urlsplit(issuer).scheme}://"):
        raise ServiceError("its description has no address of keys under the same scheme", where=issuer)
    keys = _fetch_object(address, allowed).get("keys")
    if not isinstance(keys, list) or len(keys) > _MOST_KEYS:
        raise ServiceError(f"it publishes no list of at most {_MOST_KEYS} keys", where=issuer)
    return _by_id(keys)


def _fetch_object(address: str, rule: OutgoingRule) -> dict[str, object]:
    answer = fetch(address, rule, largest=_LARGEST_BYTES, seconds=_FETCH_SECONDS, redirects=0)
    found = parse_json(answer.body) if answer.status == _OK else None
    if not isinstance(found, dict):
        raise ServiceError(f"it answers with status {answer.status} and no object of JSON", where=address)
    return found


def _by_id(keys: list[object]) -> dict[str, SigningKey]:
    """Return the keys that can verify signatures, without those whose id is not unique."""
    found: dict[str, SigningKey] = {}
    doubled = set()
    for fields in keys:
        key = _signing_key(fields)
        if key is None:
            continue
        if str(key.kid) in found:
            doubled.add(str(key.kid))
        found[str(key.kid)] = key
    return {key_id: key for key_id, key in found.items() if key_id not in doubled}


def _signing_key(fields: object) -> SigningKey | None:
    """Return a published key, None where it is not a public key for signatures, or too short."""
    if not isinstance(fields, dict) or "d" in fields or not isinstance(fields.get("kid"), str):
        return None
    if fields.get("kty") not in {"RSA", "EC"} or fields.get("use", "sig") != "sig":
        return None
    # A short modulus is left out here, because the library warns of it; and below, because zeros may make it look
    # longer.
    modulus = fields.get("n", "")
    if fields["kty"] == "RSA" and not (isinstance(modulus, str) and len(modulus) * 6 >= _SHORTEST_RSA_BITS):
        return None
    try:
        key = jwk.import_key(fields)
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    if isinstance(key, RSAKey):
        return key if key.public_key.key_size >= _SHORTEST_RSA_BITS else None
    return key if isinstance(key, ECKey) else None
