"""The triage log: decisions, splits and merges as entries that are added, never changed or deleted.

Each entry holds the whole state of one change point after it: status, note, ticket, assignee, and the split and merge
that hold it. So nothing has to be replayed. The state of a point is that of its newest entry, and the table of change
points repeats it for lists. An undo is an entry too: it names the entry that it takes back, and holds the state of the
newest one before it that still counts. To undo again goes further back.

A decision also *anchors* its change points: it notes where they are, so that the rule of identity recognises a later
step as the one that was decided about.

A decision that repeats the last one, by the same person, adds nothing: whoever got no answer asks again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, func, or_, select, update

from knickpoint.model.change_point import Action, Condition, Decision, Status
from knickpoint.model.errors import InputError
from knickpoint.store.database import Database
from knickpoint.store.findings.groups import refresh_changes_of
from knickpoint.store.findings.rows import decision_of, next_id
from knickpoint.store.tables.findings import bystander, change_point, decision

_SUSPECT_RANGE: Final = ("line", "previous", "slot")
_REGROUPING: Final = (Action.SPLIT.value, Action.MERGE.value)


@dataclass(frozen=True, slots=True)
class _State:
    """What is decided about a change point; the defaults are the state before the first decision."""

    status: str = Status.NEW.value
    note: str = ""
    ticket: str = ""
    assignee: str = ""
    apart: int = 0
    together: int = 0


_STATE: Final = tuple(asdict(_State()))
"""The columns of a state, which the log and the table of change points share."""


class TriageLog:
    """Decide about change points, take decisions back, and read the log."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def decide(
        self,
        ids: Collection[int],
        status: Status | None = None,
        who: str = "",
        note: str | None = None,
        *,
        ticket: str | None = None,
        assignee: str | None = None,
        action: Action = Action.DECIDE,
        time: datetime | None = None,
    ) -> list[Decision]:
        """Decide about the change points ``ids``, all or none; what is None stays as it is.

        The points of one SPLIT or MERGE share a number, that of its first entry.

        Where the last decision about these points was this one, by the same person and at the same places, nothing is
        added: its entries are returned. Who got no answer, as the connection was lost, may so ask again.

        Raises:
            InputError: ``who`` is empty, an id is unknown, or the status ticket comes without a ticket.
        """
        _check_name(who)
        given = {
            "status": None if status is None else status.value,
            "note": note,
            "ticket": ticket,
            "assignee": assignee,
        }
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        seconds = (time or datetime.now(UTC)).timestamp()
        with self._database.transaction() as connection:
            points = self._points(connection, ids)
            if action is Action.DECIDE and (made := self._repeated(connection, points, who, changes)):
                return made
            first = next_id(connection, decision)
            if action is Action.SPLIT:
                changes |= {"apart": first, "together": 0}
            if action is Action.MERGE:
                changes |= {"apart": 0, "together": first}
            entries = [
                {
                    "id": number,
                    "change_point_id": point["id"],
                    "action": action.value,
                    "who": who,
                    "time": seconds,
                    "undoes": 0,
                    "change_id": point["change_id"],
                    **{name: point[name] for name in _SUSPECT_RANGE},
                    **asdict(_changed_state(point, changes)),
                }
                for number, point in enumerate(points, first)
            ]
            self._anchor(connection, points)
            _append(connection, entries)
            refresh_changes_of(self._database, connection, ids)
        return [decision_of(entry) for entry in entries]

    def undo(self, ids: Collection[int], who: str = "", *, time: datetime | None = None) -> list[Decision]:
        """Take back the last decision that counts about each of ``ids``; a point without one is left alone.

        Raises:
            InputError: ``who`` is empty, or an id is unknown.
        """
        _check_name(who)
        seconds = (time or datetime.now(UTC)).timestamp()
        with self._database.transaction() as connection:
            points = self._points(connection, ids)
            counting = self._counting(connection, ids)
            first = next_id(connection, decision)
            entries: list[dict[str, Any]] = []
            for point in points:
                newest = counting.get(point["id"], [])
                if not newest:
                    continue
                # The point returns to the entry before, in state and anchor; without one, to its beginnings.
                last = newest[0]
                earlier = newest[1] if len(newest) > 1 else {**point, **asdict(_State())}
                # Undoing a split or merge also returns it to the change that it was in before.
                regrouped = last["action"] in _REGROUPING and last["change_id"]
                entries.append(
                    {
                        "id": first + len(entries),
                        "change_point_id": point["id"],
                        "action": Action.UNDO.value,
                        "who": who,
                        "time": seconds,
                        "undoes": last["id"],
                        "change_id": last["change_id"] if regrouped else point["change_id"],
                        **{name: earlier[name] for name in (*_STATE, *_SUSPECT_RANGE)},
                    }
                )
            _append(connection, entries, anchored=True)
            refresh_changes_of(self._database, connection, ids)
        return [decision_of(entry) for entry in entries]

    def decided_by(self, first: int, last: int) -> list[int]:
        """Return the change points whose last decision that counts is one of the entries ``first`` to ``last``.

        Points with a later decision, or whose decision was taken back, are left out.
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
        with self._database.reading() as connection:
            return list(connection.execute(query.order_by(entry.change_point_id)).scalars())

    def last_act(self, who: str) -> list[int]:
        """List the change points of the last decision by ``who`` that still counts.

        The entries of an act share their time.
        """
        entry = decision.c
        undone = select(entry.undoes).where(entry.undoes != 0)
        counting = (entry.undoes == 0, entry.id.not_in(undone))
        newest = select(func.max(entry.id)).where(*counting).group_by(entry.change_point_id)
        own = (entry.who == who, entry.id.in_(newest))
        with self._database.reading() as connection:
            last = connection.execute(select(decision).where(*own).order_by(entry.id.desc()).limit(1)).first()
            if last is None:
                return []
            act = select(entry.change_point_id).where(*own, entry.time == last.time, entry.action == last.action)
            return list(connection.execute(act.order_by(entry.change_point_id)).scalars())

    def newest(self) -> int:
        """Return the id of the newest entry, 0 for an empty log."""
        with self._database.reading() as connection:
            return int(connection.execute(select(func.coalesce(func.max(decision.c.id), 0))).scalar_one())

    def entries(self, ids: Collection[int] | None = None) -> list[Decision]:
        """Return the log, oldest entry first: all of it, or what is about the change points ``ids``."""
        query = select(decision).order_by(decision.c.id)
        bound: dict[str, object] = {}
        if ids is not None:
            query = query.where(self._database.among(decision.c.change_point_id, "ids"))
            bound["ids"] = self._database.listed(sorted(set(ids)))
        with self._database.reading() as connection:
            return [decision_of(row) for row in connection.execute(query, bound).mappings()]

    def newest_of(self, changes: Collection[int]) -> dict[int, Decision]:
        """Return change → the newest entry about one of its change points that is decided about in any way.

        Changes without such a point are left out, also those whose decisions were all taken back.
        """
        point = change_point.c
        state = (point.status != Status.NEW.value, point.note != "", point.ticket != "", point.assignee != "")
        query = (
            select(point.change_id, func.max(decision.c.id).label("newest"))
            .select_from(change_point.join(decision, decision.c.change_point_id == point.id))
            .where(self._database.among(point.change_id, "ids"), or_(*state))
            .group_by(point.change_id)
            .subquery()
        )
        found = select(decision, query.c.change_id.label("change")).join(query, query.c.newest == decision.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(found, {"ids": self._database.listed(sorted(set(changes)))}).mappings()
            return {row["change"]: decision_of(row) for row in rows}

    def keep_bystanders(self, act: int, former: Mapping[int, int]) -> None:
        """Keep change point → former change of bystanders of the split or merge with the number ``act``.

        The log has an entry for each change point that was split or merged. Such an act also moves points beside
        them: the rest of a change that was split may get a new id. An undo gives all of them their former ids.
        """
        rows = [
            {"decision_id": act, "change_point_id": point, "change_id": key} for point, key in sorted(former.items())
        ]
        if rows:
            with self._database.transaction() as connection:
                connection.execute(bystander.insert(), rows)

    def former_changes(self, acts: Collection[int]) -> dict[int, int]:
        """Return bystander → the change that it was in before the first of the splits and merges ``acts``."""
        query = select(bystander).where(self._database.among(bystander.c.decision_id, "acts"))
        with self._database.reading() as connection:
            listed = {"acts": self._database.listed(sorted(acts))}
            rows = connection.execute(query.order_by(bystander.c.decision_id.desc()), listed)
            return {row.change_point_id: row.change_id for row in rows}

    def _points(self, connection: Connection, ids: Collection[int]) -> list[RowMapping]:
        """Return the rows of the change points ``ids``, ascending."""
        wanted = sorted(set(ids))
        query = select(change_point).where(self._database.among(change_point.c.id, "ids")).order_by(change_point.c.id)
        rows = list(connection.execute(query, {"ids": self._database.listed(wanted)}).mappings())
        missing = sorted(set(wanted) - {row["id"] for row in rows})
        if missing:
            raise InputError(
                f"there is no change point {', '.join(map(str, missing[:5]))}",
                remedy="knick changes lists them.",
            )
        return rows

    def _repeated(
        self, connection: Connection, points: Sequence[RowMapping], who: str, changes: Mapping[str, Any]
    ) -> list[Decision]:
        """Return the last decision about ``points`` where it is the one that ``who`` asks for, else nothing.

        It is where the newest entries about the points are those of one decision about just them, or about more that
        follow each other in the log, and would be written again as they are, but for the time.
        """
        entry = decision.c
        among = self._database.among(entry.change_point_id, "ids")
        newest = select(func.max(entry.id)).where(among).group_by(entry.change_point_id)
        query = select(decision).where(entry.id.in_(newest)).order_by(entry.change_point_id)
        rows = list(
            connection.execute(query, {"ids": self._database.listed([point["id"] for point in points])}).mappings()
        )
        if [row["change_point_id"] for row in rows] != [point["id"] for point in points]:
            return []
        for place, (row, point) in enumerate(zip(rows, points, strict=True)):
            again = {
                "id": rows[0]["id"] + place,
                "action": Action.DECIDE.value,
                "who": who,
                **{name: point[name] for name in _SUSPECT_RANGE},
                **asdict(_changed_state(point, changes)),
            }
            if any(row[name] != value for name, value in again.items()):
                return []
        return [decision_of(row) for row in rows]

    def _anchor(self, connection: Connection, points: Sequence[RowMapping]) -> None:
        """Anchor the decided points where they are now, and with them the undecided live ones of the same traces."""
        point = change_point.c
        here = {"anchor_line": point.line, "anchor_previous": point.previous, "anchor_slot": point.slot}
        decided = self._database.among(point.id, "ids")
        beside = (
            self._database.among(point.trace_id, "traces")
            & (point.status == Status.NEW.value)
            & (point.condition != Condition.GONE.value)
        )
        parameters = {
            "ids": self._database.listed([row["id"] for row in points]),
            "traces": self._database.listed(sorted({row["trace_id"] for row in points})),
        }
        connection.execute(update(change_point).where(decided | beside).values(here), parameters)

    def _counting(self, connection: Connection, ids: Collection[int]) -> dict[int, list[RowMapping]]:
        """Return the two newest entries that count about each change point, the newest first.

        An entry counts unless it is an undo, or an undo names it.
        """
        entry = decision.c
        among = self._database.among(entry.change_point_id, "ids")
        undone = select(entry.undoes).where(among, entry.undoes != 0)
        age = func.row_number().over(partition_by=entry.change_point_id, order_by=entry.id.desc())
        counting = (
            select(decision, age.label("age")).where(among, entry.undoes == 0, entry.id.not_in(undone)).subquery()
        )
        query = select(counting).where(counting.c.age.in_((1, 2))).order_by(counting.c.change_point_id, counting.c.age)
        found: dict[int, list[RowMapping]] = {}
        for row in connection.execute(query, {"ids": self._database.listed(sorted(set(ids)))}).mappings():
            found.setdefault(row["change_point_id"], []).append(row)
        return found


def _check_name(who: str) -> None:
    if not who.strip():
        raise InputError("a decision needs the name of the caller", remedy="Pass the name of the caller.")


def _changed_state(point: RowMapping, changes: Mapping[str, Any]) -> _State:
    """Return the state of a change point after ``changes``."""
    state = replace(_State(**{name: point[name] for name in _STATE}), **changes)
    if state.status == Status.TICKET.value and not state.ticket:
        raise InputError(
            f"the status ticket needs the key of a ticket (P{point['id']})",
            remedy="Give the key of the ticket, as in PERF-123.",
        )
    return state


def _append(connection: Connection, entries: Sequence[dict[str, Any]], *, anchored: bool = False) -> None:
    """Add consecutive ``entries`` to the log, and give their change points the state that they hold.

    With ``anchored``, the points are also anchored where the entries say.
    """
    if not entries:
        return
    connection.execute(decision.insert(), list(entries))
    # The log has each state already: one statement copies them, however many points there are.
    state = {name: decision.c[name] for name in _STATE}
    anchors = {f"anchor_{name}": decision.c[name] for name in _SUSPECT_RANGE} if anchored else {}
    added = decision.c.id.between(entries[0]["id"], entries[-1]["id"])
    same = decision.c.change_point_id == change_point.c.id
    connection.execute(update(change_point).where(same, added).values(state | anchors))
