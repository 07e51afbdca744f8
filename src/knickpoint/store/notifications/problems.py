"""Keep which alerts fail: a problem is opened and closed once, in one transaction with its deliveries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, func, select, update

from knickpoint.model.notification import PlannedDelivery, Problem
from knickpoint.store.array_codec import moment
from knickpoint.store.database import Database
from knickpoint.store.notifications.notifications import Notifications
from knickpoint.store.tables.announcements import problem

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
