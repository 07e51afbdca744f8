"""Keep the suspects and the statement of each change, up to date with everything that they depend on.

Writers of change points, decisions, suspects, bisections and tickets say which changes or change points they touched;
nobody else has to remember it, and no reader meets a statement that is out of date. Suspects stay as they were ranked
for its suspect range.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, Row, RowMapping, and_, case, delete, func, or_, select

from knickpoint.model.alert import AlertKind
from knickpoint.model.bisection import BisectionState
from knickpoint.model.change_point import Condition, Direction, Status, SuspectRange, certain_share
from knickpoint.model.commit import Repository
from knickpoint.model.errors import StoreError
from knickpoint.model.settlement import Certainty, FindingKind
from knickpoint.model.statement import (
    Basis,
    ChangeCondition,
    ChangeDirection,
    LikelyCommit,
    StatedMember,
    Statement,
    likely_commit,
    state_change,
)
from knickpoint.model.suspects import Suspect, SuspectFacts, Suspects
from knickpoint.store.array_codec import stored_json
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import number_or_nan
from knickpoint.store.tables.bisections import bisection
from knickpoint.store.tables.findings import STATEMENTS_OF_CHANGES, STATEMENTS_OF_POINTS, change, change_point, suspects
from knickpoint.store.tables.findings import statement as statement_table
from knickpoint.store.tables.findings import suspects as suspects_table
from knickpoint.store.tables.points import cause as cause_table


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
        query = select(suspects_table).join(change, change.c.id == suspects_table.c.change_id)
        query = query.where(
            self._database.among(suspects_table.c.change_id, "wanted"),
            *(suspects_table.c[name] == change.c[name] for name in ("line", "previous", "slot")),
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
        query = query.outerjoin(suspects_table, suspects_table.c.change_id == change.c.id)
        query = query.where(change.c.repository_id == repository.id, change.c.traces > 0)
        kept = (
            suspects_table.c.line,
            suspects_table.c.previous,
            suspects_table.c.slot,
            suspects_table.c.traces,
            suspects_table.c.settled,
        )
        query = query.group_by(change.c.id, suspects_table.c.change_id).order_by(change.c.id)
        if not everything:
            different = (column != change.c[column.name] for column in kept[:-1])
            changed = (*different, suspects_table.c.settled != settled, suspects_table.c.bisection != _BISECTION)
            named = self._database.among(change.c.id, "also")
            query = query.having(or_(suspects_table.c.change_id.is_(None), named, *changed))
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
        changing = [name for name in rows[0] if name != "change_id"]
        with self._database.transaction() as connection:
            connection.execute(self._database.replacing(suspects_table, ["change_id"], changing), rows)
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


_BATCH: Final = 500
"""Changes that are stated together: the members of all of them are in memory."""

_FOUND: Final = (BisectionState.CULPRIT.value, BisectionState.RANGE.value)
_PLACE: Final = ("line", "previous", "slot")


class StatementTable:
    """Read the statements of changes; they are written by :meth:`Database.later` with one of the two names."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._written: set[int] = set()
        database.at_commit(STATEMENTS_OF_POINTS, self._touch_changes)
        database.at_commit(STATEMENTS_OF_CHANGES, self._write)

    def of_changes(self, changes: Collection[int]) -> dict[int, Statement]:
        """Return change → its statement; one without members has none."""
        with self._database.reading() as connection:
            self._database.run_deferred()
            return read_statements(self._database, connection, changes)

    def take_written(self) -> set[int]:
        """Return the changes that this process stated anew since it was last asked: something about them changed."""
        taken: set[int] = set()
        with suppress(KeyError):  # other threads add to it meanwhile
            while True:
                taken.add(self._written.pop())
        return taken

    def of_part(self, points: Collection[int]) -> Statement | None:
        """State some change points of a change by the rule of the whole, without a likely commit; None without any."""
        with self._database.reading() as connection:
            wanted = {"wanted": self._database.listed(sorted(points))}
            found = self._members(connection, change_point.c.id, wanted)
        return state_change([each for members in found.values() for each in members])

    def _touch_changes(self, connection: Connection, points: set[int]) -> None:
        query = select(change_point.c.change_id).distinct().where(self._database.among(change_point.c.id, "ids"))
        found = connection.execute(query, {"ids": self._database.listed(sorted(points))}).scalars()
        self._database.later(STATEMENTS_OF_CHANGES, set(found) - {0})

    def _write(self, connection: Connection, changes: set[int]) -> None:
        """State ``changes`` by their members, their newest bisection in force, and their ranked suspects."""
        self._written |= changes
        ordered = sorted(changes)
        for first in range(0, len(ordered), _BATCH):
            self._write_batch(connection, ordered[first : first + _BATCH])

    def _write_batch(self, connection: Connection, changes: Sequence[int]) -> None:
        wanted = {"wanted": self._database.listed(changes)}
        members = self._members(connection, change_point.c.change_id, wanted)
        likely = self._likely(connection, wanted)
        rows = []
        for key in changes:
            found = state_change(members.get(key, ()), **likely.get(key, {}))
            if found is not None:
                rows.append({"change_id": key, **_values(found)})
        connection.execute(
            delete(statement_table).where(self._database.among(statement_table.c.change_id, "wanted")), wanted
        )
        if rows:
            connection.execute(statement_table.insert(), rows)

    def _members(
        self, connection: Connection, among: ColumnElement[int], wanted: Mapping[str, Any]
    ) -> dict[int, list[StatedMember]]:
        point = change_point.c
        names = ("id", "trace_key", "unit", "direction", "condition", "kind", "certainty", "status")
        numbers = ("size", "relative_size", "low", "high", "before_level", "recovered_at", "held")
        columns = [point[name] for name in (*names, *numbers, "change_id", "ticket", "matched_ticket", "alert_kind")]
        query = select(*columns).where(self._database.among(among, "wanted"))
        members: dict[int, list[StatedMember]] = defaultdict(list)
        for row in connection.execute(query, wanted).mappings():
            members[row["change_id"]].append(_member(row))
        return members

    def _likely(self, connection: Connection, wanted: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
        """Return change → the likely commit, and what changed about the machine."""

        def about(other: Any) -> Any:
            query = select(other).join(change, change.c.id == other.c.change_id)
            same = (other.c[name] == change.c[name] for name in _PLACE)
            return query.where(self._database.among(change.c.id, "wanted"), *same)

        searched = about(bisection).where(bisection.c.state.in_(_FOUND)).order_by(bisection.c.id)
        answers = {row["change_id"]: row for row in connection.execute(searched, wanted).mappings()}
        ranked = {row.change_id: suspects_of(row) for row in connection.execute(about(suspects), wanted)}
        found: dict[int, dict[str, Any]] = {}
        for key in answers.keys() | ranked.keys():
            answer, ranking = answers.get(key), ranked.get(key)
            culprits = stored_json(answer["culprits"]) if answer else ()
            commit = likely_commit(
                culprits, answer["probability"] if answer else 0.0, ranking.suspects if ranking else ()
            )
            found[key] = {"likely": commit}
            if ranking:
                found[key] |= {"machine": ranking.machine, "probably_machine": ranking.probably_machine}
        return found


def read_statements(database: Database, connection: Connection, changes: Collection[int]) -> dict[int, Statement]:
    """Return change → its statement.

    One without members has none, and a damaged row is left out: it can be written again.
    """
    same = (cause_table.c[name] == change.c[name] for name in _PLACE)
    query = select(statement_table, cause_table.c.sentence).outerjoin(
        change, change.c.id == statement_table.c.change_id
    )
    query = query.outerjoin(cause_table, and_(cause_table.c.change_id == statement_table.c.change_id, *same))
    query = query.where(database.among(statement_table.c.change_id, "wanted"))
    rows = connection.execute(query, {"wanted": database.listed(sorted(changes))}).mappings()
    found: dict[int, Statement] = {}
    for row in rows:
        with suppress(StoreError, KeyError, TypeError, ValueError):
            found[row["change_id"]] = _statement_of(row)
    return found


def _member(row: RowMapping) -> StatedMember:
    relative, before = number_or_nan(row["relative_size"]), number_or_nan(row["before_level"])
    status = Status(row["status"])
    return StatedMember(
        id=row["id"],
        key=row["trace_key"],
        unit=row["unit"],
        direction=Direction(row["direction"]),
        condition=Condition(row["condition"]),
        kind=FindingKind(row["kind"]),
        certainty=Certainty.PROVISIONAL if row["held"] else Certainty(row["certainty"]),
        status=Status.TICKET if status is Status.NEW and row["matched_ticket"] else status,
        work=row["alert_kind"] == AlertKind.WORK.value,
        size=number_or_nan(row["size"]),
        relative_size=relative,
        certain_share=certain_share(relative, number_or_nan(row["low"]), number_or_nan(row["high"]), before),
        before_level=before,
        recovered_at=row["recovered_at"],
        held=row["held"],
        ticket=row["ticket"] or row["matched_ticket"],
    )


def _values(found: Statement) -> dict[str, Any]:
    body = asdict(found)
    del body["cause"]  # that of the profiles, which is read with it
    return {
        "direction": found.direction.value,
        "condition": found.condition.value,
        "side": body.pop("side").value,
        "lead": body.pop("lead"),
        "severity": body.pop("severity"),
        "body": json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=lambda value: value.value),
    }


def _statement_of(row: RowMapping) -> Statement:
    body = stored_json(row["body"])
    likely = body["likely"]
    return Statement(
        **body
        | {
            "side": Direction(row["side"]),
            "lead": row["lead"],
            "severity": row["severity"],
            "direction": ChangeDirection(row["direction"]),
            "condition": ChangeCondition(row["condition"]),
            "kind": FindingKind(body["kind"]),
            "certainty": Certainty(body["certainty"]),
            "decision": Status(body["decision"]),
            "cause": row["sentence"] or "",
            "likely": None
            if likely is None
            else LikelyCommit(likely["slot"], Basis(likely["basis"]), likely["probability"]),
        }
    )
