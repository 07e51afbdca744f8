"""Verify the identity token of a CI job, a JSON Web Token (RFC 7519, RFC 8725), and decide what the job may do.

Everything in a token is chosen by whoever sends it, until its signature has been verified. So the token never chooses
how it is verified: algorithms come from a list here, keys from the issuer. Nor does a request decide which address is
contacted, and only at a bounded rate is one contacted at all.

No secret is stored in the CI: the service, GitHub Actions or GitLab CI, signs who the job is, and the configuration
says which jobs may upload.
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import urlsplit

from joserfc import jwk, jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey

from knickpoint.access.settings import CiJobKind, CiJobSettings
from knickpoint.model.access import NO_GRANTS, Caller, CallerKind, Grants, Permission
from knickpoint.model.errors import KnickpointError, NotSignedInError, ServiceError
from knickpoint.outgoing.fetch import fetch
from knickpoint.outgoing.rule import OutgoingRule

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
        NotSignedInError: it is made for none of them, or its audience is neither a string nor a list of strings.
    """
    stated = claims.get("aud")
    audiences = stated if isinstance(stated, list) else [stated]
    if not all(isinstance(each, str) for each in audiences):
        raise refused("its audience is neither a string nor a list of strings")
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
        raise ServiceError("issuer mismatch in the discovery document", where=issuer)
    address = description.get("jwks_uri")
    if not isinstance(address, str) or not address.startswith(f"{urlsplit(issuer).scheme}://"):
        raise ServiceError("the discovery document has no jwks_uri with the scheme of the issuer", where=issuer)
    keys = _fetch_object(address, allowed).get("keys")
    if not isinstance(keys, list) or len(keys) > _MOST_KEYS:
        raise ServiceError(f"expected a list of at most {_MOST_KEYS} keys at its jwks_uri", where=issuer)
    return _by_id(keys)


def _fetch_object(address: str, rule: OutgoingRule) -> dict[str, object]:
    answer = fetch(address, rule, largest=_LARGEST_BYTES, seconds=_FETCH_SECONDS, redirects=0)
    found = parse_json(answer.body) if answer.status == _OK else None
    if not isinstance(found, dict):
        raise ServiceError(f"expected a JSON object, got status {answer.status}", where=address)
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


# Read from the claims of an identity token which project a CI job belongs to, and what started it.


_GITHUB_EVENTS: Final = frozenset(
    {
        "merge_group",
        "pull_request",
        "push",
        "release",
        "repository_dispatch",
        "schedule",
        "workflow_dispatch",
    }
)
"""The events whose jobs may upload: those that only people start who may write to the project.

Jobs of ``pull_request`` from a fork have no identity token. ``pull_request_target``, ``workflow_run``,
``issue_comment`` and their like have one, with the ref of the default branch, although anyone can start them: such a
job may run the code of a fork, which would then upload in the name of ``main``.
"""

_GITLAB_REFS: Final = {"branch": "refs/heads/", "tag": "refs/tags/"}
_GITLAB_MERGE_REQUESTS: Final = ("merge_request_event", "external_pull_request_event")


@dataclass(frozen=True, slots=True)
class CiJob:
    """A job as its CI service describes it: project, full name of the branch or tag, whether that is protected."""

    kind: CiJobKind
    project: str
    ref: str
    protected: bool

    @property
    def name(self) -> str:
        """The name of the caller, as in ``github:owner/name``."""
        return f"{self.kind.value}:{self.project}"


def read_job(kind: CiJobKind, claims: Mapping[str, object]) -> CiJob:
    """Return the job that verified ``claims`` describe.

    Raises:
        NotSignedInError: a claim is missing, or jobs of such an event may not upload.
    """
    return _github_job(claims) if kind is CiJobKind.GITHUB else _gitlab_job(claims)


def _github_job(claims: Mapping[str, object]) -> CiJob:
    event = _text(claims, "event_name")
    if event not in _GITHUB_EVENTS:
        raise refused(f"jobs of the event {event[:100]!a} may not upload")
    return CiJob(CiJobKind.GITHUB, _text(claims, "repository"), _text(claims, "ref"), _is_protected(claims))


def _gitlab_job(claims: Mapping[str, object]) -> CiJob:
    ref, kind = _text(claims, "ref"), _text(claims, "ref_type")
    if kind not in _GITLAB_REFS:
        raise refused(f"its claim ref_type is {kind[:100]!a}")
    # The ref of a merge request is its source branch, which a fork may call main.
    from_merge_request = claims.get("pipeline_source") in _GITLAB_MERGE_REQUESTS
    prefix = "refs/merge-requests/" if from_merge_request else _GITLAB_REFS[kind]
    return CiJob(CiJobKind.GITLAB, _text(claims, "project_path"), prefix + ref, _is_protected(claims))


def _is_protected(claims: Mapping[str, object]) -> bool:
    value = claims.get("ref_protected")
    return value is True or value == "true"


def _text(claims: Mapping[str, object], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not value:
        raise refused(f"its claim {name} is missing or no text")
    return value


def ci_job_caller(
    text: str, settings: Mapping[str, CiJobSettings], *, audience: str, keys: KeySource, now: datetime
) -> Caller:
    """Return the CI job that sends the identity token ``text``, with the permission to upload.

    A job may upload where a section of ``settings`` names its issuer, project and ref, and the token is made for the
    audience of this section. Where several do, it has the permissions of all.

    Args:
        text: the token, without ``Bearer``.
        settings: the sections of ``[ci_jobs]``.
        audience: the audience of sections that name none: the public address of the server.
        keys: the keys of the issuers.
        now: the time at which the token must be valid.

    Raises:
        NotSignedInError: the token is not accepted. The message is the same for every reason; the log has the reason.
        ServiceError: the keys of the issuer cannot be fetched now.
    """
    token = read_token(text)
    sections = [section for section in settings.values() if section.issuer_or_default == token.issuer]
    if not sections:
        raise refused(f"its issuer {token.issuer[:200]!a} is not configured")
    key = keys.find(token.issuer, token.key_id)
    if key is None:
        raise refused("its issuer has no key with this id")
    claims = verify(token, key)

    # From here on the issuer vouches for every claim.
    if claims.get("iss") != token.issuer:
        raise refused("its issuer is not the one that it was read with")
    check_times(claims, now)
    audiences = check_audience(claims, {stated for each in sections if (stated := each.audience or audience)})
    job = read_job(sections[0].kind, claims)
    matching = [each for each in sections if (each.audience or audience) in audiences and _includes(each, job)]
    if not matching:
        raise refused(f"no section names jobs of {job.project[:200]!a} at {job.ref[:200]!a} for its audience")
    return Caller(CallerKind.CI_JOB, job.name, _grants(matching), title=f"{job.project} ({job.kind.value})")


def _includes(section: CiJobSettings, job: CiJob) -> bool:
    """Return True if a section names a job. Names are compared whole and with their case."""
    if job.project not in section.projects or (section.protected and not job.protected):
        return False
    return not section.refs or any(fnmatchcase(job.ref, pattern) for pattern in section.refs)


def _grants(sections: list[CiJobSettings]) -> Grants:
    granted = NO_GRANTS
    for section in sections:
        granted |= Grants.of({Permission.UPLOAD}, section.repositories)
    return granted
