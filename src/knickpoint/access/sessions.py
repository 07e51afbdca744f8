"""The signed cookies of a browser: the key of an instance, a sign-in between its two redirects, and sessions.

A session holds who signed in, and never what this person may do: the roles are looked up at each request. The store
keeps the sessions that ended before their time, so that a copied cookie ends with the sign-out. Of a sign-in that has
begun, the browser keeps the state; the nonce and the code verifier (PKCE) are derived from it with the key, so that
they stand in no cookie and need no table.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from knickpoint.access.roles import grants_of_anyone, grants_of_person, log_name
from knickpoint.access.settings import AccessConfig, AccessSettings, SignInKind
from knickpoint.model.access import Caller, CallerKind, SignedIn
from knickpoint.model.errors import ConfigError, InputError, NotSignedInError
from knickpoint.store import Store

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
            f"the session key cannot be read or made: {error.strerror}",
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
            "other users can read or write the session key",
            where=str(path),
            remedy=f"Delete it, and the server makes a new one; or, where it was not read, run chmod 600 {path.name}.",
        )
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) < _KEY_BYTES:
        raise ConfigError(
            "not a session key",
            where=str(path),
            remedy="Delete it; the server makes a new one, and everyone signs in again.",
        )
    return key


# Sign claims that a browser keeps, and read them back.
#
# The text is a compact JWS with HMAC-SHA256. Each purpose has a key of its own, derived from the key of the instance,
# so that a text that was signed for one purpose is never read for another one.


_ALGORITHM: Final = "HS256"
_LONGEST_CLAIMS: Final = 8_192
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

    if len(text) > _LONGEST_CLAIMS or not text.isascii():
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


PENDING_SECONDS: Final = 600
"""Time to sign in at the provider."""


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in that was begun at ``provider``; afterwards the browser returns to ``path``."""

    state: str
    provider: str
    path: str
    expires: datetime

    def is_of(self, state: str) -> bool:
        """Return True if the provider answers this sign-in, in a time that says nothing about the state."""
        return hmac.compare_digest(self.state.encode(), state.encode(errors="replace"))

    def nonce(self, key: bytes) -> str:
        """Return the text that the ID token must repeat."""
        return _text(derived_key(key, Purpose.NONCE, self.state))

    def code_verifier(self, key: bytes) -> str:
        """Return the secret of PKCE, without which the code of the provider is worth nothing."""
        return _text(derived_key(key, Purpose.VERIFIER, self.state))


def begin_sign_in(provider: str, path: str, now: datetime) -> PendingSignIn:
    """Begin a sign-in at ``provider``, after which the browser returns to ``path``."""
    expires = now.replace(microsecond=0) + timedelta(seconds=PENDING_SECONDS)
    return PendingSignIn(secrets.token_urlsafe(24), provider, path, expires)


def sign_pending(pending: PendingSignIn, key: bytes) -> str:
    """Return the value of the cookie of a pending sign-in."""
    claims = {
        "jti": pending.state,
        "provider": pending.provider,
        "path": pending.path,
        "exp": int(pending.expires.timestamp()),
    }
    return sign_claims(claims, key, Purpose.SIGN_IN)


def read_pending(text: str, key: bytes, now: datetime) -> PendingSignIn | None:
    """Return the pending sign-in of a cookie, or nothing where it is not signed with ``key`` or took too long."""
    claims = read_claims(text, key, Purpose.SIGN_IN, now)
    if claims is None:
        return None
    expires = datetime.fromtimestamp(claims["exp"], UTC)
    return PendingSignIn(claims["jti"], claims["provider"], claims["path"], expires)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


# The path of this server that a browser returns to after a sign-in, and nothing that could lead to another server.


_HOME: Final = "/"
_LONGEST_PATH: Final = 1_500
_PATH: Final = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""One slash, then printed ASCII without space and backslash: browsers read ``/\\evil`` and ``/<tab>/evil`` as
``//evil``.
"""

_DECODED_TWICE: Final = 2
_ELSEWHERE: Final = re.compile(r"[/\\]{2}|[\x00-\x1f\x7f\\]")
"""What leads elsewhere, or might after a proxy has tidied the path up."""

_SIGN_IN: Final = re.compile(r"/sign(?:-in|-out|ed-out)(?![\w-])")


def return_path(text: str) -> str:
    """Return ``text`` where it is a path of this server with its query, else the path of the first page.

    The pages of sign-in and sign-out are not places to return to.
    """
    if len(text) > _LONGEST_PATH or not _PATH.fullmatch(text):
        return _HOME
    path = text.partition("?")[0].partition("#")[0]
    for _ in range(_DECODED_TWICE + 1):
        if _ELSEWHERE.search(path) or "/./" in path or "/../" in path or _SIGN_IN.match(path):
            return _HOME
        path = unquote(path, errors="replace")
    return text


_COOKIE: Final = "knick_session"
_HOST_ONLY: Final = "__Host-"
"""Prefix by which browsers keep a cookie only from this host itself, over https, for all of its paths."""

_LARGEST_COOKIE: Final = 3_800
"""Characters of a signed session; browsers drop a cookie of more than 4,096 bytes with its name and attributes."""

_OVER: Final = "this sign-in is over"
_SIGN_IN_AGAIN: Final = "Sign in again."


@dataclass(frozen=True, slots=True)
class Session:
    """A sign-in in one browser; ``id`` is random and new at each sign-in, and times are whole seconds.

    ``issuer`` is that of the provider at the sign-in: a section that names another provider since then knows other
    people.
    """

    id: str
    person: SignedIn
    issuer: str
    started: datetime
    expires: datetime


def new_session(person: SignedIn, *, issuer: str, hours: float, now: datetime) -> Session:
    """Start a session of ``person``, as ``issuer`` describes them, that lasts ``hours``."""
    started = now.replace(microsecond=0)
    return Session(secrets.token_urlsafe(24), person, issuer, started, started + timedelta(seconds=int(hours * 3600)))


def sign_session(session: Session, key: bytes, named_groups: frozenset[str] = frozenset()) -> str:
    """Return the value of the cookie of ``session``.

    Where the groups of the person do not fit into a cookie, it keeps those of ``named_groups``: the groups that have a
    role.

    Raises:
        InputError: these do not fit either.
    """
    text = _signed(session, key, session.person.groups)
    if len(text) > _LARGEST_COOKIE:
        text = _signed(session, key, [group for group in session.person.groups if group in named_groups])
    if len(text) > _LARGEST_COOKIE:
        raise InputError(
            f"the groups of {session.person.name!r} do not fit into a cookie",
            remedy="Have it send fewer groups, or give roles to fewer of them.",
        )
    return text


def _signed(session: Session, key: bytes, groups: Iterable[str]) -> str:
    person = session.person
    claims = {
        "jti": session.id,
        "iat": int(session.started.timestamp()),
        "exp": int(session.expires.timestamp()),
        "iss": session.issuer,
        "provider": person.provider,
        "sub": person.name,
        "name": person.title,
        "email": person.mail,
        "email_verified": person.mail_verified,
        "groups": list(groups),
    }
    return sign_claims(claims, key, Purpose.SESSION)


def read_session(text: str, key: bytes, now: datetime) -> Session | None:
    """Return the session of a cookie, or nothing where it is not signed with ``key`` or has expired."""
    claims = read_claims(text, key, Purpose.SESSION, now)
    if claims is None:
        return None
    person = SignedIn(
        provider=claims["provider"],
        name=claims["sub"],
        title=claims["name"],
        mail=claims["email"],
        mail_verified=claims["email_verified"],
        groups=tuple(claims["groups"]),
    )
    started, expires = (datetime.fromtimestamp(claims[name], UTC) for name in ("iat", "exp"))
    return Session(claims["jti"], person, claims.get("iss", ""), started, expires)


def session_cookie(name: str = _COOKIE, *, https: bool) -> str:
    """Return the name of a cookie: over https, one that no other host and no plain connection can set."""
    return f"{_HOST_ONLY}{name}" if https else name


def find_session(
    cookies: Mapping[str, str], config: AccessConfig, store: Store, now: datetime, *, key: bytes, https: bool
) -> Session | None:
    """Return the session that the cookies hold, or nothing where they hold none.

    Raises:
        NotSignedInError: the session is foreign, has expired or was ended, or its provider is no longer the configured
            one.
    """
    openid = {name: each.issuer for name, each in config.sign_in.items() if each.kind is SignInKind.OPENID}
    text = cookies.get(session_cookie(https=https), "")
    if not openid or not text:
        return None
    session = read_session(text, key, now)
    if session is None or openid.get(session.person.provider) != session.issuer:
        raise NotSignedInError(_OVER, remedy=_SIGN_IN_AGAIN)
    if store.sessions.ended(session.id, session.started):
        raise NotSignedInError(_OVER, remedy=_SIGN_IN_AGAIN)
    return session


def session_caller(
    cookies: Mapping[str, str], config: AccessConfig, store: Store, now: datetime, *, key: bytes, https: bool
) -> Caller | None:
    """Return the person whose session the cookies hold, or nothing where they hold none.

    Raises:
        NotSignedInError: the session is foreign, has expired or was ended, or its provider is no longer the configured
            one.
    """
    session = find_session(cookies, config, store, now, key=key, https=https)
    return None if session is None else person_caller(session.person, config)


def person_caller(person: SignedIn, config: AccessConfig) -> Caller:
    """Return the caller that ``person`` is, with the roles of the configuration, and with what anyone may do."""
    return Caller(
        CallerKind.PERSON,
        log_name(person),
        grants_of_person(config.roles.values(), person) | grants_of_anyone(config.access),
        title=person.title,
        mail=person.mail,
        provider=person.provider,
    )
