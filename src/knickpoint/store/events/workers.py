"""Keep which workers an instance has, when each last reported, and what failed."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import select

from knickpoint.model.service_part import WORKER_PARTS, ServicePart, joined_parts
from knickpoint.store.array_codec import moment
from knickpoint.store.database import Database
from knickpoint.store.tables.access import worker as table

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
            insert = self._database.insert(table).values(row)
            connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_=changing))
            connection.execute(table.delete().where(table.c.seen < now - _KEPT_SECONDS))

    def remove(self, name: str) -> None:
        """Forget the worker ``name``, which ended as it should."""
        with self._database.transaction(alone=False) as connection:
            connection.execute(table.delete().where(table.c.name == name))

    def all(self) -> list[WorkerState]:
        """Return the workers by name, without those that were killed and replaced.

        A worker was replaced where its machine started one with the same parts after it was last seen. Where several
        of them run on one machine, one that just started may hide another one until that reports again.
        """
        with self._database.reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.name)).all()
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
