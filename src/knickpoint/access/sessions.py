"""Sessions: a sign-in in one browser, kept as a signed cookie.

The cookie holds who signed in, and never what this person may do: the roles are looked up at each request. The store
keeps the sessions that ended before their time, so that a copied cookie ends with the sign-out.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from knickpoint.access.roles import grants_of_anyone, grants_of_person, log_name
from knickpoint.access.session_key import Purpose, read_claims, sign_claims
from knickpoint.access.settings import AccessConfig, SignInKind
from knickpoint.model.access import Caller, CallerKind, SignedIn
from knickpoint.model.errors import InputError, NotSignedInError
from knickpoint.store import Store

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
            f"what the provider says about {session.person.name!r} does not fit into a cookie",
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
