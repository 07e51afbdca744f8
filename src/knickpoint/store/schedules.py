"""What schedules measure: the commits that they chose, why, and what became of each."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from sqlalchemy import ColumnElement, Row, case, delete, func, select, update

from knickpoint.model.commit import Repository
from knickpoint.store.array_codec import moment, stored_json
from knickpoint.store.database import Database
from knickpoint.store.tables.bisections import scheduled_probe as table

# The probes of schedules as the store has them.


class ScheduledProbeState(Enum):
    """Where a probe stands.

    SKIPPED: the commit cannot be built or measured. FAILED: devices were lost again and again, or the results cannot be
    used. Neither is made again.
    """

    WAITING = "waiting"
    RUNNING = "running"
    MEASURED = "measured"
    SKIPPED = "skipped"
    FAILED = "failed"

    @property
    def ended(self) -> bool:
        """Whether nothing more happens by itself."""
        return self not in {ScheduledProbeState.WAITING, ScheduledProbeState.RUNNING}


class SchedulePurpose(Enum):
    """Why a commit is measured: it is NEW, it narrows the range of a finding (FILL), or a person REQUESTED it."""

    NEW = "new"
    FILL = "fill"
    REQUESTED = "requested"


@dataclass(frozen=True, slots=True)
class ChosenCommit:
    """A commit that a schedule chose: why, with which other repositories, and whose range it fills."""

    commit: str
    pins: tuple[tuple[str, str], ...] = ()
    purpose: SchedulePurpose = SchedulePurpose.NEW
    change: int = 0


@dataclass(frozen=True, slots=True)
class ScheduledProbe:
    """A probe of a schedule; ``attempts`` counts how often a device began with it.

    ``due`` is from when on it may run, or while it runs the end of the lease of ``worker``. ``seconds`` is the time
    that it took of a device.
    """

    id: int
    repository_id: int
    schedule: str
    choice: ChosenCommit
    state: ScheduledProbeState
    attempts: int
    worker: str
    due: datetime
    chosen: datetime
    ended: datetime | None
    device: str
    seconds: float
    reason: str

    @property
    def name(self) -> str:
        """The id of this attempt among all probes of the instance."""
        return f"schedule-{self.schedule}-{self.id}.{self.attempts}"


# Keep the probes of schedules: each commit once for each schedule, each run by one worker at a time.


_UNIQUE = ("repository_id", "schedule", "commit_hash")


class ScheduledProbes:
    """Hold the probes of schedules."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, repository: Repository, schedule: str, choices: Sequence[ChosenCommit], now: datetime) -> None:
        """Let commits wait for their measurement; those that the schedule chose before stay as they are."""
        rows = [
            {
                "repository_id": repository.id,
                "schedule": schedule,
                "commit_hash": choice.commit,
                "pins": json.dumps(choice.pins),
                "purpose": choice.purpose.value,
                "change_id": choice.change,
                "state": ScheduledProbeState.WAITING.value,
                "attempts": 0,
                "worker": "",
                "due": now.timestamp(),
                "chosen": now.timestamp(),
                "ended": 0.0,
                "device": "",
                "seconds": 0.0,
                "reason": "",
            }
            for choice in choices
        ]
        if rows:
            insert = self._database.insert(table)
            with self._database.transaction() as connection:
                connection.execute(insert.on_conflict_do_nothing(index_elements=_UNIQUE), rows)

    def claim(
        self, schedule: str, worker: str, now: datetime, lease_seconds: float, *, limit: int
    ) -> list[ScheduledProbe]:
        """Return probes that may run, and keep them from other workers for the lease; each claim counts as an attempt.

        What the lease of another worker ran out for is among them. New and requested commits come before those that
        fill a range.
        """
        may_run = table.c.state.in_([ScheduledProbeState.WAITING.value, ScheduledProbeState.RUNNING.value])
        query = select(table).where(table.c.schedule == schedule, may_run, table.c.due <= now.timestamp())
        last = case((table.c.purpose == SchedulePurpose.FILL.value, 1), else_=0)
        with self._database.transaction() as connection:
            rows = connection.execute(query.order_by(last, table.c.id).limit(limit)).all()
            keys = [row.id for row in rows]
            changed = {
                "state": ScheduledProbeState.RUNNING.value,
                "worker": worker,
                "due": (now + timedelta(seconds=lease_seconds)).timestamp(),
                "attempts": table.c.attempts + 1,
            }
            connection.execute(update(table).where(table.c.id.in_(keys)).values(changed))
            claimed = connection.execute(select(table).where(table.c.id.in_(keys)).order_by(last, table.c.id)).all()
        return [_probe(row) for row in claimed]

    def waits(self, schedule: str, now: datetime) -> bool:
        """Return True if a schedule has a probe that :meth:`claim` would return."""
        may_run = table.c.state.in_([ScheduledProbeState.WAITING.value, ScheduledProbeState.RUNNING.value])
        query = select(table.c.id).where(table.c.schedule == schedule, may_run, table.c.due <= now.timestamp()).limit(1)
        with self._database.reading() as connection:
            return connection.execute(query).first() is not None

    def renew(self, keys: Collection[int], worker: str, until: datetime) -> set[int]:
        """Extend the leases of ``worker``; return those of ``keys`` that it still has."""
        held = self._held(keys, worker)
        with self._database.transaction() as connection:
            connection.execute(update(table).where(held).values(due=until.timestamp()))
            return set(connection.execute(select(table.c.id).where(held)).scalars())

    def finish(
        self,
        probe: ScheduledProbe,
        state: ScheduledProbeState,
        *,
        now: datetime,
        device: str = "",
        seconds: float = 0.0,
        reason: str = "",
    ) -> bool:
        """Record how a probe ended; return False, without a change, where its worker has lost it to another one."""
        changed = {
            "state": state.value,
            "ended": now.timestamp(),
            "device": device,
            "seconds": table.c.seconds + seconds,
            "reason": reason,
        }
        return self._change(probe, changed)

    def retry(self, probe: ScheduledProbe, due: datetime, *, seconds: float = 0.0, reason: str = "") -> bool:
        """Let a probe wait again until ``due``; return False where its worker has lost it."""
        changed = {
            "state": ScheduledProbeState.WAITING.value,
            "worker": "",
            "due": due.timestamp(),
            "seconds": table.c.seconds + seconds,
            "reason": reason,
        }
        return self._change(probe, changed)

    def release(self, worker: str) -> None:
        """Let everything wait again that ``worker`` runs; that is not an attempt."""
        running = (table.c.worker == worker) & (table.c.state == ScheduledProbeState.RUNNING.value)
        changed = {
            "state": ScheduledProbeState.WAITING.value,
            "worker": "",
            "attempts": table.c.attempts - 1,
            "due": 0.0,
        }
        with self._database.transaction() as connection:
            connection.execute(update(table).where(running).values(changed))

    def remark(self, schedule: str, reason: str) -> None:
        """Record the reason for which the waiting probes of a schedule wait, "" for none."""
        waiting = (
            (table.c.schedule == schedule)
            & (table.c.state == ScheduledProbeState.WAITING.value)
            & (table.c.reason != reason)
        )
        with self._database.transaction() as connection:
            connection.execute(update(table).where(waiting).values(reason=reason))

    def withdraw(self, keys: Collection[int]) -> None:
        """Take back choices that no worker has begun with, so that they can be made again."""
        waiting = table.c.id.in_(sorted(keys)) & (table.c.state == ScheduledProbeState.WAITING.value)
        with self._database.transaction() as connection:
            connection.execute(delete(table).where(waiting))

    def of_schedule(self, repository: Repository, schedule: str) -> list[ScheduledProbe]:
        """Return all probes of a schedule, in the order in which it chose them."""
        query = select(table).where(table.c.repository_id == repository.id, table.c.schedule == schedule)
        with self._database.reading() as connection:
            return [_probe(row) for row in connection.execute(query.order_by(table.c.id))]

    def fill_seconds(self, schedule: str, since: datetime) -> float:
        """Return the device time that a schedule spent since a moment on filling ranges."""
        spent = (table.c.schedule == schedule) & (table.c.purpose == SchedulePurpose.FILL.value)
        query = select(func.coalesce(func.sum(table.c.seconds), 0.0)).where(spent, table.c.ended >= since.timestamp())
        with self._database.reading() as connection:
            return float(connection.execute(query).scalar_one())

    def _held(self, keys: Collection[int], worker: str) -> ColumnElement[bool]:
        running = table.c.state == ScheduledProbeState.RUNNING.value
        return table.c.id.in_(sorted(keys)) & (table.c.worker == worker) & running

    def _change(self, probe: ScheduledProbe, changed: dict[str, Any]) -> bool:
        held = self._held([probe.id], probe.worker) & (table.c.attempts == probe.attempts)
        with self._database.transaction() as connection:
            return connection.execute(update(table).where(held).values(changed)).rowcount == 1


def _probe(row: Row[Any]) -> ScheduledProbe:
    pins = tuple((str(name), str(commit)) for name, commit in stored_json(row.pins))
    return ScheduledProbe(
        row.id,
        row.repository_id,
        row.schedule,
        ChosenCommit(row.commit_hash, pins, SchedulePurpose(row.purpose), row.change_id),
        ScheduledProbeState(row.state),
        row.attempts,
        row.worker,
        moment(row.due),
        moment(row.chosen),
        moment(row.ended) if row.ended else None,
        row.device,
        row.seconds,
        row.reason,
    )
