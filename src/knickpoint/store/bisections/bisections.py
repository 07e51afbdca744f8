"""Hold the bisections: what is asked for, who coordinates it, how it stands and how it ended.

Any number of workers may share an instance. A worker claims a bisection for a limited time, the lease, and renews it
while it works. When it dies, the lease ends, and another worker goes on from the journal. Whoever lost a lease can
write nothing more: each write names its holder.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, case, func, literal, or_, select, union_all, update

from knickpoint.model.bisection import BisectionState, ProbeOutcome
from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.errors import AbsentError, InputError
from knickpoint.store.array_codec import moment
from knickpoint.store.bisections.journal import Journal, check_holder, finish_import, values_of_trace, waiting_results
from knickpoint.store.bisections.records import (
    BisectionAnswer,
    BisectionRequest,
    ProbeValue,
    StoredBisection,
    WaitingResults,
    bounded,
    request_values,
    stored_of,
)
from knickpoint.store.database import Database
from knickpoint.store.tables.bisections import bisection as table
from knickpoint.store.tables.bisections import planned_probe, probe, scheduled_probe
from knickpoint.store.tables.findings import STATEMENTS_OF_CHANGES, change

# Read what devices did, from the probes that bisections and schedules made on them.


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """How many probes a device made, during how many of them it was lost, and when the last one began or ended."""

    name: str
    probes: int
    lost: int
    last: datetime


def read_device_use(database: Database, repositories: Collection[Repository], since: datetime) -> list[DeviceUse]:
    """Return the use of each device by ``repositories`` from ``since`` on, by name."""
    ids, begin = [each.id for each in repositories], since.timestamp()
    lost = case((probe.c.outcome == ProbeOutcome.LOST.value, 1), else_=0)
    made = union_all(
        select(probe.c.device, lost.label("lost"), probe.c.started.label("time")).where(
            probe.c.repository_id.in_(ids), probe.c.started >= begin
        ),
        select(scheduled_probe.c.device, literal(0).label("lost"), scheduled_probe.c.ended.label("time")).where(
            scheduled_probe.c.repository_id.in_(ids), scheduled_probe.c.ended >= begin, scheduled_probe.c.device != ""
        ),
    ).subquery()
    query = (
        select(
            made.c.device,
            func.count().label("probes"),
            func.sum(made.c.lost).label("lost"),
            func.max(made.c.time).label("last"),
        )
        .group_by(made.c.device)
        .order_by(made.c.device)
    )
    with database.reading() as connection:
        return [DeviceUse(row.device, row.probes, int(row.lost), moment(row.last)) for row in connection.execute(query)]


_WAITING: Final = BisectionState.WAITING.value
_RUNNING: Final = BisectionState.RUNNING.value
_FOUND: Final = (BisectionState.CULPRIT.value, BisectionState.RANGE.value)


class Bisections:
    """Read and write bisections."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # What is asked for

    def ask(self, request: BisectionRequest) -> StoredBisection:
        """Let a bisection wait for a worker, and return it.

        Where one of the same change, trace, range and recipe, as it is now, waits or runs already, that one is
        returned.
        """
        with self._database.transaction() as connection:
            same = and_(
                table.c.state.in_((_WAITING, _RUNNING)),
                *(
                    table.c[name] == getattr(request, name)
                    for name in ("repository_id", "line", "change_id", "trace_id", "recipe", "digest")
                ),
            )
            for row in connection.execute(select(table).where(same).order_by(table.c.id)).mappings():
                if (found := stored_of(row)).request.slots == request.slots:
                    return found
            key = int(connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one()) + 1
            connection.execute(table.insert().values(id=key, **request_values(request)))
        return self.get(key)

    def get(self, key: int) -> StoredBisection:
        """Return a bisection by its id.

        Raises:
            AbsentError: there is none.
        """
        with self._database.reading() as connection:
            row = connection.execute(select(table).where(table.c.id == key)).mappings().first()
        if row is None:
            raise AbsentError(f"there is no bisection B{key}", remedy="knick bisections lists them.")
        return stored_of(row)

    def newest(
        self,
        repositories: Collection[Repository] | None = None,
        *,
        states: Collection[BisectionState] = (),
        of: int = 0,
        before: int = 0,
        limit: int = 100,
    ) -> list[StoredBisection]:
        """Return bisections, newest first: of some repositories, in some states, of the change ``of``, below an id."""
        clauses: list[ColumnElement[bool]] = []
        if repositories is not None:
            clauses.append(table.c.repository_id.in_(sorted(each.id for each in repositories)))
        if states:
            clauses.append(table.c.state.in_(sorted(state.value for state in states)))
        if of:
            clauses.append(table.c.change_id == of)
        if before:
            clauses.append(table.c.id < before)
        query = select(table).where(*clauses).order_by(table.c.id.desc()).limit(limit)
        with self._database.reading() as connection:
            return [stored_of(row) for row in connection.execute(query).mappings()]

    def counts(self, repositories: Collection[Repository]) -> dict[tuple[int, BisectionState], int]:
        """Return the number of bisections of each of ``repositories``, by id, in each state."""
        query = (
            select(table.c.repository_id, table.c.state, func.count())
            .where(table.c.repository_id.in_(sorted(each.id for each in repositories)))
            .group_by(table.c.repository_id, table.c.state)
        )
        with self._database.reading() as connection:
            return {(key, BisectionState(state)): count for key, state, count in connection.execute(query)}

    def of_changes(self, changes: Collection[int]) -> dict[int, StoredBisection]:
        """Return change → its newest bisection, unless that found commits of another suspect range than its own now."""
        query = select(table).where(self._database.among(table.c.change_id, "wanted")).order_by(table.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query, {"wanted": self._database.listed(sorted(changes))}).mappings()
            return self._about(connection, {row["change_id"]: stored_of(row) for row in rows})

    def newest_ended(self, changes: Collection[int]) -> dict[int, StoredBisection]:
        """Return change → the newest of its bisections that ended by itself, as :meth:`of_changes` does."""
        ended = [state.value for state in BisectionState if state.ended and state is not BisectionState.STOPPED]
        query = select(table).where(self._database.among(table.c.change_id, "wanted"), table.c.state.in_(ended))
        with self._database.reading() as connection:
            bound = {"wanted": self._database.listed(sorted(changes))}
            rows = connection.execute(query.order_by(table.c.ended, table.c.id), bound).mappings()
            return self._about(connection, {row["change_id"]: stored_of(row) for row in rows})

    def _about(self, connection: Connection, newest: dict[int, StoredBisection]) -> dict[int, StoredBisection]:
        """Leave out what found commits in another range than its change has now: it is about another change."""
        named = {key: found.answer.suspect_range for key, found in newest.items() if found.answer.culprits}
        columns = (change.c.id, change.c.line, change.c.previous, change.c.slot)
        query = select(*columns).where(self._database.among(change.c.id, "wanted"))
        rows = connection.execute(query, {"wanted": self._database.listed(sorted(named))}) if named else ()
        elsewhere = {key for key, *place in rows if SuspectRange(*place) != named[key]}
        return {key: found for key, found in newest.items() if key not in elsewhere}

    def asked_for(self, repository: Repository) -> set[tuple[int, str]]:
        """Return the changes of a repository that were or are bisected, each with the recipe."""
        query = select(table.c.change_id, table.c.recipe).distinct()
        query = query.where(table.c.repository_id == repository.id, table.c.change_id > 0)
        with self._database.reading() as connection:
            return {(row.change_id, row.recipe) for row in connection.execute(query)}

    def seconds_by_rule(self, recipe: str, since: datetime) -> float:
        """Return the device seconds of probes since a time that bisections by rule with a recipe asked for."""
        query = (
            select(func.coalesce(func.sum(probe.c.seconds), 0.0))
            .select_from(probe)
            .where(
                probe.c.started >= since.timestamp(),
                probe.c.id.in_(
                    select(planned_probe.c.probe_id)
                    .join(table, table.c.id == planned_probe.c.bisection_id)
                    .where(table.c.by_rule == 1, table.c.recipe == recipe)
                ),
            )
        )
        with self._database.reading() as connection:
            return float(connection.execute(query).scalar_one())

    # Who coordinates it

    def claim(
        self, holder: str, now: datetime, lease_seconds: float, *, most: int = 0, only: int = 0
    ) -> StoredBisection | None:
        """Return the oldest bisection that waits, or whose worker died, and keep it from others for the lease.

        With ``most``, nothing is claimed while so many run in the instance. ``only`` is the id of the one that is
        wanted.
        """
        ended = and_(table.c.state == _RUNNING, table.c.lease < now.timestamp())
        wanted = or_(table.c.state == _WAITING, ended)
        if only:
            wanted = and_(wanted, table.c.id == only)
        with self._database.transaction() as connection:
            running = and_(table.c.state == _RUNNING, table.c.lease >= now.timestamp())
            if most and connection.execute(select(func.count()).where(running)).scalar_one() >= most:
                return None
            row = connection.execute(select(table).where(wanted).order_by(table.c.id).limit(1)).mappings().first()
            if row is None:
                return None
            changes = {
                "state": _RUNNING,
                "holder": holder,
                "lease": now.timestamp() + lease_seconds,
                "started": now.timestamp() if row["started"] is None else row["started"],
            }
            _change(connection, row["id"], changes)
        return self.get(row["id"])

    def renew(self, key: int, holder: str, until: datetime) -> StoredBisection:
        """Keep a bisection from others until then; return it, with what was asked for meanwhile.

        Raises:
            BusyError: another worker coordinates it, or it ended.
        """
        with self._database.transaction() as connection:
            check_holder(connection, key, holder)
            changed = update(table).where(table.c.id == key).values(lease=until.timestamp())
            connection.execute(changed)
        return self.get(key)

    def release(self, key: int, holder: str) -> None:
        """Let another worker go on with a bisection at once; nothing happens where ``holder`` does not have it."""
        with self._database.transaction() as connection:
            mine = and_(table.c.id == key, table.c.holder == holder, table.c.state == _RUNNING)
            connection.execute(update(table).where(mine).values(lease=0.0, holder="", edition=table.c.edition + 1))

    def journal(self, key: int, holder: str = "") -> Journal:
        """Return the journal of a bisection; only the worker that coordinates it may write, as ``holder``."""
        return Journal(self._database, key, holder)

    # How it ends

    def ask_stop(self, key: int, who: str, now: datetime) -> StoredBisection:
        """Stop a bisection: at once where no worker has it, else as soon as its worker hears of it; return it.

        Raises:
            AbsentError: there is none.
            InputError: it ended already.
        """
        with self._database.transaction() as connection:
            found = self.get(key)
            if found.state.ended:
                raise InputError(
                    f"it ended already: {found.state.value}",
                    where=f"bisection {found.name}",
                    remedy="There is nothing to stop.",
                )
            changes: dict[str, object] = {"stopped_by": who}
            if found.state is BisectionState.WAITING or found.lease < now:
                changes |= _ending(BisectionAnswer(BisectionState.STOPPED, f"{who} stopped it."), now)
            _change(connection, key, changes)
        return self.get(key)

    def finish(self, key: int, holder: str, answer: BisectionAnswer, now: datetime) -> StoredBisection:
        """Write how a bisection ended, and return it.

        Raises:
            BusyError: another worker coordinates it, or it ended already.
        """
        with self._database.transaction() as connection:
            check_holder(connection, key, holder)
            _change(connection, key, _ending(answer, now))
            of_change = connection.execute(select(table.c.change_id).where(table.c.id == key)).scalars()
            self._database.later(STATEMENTS_OF_CHANGES, set(of_change) - {0})
        return self.get(key)

    def found(self, repository: Repository) -> dict[int, StoredBisection]:
        """Return change → the newest bisection that found its commit, or a smaller range."""
        query = select(table).where(
            table.c.repository_id == repository.id,
            table.c.change_id > 0,
            table.c.state.in_(_FOUND),
            table.c.slot >= 0,
        )
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(table.c.id)).mappings()
            return {row["change_id"]: stored_of(row) for row in rows}

    def in_force(self, changes: Collection[int]) -> dict[int, StoredBisection]:
        """Return change → the newest bisection that found its suspect range, as the range is now."""
        same = and_(
            table.c.change_id == change.c.id,
            *(table.c[name] == change.c[name] for name in ("line", "previous", "slot")),
        )
        query = select(table).join(change, same).where(table.c.state.in_(_FOUND))
        query = query.where(self._database.among(table.c.change_id, "wanted")).order_by(table.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query, {"wanted": self._database.listed(sorted(changes))}).mappings()
            return {row["change_id"]: stored_of(row) for row in rows}

    def device_use(self, repositories: Collection[Repository], since: datetime) -> list[DeviceUse]:
        """Return the use of each device for ``repositories`` since ``since``, in probes of bisections and schedules."""
        return read_device_use(self._database, repositories, since)

    # Results

    def waiting_results(self, *, limit: int = 16) -> Sequence[WaitingResults]:
        """Return results of probes that are not imported yet, the oldest first."""
        with self._database.reading() as connection:
            return waiting_results(connection, limit)

    def values_of(self, trace_id: int) -> list[ProbeValue]:
        """Return the values of a trace that probes of its bisections measured, the oldest first."""
        with self._database.reading() as connection:
            return values_of_trace(connection, trace_id)

    def finish_import(self, probe_id: int, problem: str = "") -> None:
        """Delete the results files of a probe, which are imported now, or cannot be for the reason ``problem``."""
        with self._database.transaction() as connection:
            finish_import(connection, probe_id, bounded(problem))


def _change(connection: Connection, key: int, changes: dict[str, Any]) -> None:
    connection.execute(update(table).where(table.c.id == key).values(edition=table.c.edition + 1, **changes))


def _ending(answer: BisectionAnswer, now: datetime) -> dict[str, object]:
    found = answer.suspect_range
    return {
        "state": answer.state.value,
        "reason": bounded(answer.reason),
        "culprits": json.dumps(list(answer.culprits)),
        "previous": -1 if found is None else found.previous,
        "slot": -1 if found is None else found.slot,
        "probability": answer.probability,
        "ended": now.timestamp(),
        "left_seconds": None,
        "holder": "",
        "lease": 0.0,
    }
