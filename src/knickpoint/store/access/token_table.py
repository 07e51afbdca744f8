"""Keep tokens for machines: names, scopes, times, and the digest of each secret; never a secret."""

from __future__ import annotations

import hmac
import json
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Row, or_, select, update

from knickpoint.model.access import Permission, Token
from knickpoint.model.errors import AbsentError, InputError
from knickpoint.store.access.damaged_rows import naming_the_row, texts_of
from knickpoint.store.database import Database
from knickpoint.store.tables.access import token as table
from knickpoint.store.timestamps import moment

__all__ = ["TokenTable"]

_LONGEST_SHOWN: Final = 100
_LISTED: Final = "List the tokens with knick tokens list."


class TokenTable:
    """Hold the tokens area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def insert(self, token: Token, digest: str) -> None:
        """Add ``token``, whose secret has the SHA-256 ``digest`` in hex.

        Raises:
            InputError: a token has this name, perhaps a revoked one; names are used once, so that logs stay clear.
        """
        row = {
            "name": token.name,
            "digest": digest,
            "scopes": json.dumps(sorted(scope.value for scope in token.scopes)),
            "repositories": json.dumps(token.repositories),
            "created": token.created.timestamp(),
            "created_by": token.created_by,
            "expires": _seconds(token.expires),
            "last_used": _seconds(token.last_used),
            "revoked": _seconds(token.revoked),
        }
        with self._database.transaction() as connection:
            taken = connection.execute(select(table.c.revoked).where(table.c.name == token.name)).first()
            if taken is not None:
                state = "there is a token" if taken.revoked is None else "there was a token"
                raise InputError(
                    f"{state} with the name {token.name!r}",
                    remedy="Choose another name; a name is used once, so that the audit log stays clear.",
                )
            connection.execute(table.insert().values(row))

    def find(self, digest: str) -> Token | None:
        """Return the token whose secret has the SHA-256 ``digest``, None if there is none; it may be revoked or expired."""
        with self._database.reading() as connection:
            row = connection.execute(select(table).where(table.c.digest == digest)).first()
        if row is None or not hmac.compare_digest(row.digest, digest):
            return None
        return _token_of(row)

    def all(self) -> list[Token]:
        """Return all tokens by name, revoked and expired ones too."""
        with self._database.reading() as connection:
            return [_token_of(row) for row in connection.execute(select(table).order_by(table.c.name))]

    def revoke(self, name: str, time: datetime) -> Token:
        """Revoke the token ``name`` at ``time``, and return it as it is then.

        Raises:
            AbsentError: there is no such token.
            InputError: it is revoked already.
        """
        with self._database.transaction() as connection:
            row = connection.execute(select(table).where(table.c.name == name)).first()
            if row is None:
                raise AbsentError(f"there is no token {name[:_LONGEST_SHOWN]!r}", remedy=_LISTED)
            token = _token_of(row)
            if token.revoked is not None:
                when = token.revoked.isoformat(timespec="seconds")
                raise InputError(f"the token {name!r} was revoked at {when}", remedy=_LISTED)
            connection.execute(update(table).where(table.c.name == name).values(revoked=time.timestamp()))
            return replace(token, revoked=time)

    def revoke_all(self, time: datetime) -> int:
        """Revoke every token that is not revoked yet, and return how many these were."""
        with self._database.transaction() as connection:
            statement = update(table).where(table.c.revoked.is_(None)).values(revoked=time.timestamp())
            return connection.execute(statement).rowcount

    def used(self, name: str, time: datetime) -> None:
        """Record that the token ``name`` was used at ``time``; a standby that is away holds nobody up who only reads.

        Raises:
            BusyError: another process writes to an SQLite store; a request does not wait for this.
        """
        seconds = time.timestamp()
        earlier = or_(table.c.last_used.is_(None), table.c.last_used < seconds)
        with self._database.transaction(alone=False, wait=False) as connection:
            self._database.done_here(connection)
            connection.execute(update(table).where(table.c.name == name, earlier).values(last_used=seconds))


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else moment(seconds)


def _token_of(row: Row[Any]) -> Token:
    """Return the token that a row of the table describes.

    Raises:
        StoreError: something else than :meth:`TokenTable.insert` wrote the row.
    """
    with naming_the_row(f"the token {str(row.name)[:_LONGEST_SHOWN]!a}"):
        name, created_by = texts_of([row.name, row.created_by])
        return Token(
            name=name,
            scopes=frozenset(Permission(scope) for scope in texts_of(json.loads(row.scopes))),
            repositories=texts_of(json.loads(row.repositories)),
            created=moment(row.created),
            created_by=created_by,
            expires=_time(row.expires),
            last_used=_time(row.last_used),
            revoked=_time(row.revoked),
        )
