"""Keep the calls of hooks: each hook is called once about a run, and until it took the call."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from sqlalchemy import select, update

from knickpoint.model.commit import Repository
from knickpoint.store.database import Database
from knickpoint.store.tables.quarantines import hook_call as table
from knickpoint.store.timestamps import moment

__all__ = ["HookCall", "HookCalls", "HookState"]


class HookState(Enum):
    """What became of a call: it WAITS for its time, it is DONE, it FAILED for good, or it is DROPPED as unnecessary."""

    WAITS = "waits"
    DONE = "done"
    FAILED = "failed"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class HookCall:
    """A call of one hook about the run ``identity``; ``answer`` is what the hook said last, in one line.

    A call that waits is due at ``due``, or is being made until then.
    """

    id: int
    repository_id: int
    identity: str
    hook: str
    state: HookState
    attempts: int
    due: datetime
    answer: str


class HookCalls:
    """Hold the calls of hooks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def plan(self, repository: Repository, identities: Sequence[str], hooks: Collection[str], now: datetime) -> None:
        """Plan a call of each hook about each run; those that were planned before stay as they are."""
        rows = [
            {
                "repository_id": repository.id,
                "identity": identity,
                "hook": hook,
                "state": HookState.WAITS.value,
                "attempts": 0,
                "due": now.timestamp(),
                "answer": "",
            }
            for identity in identities
            for hook in sorted(hooks)
        ]
        if rows:
            insert = self._database.insert(table)
            unique = ["repository_id", "identity", "hook"]
            with self._database.transaction() as connection:
                connection.execute(insert.on_conflict_do_nothing(index_elements=unique), rows)

    def claim(self, now: datetime, lease_seconds: float, *, limit: int = 16) -> list[HookCall]:
        """Return calls that are due, and keep them from others for the lease; each claim counts as an attempt."""
        due = (table.c.state == HookState.WAITS.value) & (table.c.due <= now.timestamp())
        with self._database.transaction() as connection:
            rows = connection.execute(select(table).where(due).order_by(table.c.due, table.c.id).limit(limit)).all()
            for row in rows:
                until = now.timestamp() + lease_seconds
                changed = update(table).where(table.c.id == row.id).values(due=until, attempts=row.attempts + 1)
                connection.execute(changed)
        return [
            HookCall(
                row.id,
                row.repository_id,
                row.identity,
                row.hook,
                HookState(row.state),
                row.attempts + 1,
                moment(row.due),
                row.answer,
            )
            for row in rows
        ]

    def finish(self, key: int, state: HookState, answer: str) -> None:
        """Record what became of a call."""
        with self._database.transaction() as connection:
            connection.execute(update(table).where(table.c.id == key).values(state=state.value, answer=answer))

    def retry(self, key: int, due: datetime, answer: str) -> None:
        """Let a call that failed wait until ``due``."""
        with self._database.transaction() as connection:
            connection.execute(update(table).where(table.c.id == key).values(due=due.timestamp(), answer=answer))

    def all(self, repository: Repository) -> list[HookCall]:
        """Return all calls about runs of a repository, by id."""
        query = select(table).where(table.c.repository_id == repository.id).order_by(table.c.id)
        with self._database.reading() as connection:
            return [
                HookCall(
                    row.id,
                    row.repository_id,
                    row.identity,
                    row.hook,
                    HookState(row.state),
                    row.attempts,
                    moment(row.due),
                    row.answer,
                )
                for row in connection.execute(query)
            ]
