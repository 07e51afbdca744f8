"""Hand events to workers: written with the values, claimed with leases, tried again, or set aside."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, bindparam, func, select, update

from knickpoint.store.database import Database
from knickpoint.store.tables.outbox import consumer as consumers
from knickpoint.store.tables.outbox import event as table

__all__ = ["MAIN", "Event", "Outbox", "pack_ids", "unpack_ids"]

MAIN: Final = "main"
"""The consumer that gets every event: the worker of the instance."""

_ATTEMPTS: Final = 5
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 300.0
_CHUNK: Final = 1024

_LISTENING: Final = select(consumers.c.name).where(consumers.c.kind == bindparam("named"))
_WRITE: Final = table.insert()
_JSON: Final = json.JSONEncoder(separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, for one consumer.

    ``attempts`` counts the claims so far, this one included. ``reason`` is what the last failure said.
    """

    id: int
    kind: str
    payload: Mapping[str, Any]
    created: datetime
    attempts: int
    worker: str
    consumer: str = MAIN
    reason: str = ""


def pack_ids(ids: NDArray[np.int64]) -> dict[str, object]:
    """Return sorted trace ids in the shortest of three forms.

    They are the first of neighbours, a bitmap a chunk, or the distances between ids.
    """
    described: dict[str, object] = {"count": len(ids)}
    if len(ids) and int(ids[-1]) - int(ids[0]) + 1 == len(ids):
        return described | {"first": int(ids[0])}
    chunks, starts = np.unique(ids // _CHUNK, return_index=True)
    if len(chunks) * (_CHUNK // 8) <= len(ids) * 4:
        bits = np.zeros((len(chunks), _CHUNK), dtype=np.bool_)
        counts = np.diff(starts, append=len(ids))
        bits[np.repeat(np.arange(len(chunks)), counts), ids % _CHUNK] = True
        packed = np.packbits(bits, axis=1, bitorder="little")
        return described | {"chunks": chunks.tolist(), "bitmaps": base64.b64encode(packed.tobytes()).decode()}
    steps = np.diff(ids, prepend=0)
    first, rest = int(steps[0]), steps[1:]
    wide = bool((rest >= 2**32).any())
    packed = rest.astype("<i8" if wide else "<u4")
    return described | {"first": first, "wide": wide, "steps": base64.b64encode(packed.tobytes()).decode()}


def unpack_ids(payload: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the sorted trace ids of a ``traces-changed`` event."""
    if "chunks" in payload:
        raw = np.frombuffer(base64.b64decode(payload["bitmaps"]), dtype=np.uint8).reshape(-1, _CHUNK // 8)
        rows, places = np.nonzero(np.unpackbits(raw, axis=1, bitorder="little"))
        return np.asarray(payload["chunks"], dtype=np.int64)[rows] * _CHUNK + places
    if "first" not in payload:
        return np.empty(0, dtype=np.int64)
    if "steps" not in payload:
        return np.arange(payload["first"], payload["first"] + payload["count"], dtype=np.int64)
    steps = np.frombuffer(base64.b64decode(payload["steps"]), dtype="<i8" if payload["wide"] else "<u4")
    return np.cumsum(np.concatenate([[int(payload["first"])], steps]))


def _event_of(row: Row[Any]) -> Event:
    created = datetime.fromtimestamp(row.created, UTC)
    payload = json.loads(row.payload)
    return Event(row.id, row.kind, payload, created, row.attempts, row.worker, row.consumer, row.reason)


class Outbox:
    """Hold the outbox area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def subscribe(self, consumer: str, kinds: Sequence[str]) -> None:
        """Give ``consumer`` a copy of every event of ``kinds`` from now on; replaces what it had asked for.

        Copies of kinds that it does not want any more are taken back.
        """
        asked = select(consumers.c.kind).where(consumers.c.name == consumer)
        with self._database.reading() as connection:
            if set(connection.execute(asked).scalars()) == set(kinds):
                return
        unwanted = (table.c.consumer == consumer) & table.c.kind.not_in(list(kinds))
        with self._database.transaction() as connection:
            connection.execute(consumers.delete().where(consumers.c.name == consumer))
            connection.execute(table.delete().where(unwanted))
            if kinds:
                connection.execute(consumers.insert(), [{"name": consumer, "kind": kind} for kind in kinds])

    def publish(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Write an event for every consumer, in the transaction of the caller."""
        now = time.time()
        with self._database.joined() as connection:
            names = [name for (name,) in self._database.quick(connection, _LISTENING, {"named": kind}).fetchall()]
            row = {
                "kind": kind,
                "payload": _JSON.encode(payload),
                "created": now,
                "due": now,
                "worker": "",
                "attempts": 0,
                "state": "ready",
                "reason": "",
            }
            for name in (MAIN, *names):
                self._database.quick(connection, _WRITE, {"consumer": name, **row})

    def claim(
        self,
        kinds: Sequence[str],
        worker: str,
        lease_seconds: float,
        limit: int,
        *,
        consumer: str = MAIN,
        in_order: bool = False,
    ) -> list[Event]:
        """Take up to ``limit`` due events, oldest first, for ``lease_seconds``.

        An event whose lease ended without :meth:`done`, :meth:`fail` or :meth:`release` is due again, until it
        was claimed five times; then it is dead. With ``in_order``, no event is taken while an older one of
        these kinds is with somebody, or waits to be tried again; and none is given up because leases ended.
        """
        now = time.time()
        mine = (table.c.consumer == consumer) & (table.c.state == "ready")
        due = mine & (table.c.due <= now) & table.c.kind.in_(list(kinds))
        with self._database.reading() as connection:
            if connection.execute(select(table.c.id).where(due).limit(1)).first() is None:
                return []
        with self._database.transaction(alone=False) as connection:
            if not in_order:
                tired = due & (table.c.attempts >= _ATTEMPTS)
                lost = "the lease ended every time; the worker died or took too long"
                reason = func.coalesce(func.nullif(table.c.reason, ""), lost)
                connection.execute(update(table).where(tired).values(state="dead", reason=reason))
            among = mine & table.c.kind.in_(list(kinds)) if in_order else due
            query = select(table).where(among).order_by(table.c.id).limit(limit)
            rows = list(connection.execute(query.with_for_update(skip_locked=not in_order)))
            if in_order:
                rows = list(takewhile(lambda row: row.due <= now, rows))
            if rows:
                where = table.c.id.in_([row.id for row in rows])
                values = {"worker": worker, "due": now + lease_seconds, "attempts": table.c.attempts + 1}
                connection.execute(update(table).where(where).values(values))
                again = select(table).where(where).order_by(table.c.id)
                return [_event_of(row) for row in connection.execute(again)]
        return []

    def extend(self, event: Event, lease_seconds: float) -> bool:
        """Keep an event for longer; false if the lease was lost in the meantime."""
        with self._database.transaction(alone=False) as connection:
            changed = connection.execute(update(table).where(self._held(event)).values(due=time.time() + lease_seconds))
            return changed.rowcount > 0

    def done(self, event: Event) -> bool:
        """Take a claimed event off the list; false if somebody else had claimed it in the meantime.

        In a transaction of the caller, the event and its effect go together.
        """
        with self._database.transaction(alone=False) as connection:
            return connection.execute(table.delete().where(self._held(event))).rowcount > 0

    def fail(self, event: Event, reason: str) -> None:
        """Give a claimed event back: due again after a growing pause, dead after five attempts."""
        dead = event.attempts >= _ATTEMPTS
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 4 ** (event.attempts - 1))
        values = {"state": "dead" if dead else "ready", "reason": reason, "worker": "", "due": time.time() + pause}
        with self._database.transaction(alone=False) as connection:
            connection.execute(update(table).where(self._held(event)).values(values))

    def release(self, event: Event) -> None:
        """Give a claimed event back as if it had never been claimed: due at once, and no attempt the less."""
        values = {"worker": "", "due": time.time(), "attempts": table.c.attempts - 1}
        with self._database.transaction(alone=False) as connection:
            connection.execute(update(table).where(self._held(event)).values(values))

    def forget(self, oldest_seconds: float, most: int) -> dict[tuple[str, str], int]:
        """Drop events older than ``oldest_seconds``, dead ones too, and all but the newest ``most`` of a kind.

        Events that somebody holds stay. Returns how many went, by (consumer, kind).
        """
        now = time.time()
        free = (table.c.worker == "") | (table.c.due <= now) | (table.c.state == "dead")
        gone: dict[tuple[str, str], int] = {}
        with self._database.reading() as connection:
            query = select(table.c.consumer, table.c.kind, func.count(), func.min(table.c.created))
            groups = connection.execute(query.group_by(table.c.consumer, table.c.kind)).all()
        for consumer, kind, count, created in groups:
            if count <= most and created >= now - oldest_seconds:
                continue
            group = (table.c.consumer == consumer) & (table.c.kind == kind)
            beyond = select(table.c.id).where(group).order_by(table.c.id.desc()).offset(most).limit(1).scalar_subquery()
            lost = (table.c.created < now - oldest_seconds) | (table.c.id <= beyond)
            with self._database.transaction(alone=False) as connection:
                number = connection.execute(table.delete().where(group & free & lost)).rowcount
            if number:
                gone[consumer, kind] = number
        return gone

    def dead(self) -> list[Event]:
        """Return the events that were given up, oldest first."""
        with self._database.reading() as connection:
            query = select(table).where(table.c.state == "dead").order_by(table.c.id)
            return [_event_of(row) for row in connection.execute(query)]

    def retry(self, ids: Sequence[int] | None = None) -> int:
        """Make dead events due again, all of them or those of ``ids``; return how many."""
        where = table.c.state == "dead"
        if ids is not None:
            where &= table.c.id.in_(list(ids))
        values = {"state": "ready", "attempts": 0, "due": time.time(), "worker": ""}
        with self._database.transaction(alone=False) as connection:
            return connection.execute(update(table).where(where).values(values)).rowcount

    def pending(self, *, after: datetime | None = None) -> dict[tuple[str, str], int]:
        """Count the events that are not dead by (consumer, kind), all of them or those written ``after`` a time."""
        query = select(table.c.consumer, table.c.kind, func.count()).where(table.c.state == "ready")
        if after is not None:
            query = query.where(table.c.created > after.timestamp())
        with self._database.reading() as connection:
            rows = connection.execute(query.group_by(table.c.consumer, table.c.kind))
            return {(row[0], row[1]): row[2] for row in rows}

    def oldest(self, consumer: str | None = None) -> datetime | None:
        """Return when the oldest event that is not dead was written, of all or for one consumer."""
        query = select(func.min(table.c.created)).where(table.c.state == "ready")
        if consumer is not None:
            query = query.where(table.c.consumer == consumer)
        with self._database.reading() as connection:
            created = connection.execute(query).scalar()
            return datetime.fromtimestamp(created, UTC) if created is not None else None

    @staticmethod
    def _held(event: Event) -> Any:
        return (table.c.id == event.id) & (table.c.worker == event.worker) & (table.c.attempts == event.attempts)
