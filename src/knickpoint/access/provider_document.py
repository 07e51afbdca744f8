"""The document in which an OpenID provider describes itself (OpenID Connect Discovery 1.0), checked and cached."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from knickpoint.access.identity_token import parse_json
from knickpoint.model.errors import KnickpointError, ServiceError
from knickpoint.outgoing import OutgoingRule, fetch

_PATH: Final = "/.well-known/openid-configuration"
_FRESH_SECONDS: Final = 3600.0
_PAUSE_SECONDS: Final = 3.0
"""Time after a failure in which the provider is not asked again, so that many sign-ins do not wait in turn."""

_FETCH_SECONDS: Final = 5.0
_LARGEST_BYTES: Final = 500_000
_OK: Final = 200
_USUAL_ALGORITHMS: Final = frozenset({"RS256"})
_USUAL_AUTHENTICATION: Final = frozenset({"client_secret_basic"})


@dataclass(frozen=True, slots=True)
class ProviderDocument:
    """What a provider offers: its addresses ("" where it has none), and how it signs and is asked."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    userinfo_endpoint: str = ""
    end_session_endpoint: str = ""
    algorithms: frozenset[str] = _USUAL_ALGORITHMS
    authentication: frozenset[str] = _USUAL_AUTHENTICATION


def read_document(document: Mapping[str, Any], issuer: str) -> ProviderDocument:
    """Return the description of the provider whose address is ``issuer``.

    Raises:
        ServiceError: it is that of another issuer, lacks an address, or has one that is less protected than the
            issuer's.
    """
    if document.get("issuer") != issuer:
        raise ServiceError(
            "its description is that of another issuer",
            where=issuer,
            remedy=f"If it is the right one, set issuer to {str(document.get('issuer'))[:200]!a}.",
        )
    required = {name: _address(document, name, issuer) for name in ("authorization_endpoint", "token_endpoint")}
    missing = next((name for name, address in required.items() if not address), None)
    if missing:
        raise ServiceError(f"its description has no {missing}", where=issuer)
    return ProviderDocument(
        issuer,
        required["authorization_endpoint"],
        required["token_endpoint"],
        _address(document, "userinfo_endpoint", issuer),
        _address(document, "end_session_endpoint", issuer),
        _names(document, "id_token_signing_alg_values_supported") or _USUAL_ALGORITHMS,
        _names(document, "token_endpoint_auth_methods_supported") or _USUAL_AUTHENTICATION,
    )


def _address(document: Mapping[str, Any], name: str, issuer: str) -> str:
    address = document.get(name, "")
    if not isinstance(address, str):
        raise ServiceError(f"{name} of its description is not a text", where=issuer)
    try:
        scheme = urlsplit(address).scheme
    except ValueError:
        scheme = "broken"
    if address and scheme not in {"https", urlsplit(issuer).scheme}:
        raise ServiceError(f"{name} of its description is not an https address", where=issuer)
    return address


def _names(document: Mapping[str, Any], name: str) -> frozenset[str]:
    values = document.get(name, [])
    if not isinstance(values, list):
        raise ServiceError(f"{name} of its description is not a list")
    return frozenset(value for value in values if isinstance(value, str))


def fetch_object(address: str, rule: OutgoingRule, *, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the object of JSON at an address of a provider.

    Raises:
        KnickpointError: the address does not answer in time, must not be contacted, or has something else.
    """
    answer = fetch(address, rule, headers=headers, largest=_LARGEST_BYTES, seconds=_FETCH_SECONDS, redirects=0)
    found = parse_json(answer.body) if answer.status == _OK else None
    if not isinstance(found, dict):
        raise ServiceError(
            f"it answers with status {answer.status} and no object of JSON", where=urlsplit(address).netloc
        )
    return found


class ProviderDocuments:
    """Keep the description of one provider; safe for threads.

    Args:
        issuer: address of the provider.
        rule: the hosts that may be contacted; the issuer's is among them.
        clock: seconds that never go back.
    """

    def __init__(self, issuer: str, rule: OutgoingRule, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._rule = rule
        self._clock = clock
        self._lock = threading.Lock()
        self._found: ProviderDocument | None = None
        self._failure: KnickpointError | None = None
        self._asked = 0.0

    def current(self) -> ProviderDocument:
        """Return the description, at most an hour old.

        Raises:
            KnickpointError: the provider does not answer, or its description cannot be used.
        """
        if not self._lock.acquire(timeout=_FETCH_SECONDS):
            raise ServiceError("it does not answer in time", where=self._issuer)
        try:
            age = self._clock() - self._asked
            if self._failure is not None and age < _PAUSE_SECONDS:
                raise ServiceError(self._failure.message, where=self._failure.where, remedy=self._failure.remedy)
            if self._found is None or age >= _FRESH_SECONDS:
                self._renew()
            assert self._found is not None
            return self._found
        finally:
            self._lock.release()

    def _renew(self) -> None:
        try:
            document = fetch_object(self._issuer.rstrip("/") + _PATH, self._rule)
            self._found, self._failure = read_document(document, self._issuer), None
        except KnickpointError as error:
            self._failure = error
            raise
        finally:
            self._asked = self._clock()
