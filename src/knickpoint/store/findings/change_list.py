"""List changes: filtered, sorted and paged in the database, with the members that are wanted.

A list is about the members that a :class:`Selection` chooses. A change is listed when it has one of them; its
severity, direction and hazard level are those of these members, but its counts are of all its members. One query groups
the chosen members by change, the program sorts the groups and cuts out a page, and two queries read the members and
the counts of that page alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, Row, Select, and_, case, func, or_, select

from knickpoint.model.alert import AlertSeverity
from knickpoint.model.change_point import ChangePoint, Condition, Direction, Status, SuspectRange
from knickpoint.model.errors import InputError
from knickpoint.model.statement import Change, ChangeDirection
from knickpoint.store.array_codec import moment
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import change_point_of
from knickpoint.store.findings.selection import (
    Selection,
    effective_status,
    is_live,
    is_unprocessed,
    joined_members,
    member_conditions,
    selected,
)
from knickpoint.store.findings.statements import read_statements
from knickpoint.store.tables import commits as commit_tables
from knickpoint.store.tables.findings import change, change_point, statement


class Sort(Enum):
    """The sort key of a list of changes; CHANGE is the severity of the lead."""

    CHANGE = "change"
    HAZARD = "hazard"
    COMMIT = "commit"
    TRACES = "traces"
    FOUND = "found"
    AUTHOR = "author"
    SUBJECT = "subject"


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is wanted, in which order.

    Attributes:
        sort: what to sort by; equal changes by the severity of their alerts, then by commit, the newest first.
        descending: the greatest first.
        offset: how many changes to skip.
        limit: how many changes to return, None for all.
        members: how many members to return of each, None for all.
        only: restricts the list to these changes, None for no restriction.
    """

    sort: Sort = Sort.CHANGE
    descending: bool = True
    offset: int = 0
    limit: int | None = None
    members: int | None = None
    only: tuple[int, ...] | None = None


class PointState(NamedTuple):
    """The condition of a change point, by the data, and its status, by decisions."""

    condition: Condition
    status: Status


@dataclass(frozen=True, slots=True)
class Tally:
    """How many changes have a member that is unprocessed work or history, processed, any of these, or gone.

    One change may count for several.
    """

    unprocessed: int = 0
    history: int = 0
    processed: int = 0
    all: int = 0
    gone: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.unprocessed + other.unprocessed,
            self.history + other.history,
            self.processed + other.processed,
            self.all + other.all,
            self.gone + other.gone,
        )


_OF_COMMIT: Final[Mapping[Sort | None, ColumnElement[str]]] = {
    Sort.AUTHOR: commit_tables.commit.c.author,
    Sort.SUBJECT: commit_tables.commit.c.subject,
}
"""The columns of the commit that lists are sorted by."""


def _number(condition: ColumnElement[bool]) -> ColumnElement[int]:
    """Return the column that counts the rows of a group that meet ``condition``."""
    return func.sum(case((condition, 1), else_=0))


def _is_lead() -> ColumnElement[bool]:
    return change_point.c.id == statement.c.lead


def _lead_severity() -> ColumnElement[float]:
    """Return the severity of the statement if its lead is listed, else of the listed members by the same preference."""
    severity = change_point.c.severity
    return func.coalesce(
        func.max(case((_is_lead(), statement.c.severity))),
        func.max(case((is_live() & is_unprocessed(), severity))),
        func.max(case((is_live(), severity))),
        func.max(severity),
    )


def _matching(database: Database, repository_id: int, selection: Selection, sort: Sort | None = None) -> Select[Any]:
    """Return the query of the changes with a member of ``selection``: one row each, about those members.

    Of the commit, a row has what ``sort`` compares.
    """
    compared = _OF_COMMIT.get(sort)
    members: FromClause = joined_members(selection, commits=compared is not None)
    if sort is Sort.CHANGE:
        members = members.outerjoin(statement, statement.c.change_id == change.c.id)
    return (
        select(
            change.c.id,
            *((_lead_severity().label("severity"),) if sort is Sort.CHANGE else ()),
            func.max(change_point.c.alert_severity).label("alert_severity"),
            func.max(func.abs(change_point.c.hazard)).label("strength"),
            func.count().label("traces"),
            func.max(change_point.c.hazard).label("highest"),
            func.min(change_point.c.hazard).label("lowest"),
            *(_number(change_point.c.direction == direction.value).label(direction.value) for direction in Direction),
            func.max(change.c.found).label("found"),
            func.max(change.c.line).label("line"),
            func.max(change.c.slot).label("slot"),
            *(() if compared is None else (func.max(compared).label(compared.name),)),
        )
        .select_from(members)
        .where(*member_conditions(database, repository_id, selection))
        .group_by(change.c.id)
    )


def count_findings(database: Database, connection: Connection, repository_id: int, selection: Selection) -> int:
    """Count the members of ``selection``, in whatever change."""
    query = (
        select(func.count())
        .select_from(joined_members(selection))
        .where(*member_conditions(database, repository_id, selection))
    )
    return int(connection.execute(query).scalar_one())


def count_changes(database: Database, connection: Connection, repository_id: int, selection: Selection) -> int:
    """Count the changes that have a member of ``selection``."""
    listed = _matching(database, repository_id, selection).subquery()
    return int(connection.execute(select(func.count()).select_from(listed)).scalar_one())


def count_directions(
    database: Database, connection: Connection, repository_id: int, selection: Selection
) -> Counter[ChangeDirection]:
    """Count the changes that have a member of ``selection`` by their direction, as stated."""
    database.run_deferred()
    query = (
        select(statement.c.direction, func.count(change.c.id.distinct()))
        .select_from(joined_members(selection).join(statement, statement.c.change_id == change.c.id))
        .where(*member_conditions(database, repository_id, selection))
        .group_by(statement.c.direction)
    )
    return Counter({ChangeDirection(direction): number for direction, number in connection.execute(query)})


def tally_changes(database: Database, connection: Connection, repository_id: int, selection: Selection) -> Tally:
    """Count the changes that have a member of ``selection``, by the state of that member, in one pass.

    The states that ``selection`` asks for itself do not count.
    """
    everything = replace(selection, processed=None, history=None, conditions=frozenset(Condition))
    live, history = is_live(), change.c.history == 1
    kinds = {
        "unprocessed": live & is_unprocessed() & ~history,
        "history": live & is_unprocessed() & history,
        "processed": live & ~is_unprocessed(),
        "all": live,
        "gone": ~live,
    }
    each = (
        select(*(_number(kind).label(name) for name, kind in kinds.items()))
        .select_from(joined_members(everything))
        .where(*member_conditions(database, repository_id, everything))
        .group_by(change.c.id)
        .subquery()
    )
    query = select(*(func.coalesce(_number(each.c[name] > 0), 0).label(name) for name in kinds))
    return Tally(**connection.execute(query).mappings().one())


def matching_ids(
    database: Database, connection: Connection, repository_id: int, selection: Selection, ids: Sequence[int]
) -> list[int]:
    """Return the ids of the members of ``selection`` of the changes ``ids``, ascending."""
    numbers = database.among(change_point.c.change_id, "ids")
    query = (
        select(change_point.c.id)
        .select_from(joined_members(selection))
        .where(*member_conditions(database, repository_id, selection), numbers)
    )
    return list(connection.execute(query.order_by(change_point.c.id), {"ids": database.listed(ids)}).scalars())


def members_after(
    database: Database,
    connection: Connection,
    repository_id: int,
    selection: Selection,
    key: int,
    *,
    after: int | None,
    limit: int,
) -> list[ChangePoint]:
    """Return ``limit`` members of ``selection`` of the change ``key``: those of the side that leads, then the others.

    Both are sorted by falling severity, trace key and id.
    ``after`` is the member to begin behind, also if it has left the selection; None begins with the first.
    """
    point = change_point.c
    side = connection.execute(select(statement.c.side).where(statement.c.change_id == key)).scalar()
    beside = case((point.direction == side, 0), else_=1)
    order = (beside, point.severity.desc(), point.trace_key, point.id)
    query = select(change_point, change.c.history).select_from(joined_members(selection))
    query = query.where(*member_conditions(database, repository_id, selection), point.change_id == key)
    if after is not None:
        here = (point.id == after, point.repository_id == repository_id)
        found = connection.execute(select(point.direction, point.severity, point.trace_key).where(*here)).first()
        if found is None:
            raise InputError(f"there is no finding {after}", where="after", remedy="Begin with the first page.")
        last = int(found.direction != side)
        further = or_(point.trace_key > found.trace_key, and_(point.trace_key == found.trace_key, point.id > after))
        worse = or_(point.severity < found.severity, and_(point.severity == found.severity, further))
        query = query.where(or_(beside > last, and_(beside == last, worse)))
    rows = connection.execute(query.order_by(*order).limit(limit)).mappings()
    return [change_point_of(row) for row in rows]


def _sorted(
    rows: Sequence[Row[Any]], sort: Sort, position: Callable[[str, int], int], *, descending: bool
) -> list[Row[Any]]:
    keys: Mapping[Sort, Callable[[Row[Any]], Any]] = {
        Sort.CHANGE: lambda row: row.severity,
        Sort.HAZARD: lambda row: row.strength or 0.0,
        Sort.COMMIT: lambda row: position(row.line, row.slot),
        Sort.TRACES: lambda row: row.traces,
        Sort.FOUND: lambda row: row.found,
        Sort.AUTHOR: lambda row: (row.author or "").lower(),
        Sort.SUBJECT: lambda row: (row.subject or "").lower(),
    }
    urgent_first = sorted(rows, key=lambda row: (-row.alert_severity, -position(row.line, row.slot), row.id))
    return sorted(urgent_first, key=keys[sort], reverse=descending)  # sorted() keeps the order of equal rows


def _members_of(
    database: Database,
    connection: Connection,
    selection: Selection,
    ids: Sequence[int],
    *,
    at_most: int | None = None,
) -> dict[int, list[ChangePoint]]:
    """Return the members of ``selection`` of the changes ``ids``: open ones, other live ones, then those that are gone.

    Of each, the side that leads the change comes first, and the largest change of a side.

    The members are ranked by the few columns of the order. Whole rows, which are wide, are read of those alone that
    are returned.
    """
    point = change_point.c
    last = case((is_live() & is_unprocessed(), 0), (is_live(), 1), else_=2)
    beside = case((point.direction == statement.c.side, 0), else_=1)
    order = (last, beside, point.severity.desc(), point.trace_key, point.id)
    rank = func.row_number().over(partition_by=point.change_id, order_by=order)
    # All of ``ids`` are of one repository, so that the database has only to look at their members.
    ranked = (
        select(point.id, rank.label("rank"), change.c.history)
        .select_from(joined_members(selection).outerjoin(statement, statement.c.change_id == change.c.id))
        .where(*selected(database, selection), database.among(point.change_id, "ids"))
        .subquery()
    )
    query = select(change_point, ranked.c.history).join(ranked, ranked.c.id == point.id)
    query = query.order_by(point.change_id, ranked.c.rank)
    if at_most is not None:
        query = query.where(ranked.c.rank <= at_most)
    members: dict[int, list[ChangePoint]] = defaultdict(list)
    for row in connection.execute(query, {"ids": database.listed(ids)}).mappings():
        members[row["change_id"]].append(change_point_of(row))
    return members


def _extreme(row: Row[Any]) -> float | None:
    """Return the hazard level of largest magnitude in a row of :func:`_matching`, None where there is none."""
    return None if row.highest is None else max(row.highest, row.lowest, key=abs)


def _counts(database: Database, connection: Connection, ids: Sequence[int]) -> dict[int, Counter[PointState]]:
    """Return change → how many of its members are in which state, for the changes ``ids``."""
    point = change_point.c
    status = effective_status().label("effective")
    query = (
        select(point.change_id, status, point.condition, func.count().label("number"))
        .where(database.among(point.change_id, "ids"))
        .group_by(point.change_id, "effective", point.condition)
    )
    found: dict[int, Counter[PointState]] = defaultdict(Counter)
    for row in connection.execute(query, {"ids": database.listed(ids)}):
        state = PointState(Condition(row.condition), Status(row.effective))
        found[row.change_id][state] += row.number
    return found


def _by_status(counted: Mapping[PointState, int], *, gone: bool) -> Counter[Status]:
    found: Counter[Status] = Counter()
    for state, number in counted.items():
        if (state.condition is Condition.GONE) is gone:
            found[state.status] += number
    return found


def _by_condition(counted: Mapping[PointState, int]) -> Counter[Condition]:
    found: Counter[Condition] = Counter()
    for state, number in counted.items():
        found[state.condition] += number
    return found


def list_changes(
    database: Database,
    connection: Connection,
    repository_id: int,
    selection: Selection,
    page: Page,
    *,
    position: Callable[[str, int], int],
) -> list[Change]:
    """Return one page of the changes that have a member of ``selection``.

    ``position`` maps a line and a slot to the position of the commit, for the order.
    """
    # All changes with a member of the selection, sorted, and of them the page
    database.run_deferred()
    query = _matching(database, repository_id, selection, page.sort)
    bound: dict[str, Any] = {}
    if page.only is not None:
        query = query.where(database.among(change.c.id, "only"))
        bound["only"] = database.listed(page.only)
    rows = _sorted(connection.execute(query, bound).all(), page.sort, position, descending=page.descending)
    listed = {row.id: row for row in rows[page.offset : None if page.limit is None else page.offset + page.limit]}
    if not listed:
        return []

    # What is read for the page alone
    ids = list(listed)
    members = _members_of(database, connection, selection, ids, at_most=page.members)
    counted = _counts(database, connection, ids)
    facts = _facts(database, connection, ids)
    statements = read_statements(database, connection, ids)
    return [
        Change(
            id=key,
            repository=facts[key].repository,
            suspect_range=SuspectRange(facts[key].line, facts[key].previous, facts[key].slot),
            members=tuple(members[key]),
            counts=_by_status(counted[key], gone=False),
            conditions=_by_condition(counted[key]),
            unprocessed=facts[key].unprocessed,
            found=moment(facts[key].found),
            history=bool(facts[key].history),
            matching={direction: number for direction in Direction if (number := getattr(row, direction.value))},
            gone=_by_status(counted[key], gone=True),
            extreme=_extreme(row),
            alert_severity=tuple(AlertSeverity)[row.alert_severity],
            statement=statements.get(key),
        )
        for key, row in listed.items()
    ]


def _facts(database: Database, connection: Connection, ids: Sequence[int]) -> dict[int, Row[Any]]:
    """Return the rows of changes with the names of their repositories, by id."""
    repository = commit_tables.repository
    query = (
        select(change, repository.c.name.label("repository"))
        .join(repository, repository.c.id == change.c.repository_id)
        .where(database.among(change.c.id, "ids"))
    )
    return {row.id: row for row in connection.execute(query, {"ids": database.listed(ids)})}
