"""Sign people in through an OpenID provider: authorization code flow with PKCE, state and nonce.

The provider describes itself in a document (OpenID Connect Discovery 1.0). Authlib speaks the protocol, ``outgoing``
contacts the provider. Its tokens are used to learn who signed in, and then dropped: they are in no cookie, log or
message.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from authlib.oauth2 import OAuth2Error
from authlib.oauth2.client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey
from joserfc.jws import JWSRegistry

from knickpoint.access.identity_token import ALGORITHMS, KeySource, parse_json
from knickpoint.access.roles import person_of_claims
from knickpoint.access.sessions import PendingSignIn
from knickpoint.access.settings import SignInSettings
from knickpoint.model.access import SignedIn
from knickpoint.model.errors import KnickpointError, NotSignedInError, ServiceError
from knickpoint.outgoing import Fetched, OutgoingRule, fetch

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
            "issuer mismatch in the discovery document",
            where=issuer,
            remedy=f"If it is the right one, set issuer to {str(document.get('issuer'))[:200]!a}.",
        )
    required = {name: _address(document, name, issuer) for name in ("authorization_endpoint", "token_endpoint")}
    missing = next((name for name, address in required.items() if not address), None)
    if missing:
        raise ServiceError(f"the discovery document has no {missing}", where=issuer)
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
        raise ServiceError(f"{name} in the discovery document is not a string", where=issuer)
    try:
        scheme = urlsplit(address).scheme
    except ValueError:
        scheme = "broken"
    if address and scheme not in {"https", urlsplit(issuer).scheme}:
        raise ServiceError(f"{name} in the discovery document is not an https address", where=issuer)
    return address


def _names(document: Mapping[str, Any], name: str) -> frozenset[str]:
    values = document.get(name, [])
    if not isinstance(values, list):
        raise ServiceError(f"{name} in the discovery document is not a list")
    return frozenset(value for value in values if isinstance(value, str))


def fetch_object(address: str, rule: OutgoingRule, *, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the object of JSON at an address of a provider.

    Raises:
        KnickpointError: the address does not answer in time, must not be contacted, or has something else.
    """
    answer = fetch(address, rule, headers=headers, largest=_LARGEST_BYTES, seconds=_FETCH_SECONDS, redirects=0)
    found = parse_json(answer.body) if answer.status == _OK else None
    if not isinstance(found, dict):
        raise ServiceError(f"expected a JSON object, got status {answer.status}", where=urlsplit(address).netloc)
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


# Verify the ID token of an OpenID provider (OpenID Connect Core 1.0, 3.1.3.7).


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
        NotSignedInError: it is not signed by a key of the issuer with an asymmetric algorithm, is made for another
            client, for another sign-in or by another issuer, or has expired.
        ServiceError: the keys of the issuer cannot be fetched.
    """
    if not isinstance(text, str) or not text.isascii() or len(text) > _LONGEST:
        raise _refused("it is not a token")
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


_EXCHANGE_SECONDS: Final = 10.0
_MOST_AT_ONCE: Final = 8
"""Sign-ins that may wait for one provider at the same time; each takes a thread of the server."""


class OpenIdProvider:
    """One provider of the configuration; safe for threads.

    Args:
        settings: its section.
        rule: the hosts that may be contacted beside the provider's own.
        keys: where its public keys are found.
        clock: seconds that never go back.
    """

    def __init__(
        self,
        settings: SignInSettings,
        rule: OutgoingRule,
        keys: KeySource,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._rule = rule.also(settings.issuer)
        self._keys = keys
        self._documents = ProviderDocuments(settings.issuer, self._rule, clock=clock)
        self._places = threading.BoundedSemaphore(_MOST_AT_ONCE)

    @property
    def title(self) -> str:
        """The name that people read."""
        return self.settings.title or self.settings.name

    def authorization_address(self, pending: PendingSignIn, key: bytes, callback: str) -> str:
        """Return the address at the provider that the browser goes to; it comes back to ``callback``.

        Raises:
            ServiceError: the provider does not answer, or its description cannot be used.
        """
        with self._asking():
            document = self._documents.current()
            address, _ = self._client(document, callback).create_authorization_url(
                document.authorization_endpoint,
                state=pending.state,
                nonce=pending.nonce(key),
                code_verifier=pending.code_verifier(key),
            )
        return str(address)

    def finish(self, pending: PendingSignIn, key: bytes, code: str, callback: str, now: datetime) -> SignedIn:
        """Return who signed in: exchange ``code`` for tokens, and read them.

        Raises:
            NotSignedInError: the provider refuses the code, or its tokens are not for this sign-in.
            ServiceError: the provider does not answer, or not as it should.
        """
        with self._asking():
            document = self._documents.current()
            tokens = self._exchange(document, code, pending.code_verifier(key), callback)
            access_token = str(tokens.get("access_token", ""))
            expected = ExpectedToken(
                document.issuer, self.settings.client_id, pending.nonce(key), access_token, document.algorithms
            )
            claims = verify_id_token(tokens.get("id_token"), expected, self._keys, now)
            if access_token and document.userinfo_endpoint and not self._is_complete(claims):
                claims = {**self._user_info(document, access_token, str(claims["sub"])), **claims}
        return person_of_claims(claims, self.settings)

    def sign_out_address(self) -> str:
        """Return the address at which people sign out of the provider itself, "" without one or does not answer."""
        try:
            endpoint = self._documents.current().end_session_endpoint
        except KnickpointError:
            return ""
        query = urlencode({"client_id": self.settings.client_id})
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{query}" if endpoint else ""

    def _client(self, document: ProviderDocument, callback: str) -> Any:
        offered = document.authentication
        posted = "client_secret_basic" not in offered and "client_secret_post" in offered
        return OAuth2Client(
            _Exchange(self._rule),
            client_id=self.settings.client_id,
            client_secret=self.settings.client_secret or None,
            token_endpoint_auth_method=(
                "none" if not self.settings.client_secret else "client_secret_post" if posted else "client_secret_basic"
            ),
            scope=" ".join(self.settings.scopes),
            redirect_uri=callback,
            code_challenge_method="S256",
        )

    def _exchange(self, document: ProviderDocument, code: str, verifier: str, callback: str) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = self._client(document, callback).fetch_token(
                document.token_endpoint, code=code, code_verifier=verifier
            )
        except OAuth2Error as error:
            raise NotSignedInError(
                f"{self.title} rejected the authorization code ({str(error.error)[:60]!a})", remedy="Sign in again."
            ) from None
        except ValueError as error:
            raise ServiceError("the answer of its token endpoint cannot be read") from error
        return found

    def _is_complete(self, claims: Mapping[str, Any]) -> bool:
        """Return True if the ID token has all that is asked for; many providers send it in the user info only."""
        wanted = {self.settings.groups_claim, self.settings.name_claim or "email", "name"}
        return wanted <= set(claims)

    def _user_info(self, document: ProviderDocument, access_token: str, subject: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {access_token}", "Accept": "application/json"}
        found = fetch_object(document.userinfo_endpoint, self._rule, headers=headers)
        if found.get("sub") != subject:
            raise NotSignedInError("the user info and the ID token name different people", remedy="Sign in again.")
        return found

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Bound how many wait for the provider, and have every failure of it name the provider and the remedy."""
        if not self._places.acquire(blocking=False):
            raise self._failure(ServiceError("too many people are signing in right now"))
        try:
            yield
        except NotSignedInError:
            raise
        except KnickpointError as error:
            raise self._failure(error) from error
        finally:
            self._places.release()

    def _failure(self, error: KnickpointError) -> ServiceError:
        return ServiceError(
            f"{self.title} cannot sign anyone in at the moment: {error.message}",
            where=error.where or self.settings.issuer,
            remedy=f"Try again in a minute; if it stays so, ask an admin of this instance. {error.remedy}".strip(),
        )


@dataclass(frozen=True, slots=True)
class _Exchange:
    """The session that Authlib asks the provider with."""

    rule: OutgoingRule

    def post(self, url: str, *, data: Mapping[str, str], headers: Mapping[str, str], auth: Any) -> _Answer:
        """Send a form, with what ``auth`` adds to it."""
        address, sent, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        fetched = fetch(
            address,
            self.rule,
            method="POST",
            headers=sent,
            body=body.encode(),
            largest=_LARGEST_BYTES,
            seconds=_EXCHANGE_SECONDS,
        )
        return _Answer(fetched)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What Authlib reads of an answer."""

    fetched: Fetched

    @property
    def status_code(self) -> int:
        return self.fetched.status

    def raise_for_status(self) -> None:
        if self.fetched.status >= 400:
            raise ServiceError(f"its token endpoint answered with status {self.fetched.status}")

    def json(self) -> Any:
        return parse_json(self.fetched.body)
