"""Access in the store: tokens as digests, ended sessions, used links, settings of people, and the audit log."""

from __future__ import annotations

import hmac
import json
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Row, delete, or_, select, update

from knickpoint.model.access import AuditEntry, AuditKind, Caller, CallerKind, Permission, Token
from knickpoint.model.errors import AbsentError, InputError, StoreError
from knickpoint.model.plain_text import plain_line
from knickpoint.store.array_codec import moment
from knickpoint.store.database import Database
from knickpoint.store.tables.access import (
    audit_entry,
    audit_retention,
    configuration_digest,
    ended_session,
    person_setting,
)
from knickpoint.store.tables.access import token as table
from knickpoint.store.tables.announcements import used_link

# Access in the store: tokens as hashes, sessions that ended early, and the audit log.


# Rows whose values no version of Knickpoint writes, as in a database that something else changed.


@contextmanager
def naming_the_row(row: str) -> Iterator[None]:
    """Turn every failure to read a value into an error that names ``row``, as in ``entry 17 of the audit log``.

    Raises:
        StoreError: a value cannot be read.
    """
    try:
        yield
    except (OSError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise StoreError(
            f"{row} has a value that cannot be read ({error})",
            remedy="Something other than Knickpoint changed the database; use a backup from before.",
        ) from error


def texts_of(values: object) -> tuple[str, ...]:
    """Return a list of texts as a tuple.

    Raises:
        TypeError: it is anything else.
    """
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise TypeError("not a list of strings")
    return tuple(values)


# The audit log: entries that are added, never changed, and deleted by age only.
#
# Triggers of the database hold to that as well: they refuse every UPDATE, and the DELETE of an entry that is not older
# than the time in ``audit_retention``. :meth:`AuditLog.delete_before` is the only code that moves this time.


_LONGEST_NAME: Final = 320
"""Characters of a name or an address that are kept; a mail address has at most 320."""

_LONGEST_ABOUT: Final = 2000
"""Characters of the text of an entry that are kept."""

_ADDRESS: ContextVar[str] = ContextVar("address", default="")
"""Where the request comes from that is being answered; "" for a command or the worker."""


@contextmanager
def acting_from(address: str) -> Iterator[None]:
    """Give the entries that the block adds the network address of its request, so that no rule has to pass it on."""
    token = _ADDRESS.set(address)
    try:
        yield
    finally:
        _ADDRESS.reset(token)


class AuditLog:
    """Hold the audit area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, kind: AuditKind, who: str, about: str, *, time: datetime | None = None) -> AuditEntry:
        """Add an entry, inside the transaction of what it records where there is one.

        :func:`acting_from` says which network address it has.

        Texts are cut to a line of bounded length, with control characters escaped: they may come from anywhere.

        Raises:
            InputError: ``who`` is empty.
        """
        if not who.strip():
            raise InputError("an audit entry needs the name of the caller", remedy="Pass the name of the caller.")
        row: dict[str, object] = {
            "time": (time or datetime.now(UTC)).timestamp(),
            "kind": kind.value,
            "who": plain_line(who, _LONGEST_NAME),
            "about": plain_line(about, _LONGEST_ABOUT),
            "address": plain_line(_ADDRESS.get(), _LONGEST_NAME),
        }
        with self._database.transaction(alone=False) as connection:
            result = connection.execute(audit_entry.insert().values(row).returning(audit_entry))
            return _entry_of(result.one())

    def entries(
        self,
        *,
        before_id: int | None = None,
        kind: AuditKind | None = None,
        who: str = "",
        since: datetime | None = None,
        limit: int = 200,
    ) -> list[AuditEntry]:
        """Return the newest ``limit`` entries, newest first: those before an id, of a kind, of a name, since a time.

        Raises:
            StoreError: an entry cannot be read.
        """
        query = select(audit_entry).order_by(audit_entry.c.id.desc()).limit(limit)
        if before_id is not None:
            query = query.where(audit_entry.c.id < before_id)
        if kind is not None:
            query = query.where(audit_entry.c.kind == kind.value)
        if who:
            query = query.where(audit_entry.c.who == plain_line(who, _LONGEST_NAME))
        if since is not None:
            query = query.where(audit_entry.c.time >= since.timestamp())
        with self._database.reading() as connection:
            return [_entry_of(row) for row in connection.execute(query)]

    def delete_before(self, time: datetime) -> int:
        """Delete the entries older than ``time``, and return how many these were."""
        seconds = time.timestamp()
        with self._database.transaction() as connection:
            connection.execute(delete(audit_retention))
            connection.execute(audit_retention.insert().values(before=seconds))
            return connection.execute(delete(audit_entry).where(audit_entry.c.time < seconds)).rowcount


def _entry_of(row: Row[Any]) -> AuditEntry:
    """Return the entry that a row of the table describes.

    Raises:
        StoreError: something else than :meth:`AuditLog.append` wrote the row.
    """
    with naming_the_row(f"entry {row.id} of the audit log"):
        who, about, address = texts_of([row.who, row.about, row.address])
        return AuditEntry(row.id, moment(row.time), AuditKind(row.kind), who, about, address)


# Keep tokens for machines: names, scopes, times, and the digest of each secret; never a secret.


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
        """Return the token whose secret has the SHA-256 ``digest``, None if there is none.

        It may be revoked or expired.
        """
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


# Keep which sessions ended before their cookie expires, so that a copied cookie is of no use after a sign-out.


_ALL: Final = ""
"""The id of the row that ends all sessions that began before a moment."""


class EndedSessions:
    """Hold the sessions area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def end(self, session_id: str, until: datetime) -> bool:
        """End the session with this id, and return whether it had not ended before.

        It need not be kept after ``until``, when its cookie expires.
        """
        times = {"ended": datetime.now(UTC).timestamp(), "until": until.timestamp()}
        insert = self._database.insert(ended_session).values(id=session_id, **times).on_conflict_do_nothing()
        with self._database.transaction(alone=False) as connection:
            return connection.execute(insert).rowcount == 1

    def end_all(self, now: datetime | None = None) -> None:
        """End all sessions that began before ``now``."""
        moment = (now or datetime.now(UTC)).timestamp()
        times = {"ended": moment, "until": moment}
        insert = self._database.insert(ended_session).values(id=_ALL, **times)
        with self._database.transaction(alone=False) as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=["id"], set_=times))

    def ended(self, session_id: str, started: datetime | None = None) -> bool:
        """Return True if the session with this id was ended.

        ``started`` is when it began, and lets :meth:`end_all` count.
        """
        ended = ended_session.c.id == session_id
        if started is not None:
            ended = or_(ended, (ended_session.c.id == _ALL) & (ended_session.c.ended > started.timestamp()))
        with self._database.reading() as connection:
            return connection.execute(select(ended_session.c.id).where(ended)).first() is not None

    def forget(self, now: datetime) -> int:
        """Delete the sessions whose cookies have expired at ``now``, and return how many these were."""
        expired = (ended_session.c.until < now.timestamp()) & (ended_session.c.id != _ALL)
        with self._database.transaction(alone=False) as connection:
            return connection.execute(ended_session.delete().where(expired)).rowcount


# Keep what people who sign in set for themselves in the dashboard.


class PersonSettings:
    """Hold the settings of people, by the name that they sign in with."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, person: Caller) -> dict[str, str]:
        """Return the settings of a person, by name."""
        query = select(person_setting.c.name, person_setting.c.value).where(
            person_setting.c.provider == person.provider, person_setting.c.person == person.name
        )
        with self._database.reading() as connection:
            return {row.name: row.value for row in connection.execute(query.order_by(person_setting.c.name))}

    def put(self, person: Caller, name: str, value: str) -> None:
        """Keep one setting of a person, in place of the former one."""
        row = {"provider": person.provider, "person": person.name, "name": name}
        values = {"value": value, "changed": time.time()}
        insert = self._database.insert(person_setting).values(**row, **values)
        with self._database.transaction() as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=list(row), set_=values))

    def shared(self) -> dict[str, str]:
        """Read the settings that people share with everybody, by name."""
        return self.get(_EVERYBODY)

    def share(self, name: str, value: str) -> None:
        """Share a value under a name, in place of the former one."""
        self.put(_EVERYBODY, name, value)

    def unshare(self, name: str) -> bool:
        """Remove a shared value, and return whether there was one."""
        row = person_setting.c
        query = person_setting.delete().where(row.provider == "", row.person == "", row.name == name)
        with self._database.transaction() as connection:
            return connection.execute(query).rowcount > 0


_EVERYBODY: Final = Caller(CallerKind.PERSON, "")
"""Stands for all people in the table of settings: nobody signs in with an empty name through no provider."""


# Keep a digest of each section of the configuration file that was last used, to notice which sections change.
#
# The digests are salted and have 32 bits: they cannot confirm what a guessed secret is.


_SALT: Final = ""
"""The section whose digest is the salt."""

_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class SectionChanges:
    """The sections of a configuration file that are new, have another content, or are gone; sorted by name."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def __str__(self) -> str:
        """Render as ``added: a, b; changed: c``, without the kinds that are empty."""
        kinds = {"added": self.added, "changed": self.changed, "removed": self.removed}
        return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names)


_RECORDED: Final = select(configuration_digest.c.section, configuration_digest.c.digest)


class ConfigurationDigests:
    """Hold the configuration area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def changes(self, sections: Mapping[str, str]) -> SectionChanges | None:
        """Compare ``sections``, name → content, with those that were recorded last; None if none were."""
        known = self._known()
        if not known:
            return None
        salt = known.pop(_SALT)
        now = _digests(sections, salt)
        return SectionChanges(
            added=tuple(sorted(now.keys() - known.keys())),
            changed=tuple(sorted(name for name in now.keys() & known.keys() if now[name] != known[name])),
            removed=tuple(sorted(known.keys() - now.keys())),
        )

    def record(self, sections: Mapping[str, str]) -> None:
        """Record ``sections``, name → content, in place of those before."""
        with self._database.transaction() as connection:
            salt = self._known().get(_SALT) or secrets.token_hex(16)
            digests = {_SALT: salt, **_digests(sections, salt)}
            connection.execute(delete(configuration_digest))
            connection.execute(
                configuration_digest.insert(), [{"section": name, "digest": text} for name, text in digests.items()]
            )

    def _known(self) -> dict[str, str]:
        with self._database.reading() as connection:
            return dict(self._database.quick(connection, _RECORDED, {}).fetchall())


def _digests(sections: Mapping[str, str], salt: str) -> dict[str, str]:
    return {
        name: hmac.digest(salt.encode(), text.encode(errors="surrogatepass"), "sha256").hex()[:_DIGITS]
        for name, text in sections.items()
    }


# Keep the signed links with which a decision was made, until they expire: each is good for one.


class UsedLinks:
    """Hold the used links of a store; a link is known by a digest of its signature."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def use(self, link: str, who: str, *, now: datetime, expires: datetime) -> bool:
        """Mark ``link`` as used, in the transaction of the decision; return false where it was used before."""
        row = {"link": link, "time": now.timestamp(), "who": who, "expires": expires.timestamp()}
        with self._database.transaction() as connection:
            connection.execute(used_link.delete().where(used_link.c.expires < now.timestamp()))
            if self.is_used(link):  # writers take turns
                return False
            connection.execute(used_link.insert().values(row))
            return True

    def is_used(self, link: str) -> bool:
        """Return True if a decision was made with ``link``."""
        with self._database.reading() as connection:
            return connection.execute(select(used_link.c.link).where(used_link.c.link == link)).first() is not None
