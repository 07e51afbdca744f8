"""Select findings: which members a list is about, as a value and as conditions in SQL.

A member is a change point of a change. The conditions are about a join of three tables (:func:`joined_members`): change
points, their changes, and the commits at which the changes begin.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Join, and_, case, func, or_, select

from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import Condition, Direction, Status
from knickpoint.model.commit import Line
from knickpoint.model.settlement import Certainty, FindingKind
from knickpoint.model.statement import ChangeCondition, ChangeDirection
from knickpoint.store.database import Database, contains
from knickpoint.store.findings.rows import number_or_nan
from knickpoint.store.tables import commits as commit_tables
from knickpoint.store.tables.findings import change, change_point, sighting, statement


@dataclass(frozen=True, slots=True)
class Selection:
    """Which members to list; a change is listed when one of its members meets all conditions.

    Attributes:
        processed: False for members without a decision and a ticket, True for the others, None for both.
        history: True for members that are history, False for those that are work, None for both.
        statuses: only these effective statuses; an empty set means all.
        certainty: only members of this certainty, None for both.
        kinds: only these; an empty set means all.
        conditions: only these; by default members that are gone are left out.
        directions: only changes of these directions, as stated; an empty set means all.
        stated_conditions: only changes in these conditions, as stated; an empty set means all.
        text: words that all occur in trace key, commit hash, author or subject, whatever their case.
        slot: only changes that begin at this commit.
        alert_kinds: only these, None for all; by default findings that are not work are left out.
        alert: only members that this alert sees.
        assignee: only members that are assigned to this person.
        ticket: only members of this ticket, by decision or by match.
        minimum_hazard: only members whose hazard level is at least that far from 0.
        since: only changes at commits of this time or later.
        before: only changes at commits before this time.
        traces: only members of these traces, by id; None means all.
        minimum_effect: only members whose |relative size| is at least that (0.02 is 2 %).
        minimum_sigma: only members whose |size| is at least that many standard deviations of single values.
    """

    processed: bool | None = None
    history: bool | None = None
    statuses: frozenset[Status] = frozenset()
    certainty: Certainty | None = None
    kinds: frozenset[FindingKind] = frozenset()
    conditions: frozenset[Condition] = field(default=frozenset({Condition.PRESENT, Condition.RECOVERED}))
    directions: frozenset[ChangeDirection] = frozenset()
    stated_conditions: frozenset[ChangeCondition] = frozenset()
    text: str = ""
    slot: int | None = None
    alert_kinds: frozenset[AlertKind] | None = frozenset({AlertKind.WORK})
    alert: str = ""
    assignee: str = ""
    ticket: str = ""
    minimum_hazard: float = 0.0
    minimum_effect: float = 0.0
    minimum_sigma: float = 0.0
    since: datetime | None = None
    before: datetime | None = None
    traces: frozenset[int] | None = None


def is_unprocessed() -> ColumnElement[bool]:
    """Return the condition that a change point has neither a decision nor a ticket."""
    return (change_point.c.status == Status.NEW.value) & (change_point.c.matched_ticket == "")


def effective_status() -> ColumnElement[str]:
    """Return the column :attr:`ChangePoint.effective_status`."""
    point = change_point.c
    return case(
        (point.status != Status.NEW.value, point.status), (is_unprocessed(), point.status), else_=Status.TICKET.value
    )


def effective_certainty() -> ColumnElement[str]:
    """Return the column :attr:`ChangePoint.certainty`."""
    return case((change_point.c.held != "", Certainty.PROVISIONAL.value), else_=change_point.c.certainty)


def is_live() -> ColumnElement[bool]:
    """Return the condition that later data still show a change point."""
    return change_point.c.condition != Condition.GONE.value


def _in_state(selection: Selection) -> list[ColumnElement[bool]]:
    """Return the conditions about condition, decision, history, certainty and kinds."""
    unprocessed = is_unprocessed()
    clauses: list[ColumnElement[bool]] = [
        change_point.c.condition.in_([condition.value for condition in selection.conditions])
    ]
    if selection.processed is not None:
        clauses.append(~unprocessed if selection.processed else unprocessed)
    if selection.history is not None:
        clauses.append(change.c.history == int(selection.history))
    if selection.statuses:
        clauses.append(effective_status().in_([status.value for status in selection.statuses]))
    if selection.certainty is not None:
        clauses.append(effective_certainty() == selection.certainty.value)
    if selection.alert_kinds is not None:
        clauses.append(change_point.c.alert_kind.in_([kind.value for kind in selection.alert_kinds]))
    if selection.kinds:
        clauses.append(change_point.c.kind.in_([kind.value for kind in selection.kinds]))
    return clauses


def member_conditions(database: Database, repository_id: int, selection: Selection) -> list[ColumnElement[bool]]:
    """Return the conditions that the rows of :func:`joined_members` of one repository in ``selection`` meet."""
    return [change_point.c.repository_id == repository_id, *selected(database, selection)]


def selected(database: Database, selection: Selection) -> list[ColumnElement[bool]]:
    """Return the conditions that the rows of :func:`joined_members` in ``selection`` meet, of any repository."""
    point, commit = change_point.c, commit_tables.commit.c
    clauses = _in_state(selection)
    if selection.slot is not None:
        clauses.append(change.c.slot == selection.slot)
    if selection.since is not None:
        clauses.append(commit.time >= selection.since.timestamp())
    if selection.before is not None:
        clauses.append(commit.time < selection.before.timestamp())
    if selection.minimum_hazard > 0:
        clauses.append(func.abs(point.hazard) >= selection.minimum_hazard)
    if selection.minimum_effect > 0:
        clauses.append(func.abs(point.relative_size) >= selection.minimum_effect)
    if selection.minimum_sigma > 0:
        clauses.append(func.abs(point.size) >= selection.minimum_sigma * point.deviation)
    columns = (point.trace_key, commit.hash, commit.author, commit.subject)
    clauses += [or_(*(contains(column, word) for column in columns)) for word in selection.text.split()]
    return clauses + _stated(database, selection) + _concerning(database, selection)


def _stated(database: Database, selection: Selection) -> list[ColumnElement[bool]]:
    """Return the conditions about the statement of the change."""
    wanted = {statement.c.direction: selection.directions, statement.c.condition: selection.stated_conditions}
    clauses = [column.in_([each.value for each in chosen]) for column, chosen in wanted.items() if chosen]
    if not clauses:
        return []
    database.run_deferred()
    return [change_point.c.change_id.in_(select(statement.c.change_id).where(*clauses))]


def _concerning(database: Database, selection: Selection) -> list[ColumnElement[bool]]:
    """Return the conditions about alert, person, ticket and traces."""
    point = change_point.c
    clauses: list[ColumnElement[bool]] = []
    if selection.alert:
        seen = select(sighting.c.change_point_id).where(sighting.c.alert == selection.alert)
        clauses.append(point.id.in_(seen))
    if selection.assignee:
        clauses.append(point.assignee == selection.assignee)
    if selection.ticket:
        clauses.append(or_(point.ticket == selection.ticket, point.matched_ticket == selection.ticket))
    if selection.traces is not None:
        clauses.append(database.among(point.trace_id, "traces", database.listed(sorted(selection.traces))))
    return clauses


def joined_members(selection: Selection, *, commits: bool = False) -> Join:
    """Return change points joined with their changes and, where it is known, the commit of the change.

    The commit is left out unless ``selection`` is about it or ``commits`` is true: it costs a third of a list's query.
    """
    with_change = change_point.join(change, change_point.c.change_id == change.c.id)
    if not (commits or selection.text.split() or selection.since or selection.before):
        return with_change
    commit = commit_tables.commit
    at = and_(commit.c.repository_id == change.c.repository_id, commit.c.slot == change.c.slot)
    return with_change.outerjoin(commit, at)


# Read where findings are, and nothing else of them: for marks in small drawings of many traces.


_UNDONE: Final = {ChangeCondition.RECOVERED.value, ChangeCondition.FIXED.value}


class ChangeMark(NamedTuple):
    """Where a finding is: its trace, the commit at which the new level begins, its direction and its change.

    ``size`` is |ln(before / after)|, inf if a level is 0; ``undone`` says whether the change recovered or was fixed.
    """

    trace_id: int
    slot: int
    direction: Direction
    change_id: int
    size: float
    undone: bool


class ChangeMarks:
    """Read the marks of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def around(self, line: Line, slot: int) -> list[int]:
        """Return the changes on ``line`` whose suspect range has the commit ``slot`` after its first one."""
        point = change_point.c
        live = select(point.change_id).where(point.repository_id == line.repository.id, is_live())
        query = select(change.c.id, change.c.previous, change.c.slot).where(
            change.c.repository_id == line.repository.id,
            change.c.line == line.name,
            change.c.slot != slot,
            change.c.id.in_(live),
        )
        place = line.positions.get(slot, -1)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        unknown = len(line.slots)
        return sorted(
            key
            for key, previous, last in rows
            if line.positions.get(previous, unknown) < place < line.positions.get(last, -1)
        )

    def newest(self, line: Line, *, limit: int) -> list[ChangeMark]:
        """Return the marks of the newest ``limit`` live findings that are work, on ``line``; without hidden ones."""
        point = change_point.c
        query = (
            select(point.trace_id, point.slot, point.direction, point.change_id, point.hazard, statement.c.condition)
            .outerjoin(statement, statement.c.change_id == point.change_id)
            .where(
                point.repository_id == line.repository.id,
                point.line == line.name,
                is_live(),
                point.alert_kind == AlertKind.WORK.value,
                point.status != Status.HIDDEN.value,
            )
            .order_by(point.id.desc())
            .limit(limit)
        )
        with self._database.reading() as connection:
            self._database.run_deferred()
            return [
                ChangeMark(
                    trace_id, slot, Direction(direction), change_id, abs(number_or_nan(hazard)), state in _UNDONE
                )
                for trace_id, slot, direction, change_id, hazard, state in connection.execute(query)
            ]
