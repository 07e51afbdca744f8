"""Tokens for machines: create, verify, list and revoke them.

The secret of a token is shown once and stored nowhere; the store has its SHA-256. A secret has 256 random bits, so
there is nothing to guess or to look up in tables, and neither salt nor a slow hash is needed.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final

from knickpoint.model.access import AuditKind, Caller, CallerKind, Grants, NewToken, Permission, Token
from knickpoint.model.errors import InputError, NotSignedInError, StoreError
from knickpoint.store import Store

SECRET_PREFIX: Final = "knick_"  # noqa: S105  # how secrets begin, not one
"""The first letters of every secret, so that scanners find one that was published by mistake."""

_RANDOM_BYTES: Final = 32
_LONGEST_SECRET: Final = 200
_USED_EVERY: Final = timedelta(minutes=1)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RESERVED: Final = "upload_token"
"""The name that the caller of ``[server] upload_token`` has in logs."""

_LONGEST_LIFE: Final = timedelta(days=36_525)
"""So that every time is within the calendar, in each time zone."""

_LONGEST_REPOSITORY: Final = 400


def create_token(
    store: Store,
    name: str,
    scopes: Iterable[Permission],
    *,
    by: str,
    repositories: Iterable[str] = (),
    expires: datetime | None = None,
) -> NewToken:
    """Create the token ``name`` for ``by``, and return it with its secret, which cannot be read again.

    Args:
        store: where it is kept.
        name: letters, digits, ``.``, ``_`` and ``-``, at most 64 characters; never used before.
        scopes: what it permits, with what that implies; at least one.
        by: name of the caller who creates it.
        repositories: names of the repositories that it is limited to. Default: all.
        expires: from when on it is refused. Default: never.

    Raises:
        InputError: the name is taken or has other characters, there is no scope, a repository has no valid name, or the
            token would be expired at once.
    """
    now = datetime.now(UTC)
    token = Token(
        name=_checked_name(name),
        scopes=_checked_scopes(scopes),
        repositories=_checked_repositories(repositories),
        created=now,
        created_by=by,
        expires=_checked_expiry(expires, now),
    )
    secret = SECRET_PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    with store.transaction():
        store.tokens.insert(token, _digest(secret))
        store.audit.append(AuditKind.TOKEN_CREATED, by, _described(token), time=now)
    return NewToken(token, secret)


def verify_token(store: Store, secret: str, *, now: datetime | None = None) -> Caller:
    """Return the caller that presents ``secret``, and record the use of the token, at most once a minute.

    Raises:
        NotSignedInError: the secret is of no token, or of a revoked or expired one; the message does not say which.
    """
    moment = now or datetime.now(UTC)
    token = store.tokens.find(_digest(secret)) if len(secret) <= _LONGEST_SECRET else None
    if token is None or not token.is_valid(moment):
        raise NotSignedInError(
            "the token is not valid",
            remedy="Use another one, or ask an admin for a new one: knick tokens create.",
        )
    if token.last_used is None or moment - token.last_used >= _USED_EVERY:
        with suppress(StoreError):  # while an import writes or the disk is full, tokens are good for reading
            store.tokens.used(token.name, moment)
    grants = Grants.of(token.scopes, token.repositories)
    return Caller(CallerKind.TOKEN, f"token:{token.name}", grants, title=f"token {token.name}")


def list_tokens(store: Store) -> list[Token]:
    """Return all tokens by name, revoked and expired ones too."""
    return store.tokens.all()


def revoke_token(store: Store, name: str, *, by: str) -> Token:
    """Revoke the token ``name`` for ``by``; it is refused from now on, for good.

    Raises:
        AbsentError: there is no such token.
        InputError: it is revoked already.
    """
    now = datetime.now(UTC)
    with store.transaction():
        token = store.tokens.revoke(name, now)
        store.audit.append(AuditKind.TOKEN_REVOKED, by, f"token {name}", time=now)
    return token


def _digest(secret: str) -> str:
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        shown = name if len(name) <= _LONGEST_SECRET else f"{name[:_LONGEST_SECRET]}…"
        raise InputError(
            f"{shown!a} is not a name for a token",
            remedy="Use 1 to 64 letters, digits, dots, underscores and hyphens; begin with a letter or a digit.",
        )
    if name == _RESERVED:
        raise InputError(
            f"the name {name!r} is reserved for the setting of this name in [server]", remedy="Choose another name."
        )
    return name


def _checked_scopes(scopes: Iterable[Permission]) -> frozenset[Permission]:
    found = frozenset(scopes)
    if not found:
        known = ", ".join(permission.value for permission in Permission)
        raise InputError("a token needs a scope", remedy=f"Give one or more of {known}.")
    return found


def _checked_repositories(repositories: Iterable[str]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(repositories))
    for name in found:
        if not name.strip() or not name.isprintable() or len(name) > _LONGEST_REPOSITORY:
            raise InputError(
                f"{name[:_LONGEST_REPOSITORY]!a} is not the name of a repository",
                remedy="Name it as in knickpoint.toml, or as the results do.",
            )
    return found


def _checked_expiry(expires: datetime | None, now: datetime) -> datetime | None:
    if expires is not None and expires <= now:
        raise InputError(f"{expires.isoformat(timespec='seconds')} is in the past", remedy="Give a time in the future.")
    if expires is not None and expires > now + _LONGEST_LIFE:
        raise InputError(
            f"{expires.isoformat(timespec='seconds')} is more than 100 years from now",
            remedy="Give an earlier time, or none: the token does not expire then.",
        )
    return expires


def _described(token: Token) -> str:
    """Describe a new token for the audit log."""
    scopes = ", ".join(permission.value for permission in Permission if permission in token.scopes)
    limits = f" for {', '.join(token.repositories)}" if token.repositories else ""
    expiry = f", expires {token.expires.isoformat(timespec='seconds')}" if token.expires else ", does not expire"
    return f"token {token.name}: {scopes}{limits}{expiry}"


# Read the times that people write for tokens and the audit log: a number of days, a date, or a date with a time.


_DAYS: Final = re.compile(r"([0-9]{1,5})d")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_AND_TIME: Final = re.compile(rf"{_DATE.pattern}[T ][0-9:.+Zz-]+")


def read_expiry(text: str, now: datetime) -> datetime:
    """Return the time that ``text`` names: ``90d`` from ``now``, the end of a date in UTC, or a date with a time.

    Raises:
        InputError: it is none of these, or not later than ``now``.
    """
    time = _read(text, now, days=1)
    if time <= now:
        raise InputError(f"{text!r} is not in the future", remedy="Give a later date, or a number of days as in 90d.")
    return time


def read_since(text: str, now: datetime) -> datetime:
    """Return the time that ``text`` names: ``7d`` before ``now``, a date (its beginning in UTC), or a date with a time.

    Raises:
        InputError: it is none of these.
    """
    return _read(text, now, days=-1)


def _read(text: str, now: datetime, *, days: int) -> datetime:
    """Read ``text``.

    Numbers of days count in the direction of ``days``, and a date means its end if that is positive.
    """
    shown = text if len(text) <= 40 else f"{text[:40]}…"
    try:
        if found := _DAYS.fullmatch(text):
            return now + timedelta(days=days * int(found[1]))
        if _DATE.fullmatch(text):
            return datetime.fromisoformat(text).replace(tzinfo=UTC) + timedelta(days=max(0, days))
        if _DATE_AND_TIME.fullmatch(text):
            time = datetime.fromisoformat(text)
            return time if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        reason = f": {error}"
    else:
        reason = ""
    raise InputError(
        f"{shown!r} is neither a date nor a number of days{reason}",
        remedy="Write 90d, 2027-05-31 or 2027-05-31T12:00+02:00.",
    ) from None
