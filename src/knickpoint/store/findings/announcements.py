"""Hold the announcement ledger: what was announced, and which change points it was about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, and_, bindparam, exists, func, or_, select, update
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import ChangePoint, Condition, Direction, Status, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.notification import Announcement, AnnouncementKind
from knickpoint.model.settlement import Certainty, FindingKind
from knickpoint.store.array_codec import moment
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import (
    MARKED_POINTS,
    change_point_of,
    finite_or_none,
    next_id,
    number_or_nan,
    update_rows,
)
from knickpoint.store.tables.announcements import announcement
from knickpoint.store.tables.findings import change, change_point

BASELINE = -1
"""What ``ChangePoint.announced`` holds for a finding that was history once, or no work, and is never announced."""

_OPENING: Final = tuple(kind.value for kind in AnnouncementKind if kind.opens)

# Made once: the columns of an alias take longer to make than many a statement takes to run
_LATER: Final = announcement.alias("later").c
_LEAD: Final = change_point.alias("lead").c
_DRIFT: Final = change_point.alias("drift").c
_IS_FOLLOWED: Final = exists().where(_LATER.chain == announcement.c.chain, _LATER.number > announcement.c.number)
"""The condition that an announcement is not the last one of its chain."""

# Made once, as each run of an alert asks them: statements of so many conditions take longer to build than to answer.
_ROW: Final = announcement.c
_POINT: Final = change_point.c
_IS_LIVE: Final = _POINT.condition != Condition.GONE.value
_IS_OWN: Final = _POINT.repository_id == bindparam("owner")


def _is_member(point: ReadOnlyColumnCollection[str, Any]) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions that a change point, by its columns, is a member of the chain of an announcement."""
    return point.repository_id == _ROW.repository_id, point.announced == _ROW.chain


_IS_OF_ITS_SIDE: Final = or_(
    (_ROW.kind == AnnouncementKind.REGRESSED.value) & (_POINT.direction != Direction.IMPROVEMENT.value),
    (_ROW.kind == AnnouncementKind.IMPROVED.value) & (_POINT.direction == Direction.IMPROVEMENT.value),
)
"""The condition that a change point is of the side that an announcement is about."""

_WAITING: Final = MARKED_POINTS.where(
    _IS_OWN,
    _POINT.announced == 0,
    _POINT.alert_kind == AlertKind.WORK.value,
    _POINT.certainty == Certainty.SETTLED.value,
    _POINT.held == "",
    _IS_LIVE,
    change.c.history == 0,
).order_by(_POINT.id)

_UNSETTLED: Final = MARKED_POINTS.where(
    _IS_OWN, _POINT.announced == 0, _POINT.certainty == Certainty.PROVISIONAL.value, _IS_LIVE
).order_by(_POINT.id)

_UNENDED: Final = (
    select(_POINT.announced)
    .distinct()
    .select_from(change_point.join(announcement, _ROW.chain == _POINT.announced))
    .where(_IS_OWN, _POINT.announced > 0, ~_IS_FOLLOWED, _ROW.kind != AnnouncementKind.WITHDRAWN.value)
)
_UNENDED_GONE: Final = _UNENDED.where(_POINT.condition == Condition.GONE.value)

_STRAYS: Final = (
    select(_POINT.id)
    .where(
        Database.among(_POINT.id, "ids"),
        *_is_member(_POINT),
        _LEAD.id == _ROW.lead,
        _LEAD.announced == _POINT.announced,
        _LEAD.change_id != _POINT.change_id,
        _IS_LIVE,
        _LEAD.condition != Condition.GONE.value,
    )
    .order_by(_POINT.id)
)
_STRAYS_OF_ITS_SIDE: Final = _STRAYS.where(_IS_OF_ITS_SIDE)
_STRAYS_OF_EITHER_SIDE: Final = _STRAYS.where(_ROW.kind.in_(_OPENING))

_STEADY: Final = select(_ROW.chain).where(
    Database.among(_ROW.chain, "ids"),
    _ROW.condition == Condition.PRESENT.value,
    ~_IS_FOLLOWED,
    exists().where(
        *_is_member(_POINT),
        _IS_OF_ITS_SIDE,
        _POINT.condition == Condition.PRESENT.value,
        _POINT.certainty == Certainty.SETTLED.value,
        _POINT.held == "",
        _POINT.status != Status.HIDDEN.value,
        _POINT.kind == FindingKind.STEP.value,
        _POINT.line == _ROW.line,
        _POINT.previous == _ROW.previous,
        _POINT.slot == _ROW.slot,
    ),
    ~exists().where(
        *_is_member(_DRIFT), _DRIFT.kind == FindingKind.DRIFT.value, _DRIFT.condition != Condition.GONE.value
    ),
)

_PROVISIONAL_GONE: Final = (
    select(_ROW.chain)
    .join(change_point, _POINT.id == _ROW.lead)
    .where(
        _ROW.repository_id == bindparam("owner"),
        _ROW.kind == AnnouncementKind.PROVISIONAL.value,
        ~exists().where(_LATER.chain == _ROW.chain, _LATER.number > 0),
        _POINT.condition == Condition.GONE.value,
        _POINT.announced == 0,
    )
)

_SILENCE_HISTORY: Final = (
    update(change_point)
    .where(
        _IS_OWN,
        _POINT.announced == 0,
        _POINT.change_id.in_(
            select(change.c.id).where(change.c.repository_id == bindparam("owner"), change.c.history == 1)
        ),
    )
    .values(announced=BASELINE)
)


@dataclass(frozen=True, slots=True)
class MemberCount:
    """How many live change points of a change have the same direction and the same ``ChangePoint.announced``.

    ``first`` is the least of their ids.
    """

    change_id: int
    direction: Direction
    announced: int
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Sight:
    """A provisional announcement: its chain, the change point that it is about, and the change of that."""

    chain: int
    lead: int
    change_id: int


class AnnouncementLedger:
    """Read and write announcements; rows are added and never changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # For senders

    def after(
        self,
        key: int,
        *,
        repository: Repository | None = None,
        limit: int = 1000,
        provisional: bool = False,
        unsent: bool = False,
    ) -> list[Announcement]:
        """Return the announcements with an id above ``key``, the oldest first.

        ``provisional`` ones, and ``unsent`` ones, of which nobody is told, are among them where asked for.
        """
        query = select(announcement).where(announcement.c.id > key)
        if not provisional:
            query = query.where(announcement.c.provisional == 0)
        if not unsent:
            query = query.where(announcement.c.unsent == "")
        if repository is not None:
            query = query.where(announcement.c.repository_id == repository.id)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(announcement.c.id).limit(limit)).mappings()
            return [_announcement_of(row) for row in rows]

    def get(self, ids: Collection[int]) -> list[Announcement]:
        """Return announcements by id, ascending; ids that do not exist are left out."""
        return self._select(announcement.c.id, ids)

    def of_change(self, key: int, *, provisional: bool = False) -> list[Announcement]:
        """Return the announcements about the change ``key``, the oldest first: whole chains.

        ``provisional`` rows are among them where asked for.
        """
        with self._database.reading() as connection:
            query = select(announcement.c.chain).distinct().where(announcement.c.change_id == key)
            chains = list(connection.execute(query).scalars())
        return [each for each in self._select(announcement.c.chain, chains) if provisional or not each.provisional]

    # For the overview

    def counts_since(self, repository: Repository, time: datetime) -> dict[AnnouncementKind, int]:
        """Count what was announced from ``time`` on, by kind.

        Neither provisional announcements nor lost improvements count.
        """
        table = announcement.c
        is_lost = and_(table.kind == AnnouncementKind.RECOVERED.value, table.direction == Direction.IMPROVEMENT.value)
        query = (
            select(table.kind, func.count().label("number"))
            .where(*_since(repository, time), ~is_lost)
            .group_by(announcement.c.kind)
        )
        with self._database.reading() as connection:
            return {AnnouncementKind(row.kind): row.number for row in connection.execute(query)}

    def newest(self, repository: Repository, *, limit: int) -> list[Announcement]:
        """Return the newest announcements, the newest first; without provisional ones."""
        table = announcement.c
        query = select(announcement).where(table.repository_id == repository.id, table.provisional == 0)
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(table.id.desc()).limit(limit)).mappings()
            return [_announcement_of(row) for row in rows]

    # For the announcer

    def chains(self, ids: Collection[int]) -> dict[int, list[Announcement]]:
        """Return the announcements of the chains ``ids``, each in order."""
        found: dict[int, list[Announcement]] = {}
        for each in self._select(announcement.c.chain, ids):
            found.setdefault(each.chain, []).append(each)
        return found

    def members(self, chains: Collection[int]) -> list[ChangePoint]:
        """Return the change points of ``chains``, by id."""
        return self._points_of(change_point.c.announced, chains)

    def beside(self, ids: Collection[int]) -> list[ChangePoint]:
        """Return all change points of the traces of change points, those included that are gone, by id."""
        return self._points_beside(change_point.c.id, ids)

    def beside_members(self, repository: Repository, chains: Collection[int]) -> list[ChangePoint]:
        """Return all change points of the traces where ``chains`` have members, those included that are gone, by id."""
        return self._points_beside(change_point.c.announced, chains, change_point.c.repository_id == repository.id)

    def member_counts(self, changes: Collection[int]) -> list[MemberCount]:
        """Count the live change points of ``changes``, in the order of the first of each change."""
        if not changes:
            return []
        point = change_point.c
        alike = (point.change_id, point.direction, point.announced)
        first = func.min(point.id)
        query = (
            select(*alike, first, func.count())
            .where(self._database.among(point.change_id, "ids"), point.condition != Condition.GONE.value)
            .group_by(*alike)
            .order_by(first)
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, {"ids": self._database.listed(sorted(changes))})
            return [MemberCount(key, Direction(way), chain, least, count) for key, way, chain, least, count in rows]

    def sights(self, repository: Repository, changes: Collection[int]) -> list[Sight]:
        """Return the provisional announcements about live change points of ``changes``, by chain."""
        if not changes:
            return []
        point = change_point.c
        query = (
            select(announcement.c.chain, announcement.c.lead, point.change_id)
            .join(change_point, point.id == announcement.c.lead)
            .where(
                announcement.c.repository_id == repository.id,
                announcement.c.kind == AnnouncementKind.PROVISIONAL.value,
                self._database.among(point.change_id, "ids"),
                point.condition != Condition.GONE.value,
            )
            .order_by(announcement.c.id)
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, {"ids": self._database.listed(sorted(changes))})
            return [Sight(*row) for row in rows]

    def never_announced(self, repository: Repository, changes: Collection[int]) -> set[int]:
        """Return the ``changes`` without a live change point that is settled or was announced, even provisionally."""
        if not changes:
            return set()
        point = change_point.c
        sighted = select(announcement.c.lead).where(
            announcement.c.repository_id == repository.id,
            announcement.c.kind == AnnouncementKind.PROVISIONAL.value,
        )
        query = (
            select(point.change_id)
            .distinct()
            .where(
                self._database.among(point.change_id, "ids"),
                point.condition != Condition.GONE.value,
                or_(point.announced != 0, point.certainty == Certainty.SETTLED.value, point.id.in_(sighted)),
            )
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, {"ids": self._database.listed(sorted(changes))})
            return set(changes) - set(rows.scalars())

    def of_changes(self, keys: Collection[int]) -> list[ChangePoint]:
        """Return the live change points of changes, by id."""
        return self._points_of(change_point.c.change_id, keys, change_point.c.condition != Condition.GONE.value)

    def waiting(self, repository: Repository) -> list[ChangePoint]:
        """Return the settled live work of ``repository`` that is neither held nor announced yet, by id."""
        return self._points(_WAITING, {"owner": repository.id})

    def unsettled(self, repository: Repository) -> list[ChangePoint]:
        """Return the provisional live change points of ``repository`` that are not announced, by id."""
        return self._points(_UNSETTLED, {"owner": repository.id})

    def by_id(self, ids: Collection[int]) -> list[ChangePoint]:
        """Return change points, those included that are gone, by id."""
        return self._points_of(change_point.c.id, ids)

    def unended(self, repository: Repository, *, gone: bool) -> list[int]:
        """Return the chains that are not withdrawn, with ``gone`` only those with a member that is gone."""
        query = _UNENDED_GONE if gone else _UNENDED
        with self._database.reading() as connection:
            return sorted(connection.execute(query, {"owner": repository.id}).scalars())

    def near(self, repository: Repository, slots: Collection[int]) -> list[int]:
        """Return the chains of ``repository`` with a settled change at one of ``slots``, as it was announced last."""
        if not slots:
            return []
        query = select(announcement.c.chain).where(
            self._database.among(announcement.c.slot, "ids"),
            announcement.c.repository_id == repository.id,
            ~_IS_FOLLOWED,
            announcement.c.provisional == 0,
        )
        with self._database.reading() as connection:
            return sorted(connection.execute(query, {"ids": self._database.listed(sorted(slots))}).scalars())

    def strays(self, ids: Collection[int], *, either_side: bool = False) -> list[int]:
        """Return those of the live change points ``ids`` that are in another change than what their chain named, by id.

        That is the lead of its first settled announcement, where it is live. The points are of
        the side that the chain is about, or of ``either_side``.
        """
        if not ids:
            return []
        query = _STRAYS_OF_EITHER_SIDE if either_side else _STRAYS_OF_ITS_SIDE
        with self._database.reading() as connection:
            return list(connection.execute(query, {"ids": self._database.listed(sorted(ids))}).scalars())

    def steady(self, chains: Collection[int]) -> set[int]:
        """Return those of ``chains`` whose last announcement still says what the data show, by one of their members.

        It opened the chain with a change that is present, and no bisection has reported since. The member is a settled
        step of that side which lies where the announcement says, is neither held nor hidden, and no other live member
        is a drift.
        """
        if not chains:
            return set()
        with self._database.reading() as connection:
            return set(connection.execute(_STEADY, {"ids": self._database.listed(sorted(chains))}).scalars())

    def ended(self, chains: Collection[int]) -> set[int]:
        """Return those of ``chains`` that are over, or withdrawn, and have no member from which anything may follow.

        The change returns with a settled member of its side that is present and not hidden, or, where it was withdrawn,
        with any live one.
        """
        if not chains:
            return set()
        last, point = announcement.c, change_point.c
        present = exists().where(
            *_is_member(point),
            (point.direction == Direction.IMPROVEMENT.value) == (last.direction == Direction.IMPROVEMENT.value),
            point.condition == Condition.PRESENT.value,
            point.certainty == Certainty.SETTLED.value,
            point.status != Status.HIDDEN.value,
        )
        live = exists().where(*_is_member(point), point.condition != Condition.GONE.value)
        withdrawn = last.kind == AnnouncementKind.WITHDRAWN.value
        over = ~withdrawn & (last.condition == Condition.RECOVERED.value)
        query = select(last.chain).where(
            self._database.among(last.chain, "ids"), ~_IS_FOLLOWED, or_(over & ~present, withdrawn & ~live)
        )
        with self._database.reading() as connection:
            return set(connection.execute(query, {"ids": self._database.listed(sorted(chains))}).scalars())

    def provisional_gone(self, repository: Repository) -> list[int]:
        """Return the chains that have a provisional announcement only, and whose change went without settling."""
        with self._database.reading() as connection:
            return sorted(connection.execute(_PROVISIONAL_GONE, {"owner": repository.id}).scalars())

    def keep_history_silent(self, repository: Repository) -> None:
        """Mark what is history, and was not announced before: it never is, wherever later data move it."""
        with self._database.transaction() as connection:
            connection.execute(_SILENCE_HISTORY, {"owner": repository.id})

    def silence(self, traces: Collection[int]) -> None:
        """Take all change points of traces out of their chains: nothing is announced about them any more."""
        point = change_point.c
        with self._database.transaction() as connection:
            connection.execute(
                update(change_point).where(self._database.among(point.trace_id, "ids")).values(announced=BASELINE),
                {"ids": self._database.listed(sorted(traces))},
            )

    def mark(self, members: Mapping[int, int]) -> None:
        """Write which change point is a member of which chain."""
        rows = [{"id": key, "announced": chain} for key, chain in sorted(members.items())]
        with self._database.transaction() as connection:
            update_rows(connection, change_point, rows)

    def next_id(self) -> int:
        """Return the id of the next announcement."""
        with self._database.reading() as connection:
            return next_id(connection, announcement)

    def append(self, announcements: Iterable[Announcement]) -> None:
        """Add rows to the ledger, with the ids that they have."""
        rows = [_values(each) for each in announcements]
        if rows:
            with self._database.transaction() as connection:
                connection.execute(announcement.insert(), rows)

    def _select(self, column: ColumnElement[int], values: Collection[int]) -> list[Announcement]:
        if not values:
            return []
        query = select(announcement).where(self._database.among(column, "ids")).order_by(announcement.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query, {"ids": self._database.listed(sorted(values))}).mappings()
            return [_announcement_of(row) for row in rows]

    def _points_of(
        self, column: ColumnElement[int], values: Collection[int], *further: ColumnElement[bool]
    ) -> list[ChangePoint]:
        """Return the change points in which ``column`` is one of ``values``, by id; nothing is asked for no values."""
        if not values:
            return []
        query = MARKED_POINTS.where(self._database.among(column, "values"), *further).order_by(_POINT.id)
        return self._points(query, {"values": self._database.listed(sorted(values))})

    def _points_beside(
        self, column: ColumnElement[int], values: Collection[int], *further: ColumnElement[bool]
    ) -> list[ChangePoint]:
        """Return the change points of the traces with one in which ``column`` is one of ``values``, by id."""
        if not values:
            return []
        wanted = change_point.c.trace_id.in_(
            select(change_point.c.trace_id).where(self._database.among(column, "values"), *further)
        )
        query = MARKED_POINTS.where(wanted).order_by(_POINT.id)
        return self._points(query, {"values": self._database.listed(sorted(values))})

    def _points(self, query: Select[Any], bound: Mapping[str, object]) -> list[ChangePoint]:
        with self._database.reading() as connection:
            rows: Sequence[Mapping[Any, Any]] = connection.execute(query, bound).mappings().all()
        return [change_point_of(row) for row in rows]


def _since(repository: Repository, time: datetime) -> list[ColumnElement[bool]]:
    table = announcement.c
    return [table.repository_id == repository.id, table.time >= time.timestamp(), table.provisional == 0]


def _announcement_of(row: Mapping[Any, Any]) -> Announcement:
    return Announcement(
        id=row["id"],
        chain=row["chain"],
        number=row["number"],
        repository_id=row["repository_id"],
        change_id=row["change_id"],
        kind=AnnouncementKind(row["kind"]),
        time=moment(row["time"]),
        suspect_range=SuspectRange(row["line"], row["previous"], row["slot"]),
        direction=Direction(row["direction"]),
        finding_kind=FindingKind(row["finding_kind"]),
        condition=Condition(row["condition"]),
        traces=row["traces"],
        lead=row["lead"],
        trace_key=row["trace_key"],
        unit=row["unit"],
        before_level=number_or_nan(row["before_level"]),
        after_level=number_or_nan(row["after_level"]),
        size=number_or_nan(row["size"]),
        relative_size=number_or_nan(row["relative_size"]),
        interval=row["interval"],
        cause_id=row["cause_id"],
        provisional=bool(row["provisional"]),
        unsent=row["unsent"],
    )


def _values(each: Announcement) -> dict[str, Any]:
    return {
        "id": each.id,
        "chain": each.chain,
        "number": each.number,
        "repository_id": each.repository_id,
        "change_id": each.change_id,
        "kind": each.kind.value,
        "time": each.time.timestamp(),
        "line": each.suspect_range.line,
        "previous": each.suspect_range.previous,
        "slot": each.suspect_range.slot,
        "direction": each.direction.value,
        "finding_kind": each.finding_kind.value,
        "condition": each.condition.value,
        "traces": each.traces,
        "lead": each.lead,
        "trace_key": each.trace_key,
        "unit": each.unit,
        "before_level": finite_or_none(each.before_level),
        "after_level": finite_or_none(each.after_level),
        "size": finite_or_none(each.size),
        "relative_size": finite_or_none(each.relative_size),
        "interval": each.interval,
        "cause_id": each.cause_id,
        "provisional": int(each.provisional),
        "unsent": each.unsent,
    }
