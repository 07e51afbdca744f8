"""Hold the findings area of a store: change points, regressions, and what people decided about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, Select, func, select, update

from knickpoint.model.commit import Repository
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.frame import Trace
from knickpoint.model.regression import (
    Action,
    ChangePoint,
    Condition,
    Decision,
    KnownPoint,
    PointUpdate,
    Regression,
    Sighting,
    Status,
    SuspectRange,
)
from knickpoint.store.commits.commits import Commits
from knickpoint.store.database import Database
from knickpoint.store.findings.alerts import AlertTable
from knickpoint.store.findings.bystanders import former_regressions, keep_bystanders
from knickpoint.store.findings.digests import DigestTable
from knickpoint.store.findings.point_updates import Membership, apply_changes, refresh, set_groups
from knickpoint.store.findings.regression_list import (
    Sort,
    Tally,
    count_findings,
    count_regressions,
    list_regressions,
    matching_ids,
    members_after,
    tally_regressions,
)
from knickpoint.store.findings.rows import change_point_of, known_point_of, names_of, sighting_of
from knickpoint.store.findings.selection import Selection
from knickpoint.store.findings.tickets import TicketTable
from knickpoint.store.findings.triage_log import Wish, decide, decided_by, log, undo
from knickpoint.store.tables.findings import change_point, decision, regression, sighting

__all__ = ["Findings"]

_ALL = frozenset(Condition)
_MARKED: Final = select(change_point, func.coalesce(regression.c.history, 0).label("history")).outerjoin(
    regression, change_point.c.regression_id == regression.c.id
)
"""Change points, each with the mark of its regression: 1 for history."""


class Findings:
    """Read and write the findings of a store.

    Alerts write through :mod:`knickpoint.watch`, which knows the rules of identity and of grouping; people
    decide through :mod:`knickpoint.watch.triage.decisions`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._commits = Commits(database)
        self.alerts = AlertTable(database)
        self.tickets = TicketTable(database)
        self.judged = DigestTable(database)

    def regressions(
        self,
        repository: Repository,
        *,
        processed: bool | None = None,
        selection: Selection | None = None,
        sort: Sort = Sort.CHANGE,
        descending: bool = True,
        offset: int = 0,
        limit: int | None = None,
        members: int | None = None,
        only: Collection[int] | None = None,
    ) -> list[Regression]:
        """Return the regressions of ``repository`` that have a member of ``selection``, one page of them.

        ``processed`` False is the list of what nobody has dealt with yet, True of what somebody has, None
        of both; it goes before that of ``selection``. Equal ones are sorted by commit, the newest first.
        ``members`` is how many of them to return of each regression, None for all; the counts are of all.
        ``only`` restricts the list to these regressions.
        """
        wanted = self._wanted(processed, selection)
        with self._database.reading() as connection:
            return list_regressions(
                self._database,
                connection,
                repository.id,
                wanted,
                sort=sort,
                descending=descending,
                position=self._position(repository),
                offset=offset,
                limit=limit,
                members=members,
                only=None if only is None else sorted(only),
            )

    def count(
        self, repository: Repository, *, processed: bool | None = None, selection: Selection | None = None
    ) -> int:
        """Count the regressions that :meth:`regressions` would return without paging."""
        with self._database.reading() as connection:
            return count_regressions(self._database, connection, repository.id, self._wanted(processed, selection))

    def count_findings(
        self, repository: Repository, *, processed: bool | None = None, selection: Selection | None = None
    ) -> int:
        """Count the members of the regressions that :meth:`regressions` would return without paging."""
        with self._database.reading() as connection:
            return count_findings(self._database, connection, repository.id, self._wanted(processed, selection))

    def tally(self, repository: Repository, selection: Selection) -> Tally:
        """Count the regressions with a member of ``selection`` that is unprocessed, processed or gone."""
        with self._database.reading() as connection:
            return tally_regressions(self._database, connection, repository.id, selection)

    def repository_of(self, key: int) -> Repository:
        """Return the repository of the regression ``key``.

        Raises:
            InputError: there is none.
        """
        with self._database.reading() as connection:
            found = connection.execute(select(regression.c.repository_id).where(regression.c.id == key)).scalar()
        if found is None:
            raise InputError(f"there is no regression {key}", remedy="List what there is with knick regressions.")
        return self._repository(found)

    def matching(self, repository: Repository, selection: Selection, regressions: Collection[int]) -> list[int]:
        """Return the ids of the members of ``selection`` of some regressions, ascending."""
        with self._database.reading() as connection:
            return matching_ids(self._database, connection, repository.id, selection, sorted(regressions))

    def members_page(
        self, repository: Repository, selection: Selection, key: int, *, after: int | None, limit: int
    ) -> list[ChangePoint]:
        """Return ``limit`` members of ``selection`` of a regression, the worst first, equal ones by trace key.

        ``after`` is the member to begin behind, also if it has left the selection; None begins with the first.

        Raises:
            InputError: there is no member ``after``.
        """
        with self._database.reading() as connection:
            return members_after(self._database, connection, repository.id, selection, key, after=after, limit=limit)

    def regression(self, key: int) -> Regression:
        """Return the regression ``key`` with all its members, those included that are gone.

        Raises:
            InputError: there is none.
        """
        with self._database.reading() as connection:
            row = connection.execute(select(regression.c.repository_id).where(regression.c.id == key)).first()
            found = row and list_regressions(
                self._database,
                connection,
                row.repository_id,
                Selection(conditions=_ALL),
                sort=Sort.CHANGE,
                descending=True,
                position=lambda _line, _slot: 0,
                only=[key],
            )
        if not found:
            raise InputError(f"there is no regression {key}", remedy="List what there is with knick regressions.")
        return found[0]

    def change_points(self, trace_id: int, *, gone: bool = False) -> list[ChangePoint]:
        """Return the change points of a trace in the order of their line, with ``gone`` also those that are gone."""
        query = _MARKED.where(change_point.c.trace_id == trace_id).order_by(change_point.c.id)
        if not gone:
            query = query.where(change_point.c.condition != Condition.GONE.value)
        with self._database.reading() as connection:
            rows = connection.execute(query).mappings().all()
            if not rows:
                return []
            repository = self._repository(rows[0]["repository_id"])
            position = self._position(repository)
        points = [change_point_of(row) for row in rows]
        return sorted(
            points, key=lambda point: (position(point.suspect_range.line, point.suspect_range.slot), point.id)
        )

    def points(self, ids: Collection[int]) -> list[ChangePoint]:
        """Return change points by id, in ascending order; ids that do not exist are left out."""
        rows = self._rows(_MARKED, change_point.c.id, ids, change_point.c.id)
        return [change_point_of(row) for row in rows]

    def splits_and_merges(self, ids: Collection[int]) -> dict[int, tuple[int, int]]:
        """Return the numbers of the split and of the merge that hold each of some change points, 0 for none."""
        point = change_point.c
        rows = self._rows(select(point.id, point.apart, point.together), point.id, ids)
        return {row["id"]: (row["apart"], row["together"]) for row in rows}

    def joined_with(self, ids: Collection[int]) -> set[int]:
        """Return the regressions of the live change points that a merge joined with some of ``ids``."""
        point = change_point.c
        merges = {merge for _, merge in self.splits_and_merges(ids).values()} - {0}
        rows = self._rows(select(point.regression_id, point.condition), point.together, merges)
        return {row["regression_id"] for row in rows if row["condition"] != Condition.GONE.value}

    def keep_bystanders(self, act: int, former: Mapping[int, int]) -> None:
        """Keep change point → former regression of those that the split or merge ``act`` of others moved."""
        with self._database.transaction() as connection:
            keep_bystanders(connection, act, former)

    def former_regressions(self, acts: Collection[int]) -> dict[int, int]:
        """Return change point → regression before the splits and merges ``acts`` of others moved it."""
        with self._database.reading() as connection:
            return former_regressions(self._database, connection, acts)

    def of_traces(self, trace_ids: Collection[int]) -> dict[int, list[ChangePoint]]:
        """Return the live change points of many traces, by trace and slot."""
        found: dict[int, list[ChangePoint]] = {}
        for row in self._rows(_MARKED, change_point.c.trace_id, trace_ids, change_point.c.slot):
            if row["condition"] != Condition.GONE.value:
                found.setdefault(row["trace_id"], []).append(change_point_of(row))
        return found

    def known(self, trace_ids: Collection[int]) -> dict[int, list[KnownPoint]]:
        """Return what the identity rule needs to know of traces, points that are gone included."""
        found: dict[int, list[KnownPoint]] = {}
        for row in self._rows(select(change_point), change_point.c.trace_id, trace_ids, change_point.c.id):
            found.setdefault(row["trace_id"], []).append(known_point_of(row))
        return found

    def sightings(self, trace_ids: Collection[int]) -> dict[int, list[Sighting]]:
        """Return what the alerts saw of traces at their last look, by alert name and slot."""
        found: dict[int, list[Sighting]] = {}
        for row in self._rows(select(sighting), sighting.c.trace_id, trace_ids, sighting.c.alert, sighting.c.slot):
            found.setdefault(row["trace_id"], []).append(sighting_of(row))
        return found

    def sightings_of(self, alert: str, trace_ids: Collection[int]) -> int:
        """Count what ``alert`` saw in traces at its last look."""
        numbers = self._database.among(sighting.c.trace_id, "ids")
        query = select(func.count()).select_from(sighting).where(sighting.c.alert == alert, numbers)
        with self._database.reading() as connection:
            return int(connection.execute(query, {"ids": self._database.listed(list(trace_ids))}).scalar_one())

    def slots_seen_by(self, alert: str, trace_ids: Collection[int]) -> dict[int, list[int]]:
        """Return the slots at which ``alert`` saw something at its last look, ascending, for traces that have any."""
        query = select(sighting.c.trace_id, sighting.c.slot).where(
            sighting.c.alert == alert, self._database.among(sighting.c.trace_id, "ids")
        )
        found: dict[int, list[int]] = {}
        with self._database.reading() as connection:
            rows = connection.execute(
                query.order_by(sighting.c.trace_id, sighting.c.slot), {"ids": self._database.listed(list(trace_ids))}
            )
            for row in rows:
                found.setdefault(row.trace_id, []).append(row.slot)
        return found

    def traces_seen_by(self, alert: str, repository: Repository) -> list[int]:
        """Return the traces in which ``alert`` saw something at its last look, ascending."""
        own = (sighting.c.alert == alert) & (sighting.c.repository_id == repository.id)
        query = select(sighting.c.trace_id).where(own).distinct().order_by(sighting.c.trace_id)
        with self._database.reading() as connection:
            return list(connection.execute(query).scalars())

    def decided_traces(self, repository: Repository) -> list[int]:
        """Return the traces with a change point that somebody decided about or that has a ticket, ascending."""
        decided = change_point.c.id.in_(select(decision.c.change_point_id)) | (change_point.c.matched_ticket != "")
        query = select(change_point.c.trace_id).where(change_point.c.repository_id == repository.id, decided)
        with self._database.reading() as connection:
            return list(connection.execute(query.distinct().order_by(change_point.c.trace_id)).scalars())

    def alerts_seen(self) -> list[str]:
        """Return the names of the alerts that have sightings, sorted."""
        with self._database.reading() as connection:
            return list(connection.execute(select(sighting.c.alert).distinct().order_by(sighting.c.alert)).scalars())

    def fates(self, repository: Repository, alert: str) -> dict[tuple[Condition, Status], int]:
        """Count what became of the change points that ``alert`` found, by condition and status.

        A point that is gone counts for the alerts that saw it last.
        """
        point = change_point.c
        query = select(point.alerts, point.condition, point.status, func.count().label("number"))
        query = query.where(point.repository_id == repository.id)
        counted: Counter[tuple[Condition, Status]] = Counter()
        with self._database.reading() as connection:
            for row in connection.execute(query.group_by(point.alerts, point.condition, point.status)):
                if alert in names_of(row.alerts):
                    counted[Condition(row.condition), Status(row.status)] += row.number
        return counted

    def apply(self, repository: Repository, changes: Sequence[PointUpdate], traces: Mapping[int, Trace]) -> list[int]:
        """Write what a look at the data changed; return the id of each change point, in the same order."""
        with self._database.transaction() as connection:
            return apply_changes(
                self._database, connection, repository.id, changes, traces, seconds=datetime.now(UTC).timestamp()
            )

    def members(
        self,
        repository: Repository,
        *,
        among: Collection[int] | None = None,
        regressions: Collection[int] | None = None,
    ) -> list[dict[str, Any]]:
        """Return what grouping needs of live change points, by id: of all, those ``among``, or those of regressions.

        Columns: id, trace_id, trace_key, line, previous, slot, apart, together, regression_id, matched_ticket.
        """
        point = change_point.c
        place = (point.line, point.previous, point.slot)
        decided = (point.apart, point.together, point.regression_id, point.matched_ticket)
        query = select(point.id, point.trace_id, point.trace_key, *place, *decided).where(
            point.repository_id == repository.id, point.condition != Condition.GONE.value
        )
        bound: dict[str, object] = {}
        for name, column, ids in (("ids", point.id, among), ("held", point.regression_id, regressions)):
            if ids is not None:
                query = query.where(self._database.among(column, name))
                bound[name] = self._database.listed(sorted(ids))
        with self._database.reading() as connection:
            return [dict(row) for row in connection.execute(query.order_by(point.id), bound).mappings()]

    def spans(self, repository: Repository) -> list[tuple[SuspectRange, int]]:
        """Return where live change points are, and in which regressions (0 for none), each pair once."""
        point = change_point.c
        query = select(point.line, point.previous, point.slot, point.regression_id).distinct()
        query = query.where(point.repository_id == repository.id, point.condition != Condition.GONE.value)
        with self._database.reading() as connection:
            return [(SuspectRange(row[0], row[1], row[2]), row[3]) for row in connection.execute(query)]

    def places(self, repository: Repository) -> dict[int, SuspectRange]:
        """Return the place of every regression that has live members, by id."""
        own = (regression.c.repository_id == repository.id) & (regression.c.traces > 0)
        names = (regression.c.id, regression.c.line, regression.c.previous, regression.c.slot)
        with self._database.reading() as connection:
            rows = connection.execute(select(*names).where(own).order_by(regression.c.id))
            return {row.id: SuspectRange(row.line, row.previous, row.slot) for row in rows}

    def has_loose_points(self, repository: Repository) -> bool:
        """Say whether there are live change points that no regression has taken in yet."""
        loose = (change_point.c.regression_id == 0) & (change_point.c.repository_id == repository.id)
        query = select(change_point.c.id).where(loose, change_point.c.condition != Condition.GONE.value).limit(1)
        with self._database.reading() as connection:
            return connection.execute(query).first() is not None

    def refresh(self, ids: Collection[int]) -> None:
        """Count and weigh anew the regressions that the change points ``ids`` belong to."""
        with self._database.transaction() as connection:
            self._refresh_of(connection, ids)

    def set_groups(
        self, repository: Repository, groups: Sequence[Membership], *, left: Collection[int] = ()
    ) -> list[int]:
        """Write which change points make one regression; return the id of each group, in the same order."""
        with self._database.transaction() as connection:
            seconds = datetime.now(UTC).timestamp()
            return set_groups(self._database, connection, repository.id, groups, left=left, seconds=seconds)

    def repositories_of(self, ids: Collection[int]) -> list[Repository]:
        """Return the repositories that the change points ``ids`` belong to, by name."""
        keys = self._distinct(change_point.c.repository_id, ids)
        return [repository for repository in self._commits.repositories() if repository.id in keys]

    def regressions_of(self, ids: Collection[int]) -> list[int]:
        """Return the regressions that the change points ``ids`` belong to, ascending; 0 stands for none yet."""
        return sorted(self._distinct(change_point.c.regression_id, ids))

    def live_members(self, regression_id: int) -> list[ChangePoint]:
        """Return the members of a regression that are not gone, by id."""
        rows = self._rows(_MARKED, change_point.c.regression_id, [regression_id], change_point.c.id)
        return [change_point_of(row) for row in rows if row["condition"] != Condition.GONE.value]

    def set_matched_tickets(self, matches: Mapping[int, str]) -> None:
        """Say which ticket covers which change point, "" for none."""
        with self._database.transaction() as connection:
            for key, name in matches.items():
                connection.execute(update(change_point).where(change_point.c.id == key).values(matched_ticket=name))
            self._refresh_of(connection, matches)

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

        Raises:
            InputError: nobody signs, an id is unknown, or the status ticket comes without a ticket.
        """
        wish = Wish(action, status, note, ticket, assignee)
        with self._database.transaction() as connection:
            decisions = decide(self._database, connection, sorted(set(ids)), wish, who=who, time=time)
            self._refresh_of(connection, ids)
            return decisions

    def undo(self, ids: Collection[int], who: str = "", *, time: datetime | None = None) -> list[Decision]:
        """Take back the last decision about each of ``ids`` that still counts; undo again to go further back."""
        with self._database.transaction() as connection:
            decisions = undo(self._database, connection, sorted(set(ids)), who=who, time=time)
            self._refresh_of(connection, ids)
            return decisions

    def decided_by(self, first: int, last: int) -> list[int]:
        """Return the change points whose last decision that counts is one of the entries ``first`` to ``last``."""
        with self._database.reading() as connection:
            return decided_by(connection, first, last)

    def log(self, ids: Collection[int] | None = None) -> list[Decision]:
        """Return the triage log, oldest entry first: all of it, or what is about the change points ``ids``."""
        with self._database.reading() as connection:
            return log(self._database, connection, None if ids is None else sorted(set(ids)))

    def _wanted(self, processed: bool | None, selection: Selection | None) -> Selection:  # noqa: FBT001
        wanted = selection or Selection()
        return wanted if processed is None else replace(wanted, processed=processed)

    def _rows(self, rows: Select[Any], column: Any, ids: Collection[int], *order: Any) -> list[Any]:
        numbers = self._database.numbers("ids")
        query = rows.where(column.in_(select(numbers.c.value))).order_by(*order)
        with self._database.reading() as connection:
            return list(connection.execute(query, {"ids": self._database.listed(sorted(ids))}).mappings())

    def _distinct(self, column: Any, ids: Collection[int]) -> set[int]:
        query = select(column).distinct().where(self._database.among(change_point.c.id, "ids"))
        with self._database.reading() as connection:
            return set(connection.execute(query, {"ids": self._database.listed(sorted(ids))}).scalars())

    def _refresh_of(self, connection: Connection, ids: Collection[int]) -> None:
        refresh(self._database, connection, self._distinct(change_point.c.regression_id, ids) - {0})

    def _repository(self, key: int) -> Repository:
        for repository in self._commits.repositories():
            if repository.id == key:
                return repository
        raise HistoryError(f"there is no repository with id {key}", remedy="Restore the newest backup.")

    def _position(self, repository: Repository) -> Callable[[str, int], int]:
        """Return the position of a slot on a line; a line that is no more counts as the default one."""
        default = self._commits.line(repository)
        positions: dict[str, Mapping[int, int]] = {default.name: default.positions}

        def position(line: str, slot: int) -> int:
            if line not in positions:
                known = line in self._commits.lines(repository)
                positions[line] = self._commits.line(repository, line).positions if known else default.positions
            return positions[line].get(slot, -1)

        return position
