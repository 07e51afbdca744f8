"""Keep the statement of each change, written at the end of every transaction that changed what it depends on.

Writers of change points, decisions, suspects, bisections and tickets say which changes or change points they touched;
nobody else has to remember it, and no reader meets a statement that is out of date.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, delete, select

from knickpoint.model.alert import AlertKind
from knickpoint.model.bisection import BisectionState
from knickpoint.model.change_point import Condition, Direction, Status, certain_share
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
from knickpoint.store.array_codec import stored_json
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import number_or_nan
from knickpoint.store.findings.suspects import suspects_of
from knickpoint.store.tables.bisections import bisection
from knickpoint.store.tables.findings import STATEMENTS_OF_CHANGES, STATEMENTS_OF_POINTS, change, change_point, suspects
from knickpoint.store.tables.findings import statement as table
from knickpoint.store.tables.profiles import cause as cause_table

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
        connection.execute(delete(table).where(self._database.among(table.c.change_id, "wanted")), wanted)
        if rows:
            connection.execute(table.insert(), rows)

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
    query = select(table, cause_table.c.sentence).outerjoin(change, change.c.id == table.c.change_id)
    query = query.outerjoin(cause_table, and_(cause_table.c.change_id == table.c.change_id, *same))
    query = query.where(database.among(table.c.change_id, "wanted"))
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
