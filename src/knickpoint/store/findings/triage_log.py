"""Write and read the triage log: decisions, splits, merges, and what takes them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, func, select, update

from knickpoint.model.errors import InputError
from knickpoint.model.regression import Action, Condition, Decision, Status
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import decision_of
from knickpoint.store.tables.findings import change_point, decision

__all__ = ["Wish", "decide", "decided_by", "log", "undo"]

_STATE = ("status", "note", "ticket", "assignee", "apart", "together")
_PLACE = ("line", "previous", "slot")
_REGROUPING = (Action.SPLIT.value, Action.MERGE.value)
_FRESH: Mapping[str, Any] = {
    "status": Status.NEW.value,
    "note": "",
    "ticket": "",
    "assignee": "",
    "apart": 0,
    "together": 0,
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What a decision changes; None leaves as it is.

    A SPLIT or MERGE gives the points a number of their own.
    """

    action: Action
    status: Status | None = None
    note: str | None = None
    ticket: str | None = None
    assignee: str | None = None


def _rows(database: Database, connection: Connection, ids: Sequence[int]) -> list[dict[str, Any]]:
    numbers = database.numbers("ids")
    query = select(change_point).where(change_point.c.id.in_(select(numbers.c.value))).order_by(change_point.c.id)
    rows = [dict(row) for row in connection.execute(query, {"ids": database.listed(ids)}).mappings()]
    missing = sorted(set(ids) - {row["id"] for row in rows})
    if missing:
        raise InputError(
            f"there is no change point {', '.join(map(str, missing[:5]))}",
            remedy="List what there is with knick regressions.",
        )
    return rows


def _state_after(row: Mapping[str, Any], wish: Wish, number: int) -> dict[str, Any]:
    state = {name: row[name] for name in _STATE}
    if wish.status is not None:
        state["status"] = wish.status.value
    wanted = {"note": wish.note, "ticket": wish.ticket, "assignee": wish.assignee}
    state |= {name: value for name, value in wanted.items() if value is not None}
    if wish.action is Action.SPLIT:
        state |= {"apart": number, "together": 0}
    if wish.action is Action.MERGE:
        state |= {"apart": 0, "together": number}
    if state["status"] == Status.TICKET.value and not state["ticket"]:
        raise InputError(
            f"the status ticket needs the key of a ticket (change point {row['id']})",
            remedy="Give it, as in --ticket PERF-123.",
        )
    return state


def _append(connection: Connection, entries: Sequence[dict[str, Any]], *, anchored: bool = False) -> list[Decision]:
    """Add consecutive ``entries`` to the log, and give their change points the state that they hold.

    With ``anchored``, the points are held at the places of the entries, too.
    """
    if not entries:
        return []
    connection.execute(decision.insert(), list(entries))
    state = {name: decision.c[name] for name in _STATE}
    anchors = {f"anchor_{name}": decision.c[name] for name in _PLACE} if anchored else {}
    # The log has each state already: one statement copies them, however many points there are.
    added = decision.c.id.between(entries[0]["id"], entries[-1]["id"])
    same = decision.c.change_point_id == change_point.c.id
    connection.execute(update(change_point).where(same, added).values(state | anchors))
    return [decision_of(entry) for entry in entries]


def _next_id(connection: Connection) -> int:
    return int(connection.execute(select(func.coalesce(func.max(decision.c.id), 0))).scalar_one()) + 1


def _anchor(database: Database, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Hold the decided points, and those next to them that nobody decided about, where they are now."""
    point = change_point.c
    here = {"anchor_line": point.line, "anchor_previous": point.previous, "anchor_slot": point.slot}
    ids, traces = database.numbers("ids"), database.numbers("traces")
    own = point.id.in_(select(ids.c.value))
    beside = (
        point.trace_id.in_(select(traces.c.value))
        & (point.status == Status.NEW.value)
        & (point.condition != Condition.GONE.value)
    )
    parameters = {
        "ids": database.listed([row["id"] for row in rows]),
        "traces": database.listed(sorted({row["trace_id"] for row in rows})),
    }
    connection.execute(update(change_point).where(own | beside).values(here), parameters)


def decide(
    database: Database,
    connection: Connection,
    ids: Sequence[int],
    wish: Wish,
    *,
    who: str,
    time: datetime | None = None,
) -> list[Decision]:
    """Append one entry a change point and set its state, all or none.

    Raises:
        InputError: nobody signs, an id is unknown, or the status ticket has no ticket.
    """
    if not who.strip():
        raise InputError("a decision needs the name of who made it", remedy="Set --who, or your git user.name.")
    rows = _rows(database, connection, ids)
    first = _next_id(connection)
    seconds = (time or datetime.now(UTC)).timestamp()
    entries = [
        {
            "id": number,
            "change_point_id": row["id"],
            "action": wish.action.value,
            "who": who,
            "time": seconds,
            "undoes": 0,
            "line": row["line"],
            "previous": row["previous"],
            "slot": row["slot"],
            "regression_id": row["regression_id"],
            **_state_after(row, wish, first),
        }
        for number, row in enumerate(rows, first)
    ]
    _anchor(database, connection, rows)
    return _append(connection, entries)


def _newest_counting(
    database: Database, connection: Connection, ids: Sequence[int]
) -> dict[int, list[Mapping[Any, Any]]]:
    """Return the last entry that counts about each change point and the one before it, newest first."""
    entry = decision.c
    among = database.among(entry.change_point_id, "ids")
    undone = select(entry.undoes).where(among, entry.undoes != 0)
    age = func.row_number().over(partition_by=entry.change_point_id, order_by=entry.id.desc())
    counting = select(decision, age.label("age")).where(among, entry.undoes == 0, entry.id.not_in(undone)).subquery()
    query = select(counting).where(counting.c.age.in_((1, 2))).order_by(counting.c.change_point_id, counting.c.age)
    found: dict[int, list[Mapping[Any, Any]]] = {}
    for row in connection.execute(query, {"ids": database.listed(ids)}).mappings():
        found.setdefault(row["change_point_id"], []).append(row)
    return found


def undo(
    database: Database, connection: Connection, ids: Sequence[int], *, who: str, time: datetime | None = None
) -> list[Decision]:
    """Take back the last decision about each change point that still counts, by an entry of its own.

    A point without such a decision is left alone.

    Raises:
        InputError: nobody signs, or an id is unknown.
    """
    if not who.strip():
        raise InputError("a decision needs the name of who made it", remedy="Set --who, or your git user.name.")
    rows = _rows(database, connection, ids)
    counting = _newest_counting(database, connection, ids)
    first = _next_id(connection)
    seconds = (time or datetime.now(UTC)).timestamp()
    entries: list[dict[str, Any]] = []
    for row in rows:
        newest = counting.get(row["id"], [])
        if not newest:
            continue
        last, *before = newest
        earlier = before[0] if before else {**_FRESH, **{name: row[name] for name in _PLACE}}
        regrouped = last["action"] in _REGROUPING and last["regression_id"]
        entries.append(
            {
                "id": first + len(entries),
                "change_point_id": row["id"],
                "action": Action.UNDO.value,
                "who": who,
                "time": seconds,
                "undoes": last["id"],
                "regression_id": last["regression_id"] if regrouped else row["regression_id"],
                **{name: earlier[name] for name in (*_STATE, *_PLACE)},
            }
        )
    return _append(connection, entries, anchored=True)


def decided_by(connection: Connection, first: int, last: int) -> list[int]:
    """Return the change points whose last decision that counts is one of the entries ``first`` to ``last``, by id.

    Those with a later decision, or whose decision was taken back, are left out.
    """
    entry = decision.c
    among = select(entry.change_point_id).where(entry.id.between(first, last))
    undone = select(entry.undoes).where(entry.undoes != 0, entry.change_point_id.in_(among))
    query = (
        select(entry.change_point_id)
        .where(entry.change_point_id.in_(among), entry.undoes == 0, entry.id.not_in(undone))
        .group_by(entry.change_point_id)
        .having(func.max(entry.id).between(first, last))
    )
    return list(connection.execute(query.order_by(entry.change_point_id)).scalars())


def log(database: Database, connection: Connection, ids: Sequence[int] | None) -> list[Decision]:
    """Return the entries about the change points ``ids``, or all of them, oldest first."""
    query = select(decision).order_by(decision.c.id)
    if ids is None:
        return [decision_of(row) for row in connection.execute(query).mappings()]
    numbers = database.numbers("ids")
    query = query.where(decision.c.change_point_id.in_(select(numbers.c.value)))
    return [decision_of(row) for row in connection.execute(query, {"ids": database.listed(ids)}).mappings()]
