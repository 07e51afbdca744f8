"""Events for consumers, written with the values, claimed with leases, set aside as dead; and the workers among them.

This is a transactional outbox. An event is a row that is written in the transaction of the change it reports, so that
neither exists without the other. Every consumer has its own copy. A worker *claims* an event, which moves the time at
which it is due to the end of a lease. A worker that ends deletes the row. A worker that dies leaves it, and the event
is due again when the lease ends.

The fields of a payload are the members of its JSON, which the database keeps and NATS publishes. Three things change
changes: a run of alerts, a move of the history boundary, and a decision. Each has its own payload of the same kind.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import Enum
from functools import cache
from itertools import takewhile
from typing import Any, ClassVar, Final, TypedDict

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Row, Select, bindparam, func, or_, select, update

from knickpoint.model.service_part import WORKER_PARTS, ServicePart, joined_parts
from knickpoint.store.array_codec import moment, stored_json
from knickpoint.store.database import Database
from knickpoint.store.tables.access import consumer as consumers
from knickpoint.store.tables.access import event as table
from knickpoint.store.tables.access import worker as worker_table

# Trace ids inside an event: sorted, and in the shortest of three forms.
#
# An import may change a million traces, and each event of it is a row of the database and a message on NATS. So ids are
# not listed one by one. Ids that are neighbours are their first one and their number. Ids that lie close together are a
# bitmap for each 1,024. Other ids are the distances between them, 4 bytes each (8 where one is wider).


_BITMAP_BITS: Final = 1024
_BYTES_OF_A_STEP: Final = 4


class PackedIds(TypedDict, total=False):
    """Trace ids as members of JSON; ``count`` is always there, the others belong to one form each.

    ``first`` alone means neighbours. ``chunks`` and ``bitmaps`` are the numbers of the chunks and their bits, lowest
    first. ``first``, ``wide`` and ``steps`` are distances, little-endian, of 8 bytes where ``wide``, else of 4. Bytes
    are in base64.
    """

    count: int
    first: int
    wide: bool
    steps: str
    chunks: list[int]
    bitmaps: str


def pack_ids(ids: NDArray[np.int64]) -> PackedIds:
    """Return sorted distinct trace ids in the shortest of the three forms."""
    count = len(ids)
    if count == 0:
        return {"count": 0}
    first = int(ids[0])
    if int(ids[-1]) - first + 1 == count:
        return {"count": count, "first": first}

    chunks, starts = np.unique(ids // _BITMAP_BITS, return_index=True)
    if len(chunks) * (_BITMAP_BITS // 8) <= count * _BYTES_OF_A_STEP:
        bits = np.zeros((len(chunks), _BITMAP_BITS), dtype=np.bool_)
        counts = np.diff(starts, append=count)
        bits[np.repeat(np.arange(len(chunks)), counts), ids % _BITMAP_BITS] = True
        packed = np.packbits(bits, axis=1, bitorder="little")
        return {"count": count, "chunks": chunks.tolist(), "bitmaps": base64.b64encode(packed.tobytes()).decode()}

    steps = np.diff(ids)
    wide = bool((steps >= 2**32).any())
    packed = steps.astype("<i8" if wide else "<u4")
    return {"count": count, "first": first, "wide": wide, "steps": base64.b64encode(packed.tobytes()).decode()}


def unpack_ids(payload: Mapping[str, Any]) -> NDArray[np.int64]:
    """Return the sorted trace ids of the payload of a ``traces-changed`` event.

    Raises:
        KeyError, TypeError, ValueError: a member is missing, or is not what :func:`pack_ids` writes.
    """
    if "chunks" in payload:
        raw = np.frombuffer(base64.b64decode(payload["bitmaps"]), dtype=np.uint8).reshape(-1, _BITMAP_BITS // 8)
        rows, bits = np.nonzero(np.unpackbits(raw, axis=1, bitorder="little"))
        return np.asarray(payload["chunks"], dtype=np.int64)[rows] * _BITMAP_BITS + bits
    if "first" not in payload:
        return np.empty(0, dtype=np.int64)
    if "steps" not in payload:
        return np.arange(payload["first"], payload["first"] + payload["count"], dtype=np.int64)
    steps = np.frombuffer(base64.b64decode(payload["steps"]), dtype="<i8" if payload["wide"] else "<u4")
    return np.cumsum(np.concatenate([[int(payload["first"])], steps]))


MOST_LISTED: Final = 1000
"""How many slots, runs or changes one event lists; ``truncated`` states that there are more."""


class EventKind(Enum):
    """The subject of an event; the value is its name in the database and on NATS."""

    TRACES_CHANGED = "traces-changed"
    CHANGES_UPDATED = "changes-updated"
    ANNOUNCED = "announced"


@dataclass(frozen=True, slots=True)
class TracesChanged:
    """Results came in, were corrected or removed, or commits of the traces changed their order.

    ``slots`` are those of the commits, and ``runs`` the ids of the runs; of both the first :data:`MOST_LISTED`.
    """

    kind: ClassVar[EventKind] = EventKind.TRACES_CHANGED

    repository: str
    slots: Sequence[int]
    runs: Sequence[int]
    traces: PackedIds
    truncated: bool = False

    def members(self) -> Mapping[str, object]:
        """Return the members of the JSON object; those of the trace ids lie beside the others."""
        where = {"repository": self.repository, "slots": self.slots, "runs": self.runs}
        return where | ({"truncated": True} if self.truncated else {}) | dict(self.traces)


class _ChangesUpdated:
    """What the payloads about changes share: their kind, and JSON members named as their fields."""

    __slots__ = ()
    kind: ClassVar[EventKind] = EventKind.CHANGES_UPDATED

    def members(self) -> Mapping[str, object]:
        """Return the members of the JSON object."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class FindingsChanged(_ChangesUpdated):
    """A run of alerts changed findings.

    ``new_changes`` and ``updated_changes`` are ids of changes that are work, at most
    :data:`MOST_LISTED` of each; ``history_changes`` counts the new ones that are history. The other numbers count
    change points.
    """

    repository: str
    run: int
    new_changes: Sequence[int]
    updated_changes: Sequence[int]
    history_changes: int
    truncated: bool
    new: int
    moved: int
    gone: int
    returned: int
    recovered: int


@dataclass(frozen=True, slots=True)
class BoundaryMoved(_ChangesUpdated):
    """The history boundary moved past changes.

    ``updated_changes`` are ids of those that became work, at most :data:`MOST_LISTED`; ``history_changes``
    counts those that became history.
    """

    repository: str
    updated_changes: Sequence[int]
    history_changes: int
    truncated: bool


@dataclass(frozen=True, slots=True)
class FindingsDecided(_ChangesUpdated):
    """A person or a program decided about ``decided`` findings, which lie in ``changes`` (ids)."""

    repository: str
    decided: int
    changes: Sequence[int]


@dataclass(frozen=True, slots=True)
class Announced:
    """Rows were added to the announcement ledger: ``announcements`` are their ids, at most :data:`MOST_LISTED`.

    ``truncated`` states that there are more, with greater ids.
    """

    kind: ClassVar[EventKind] = EventKind.ANNOUNCED

    repository: str
    announcements: Sequence[int]
    truncated: bool = False

    def members(self) -> Mapping[str, object]:
        """Return the members of the JSON object."""
        return {"repository": self.repository, "announcements": self.announcements, "truncated": self.truncated}


Payload = Announced | TracesChanged | FindingsChanged | BoundaryMoved | FindingsDecided


MAIN: Final = "main"
"""The consumer that gets every event: the worker of the instance."""

_ATTEMPTS: Final = 5
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 300.0

_CONSUMERS_OF_KIND: Final = select(consumers.c.name).where(consumers.c.kind == bindparam("wanted"))
_INSERT: Final = table.insert()
_JSON: Final = json.JSONEncoder(separators=(",", ":"))


@cache
def _first_due(kinds: tuple[str, ...]) -> Select[tuple[int]]:
    """Return the statement that every round of a worker asks: an event of ``kinds`` that is due for ``wanted``."""
    of_kinds = or_(*(table.c.kind == kind for kind in kinds))
    ready = (table.c.consumer == bindparam("wanted")) & (table.c.state == "ready") & of_kinds
    return select(table.c.id).where(ready, table.c.due <= bindparam("now")).limit(1)


@dataclass(frozen=True, slots=True)
class Event:
    """An event as one consumer gets it.

    ``payload`` has the JSON members of the payload of its kind (:mod:`knickpoint.store.events`) as they are
    stored and published. ``attempts`` counts the claims so far, this one included. ``reason`` is the message of the
    last failure.
    """

    id: int
    kind: EventKind
    payload: Mapping[str, Any]
    created: datetime
    attempts: int
    worker: str
    consumer: str = MAIN
    reason: str = ""


@dataclass(frozen=True, slots=True)
class EventCount:
    """How many events of a kind one consumer has."""

    consumer: str
    kind: EventKind
    count: int


def _event_of(row: Row[Any]) -> Event:
    return Event(
        id=row.id,
        kind=EventKind(row.kind),
        payload=stored_json(row.payload),
        created=moment(row.created),
        attempts=row.attempts,
        worker=row.worker,
        consumer=row.consumer,
        reason=row.reason,
    )


class Outbox:
    """Hold the outbox area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def subscribe(self, consumer: str, kinds: Sequence[EventKind]) -> None:
        """Give ``consumer`` a copy of every event of ``kinds`` from now on, instead of the kinds it had before.

        Its copies of other kinds are deleted.
        """
        names = _names(kinds)
        subscribed = select(consumers.c.kind).where(consumers.c.name == consumer)
        with self._database.reading() as connection:
            if set(connection.execute(subscribed).scalars()) == set(names):
                return
        unwanted = (table.c.consumer == consumer) & table.c.kind.not_in(names)
        with self._database.transaction() as connection:
            connection.execute(consumers.delete().where(consumers.c.name == consumer))
            connection.execute(table.delete().where(unwanted))
            if names:
                connection.execute(consumers.insert(), [{"name": consumer, "kind": name} for name in names])

    def publish(self, payload: Payload) -> None:
        """Write an event for every consumer, in the transaction of the caller."""
        now, kind = time.time(), payload.kind.value
        with self._database.joined() as connection:
            wanted = self._database.quick(connection, _CONSUMERS_OF_KIND, {"wanted": kind})
            names = [name for (name,) in wanted.fetchall()]
            row = {
                "kind": kind,
                "payload": _JSON.encode(payload.members()),
                "created": now,
                "due": now,
                "worker": "",
                "attempts": 0,
                "state": "ready",
                "reason": "",
            }
            for name in (MAIN, *names):
                self._database.quick(connection, _INSERT, {"consumer": name, **row})

    def claim(
        self,
        kinds: Sequence[EventKind],
        worker: str,
        lease_seconds: float,
        limit: int,
        *,
        consumer: str = MAIN,
        in_order: bool = False,
    ) -> list[Event]:
        """Take up to ``limit`` due events, oldest first, for ``lease_seconds``.

        An event whose lease ended without :meth:`done`, :meth:`fail` or :meth:`release` is due again, until it
        was claimed five times; then it is dead. With ``in_order``, no event is taken while another worker holds an
        older one of these kinds, or while an older one waits for its next attempt; and no event dies because leases
        ended.
        """
        now = time.time()
        ready = (table.c.consumer == consumer) & (table.c.state == "ready") & table.c.kind.in_(_names(kinds))
        due = ready & (table.c.due <= now)

        # Most rounds find nothing: they must not wait for a writer.
        if not self.has_due(kinds, consumer=consumer):
            return []

        with self._database.transaction(alone=False) as connection:
            # Events whose every lease ended are given up.
            if not in_order:
                exhausted = due & (table.c.attempts >= _ATTEMPTS)
                lost = "the lease ended every time; the worker died or took too long"
                reason = func.coalesce(func.nullif(table.c.reason, ""), lost)
                connection.execute(update(table).where(exhausted).values(state="dead", reason=reason))

            # The oldest ones. In order, those before the first that is not due.
            query = select(table).where(ready if in_order else due).order_by(table.c.id).limit(limit)
            rows = list(connection.execute(query.with_for_update(skip_locked=not in_order)))
            if in_order:
                rows = list(takewhile(lambda row: row.due <= now, rows))
            if not rows:
                return []

            # They are this worker's until the lease ends.
            taken = table.c.id.in_([row.id for row in rows])
            lease = {"worker": worker, "due": now + lease_seconds, "attempts": table.c.attempts + 1}
            connection.execute(update(table).where(taken).values(lease))
            return [_event_of(row) for row in connection.execute(select(table).where(taken).order_by(table.c.id))]

    def has_due(self, kinds: Sequence[EventKind], *, consumer: str = MAIN) -> bool:
        """Return True if :meth:`claim` would look for events: whether any of ``kinds`` is due."""
        statement = _first_due(tuple(_names(kinds)))
        with self._database.reading() as connection:
            found = self._database.quick(connection, statement, {"wanted": consumer, "now": time.time()})
            return found.fetchone() is not None

    def extend(self, event: Event, lease_seconds: float) -> bool:
        """Keep a claimed event for longer; return false where its lease ended and another worker claimed it."""
        with self._database.transaction(alone=False) as connection:
            changed = connection.execute(update(table).where(_held(event)).values(due=time.time() + lease_seconds))
            return changed.rowcount > 0

    def done(self, event: Event) -> bool:
        """Delete a claimed event; return false where its lease ended and another worker claimed it.

        In a transaction of the caller, the event and its effect go together.
        """
        with self._database.transaction(alone=False) as connection:
            return connection.execute(table.delete().where(_held(event))).rowcount > 0

    def fail(self, event: Event, reason: str) -> None:
        """Give a claimed event back: due again after a pause that grows, dead after five attempts."""
        dead = event.attempts >= _ATTEMPTS
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 4 ** (event.attempts - 1))
        values = {"state": "dead" if dead else "ready", "reason": reason, "worker": "", "due": time.time() + pause}
        with self._database.transaction(alone=False) as connection:
            connection.execute(update(table).where(_held(event)).values(values))

    def release(self, event: Event) -> None:
        """Give a claimed event back as if it had never been claimed: due at once, without an attempt used."""
        values = {"worker": "", "due": time.time(), "attempts": table.c.attempts - 1}
        with self._database.transaction(alone=False) as connection:
            connection.execute(update(table).where(_held(event)).values(values))

    def release_all(self, worker: str) -> int:
        """Give back all events that ``worker`` holds, as :meth:`release` does, and return how many.

        For one that ends early.
        """
        now = time.time()
        held = (table.c.worker == worker) & (table.c.state == "ready") & (table.c.due > now)
        values = {"worker": "", "due": now, "attempts": table.c.attempts - 1}
        with self._database.transaction(alone=False) as connection:
            return connection.execute(update(table).where(held).values(values)).rowcount

    def forget(self, oldest_seconds: float, most: int) -> list[EventCount]:
        """Delete events older than ``oldest_seconds``, dead ones too, and all but the newest ``most`` of a kind.

        Events that a worker holds stay. Returns what was deleted, by consumer and kind.
        """
        now = time.time()
        free = (table.c.worker == "") | (table.c.due <= now) | (table.c.state == "dead")
        forgotten: list[EventCount] = []
        with self._database.reading() as connection:
            query = select(table.c.consumer, table.c.kind, func.count(), func.min(table.c.created))
            groups = connection.execute(query.group_by(table.c.consumer, table.c.kind)).all()
        for consumer, kind, count, created in sorted(groups):
            if count <= most and created >= now - oldest_seconds:
                continue
            group = (table.c.consumer == consumer) & (table.c.kind == kind)
            beyond = select(table.c.id).where(group).order_by(table.c.id.desc()).offset(most).limit(1).scalar_subquery()
            lost = (table.c.created < now - oldest_seconds) | (table.c.id <= beyond)
            with self._database.transaction(alone=False) as connection:
                number = connection.execute(table.delete().where(group & free & lost)).rowcount
            if number:
                forgotten.append(EventCount(consumer, EventKind(kind), number))
        return forgotten

    def dead(self) -> list[Event]:
        """Return the events that were given up, oldest first."""
        with self._database.reading() as connection:
            query = select(table).where(table.c.state == "dead").order_by(table.c.id)
            return [_event_of(row) for row in connection.execute(query)]

    def retry(self) -> int:
        """Make dead events due again, with all their attempts; return how many."""
        values = {"state": "ready", "attempts": 0, "due": time.time(), "worker": ""}
        with self._database.transaction(alone=False) as connection:
            return connection.execute(update(table).where(table.c.state == "dead").values(values)).rowcount

    def pending(self, *, after: datetime | None = None) -> list[EventCount]:
        """Count the events that are not dead, by consumer and kind: all, or those written ``after`` a time."""
        query = select(table.c.consumer, table.c.kind, func.count()).where(table.c.state == "ready")
        if after is not None:
            query = query.where(table.c.created > after.timestamp())
        with self._database.reading() as connection:
            rows = connection.execute(query.group_by(table.c.consumer, table.c.kind)).all()
        return [EventCount(consumer, EventKind(kind), count) for consumer, kind, count in sorted(map(tuple, rows))]

    def oldest(
        self, consumer: str, kinds: Sequence[EventKind] = tuple(EventKind), *, after: datetime | None = None
    ) -> datetime | None:
        """Return when the oldest living event of ``consumer`` was written, of all or of those ``after`` a time.

        Returns None where there is none.
        """
        its = (table.c.state == "ready", table.c.consumer == consumer, table.c.kind.in_(_names(kinds)))
        query = select(func.min(table.c.created)).where(*its)
        if after is not None:
            query = query.where(table.c.created > after.timestamp())
        with self._database.reading() as connection:
            created = connection.execute(query).scalar()
        return moment(created) if created is not None else None

    def held(self, kinds: Sequence[EventKind], *, consumer: str = MAIN) -> datetime | None:
        """Return when the oldest event of ``kinds`` was written that a worker holds now; None where none holds one."""
        its = (table.c.state == "ready", table.c.consumer == consumer, table.c.kind.in_(_names(kinds)))
        query = select(func.min(table.c.created)).where(*its, table.c.worker != "", table.c.due > time.time())
        with self._database.reading() as connection:
            created = connection.execute(query).scalar()
        return moment(created) if created is not None else None


def _names(kinds: Sequence[EventKind]) -> list[str]:
    return [kind.value for kind in kinds]


def _held(event: Event) -> ColumnElement[bool]:
    """Return the condition that the claim of ``event`` is still the newest."""
    return (table.c.id == event.id) & (table.c.worker == event.worker) & (table.c.attempts == event.attempts)


_KEPT_SECONDS: Final = 86_400.0
"""How long a worker that no longer reports is remembered."""

_LONGEST_REASON: Final = 2000
_NO_FAILURE: Final = 0.0


@dataclass(frozen=True, slots=True)
class WorkerState:
    """The state of one worker.

    ``failures`` counts the rounds in a row that failed, 0 when the last one did not. ``reason`` is the message of the
    last failure, and ``failed`` its time, None where there was none. ``slowed`` is why it works slower than it could,
    "" where it does not. ``parts`` are the parts that it runs, and ``machine`` is where.
    """

    name: str
    started: datetime
    seen: datetime
    failures: int = 0
    failed: datetime | None = None
    reason: str = ""
    slowed: str = ""
    parts: frozenset[ServicePart] = frozenset()
    machine: str = ""


class WorkerTable:
    """Hold the workers area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def report(
        self,
        name: str,
        *,
        started: float,
        failures: int = 0,
        reason: str = "",
        slowed: str | None = None,
        parts: Collection[ServicePart] = WORKER_PARTS,
        machine: str = "",
    ) -> None:
        """Record that the worker ``name`` is at work, with ``failures`` in a row; ``reason`` is the last one's message.

        ``started`` is in seconds since 1970. Without failures, the message of the last one is kept, unless ``slowed``
        says why the worker is slower than it could be; "" says that it no longer is. Workers that have not reported for
        a day are forgotten.
        """
        now = time.time()
        changing: dict[str, object] = {"seen": now, "failures": failures}
        if failures:
            changing |= {"failed": now, "reason": reason[:_LONGEST_REASON]}
        elif slowed is not None:
            changing |= {"failed": _NO_FAILURE, "reason": slowed[:_LONGEST_REASON]}
        running = {"parts": joined_parts(parts), "machine": machine}
        row = {"name": name, "started": started, "failed": _NO_FAILURE, "reason": "", **running, **changing}
        with self._database.transaction(alone=False) as connection:
            insert = self._database.insert(worker_table).values(row)
            connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_=changing))
            connection.execute(worker_table.delete().where(worker_table.c.seen < now - _KEPT_SECONDS))

    def remove(self, name: str) -> None:
        """Forget the worker ``name``, which ended as it should."""
        with self._database.transaction(alone=False) as connection:
            connection.execute(worker_table.delete().where(worker_table.c.name == name))

    def all(self) -> list[WorkerState]:
        """Return the workers by name, without those that were killed and replaced.

        A worker was replaced where its machine started one with the same parts after it was last seen. Where several
        of them run on one machine, one that just started may hide another one until that reports again.
        """
        with self._database.reading() as connection:
            rows = connection.execute(select(worker_table).order_by(worker_table.c.name)).all()
        workers = [
            WorkerState(
                name=row.name,
                started=moment(row.started),
                seen=moment(row.seen),
                failures=row.failures,
                failed=moment(row.failed) if row.failed else None,
                reason=row.reason if row.failed else "",
                slowed="" if row.failed else row.reason,
                parts=frozenset(map(ServicePart, filter(None, row.parts.split(",")))),
                machine=row.machine,
            )
            for row in rows
        ]
        return [worker for worker in workers if not any(_replaces(other, worker) for other in workers)]


def _replaces(other: WorkerState, worker: WorkerState) -> bool:
    is_here = bool(worker.machine) and other.machine == worker.machine and other.parts >= worker.parts
    return is_here and other.started > worker.seen
