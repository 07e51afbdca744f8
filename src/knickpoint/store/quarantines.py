"""Quarantined results: which runs and why, which findings are held because of them, and calls of hooks."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Select, bindparam, or_, select, update

from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.errors import InputError
from knickpoint.model.quarantine import CanaryMove, FactChange, Quarantine, QuarantineState
from knickpoint.store.array_codec import checked, moment, pack, stored_json, unpack
from knickpoint.store.database import Database
from knickpoint.store.tables.bisections import hook_call
from knickpoint.store.tables.bisections import quarantine as table
from knickpoint.store.tables.findings import STATEMENTS_OF_POINTS, change_point

# Keep the calls of hooks: each hook is called once about a run, and until it took the call.


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
            insert = self._database.insert(hook_call)
            unique = ["repository_id", "identity", "hook"]
            with self._database.transaction() as connection:
                connection.execute(insert.on_conflict_do_nothing(index_elements=unique), rows)

    def claim(self, now: datetime, lease_seconds: float, *, limit: int = 16) -> list[HookCall]:
        """Return calls that are due, and keep them from others for the lease; each claim counts as an attempt."""
        due = (hook_call.c.state == HookState.WAITS.value) & (hook_call.c.due <= now.timestamp())
        with self._database.transaction() as connection:
            rows = connection.execute(
                select(hook_call).where(due).order_by(hook_call.c.due, hook_call.c.id).limit(limit)
            ).all()
            for row in rows:
                until = now.timestamp() + lease_seconds
                changed = update(hook_call).where(hook_call.c.id == row.id).values(due=until, attempts=row.attempts + 1)
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
            connection.execute(update(hook_call).where(hook_call.c.id == key).values(state=state.value, answer=answer))

    def retry(self, key: int, due: datetime, answer: str) -> None:
        """Let a call that failed wait until ``due``."""
        with self._database.transaction() as connection:
            connection.execute(
                update(hook_call).where(hook_call.c.id == key).values(due=due.timestamp(), answer=answer)
            )

    def all(self, repository: Repository) -> list[HookCall]:
        """Return all calls about runs of a repository, by id."""
        query = select(hook_call).where(hook_call.c.repository_id == repository.id).order_by(hook_call.c.id)
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


# Hold the quarantines of results, and which findings are held because of them.


@dataclass(frozen=True, slots=True)
class StoredQuarantine:
    """A quarantine with what is compared and applied, and not shown.

    ``evidence`` stands for the content of the run. ``trace_ids`` are the traces that the run measured, sorted.
    """

    quarantine: Quarantine
    evidence: str
    trace_ids: NDArray[np.int64]


@cache
def _quarantines(states: tuple[str, ...], *, everywhere: bool) -> Select[Any]:
    """The quarantines of the repository ``owner`` in some states, in all where empty, everywhere or at ``numbers``."""
    query = select(table).where(table.c.repository_id == bindparam("owner")).order_by(table.c.id)
    if states:
        query = query.where(or_(*(table.c.state == state for state in states)))
    return query if everywhere else query.where(Database.among(table.c.slot))


class Quarantines:
    """Read and write quarantines: one row for each run that was ever suspect.

    Attributes:
        hook_calls: calls of hooks about them.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.hook_calls = HookCalls(database)

    def all(
        self, repository: Repository, *, states: Collection[QuarantineState] = (), slots: Collection[int] | None = None
    ) -> list[Quarantine]:
        """Return the quarantines of a repository, by id: those in ``states`` (all where empty) and at ``slots``."""
        return [each.quarantine for each in self.stored(repository, states=states, slots=slots)]

    def stored(
        self, repository: Repository, *, states: Collection[QuarantineState] = (), slots: Collection[int] | None = None
    ) -> list[StoredQuarantine]:
        """Return the same as :meth:`all`, each with its traces."""
        query = _quarantines(tuple(sorted(state.value for state in states)), everywhere=slots is None)
        bound = {} if slots is None else {"numbers": self._database.listed(sorted(slots))}
        with self._database.reading() as connection:
            rows = self._database.quick_rows(connection, query, {"owner": repository.id, **bound})
        return [_stored_of(row) for row in rows]

    def get(self, key: int) -> StoredQuarantine:
        """Return a quarantine by its id.

        Raises:
            InputError: there is none.
        """
        with self._database.reading() as connection:
            row = connection.execute(select(table).where(table.c.id == key)).mappings().first()
        if row is None:
            raise InputError(f"there is no quarantine {key}", remedy="knick canaries lists them.")
        return _stored_of(row)

    def put(self, quarantines: Sequence[StoredQuarantine]) -> None:
        """Write quarantines, each in place of that of the same run; a new one has the id 0."""
        rows = [_values(each) for each in quarantines]
        if not rows:
            return
        with self._database.transaction() as connection:
            connection.execute(self._database.replacing(table, ["repository_id", "identity"], rows[0]), rows)

    # Held findings

    def suspect_ranges(self, repository: Repository) -> dict[int, tuple[int, SuspectRange]]:
        """Return change point → its trace and suspect range, by id, those included that are gone."""
        point = change_point.c
        query = select(point.id, point.trace_id, point.line, point.previous, point.slot)
        with self._database.reading() as connection:
            rows = connection.execute(query.where(point.repository_id == repository.id).order_by(point.id))
            return {row.id: (row.trace_id, SuspectRange(row.line, row.previous, row.slot)) for row in rows}

    def hold(self, repository: Repository, reasons: Mapping[int, str]) -> list[int]:
        """Hold exactly the change points of ``reasons`` (id → why); return those whose reason changed, by id."""
        with self._database.transaction() as connection:
            held = select(change_point.c.id, change_point.c.held).where(
                change_point.c.repository_id == repository.id, change_point.c.held != ""
            )
            known = {row.id: row.held for row in connection.execute(held)}
            wanted = dict.fromkeys(known, "") | dict(reasons)
            changed = {key: reason for key, reason in wanted.items() if known.get(key, "") != reason}
            for key, reason in sorted(changed.items()):
                connection.execute(change_point.update().where(change_point.c.id == key).values(held=reason))
                self._database.later(STATEMENTS_OF_POINTS, [key])
        return sorted(changed)


def _stored_of(row: Mapping[Any, Any]) -> StoredQuarantine:
    reasons = stored_json(row["reasons"])
    quarantine = Quarantine(
        id=row["id"],
        repository_id=row["repository_id"],
        identity=row["identity"],
        run_id=row["run_id"],
        slot=row["slot"],
        machine=row["machine"],
        state=QuarantineState(row["state"]),
        since=moment(row["since"]),
        until=moment(row["until"]),
        moves=tuple(CanaryMove(**each) for each in reasons["moves"]),
        facts=tuple(FactChange(**each) for each in reasons["facts"]),
        traces=row["traces"],
        outcome=row["outcome"],
        who=row["who"],
    )
    (ids,) = unpack(row["trace_ids"], 1)
    return StoredQuarantine(quarantine, row["evidence"], np.asarray(ids, dtype=np.int64))


def _values(stored: StoredQuarantine) -> dict[str, Any]:
    each = stored.quarantine
    reasons = {"moves": [asdict(move) for move in each.moves], "facts": [asdict(fact) for fact in each.facts]}
    return {
        "repository_id": each.repository_id,
        "identity": each.identity,
        "run_id": each.run_id,
        "slot": each.slot,
        "machine": each.machine,
        "state": each.state.value,
        "since": each.since.timestamp(),
        "until": each.until.timestamp(),
        "reasons": json.dumps(reasons, ensure_ascii=False, separators=(",", ":")),
        "evidence": stored.evidence,
        "traces": each.traces,
        "trace_ids": checked(pack(stored.trace_ids)),
        "outcome": each.outcome,
        "who": each.who,
    }
