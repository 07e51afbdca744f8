"""Hold the delivery ledger: what goes to whom, planned once, sent under a lease, and marked with the answer.

A planner turns announcements into deliveries, and moves the cursor behind them in the same transaction. A sender
*claims* deliveries for the length of a lease, *begins* one, hands it over, and marks it. A sender that dies leaves its
deliveries until the lease ends; the next one repeats what no answer was kept for, with the same key.

A problem of an alert is opened and closed once, in one transaction with its deliveries.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, func, select, update

from knickpoint.model.notification import (
    MOST_IN_DIGEST,
    Delivery,
    DeliveryState,
    NotificationKind,
    PlannedDelivery,
    Problem,
    Purpose,
    Recipient,
    Sent,
    SentMark,
)
from knickpoint.store.array_codec import moment, stored_json
from knickpoint.store.database import Database
from knickpoint.store.tables.announcements import (
    announcement,
    delivery,
    delivery_item,
    notification_cursor,
    problem,
    untaken_chain,
)

# Turn rows of the delivery ledger into deliveries, and planned deliveries into rows.


def delivery_of(row: Mapping[Any, Any]) -> Delivery:
    """Return the delivery of a row."""
    return Delivery(
        id=row["id"],
        key=row["key"],
        kind=NotificationKind(row["kind"]),
        recipient=Recipient(row["channel"], row["address"], row["person"]),
        repository_id=row["repository_id"],
        announcements=tuple(stored_json(row["announcements"])),
        thread=row["thread"],
        created=moment(row["created"]),
        due=moment(row["due"]),
        state=DeliveryState(row["state"]),
        attempts=row["attempts"],
        answer=row["answer"],
        sent=None if row["sent"] is None else moment(row["sent"]),
        reference=row["reference"],
        link=row["link"],
    )


def listed_ids(ids: tuple[int, ...]) -> str:
    """Return the ids of announcements as a row keeps them."""
    return json.dumps(ids, separators=(",", ":"))


def part_key(key: str, ids: tuple[int, ...]) -> str:
    """Return the key of a delivery that has some of the announcements of the one with ``key``."""
    return hashlib.sha256(f"{key} {listed_ids(ids)}".encode()).hexdigest()[:40]


def new_row(key: int, planned: PlannedDelivery, now: datetime) -> dict[str, Any]:
    """Return the row of a planned delivery that gets the id ``key``."""
    repositories = {each.repository_id for each in planned.announcements}
    return {
        "id": key,
        "key": planned.key,
        "kind": planned.kind.value,
        "channel": planned.recipient.channel,
        "address": planned.recipient.address,
        "person": planned.recipient.person,
        "repository_id": repositories.pop() if len(repositories) == 1 else 0,
        "announcements": listed_ids(tuple(each.id for each in planned.announcements)),
        "thread": planned.thread,
        "created": now.timestamp(),
        "due": planned.due.timestamp(),
        "state": DeliveryState.WAITING.value,
        "holder": "",
        "attempts": 0,
        "answer": "",
        "sent": None,
        "reference": "",
        "link": "",
    }


_CURSOR: Final = "announcements"
_LONGEST_ANSWER: Final = 2000
_UNFINISHED: Final = (DeliveryState.WAITING.value, DeliveryState.SENDING.value)


class Notifications:
    """Hold the notifications area of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # The cursor

    def cursor(self) -> int | None:
        """Return the id of the last announcement that was planned, None while notifications are switched off."""
        query = select(notification_cursor.c.announcement_id).where(notification_cursor.c.name == _CURSOR)
        with self._database.reading() as connection:
            return connection.execute(query).scalar()

    def switch(self, *, on: bool) -> None:
        """Begin behind the newest announcement, so that nothing earlier is ever sent, or forget how far plans went.

        Where that has been done already, nothing changes.
        """
        if (self.cursor() is not None) == on:
            return
        with self._database.transaction() as connection:
            if on:
                newest = connection.execute(select(func.coalesce(func.max(announcement.c.id), 0))).scalar_one()
                row = {"name": _CURSOR, "announcement_id": newest}
                connection.execute(self._database.insert(notification_cursor).values(row).on_conflict_do_nothing())
            else:
                connection.execute(notification_cursor.delete())

    # Planning

    def heard(self, chains: Collection[int], purpose: Purpose = Purpose.CHANGE) -> dict[int, dict[str, Delivery]]:
        """Return announcement → receiver → the delivery with it, for all announcements of ``chains``."""
        item = delivery_item.c
        query = select(delivery, item.announcement_id, item.receiver).join(delivery, delivery.c.id == item.delivery_id)
        query = query.where(self._database.among(item.chain, "chains"), item.purpose == purpose.value)
        found: dict[int, dict[str, Delivery]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(query, {"chains": self._database.listed(sorted(chains))}).mappings():
                found.setdefault(row["announcement_id"], {})[row["receiver"]] = delivery_of(row)
        return found

    def plan(
        self, deliveries: Iterable[PlannedDelivery], *, before: int, after: int, now: datetime, watch: bool = False
    ) -> list[int] | None:
        """Write deliveries, and move the cursor from ``before`` to ``after``: both, or nothing.

        Returns the ids of the deliveries that took the announcements in; None where another planner moved the cursor
        since, which planned the same. With ``watch``, the chains that open are kept for their escalation.
        """
        planned = list(deliveries)
        with self._database.transaction() as connection:
            moved = connection.execute(
                update(notification_cursor)
                .where(notification_cursor.c.name == _CURSOR, notification_cursor.c.announcement_id == before)
                .values(announcement_id=after)
            )
            if not moved.rowcount:
                return None
            written = self._write(connection, planned, now)
            opened = {each.chain: each.time for one in planned for each in one.announcements if each.kind.opens}
            if watch and opened:
                rows = [{"chain": key, "opened": time.timestamp()} for key, time in sorted(opened.items())]
                connection.execute(self._database.insert(untaken_chain).on_conflict_do_nothing(), rows)
            return written

    def remind(self, deliveries: Iterable[PlannedDelivery], done: Collection[int], now: datetime) -> list[int]:
        """Write the escalations of chains, and forget the chains ``done``, which are escalated or need none."""
        with self._database.transaction() as connection:
            written = self._write(connection, list(deliveries), now)
            condition = self._database.among(untaken_chain.c.chain, "chains")
            connection.execute(untaken_chain.delete().where(condition), {"chains": self._database.listed(sorted(done))})
            return written

    def add(self, deliveries: Iterable[PlannedDelivery], now: datetime) -> list[int]:
        """Write deliveries that are about no announcement; return their ids."""
        with self._database.transaction() as connection:
            return self._write(connection, list(deliveries), now)

    def was_sent(self, kind: NotificationKind, thread: str, recipient: Recipient) -> bool:
        """Return True if ``recipient`` got a message of a kind in a thread."""
        row = delivery.c
        place = (row.channel == recipient.channel) & (row.address == recipient.address) & (row.thread == thread)
        query = select(row.id).where(place, row.kind == kind.value, row.state == DeliveryState.SENT.value)
        with self._database.reading() as connection:
            return connection.execute(query.limit(1)).first() is not None

    def untaken(self, before: datetime, limit: int) -> list[int]:
        """Return the chains that opened before a time and may still have to be escalated, the oldest first."""
        query = select(untaken_chain.c.chain).where(untaken_chain.c.opened <= before.timestamp())
        with self._database.reading() as connection:
            return list(connection.execute(query.order_by(untaken_chain.c.chain).limit(limit)).scalars())

    def _write(self, connection: Connection, planned: Sequence[PlannedDelivery], now: datetime) -> list[int]:
        written: list[int] = []
        following = int(connection.execute(select(func.coalesce(func.max(delivery.c.id), 0))).scalar_one()) + 1
        rows: list[dict[str, Any]] = []
        items: list[dict[str, Any]] = []
        waiting = self._waiting(connection, planned)
        for one in planned:
            row = waiting.get(_place(one))
            key = self._extend(connection, row, one) if row is not None else 0
            if not key:
                key, following = following, following + 1
                rows.append(new_row(key, one, now))
            written.append(key)
            items += [
                {
                    "receiver": one.recipient.receiver,
                    "purpose": one.purpose.value,
                    "announcement_id": each.id,
                    "chain": each.chain,
                    "delivery_id": key,
                }
                for each in one.announcements
            ]
        if rows:
            connection.execute(delivery.insert(), rows)
        if items:
            connection.execute(delivery_item.insert(), items)
        return written

    def _waiting(self, connection: Connection, planned: Sequence[PlannedDelivery]) -> dict[tuple[str, ...], Any]:
        """Return the unattempted deliveries that wait in the threads of ``planned``, by channel, address and so on."""
        threads = sorted({one.thread for one in planned})
        found: dict[tuple[str, ...], Any] = {}
        for begin in range(0, len(threads), 500):
            query = select(delivery).where(
                delivery.c.thread.in_(threads[begin : begin + 500]),
                delivery.c.state == DeliveryState.WAITING.value,
                delivery.c.attempts == 0,
                delivery.c.answer == "",
            )
            for row in connection.execute(query.order_by(delivery.c.id)).mappings():
                found[row["channel"], row["address"], row["kind"], row["thread"]] = row
        return found

    def _extend(self, connection: Connection, row: Mapping[Any, Any], planned: PlannedDelivery) -> int:
        """Add announcements to a delivery that waits; return its id, 0 where it is full or was claimed meanwhile."""
        ids = (*stored_json(row["announcements"]), *(each.id for each in planned.announcements))
        if len(ids) > MOST_IN_DIGEST:
            return 0
        same = {each.repository_id for each in planned.announcements} == {row["repository_id"]}
        waiting = (
            (delivery.c.id == row["id"])
            & (delivery.c.state == DeliveryState.WAITING.value)
            & (delivery.c.announcements == row["announcements"])
        )
        values = {"announcements": listed_ids(ids), "repository_id": row["repository_id"] if same else 0}
        changed = connection.execute(update(delivery).where(waiting).values(values))
        return int(row["id"]) if changed.rowcount else 0

    # Sending

    def claim(
        self, now: datetime, lease_seconds: float, limit: int, *, holder: str, without: Collection[str] = ()
    ) -> list[Delivery]:
        """Take up to ``limit`` due deliveries for ``holder``, oldest first, except those of the channels ``without``.

        A delivery whose lease ended is due again. Returns them as they are while ``holder`` has them; ``due`` is then
        the end of the lease.
        """
        seconds = now.timestamp()
        due = delivery.c.state.in_(_UNFINISHED) & (delivery.c.due <= seconds)
        if without:
            due &= delivery.c.channel.not_in(sorted(without))
        with self._database.reading() as connection:  # most rounds find nothing: they must not wait for a writer
            if connection.execute(select(delivery.c.id).where(due).limit(1)).first() is None:
                return []
        with self._database.transaction(alone=False) as connection:
            query = select(delivery.c.id).where(due).order_by(delivery.c.due, delivery.c.id).limit(limit)
            ids = list(connection.execute(query.with_for_update(skip_locked=True)).scalars())
            lease = {"state": DeliveryState.SENDING.value, "holder": holder, "due": seconds + lease_seconds}
            connection.execute(update(delivery).where(delivery.c.id.in_(ids)).values(lease))
            taken = select(delivery).where(delivery.c.id.in_(ids)).order_by(delivery.c.id)
            return [delivery_of(row) for row in connection.execute(taken).mappings()]

    def begin(
        self, key: int, holder: str, now: datetime, lease_seconds: float, *, marks: Iterable[SentMark] = ()
    ) -> bool:
        """Count an attempt, and renew the lease; return false where ``holder`` no longer has the delivery.

        ``marks`` are those of deliveries before it, which are written in the same transaction.
        """
        values = {"attempts": delivery.c.attempts + 1, "due": now.timestamp() + lease_seconds}
        with self._database.transaction(alone=False):
            self.mark_sent(marks, holder)
            return self._mark(key, holder, values)

    def mark_sent(self, marks: Iterable[SentMark], holder: str) -> None:
        """Mark deliveries as sent, in one transaction; those that ``holder`` no longer has are left as they are."""
        with self._database.transaction(alone=False):
            for mark in marks:
                self.sent(mark.key, holder, mark.answer, mark.time)

    def sent(self, key: int, holder: str, answer: Sent, now: datetime) -> bool:
        """Mark a delivery as sent, with what the receiver answered; return false where ``holder`` no longer has it."""
        values = {
            "state": DeliveryState.SENT.value,
            "holder": "",
            "sent": now.timestamp(),
            "reference": answer.reference,
            "link": answer.link,
            "answer": "",
        }
        return self._mark(key, holder, values)

    def retry(self, key: int, holder: str, due: datetime, answer: str) -> bool:
        """Have a delivery wait until ``due``, with the reason; return false where ``holder`` no longer has it."""
        return self._end(key, holder, DeliveryState.WAITING, answer, due)

    def fail(self, key: int, holder: str, answer: str) -> bool:
        """Give a delivery up, with the reason; return false where ``holder`` no longer has it."""
        return self._end(key, holder, DeliveryState.FAILED, answer)

    def drop(self, key: int, holder: str, answer: str) -> bool:
        """Mark that a delivery is not sent, because of ``answer``; return false where ``holder`` no longer has it."""
        return self._end(key, holder, DeliveryState.DROPPED, answer)

    def release(self, keys: Collection[int], holder: str, due: datetime) -> None:
        """Give back deliveries that no attempt was made for; they are due at ``due``."""
        values = {"state": DeliveryState.WAITING.value, "holder": "", "due": due.timestamp()}
        held = delivery.c.id.in_(sorted(keys)) & (delivery.c.holder == holder)
        with self._database.transaction(alone=False) as connection:
            connection.execute(
                update(delivery).where(held, delivery.c.state == DeliveryState.SENDING.value).values(values)
            )

    def set_aside(self, one: Delivery, ids: Collection[int], holder: str, due: datetime) -> bool:
        """Move the announcements ``ids`` of a delivery into one of their own, which is due at ``due``.

        Return false where ``holder`` no longer has the delivery. ``ids`` are some of its announcements, not all.
        """
        moved = tuple(key for key in one.announcements if key in ids)
        with self._database.transaction() as connection:
            row = connection.execute(select(delivery).where(delivery.c.id == one.id)).mappings().one()
            announced = stored_json(row["announcements"])
            kept = listed_ids(tuple(key for key in announced if key not in ids))
            if not self._mark(one.id, holder, {"announcements": kept}):
                return False
            following = int(connection.execute(select(func.max(delivery.c.id))).scalar_one()) + 1
            values = {"id": following, "key": part_key(one.key, moved), "announcements": listed_ids(moved)}
            waiting = {"state": DeliveryState.WAITING.value, "holder": "", "due": due.timestamp()}
            connection.execute(delivery.insert().values({**row, **values, **waiting}))
            items = (delivery_item.c.delivery_id == one.id) & delivery_item.c.announcement_id.in_(moved)
            connection.execute(update(delivery_item).where(items).values(delivery_id=following))
            return True

    def earlier(self, one: Delivery) -> list[Delivery]:
        """Return the earlier deliveries about the same chains to the receiver of ``one``, the oldest first."""
        mine = select(delivery_item.c.chain).where(delivery_item.c.delivery_id == one.id)
        item = delivery_item.c
        query = select(delivery).where(
            delivery.c.id.in_(
                select(item.delivery_id).where(
                    item.chain.in_(mine), item.receiver == one.recipient.receiver, item.delivery_id < one.id
                )
            )
        )
        with self._database.reading() as connection:
            return [delivery_of(row) for row in connection.execute(query.order_by(delivery.c.id)).mappings()]

    def _end(self, key: int, holder: str, state: DeliveryState, answer: str, due: datetime | None = None) -> bool:
        values: dict[str, Any] = {"state": state.value, "holder": "", "answer": answer[:_LONGEST_ANSWER]}
        return self._mark(key, holder, values | ({"due": due.timestamp()} if due else {}))

    def _mark(self, key: int, holder: str, values: Mapping[str, Any]) -> bool:
        held = (
            (delivery.c.id == key) & (delivery.c.holder == holder) & (delivery.c.state == DeliveryState.SENDING.value)
        )
        with self._database.transaction(alone=False) as connection:
            return connection.execute(update(delivery).where(held).values(values)).rowcount > 0

    # Lists, and what people do with them

    def get(self, ids: Collection[int]) -> list[Delivery]:
        """Return deliveries by id, ascending; ids that do not exist are left out."""
        return self._select(self._database.among(delivery.c.id, "ids"), ids)

    def newest(
        self,
        *,
        change: int | None = None,
        state: DeliveryState | None = None,
        channel: str = "",
        repositories: Collection[int] | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[Delivery]:
        """Return deliveries, the newest first, with an id below ``before``; those about one ``change``, or all.

        ``repositories`` are ids; None means all. A delivery about several repositories is returned for None only.
        """
        query = select(delivery)
        if change is not None:
            chains = select(announcement.c.chain).where(announcement.c.change_id == change)
            about = select(delivery_item.c.delivery_id).where(delivery_item.c.chain.in_(chains))
            query = query.where(delivery.c.id.in_(about))
        if state is not None:
            query = query.where(delivery.c.state == state.value)
        if channel:
            query = query.where(delivery.c.channel == channel)
        if repositories is not None:
            query = query.where(delivery.c.repository_id.in_(sorted(repositories)))
        if before is not None:
            query = query.where(delivery.c.id < before)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(delivery.c.id.desc()).limit(limit)).mappings()
            return [delivery_of(row) for row in rows]

    def counts(self) -> dict[tuple[str, DeliveryState], int]:
        """Return the number of deliveries of each channel in each state."""
        query = select(delivery.c.channel, delivery.c.state, func.count()).group_by(
            delivery.c.channel, delivery.c.state
        )
        with self._database.reading() as connection:
            return {(name, DeliveryState(state)): count for name, state, count in connection.execute(query)}

    def next_due(self) -> datetime | None:
        """Return when the next delivery is due, None where none waits."""
        from knickpoint.store.array_codec import moment

        query = select(func.min(delivery.c.due)).where(delivery.c.state.in_(_UNFINISHED))
        with self._database.reading() as connection:
            seconds = connection.execute(query).scalar()
        return None if seconds is None else moment(seconds)

    def send_again(self, ids: Collection[int], now: datetime) -> int:
        """Have failed deliveries tried again, with all their attempts; return how many."""
        values = {"state": DeliveryState.WAITING.value, "attempts": 0, "due": now.timestamp()}
        return self._change(ids, [DeliveryState.FAILED], values)

    def give_up(self, ids: Collection[int], answer: str) -> int:
        """Drop deliveries that wait or failed; return how many. What a sender holds goes on."""
        values = {"state": DeliveryState.DROPPED.value, "answer": answer[:_LONGEST_ANSWER]}
        return self._change(ids, [DeliveryState.WAITING, DeliveryState.FAILED], values)

    def _change(self, ids: Collection[int], states: Sequence[DeliveryState], values: Mapping[str, Any]) -> int:
        wanted = self._database.among(delivery.c.id, "ids") & delivery.c.state.in_([each.value for each in states])
        with self._database.transaction() as connection:
            listed = {"ids": self._database.listed(sorted(ids))}
            return connection.execute(update(delivery).where(wanted).values(dict(values)), listed).rowcount

    def _select(self, condition: ColumnElement[bool], ids: Collection[int]) -> list[Delivery]:
        query = select(delivery).where(condition).order_by(delivery.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query, {"ids": self._database.listed(sorted(ids))}).mappings()
            return [delivery_of(row) for row in rows]


def _place(planned: PlannedDelivery) -> tuple[str, ...]:
    recipient = planned.recipient
    return recipient.channel, recipient.address, planned.kind.value, planned.thread


DeliveriesOf = Callable[[Problem], Sequence[PlannedDelivery]]
"""Returns the deliveries of a problem, which has its id now."""

_LONGEST_REASON: Final = 2_000


class Problems:
    """Hold the problems of a store."""

    def __init__(self, database: Database, notifications: Notifications) -> None:
        self._database = database
        self._notifications = notifications

    def open(self) -> dict[str, Problem]:
        """Return the problems that stand, by the name of the alert."""
        return {each.alert: each for each in self._select(problem.c.closed.is_(None))}

    def get(self, key: int) -> Problem | None:
        """Return a problem by its id, None where it does not exist."""
        return next(iter(self._select(problem.c.id == key)), None)

    def raise_one(self, alert: str, reason: str, now: datetime, deliveries: DeliveriesOf) -> int:
        """Open the problem of an alert, and plan its deliveries; return how many, 0 where it is open already."""
        with self._database.transaction() as connection:  # writers take turns
            if alert in self.open():
                return 0
            following = int(connection.execute(select(func.coalesce(func.max(problem.c.id), 0))).scalar_one()) + 1
            one = Problem(following, alert, reason[:_LONGEST_REASON], now)
            values = {"id": one.id, "alert": alert, "reason": one.reason, "opened": now.timestamp(), "closed": None}
            connection.execute(problem.insert().values(values))
            return len(self._notifications.add(deliveries(one), now))

    def close(self, one: Problem, now: datetime, deliveries: DeliveriesOf) -> int:
        """Close a problem, and plan its deliveries; return how many, 0 where it is closed already."""
        standing = (problem.c.id == one.id) & problem.c.closed.is_(None)
        with self._database.transaction() as connection:
            if not connection.execute(update(problem).where(standing).values(closed=now.timestamp())).rowcount:
                return 0
            return len(self._notifications.add(deliveries(one), now))

    def _select(self, condition: ColumnElement[bool]) -> list[Problem]:
        with self._database.reading() as connection:
            rows = connection.execute(select(problem).where(condition).order_by(problem.c.id)).mappings()
            return [_problem_of(row) for row in rows]


def _problem_of(row: Any) -> Problem:
    closed = None if row["closed"] is None else moment(row["closed"])
    return Problem(row["id"], row["alert"], row["reason"], moment(row["opened"]), closed)
