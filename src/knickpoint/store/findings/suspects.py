"""Keep the suspects of each change, as they were ranked for its suspect range."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, case, func, or_, select

from knickpoint.model.bisection import BisectionState
from knickpoint.model.change_point import Condition, Status, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.settlement import Certainty
from knickpoint.model.suspects import Suspect, SuspectFacts, Suspects
from knickpoint.store.array_codec import stored_json
from knickpoint.store.database import Database
from knickpoint.store.tables.bisections import bisection
from knickpoint.store.tables.findings import STATEMENTS_OF_CHANGES, change, change_point
from knickpoint.store.tables.findings import suspects as table


@dataclass(frozen=True, slots=True)
class RankedChange:
    """What a ranking needs of a change.

    ``traces`` is the number of its live members, ``interval`` the smallest half width of their intervals of location,
    in measured commits, and ``certainty`` that of the change. ``bisection`` is the id of the bisection that found its
    suspect range, 0 for none.
    """

    id: int
    suspect_range: SuspectRange
    traces: int
    interval: int
    certainty: Certainty
    bisection: int = 0


_BISECTION = (
    select(func.coalesce(func.max(bisection.c.id), 0))
    .where(
        bisection.c.change_id == change.c.id,
        bisection.c.state.in_([BisectionState.CULPRIT.value, BisectionState.RANGE.value]),
        *(bisection.c[name] == change.c[name] for name in ("line", "previous", "slot")),
    )
    .correlate(change)
    .scalar_subquery()
)
"""The bisection that found the suspect range of a change, as the range is now; 0 for none."""


class SuspectTable:
    """Read and write the suspects of changes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, change_id: int) -> Suspects | None:
        """Return the suspects of a change; None before they are ranked, and since its suspect range moved."""
        return self.of_changes([change_id]).get(change_id)

    def of_changes(self, changes: Collection[int]) -> dict[int, Suspects]:
        """Return change → its suspects, without those that :meth:`get` has none for."""
        query = select(table).join(change, change.c.id == table.c.change_id)
        query = query.where(
            self._database.among(table.c.change_id, "wanted"),
            *(table.c[name] == change.c[name] for name in ("line", "previous", "slot")),
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, {"wanted": self._database.listed(sorted(changes))})
            return {row.change_id: suspects_of(row) for row in rows}

    def stale(
        self, repository: Repository, *, everything: bool = False, also: Collection[int] = ()
    ) -> list[RankedChange]:
        """Return the ids of live changes whose suspects are not ranked for what is known of the change now.

        ``everything`` returns all live changes, ``also`` names further ones.
        """
        point = change_point.c
        settled = func.max(case((point.certainty == Certainty.SETTLED.value, 1), else_=0))
        live = and_(point.change_id == change.c.id, point.condition != Condition.GONE.value)
        query = select(
            *(change.c.id, change.c.line, change.c.previous, change.c.slot, change.c.traces),
            func.min(point.interval).label("interval"),
            settled.label("settled"),
            _BISECTION.label("bisection"),
        ).join(change_point, live)
        query = query.outerjoin(table, table.c.change_id == change.c.id)
        query = query.where(change.c.repository_id == repository.id, change.c.traces > 0)
        kept = (table.c.line, table.c.previous, table.c.slot, table.c.traces, table.c.settled)
        query = query.group_by(change.c.id, table.c.change_id).order_by(change.c.id)
        if not everything:
            different = (column != change.c[column.name] for column in kept[:-1])
            changed = (*different, table.c.settled != settled, table.c.bisection != _BISECTION)
            named = self._database.among(change.c.id, "also")
            query = query.having(or_(table.c.change_id.is_(None), named, *changed))
        values = {} if everything else {"also": self._database.listed(sorted(also))}
        with self._database.reading() as connection:
            return [
                RankedChange(
                    row.id,
                    SuspectRange(row.line, row.previous, row.slot),
                    row.traces,
                    row.interval,
                    Certainty.SETTLED if row.settled else Certainty.PROVISIONAL,
                    row.bisection,
                )
                for row in connection.execute(query, values)
            ]

    def put(self, ranked: Mapping[RankedChange, Suspects]) -> None:
        """Write the suspects of changes in place of earlier ones."""
        rows = [
            {
                "change_id": each.id,
                "line": each.suspect_range.line,
                "previous": each.suspect_range.previous,
                "slot": each.suspect_range.slot,
                "traces": each.traces,
                "settled": int(each.certainty is Certainty.SETTLED),
                "bisection": each.bisection,
                "body": _body(suspects),
            }
            for each, suspects in ranked.items()
        ]
        if not rows:
            return
        insert = self._database.insert(table)
        changing = {name: insert.excluded[name] for name in rows[0] if name != "change_id"}
        with self._database.transaction() as connection:
            connection.execute(insert.on_conflict_do_update(index_elements=["change_id"], set_=changing), rows)
            self._database.later(STATEMENTS_OF_CHANGES, (each.id for each in ranked))

    def members(self, changes: Collection[int]) -> dict[int, list[str]]:
        """Return change → the trace keys of its live members, sorted."""
        among = self._database.among(change_point.c.change_id, "wanted")
        return self._keys(among, {"wanted": self._database.listed(sorted(changes))})

    def all_members(self, repository: Repository) -> dict[int, list[str]]:
        """Return live change → the trace keys of its live members, sorted."""
        point = change_point.c
        return self._keys(and_(point.repository_id == repository.id, point.change_id != 0), {})

    def _keys(self, where: ColumnElement[bool], values: Mapping[str, Any]) -> dict[int, list[str]]:
        point = change_point.c
        query = select(point.change_id, point.trace_key).where(point.condition != Condition.GONE.value, where)
        found: dict[int, list[str]] = {}
        with self._database.reading() as connection:
            for key, trace in connection.execute(query.order_by(point.trace_key), values):
                found.setdefault(key, []).append(trace)
        return found

    def member_traces(self, changes: Collection[int]) -> dict[int, list[int]]:
        """Return change → the ids of the traces of its live members, ascending."""
        point = change_point.c
        query = select(point.change_id, point.trace_id).where(point.condition != Condition.GONE.value)
        query = query.where(self._database.among(point.change_id, "wanted")).order_by(point.trace_id)
        found: dict[int, list[int]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(query, {"wanted": self._database.listed(sorted(changes))}):
                found.setdefault(row.change_id, []).append(row.trace_id)
        return found

    def confirmed(self, repository: Repository, limit: int) -> dict[int, SuspectRange]:
        """Return the changes with a member that a person acknowledged or linked to a ticket, the newest ``limit``."""
        confirmed = change_point.c.status.in_([Status.ACKNOWLEDGED.value, Status.TICKET.value])
        query = select(change.c.id, change.c.line, change.c.previous, change.c.slot)
        query = query.where(
            change.c.repository_id == repository.id,
            change.c.id.in_(select(change_point.c.change_id).where(confirmed)),
        )
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(change.c.id.desc()).limit(limit))
            return {row.id: SuspectRange(row.line, row.previous, row.slot) for row in rows}


def suspects_of(row: Row[Any]) -> Suspects:
    """Read a row of the table."""
    body = stored_json(row.body)
    return Suspects(
        SuspectRange(row.line, row.previous, row.slot),
        body["none"],
        SuspectFacts(body["facts"]),
        tuple(Suspect(slot, probability, tuple(reasons)) for slot, probability, reasons in body["suspects"]),
        body["note"],
        row.bisection,
        body.get("machine", ""),
    )


def _body(suspects: Suspects) -> str:
    """Return the part that the database keeps as one text: lists do not filter or sort by it."""
    body = {
        "none": suspects.none,
        "facts": suspects.facts.value,
        "note": suspects.note,
        "machine": suspects.machine,
        "suspects": [[each.slot, each.probability, each.reasons] for each in suspects.suspects],
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))
