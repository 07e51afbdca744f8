"""List regressions: filtered, sorted and paged in the database, with the members that were asked for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from string import ascii_uppercase
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, and_, case, func, or_, select

from knickpoint.model.regression import ChangePoint, Condition, Direction, Place, Regression, Status
from knickpoint.store.database import Database
from knickpoint.store.finding_rows import change_point_of, moment
from knickpoint.store.tables import commits as commit_tables
from knickpoint.store.tables.findings import change_point, regression, sighting

__all__ = ["Selection", "Sort", "count_findings", "count_regressions", "list_regressions", "members_of"]

_LOWERED: Final = {ord(letter): letter.lower() for letter in ascii_uppercase}


class Sort(Enum):
    """What a list of regressions is sorted by; CHANGE is the severity of the lead."""

    CHANGE = "change"
    HAZARD = "hazard"
    COMMIT = "commit"
    TRACES = "traces"
    FOUND = "found"
    AUTHOR = "author"
    SUBJECT = "subject"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which members to list; a regression is listed when one of its members fits.

    Attributes:
        processed: False for those that nobody has dealt with, True for the others, None for both.
        history: True for those that are history, False for those that are work, None for both.
        statuses: only these effective ones; none given means all.
        conditions: only these; what is gone must be asked for.
        directions: only these; none given means all.
        text: words that all occur in trace key, commit hash, author or subject, whatever their case.
        slot: only regressions that begin at this commit.
        alert: only what this alert sees.
        assignee: only what this person has.
        ticket: only what belongs to this ticket, by decision or by match.
        minimum_hazard: only members whose hazard level is at least that far from 0.
        since: only regressions at commits of this time or later.
        traces: only members of these traces, by id; None means all.
        minimum_effect: only members whose |relative size| is at least that (0.02 is 2 %).
    """

    processed: bool | None = None
    history: bool | None = None
    statuses: frozenset[Status] = frozenset()
    conditions: frozenset[Condition] = field(default=frozenset({Condition.PRESENT, Condition.RECOVERED}))
    directions: frozenset[Direction] = frozenset()
    text: str = ""
    slot: int | None = None
    alert: str = ""
    assignee: str = ""
    ticket: str = ""
    minimum_hazard: float = 0.0
    minimum_effect: float = 0.0
    since: datetime | None = None
    traces: frozenset[int] | None = None


def _contains(column: Any, word: str) -> Any:
    """Return the condition that a text contains ``word``, whatever its case.

    Databases may know the case of ASCII letters only, so other letters are asked for in each way to write a word.
    """
    ways = {word} if word.isascii() else {word, word.lower(), word.upper(), word.title()}
    plain = sorted({way.lower() if way.isascii() else way.translate(_LOWERED) for way in ways} | {word.lower()})
    return or_(*(func.lower(column).contains(way, autoescape=True) for way in plain))


def _is_new() -> Any:
    """Return the condition that neither a decision nor a ticket has dealt with a change point."""
    return (change_point.c.status == Status.NEW.value) & (change_point.c.matched_ticket == "")


def _effective_status() -> Any:
    """Return the column :attr:`ChangePoint.effective_status`."""
    point = change_point.c
    return case((point.status != Status.NEW.value, point.status), (_is_new(), point.status), else_=Status.TICKET.value)


def _is_live() -> Any:
    return change_point.c.condition != Condition.GONE.value


def _in_state(selection: Selection) -> list[Any]:
    """Return the conditions about what the data say today, what was decided, and whether it is history."""
    new = _is_new()
    clauses: list[Any] = [change_point.c.condition.in_([condition.value for condition in selection.conditions])]
    if selection.processed is not None:
        clauses.append(~new if selection.processed else new)
    if selection.history is not None:
        clauses.append(regression.c.history == int(selection.history))
    if selection.statuses:
        clauses.append(_effective_status().in_([status.value for status in selection.statuses]))
    return clauses


def _where(database: Database, repository_id: int, selection: Selection) -> list[Any]:
    point, commit = change_point.c, commit_tables.commit.c
    clauses: list[Any] = [point.repository_id == repository_id, *_in_state(selection)]
    if selection.directions:
        clauses.append(point.direction.in_([direction.value for direction in selection.directions]))
    if selection.slot is not None:
        clauses.append(regression.c.slot == selection.slot)
    if selection.since is not None:
        clauses.append(commit.time >= selection.since.timestamp())
    if selection.minimum_hazard > 0:
        clauses.append(func.abs(point.hazard) >= selection.minimum_hazard)
    if selection.minimum_effect > 0:
        clauses.append(func.abs(point.relative_size) >= selection.minimum_effect)
    columns = (point.trace_key, commit.hash, commit.author, commit.subject)
    clauses += [or_(*(_contains(column, word) for column in columns)) for word in selection.text.split()]
    return clauses + _concerning(database, selection)


def _concerning(database: Database, selection: Selection) -> list[Any]:
    """Return the conditions of alert, person, ticket and traces."""
    point = change_point.c
    clauses: list[Any] = []
    if selection.alert:
        seen = select(sighting.c.change_point_id).where(sighting.c.alert == selection.alert)
        clauses.append(point.id.in_(seen))
    if selection.assignee:
        clauses.append(point.assignee == selection.assignee)
    if selection.ticket:
        clauses.append(or_(point.ticket == selection.ticket, point.matched_ticket == selection.ticket))
    if selection.traces is not None:
        clauses.append(database.among(point.trace_id, "traces", sorted(selection.traces)))
    return clauses


def _joined() -> Any:
    commit = commit_tables.commit
    at = and_(commit.c.repository_id == regression.c.repository_id, commit.c.slot == regression.c.slot)
    with_regression = change_point.join(regression, change_point.c.regression_id == regression.c.id)
    return with_regression.outerjoin(commit, at)


def _lead_severity() -> Any:
    """Return the severity of the lead among the members that match: what is gone or processed leads only alone."""
    severity = change_point.c.severity
    return func.coalesce(
        func.max(case((_is_live() & _is_new(), severity))), func.max(case((_is_live(), severity))), func.max(severity)
    )


def _matching(database: Database, repository_id: int, selection: Selection) -> Select[Any]:
    commit = commit_tables.commit.c
    return (
        select(
            regression.c.id,
            _lead_severity().label("severity"),
            func.max(func.abs(change_point.c.hazard)).label("strength"),
            func.count().label("traces"),
            func.max(regression.c.found).label("found"),
            func.max(regression.c.line).label("line"),
            func.max(regression.c.slot).label("slot"),
            func.max(commit.author).label("author"),
            func.max(commit.subject).label("subject"),
        )
        .select_from(_joined())
        .where(*_where(database, repository_id, selection))
        .group_by(regression.c.id)
    )


def count_findings(database: Database, connection: Connection, repository_id: int, selection: Selection) -> int:
    """Count the members of ``selection``, in whatever regression."""
    query = select(func.count()).select_from(_joined()).where(*_where(database, repository_id, selection))
    return int(connection.execute(query).scalar_one())


def count_regressions(database: Database, connection: Connection, repository_id: int, selection: Selection) -> int:
    """Count the regressions that have a member of ``selection``."""
    listed = _matching(database, repository_id, selection).subquery()
    return int(connection.execute(select(func.count()).select_from(listed)).scalar_one())


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
    newest_first = sorted(rows, key=lambda row: (-position(row.line, row.slot), row.id))
    return sorted(newest_first, key=keys[sort], reverse=descending)


def members_of(
    database: Database,
    connection: Connection,
    repository_id: int,
    selection: Selection,
    ids: Sequence[int],
    *,
    at_most: int | None = None,
) -> dict[int, list[ChangePoint]]:
    """Return the members of ``selection`` of the regressions ``ids``, in the order of :attr:`ChangePoint.rank`."""
    numbers = database.numbers("ids")
    point = change_point.c
    last = case((_is_live() & _is_new(), 0), (_is_live(), 1), else_=2)
    order = (last, point.severity.desc(), point.trace_key, point.id)
    rank = func.row_number().over(partition_by=point.regression_id, order_by=order)
    wanted = (
        select(change_point, regression.c.history, rank.label("rank"))
        .select_from(_joined())
        .where(*_where(database, repository_id, selection), change_point.c.regression_id.in_(select(numbers.c.value)))
        .subquery()
    )
    query = select(wanted).order_by(wanted.c.regression_id, wanted.c.rank)
    if at_most is not None:
        query = query.where(wanted.c.rank <= at_most)
    members: dict[int, list[ChangePoint]] = defaultdict(list)
    for row in connection.execute(query, {"ids": database.listed(ids)}).mappings():
        members[row["regression_id"]].append(change_point_of(row))
    return members


def _counts(
    database: Database, connection: Connection, ids: Sequence[int]
) -> tuple[dict[int, Counter[Status]], dict[int, Counter[Condition]]]:
    numbers = database.numbers("ids")
    point = change_point.c
    status = _effective_status().label("effective")
    query = (
        select(point.regression_id, status, point.condition, func.count().label("number"))
        .where(point.regression_id.in_(select(numbers.c.value)))
        .group_by(point.regression_id, "effective", point.condition)
    )
    statuses: dict[int, Counter[Status]] = defaultdict(Counter)
    conditions: dict[int, Counter[Condition]] = defaultdict(Counter)
    for row in connection.execute(query, {"ids": database.listed(ids)}):
        condition = Condition(row.condition)
        conditions[row.regression_id][condition] += row.number
        if condition is not Condition.GONE:
            statuses[row.regression_id][Status(row.effective)] += row.number
    return statuses, conditions


def list_regressions(
    database: Database,
    connection: Connection,
    repository_id: int,
    selection: Selection,
    *,
    sort: Sort,
    descending: bool,
    position: Callable[[str, int], int],
    offset: int = 0,
    limit: int | None = None,
    members: int | None = None,
    only: Sequence[int] | None = None,
) -> list[Regression]:
    """Return one page of regressions. ``position`` gives the place of a slot on a line, for the order.

    ``members`` is how many of them to return of each regression; ``only`` restricts to these ids.
    """
    query = _matching(database, repository_id, selection)
    parameters: dict[str, Any] = {}
    if only is not None:
        numbers = database.numbers("only")
        query = query.where(regression.c.id.in_(select(numbers.c.value)))
        parameters["only"] = database.listed(only)
    rows = _sorted(connection.execute(query, parameters).all(), sort, position, descending=descending)
    page = [row.id for row in rows[offset : None if limit is None else offset + limit]]
    if not page:
        return []
    found = members_of(database, connection, repository_id, selection, page, at_most=members)
    statuses, conditions = _counts(database, connection, page)
    own = database.numbers("ids")
    names = select(regression, commit_tables.repository.c.name.label("repository")).join(
        commit_tables.repository, commit_tables.repository.c.id == regression.c.repository_id
    )
    facts = {
        row.id: row
        for row in connection.execute(
            names.where(regression.c.id.in_(select(own.c.value))), {"ids": database.listed(page)}
        )
    }
    return [
        Regression(
            id=key,
            repository=facts[key].repository,
            place=Place(facts[key].line, facts[key].previous, facts[key].slot),
            members=tuple(found[key]),
            counts=statuses[key],
            conditions=conditions[key],
            unprocessed=facts[key].unprocessed,
            found=moment(facts[key].found),
            history=bool(facts[key].history),
        )
        for key in page
    ]
