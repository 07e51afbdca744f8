"""Hold the findings area of a store: change points, the changes that they form, and lists of both.

A *change point* is a step of one trace, a *change* the change points that share a suspect range. Alerts write both
through :mod:`knickpoint.watch`, which has the rules of identity and of grouping; people decide through
:mod:`knickpoint.watch.triage`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, func, select, update

from knickpoint.model.alert import Alert, AlertKind
from knickpoint.model.change_point import ChangePoint, Condition, Direction, KnownPoint, PointUpdate, Status
from knickpoint.model.commit import Repository
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.frame import Trace
from knickpoint.model.settlement import FindingKind
from knickpoint.model.statement import Change, ChangeDirection
from knickpoint.store.commits import Commits
from knickpoint.store.database import Database
from knickpoint.store.findings.alert_definitions import AlertDefinitions, AlertRuns, ProposalDecisions
from knickpoint.store.findings.announcements import AnnouncementLedger
from knickpoint.store.findings.change_list import (
    Page,
    PointState,
    Sort,
    Tally,
    count_changes,
    count_directions,
    count_findings,
    list_changes,
    matching_ids,
    members_after,
    tally_changes,
)
from knickpoint.store.findings.groups import GroupTable, refresh_changes_of
from knickpoint.store.findings.point_updates import AlertsInForce, write_point_updates
from knickpoint.store.findings.records import FindingRecords, MissedChangeTable
from knickpoint.store.findings.rows import MARKED_POINTS, change_point_of, known_point_of, names_of
from knickpoint.store.findings.selection import ChangeMarks, Selection
from knickpoint.store.findings.sightings import ClusterTable, DigestTable, NewestVerdicts, SightingTable
from knickpoint.store.findings.statements import StatementTable, SuspectTable
from knickpoint.store.findings.tickets import TicketTable, TrackerTicketTable
from knickpoint.store.findings.triage_log import TriageLog
from knickpoint.store.tables.findings import STATEMENTS_OF_POINTS, change, change_point, decision, sighting

_LATELY: Final = timedelta(days=7)

_POINTS: Final = select(change_point)
_LIVE_SLOTS: Final = select(change_point.c.trace_id, change_point.c.slot).where(
    change_point.c.condition != Condition.GONE.value
)


class Findings:
    """Read and write the findings of a store.

    Attributes:
        alert_runs: the log of alert runs.
        alert_definitions: alerts that are defined outside of the configuration.
        alerts_in_force: the alerts that run, with all their settings, and those that were applied.
        digests: what alerts detected in when they last ran, by trace.
        sightings: what alerts saw.
        groups: which change points make one change.
        triage: what people decided.
        tickets: which traces and which commit each ticket is about.
        tracker_tickets: tickets that channels made in trackers, and their state there.
        announcements: the ledger of what was announced.
        clusters: traces that moved together, as alerts that judge traces together found them.
        newest: verdicts on the newest values of traces.
        missed: changes that people marked as missed.
        marks: where findings are, for small drawings.
        proposals: proposals to change alerts that people accepted or rejected.
        records: findings with their first decisions, for measuring the alerts.
        suspects: the commits that may have caused each change.
        statements: what each change is.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._commits = Commits(database)
        self.alert_runs = AlertRuns(database)
        self.alert_definitions = AlertDefinitions(database)
        self.alerts_in_force = AlertsInForce(database)
        self.digests = DigestTable(database)
        self.sightings = SightingTable(database)
        self.groups = GroupTable(database)
        self.triage = TriageLog(database)
        self.tickets = TicketTable(database)
        self.tracker_tickets = TrackerTicketTable(database)
        self.announcements = AnnouncementLedger(database)
        self.clusters = ClusterTable(database)
        self.newest = NewestVerdicts(database)
        self.missed = MissedChangeTable(database)
        self.marks = ChangeMarks(database)
        self.proposals = ProposalDecisions(database)
        self.records = FindingRecords(database)
        self.suspects = SuspectTable(database)
        self.statements = StatementTable(database)

    # Changes

    def changes(
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
    ) -> list[Change]:
        """Return the changes of ``repository`` that have a member of ``selection``, one page of them.

        ``processed`` False lists members without a decision and a ticket, True those with one, None both; it takes
        the place of that of ``selection``. Equal changes are sorted by commit, the newest first. ``members`` is
        how many to return of each change, None for all; the counts are of all. ``only`` restricts the list to
        these changes.
        """
        page = Page(sort, descending, offset, limit, members, None if only is None else tuple(sorted(only)))
        wanted = _processed(selection, processed)
        with self._database.reading() as connection:
            position = self._position(repository)
            return list_changes(self._database, connection, repository.id, wanted, page, position=position)

    def change(self, key: int) -> Change:
        """Return the change ``key`` with all its members, those included that are gone.

        Raises:
            InputError: there is none.
        """
        everything = Selection(conditions=frozenset(Condition), alert_kinds=None)
        with self._database.reading() as connection:
            row = connection.execute(select(change.c.repository_id).where(change.c.id == key)).first()
            found = row and list_changes(
                self._database,
                connection,
                row.repository_id,
                everything,
                Page(only=(key,)),
                position=lambda _line, _slot: 0,
            )
        if not found:
            raise _no_change(key)
        return found[0]

    def count(
        self, repository: Repository, *, processed: bool | None = None, selection: Selection | None = None
    ) -> int:
        """Count the changes that :meth:`changes` would return without paging."""
        with self._database.reading() as connection:
            return count_changes(self._database, connection, repository.id, _processed(selection, processed))

    def count_findings(
        self, repository: Repository, *, processed: bool | None = None, selection: Selection | None = None
    ) -> int:
        """Count the members of the changes that :meth:`changes` would return without paging."""
        with self._database.reading() as connection:
            return count_findings(self._database, connection, repository.id, _processed(selection, processed))

    def directions(self, repository: Repository, selection: Selection) -> Counter[ChangeDirection]:
        """Count the changes with a member of ``selection`` by their direction."""
        with self._database.reading() as connection:
            return count_directions(self._database, connection, repository.id, selection)

    def filter_names(self, repositories: Sequence[Repository]) -> dict[str, set[str]]:
        """Return the alerts, assignees and tickets that change points of some repositories have, by those three words."""
        point = change_point.c
        columns = {
            "alert": [sighting.c.alert],
            "assignee": [point.assignee],
            "ticket": [point.ticket, point.matched_ticket],
        }
        found: dict[str, set[str]] = {}
        with self._database.reading() as connection:
            for word, some in columns.items():
                queries = (
                    select(column)
                    .distinct()
                    .where(column.table.c.repository_id.in_([each.id for each in repositories]))
                    for column in some
                )
                found[word] = {name for query in queries for name in connection.execute(query).scalars() if name}
        return found

    def tally(self, repository: Repository, selection: Selection) -> Tally:
        """Count the changes with a member of ``selection`` that is unprocessed, processed or gone."""
        with self._database.reading() as connection:
            return tally_changes(self._database, connection, repository.id, selection)

    def matching(self, repository: Repository, selection: Selection, changes: Collection[int]) -> list[int]:
        """Return the ids of the members of ``selection`` of some changes, ascending."""
        with self._database.reading() as connection:
            return matching_ids(self._database, connection, repository.id, selection, sorted(changes))

    def members_page(
        self, repository: Repository, selection: Selection, key: int, *, after: int | None, limit: int
    ) -> list[ChangePoint]:
        """Return ``limit`` members of ``selection`` of a change, the worst first, equal ones by trace key.

        ``after`` is the member to begin behind, also if it has left the selection; None begins with the first.

        Raises:
            InputError: there is no member ``after``.
        """
        with self._database.reading() as connection:
            return members_after(self._database, connection, repository.id, selection, key, after=after, limit=limit)

    def members_of(self, change_id: int) -> set[int]:
        """Return the ids of the members of a change, also of those that are gone."""
        with self._database.reading() as connection:
            query = select(change_point.c.id).where(change_point.c.change_id == change_id)
            return set(connection.execute(query).scalars())

    def changes_sharing_traces(self, change_id: int, *, most: int = 100) -> dict[int, int]:
        """Return other change → number of traces in which both have live members, for those that share most."""
        other, own = change_point.alias("other"), change_point.c
        number = func.count(other.c.trace_id.distinct())
        query = (
            select(other.c.change_id, number)
            .join(change_point, own.trace_id == other.c.trace_id)
            .where(own.change_id == change_id, other.c.change_id.not_in([0, change_id]))
            .where(other.c.condition != Condition.GONE.value)
            .group_by(other.c.change_id)
            .order_by(number.desc(), other.c.change_id)
            .limit(most)
        )
        with self._database.reading() as connection:
            return {int(row[0]): int(row[1]) for row in connection.execute(query)}

    def live_members(self, change_id: int) -> list[ChangePoint]:
        """Return the members of a change that are not gone, by id."""
        point = change_point.c
        rows = self._rows(MARKED_POINTS, point.change_id, [change_id], point.id)
        return [change_point_of(row) for row in rows if row["condition"] != Condition.GONE.value]

    def alerts_of_changes(self, keys: Collection[int]) -> dict[int, tuple[Alert, ...]]:
        """Return change → the alerts that found it, by name, with their settings of today.

        Alerts that no longer run are left out, and so is a change without any other.
        """
        return self.alerts_in_force.of_changes(keys)

    def unwatched_lately(self, repositories: Collection[Repository]) -> set[int]:
        """Return the changes that no alert watches any more, and that stay until the next run or went in the last 7 days."""
        return self.alerts_in_force.unwatched_changes(repositories, since=datetime.now(UTC) - _LATELY)

    def work_among(self, keys: Collection[int]) -> set[int]:
        """Return those of the changes ``keys`` that have a member which is work: not informational, no canary."""
        if not keys:
            return set()
        point = change_point.c
        among = self._database.among(point.change_id, "ids")
        query = select(point.change_id).distinct().where(among, point.alert_kind == AlertKind.WORK.value)
        with self._database.reading() as connection:
            return set(connection.execute(query, {"ids": self._database.listed(sorted(keys))}).scalars())

    def repository_of(self, key: int) -> Repository:
        """Return the repository of the change ``key``.

        Raises:
            InputError: there is none.
        """
        with self._database.reading() as connection:
            found = connection.execute(select(change.c.repository_id).where(change.c.id == key)).scalar()
        if found is None:
            raise _no_change(key)
        return self._repository(found)

    def owners_of_changes(self, keys: Collection[int]) -> dict[int, int]:
        """Return change → id of its repository; unknown changes are left out."""
        return self._owners(change.c.id, change.c.repository_id, keys)

    # Change points

    def owners(self, ids: Collection[int]) -> dict[int, int]:
        """Return change point → id of its repository; unknown change points are left out."""
        return self._owners(change_point.c.id, change_point.c.repository_id, ids)

    def points(self, ids: Collection[int]) -> list[ChangePoint]:
        """Return change points by id, in ascending order; ids that do not exist are left out."""
        return [change_point_of(row) for row in self._rows(MARKED_POINTS, change_point.c.id, ids, change_point.c.id)]

    def change_points(self, trace_id: int, *, gone: bool = False) -> list[ChangePoint]:
        """Return the change points of a trace in the order of their line, with ``gone`` also those that are gone."""
        with self._database.reading():
            rows = self._rows(MARKED_POINTS, change_point.c.trace_id, [trace_id], change_point.c.id)
            if not gone:
                rows = [row for row in rows if row["condition"] != Condition.GONE.value]
            if not rows:
                return []
            position = self._position(self._repository(rows[0]["repository_id"]))
            points = [change_point_of(row) for row in rows]
            return sorted(
                points, key=lambda point: (position(point.suspect_range.line, point.suspect_range.slot), point.id)
            )

    def of_traces(self, trace_ids: Collection[int]) -> dict[int, list[ChangePoint]]:
        """Return the live change points of many traces, by trace and slot."""
        found: dict[int, list[ChangePoint]] = {}
        for row in self._rows(MARKED_POINTS, change_point.c.trace_id, trace_ids, change_point.c.slot):
            if row["condition"] != Condition.GONE.value:
                found.setdefault(row["trace_id"], []).append(change_point_of(row))
        return found

    def slots(self, trace_ids: Collection[int]) -> dict[int, list[int]]:
        """Return trace → the slots of its live change points, ascending; traces without any are left out."""
        found: dict[int, list[int]] = {}
        for row in self._rows(_LIVE_SLOTS, change_point.c.trace_id, trace_ids, change_point.c.slot):
            found.setdefault(row["trace_id"], []).append(row["slot"])
        return found

    def judged_sizes(self) -> dict[int, list[tuple[float, Direction]]]:
        """Return trace → size and direction of its live change points.

        Less noise is better in every trace, and left out.
        """
        point = change_point.c
        query = select(point.trace_id, point.size, point.direction).where(
            point.condition != Condition.GONE.value, point.kind != FindingKind.NOISE.value, point.size.is_not(None)
        )
        found: dict[int, list[tuple[float, Direction]]] = {}
        with self._database.reading() as connection:
            for trace, size, direction in connection.execute(query.order_by(point.id)):
                found.setdefault(trace, []).append((size, Direction(direction)))
        return found

    def known(self, trace_ids: Collection[int]) -> dict[int, list[KnownPoint]]:
        """Return the known points of traces that the rule of identity needs, points that are gone included."""
        found: dict[int, list[KnownPoint]] = {}
        for row in self._rows(_POINTS, change_point.c.trace_id, trace_ids, change_point.c.id):
            found.setdefault(row["trace_id"], []).append(known_point_of(row))
        return found

    def apply(
        self,
        repository: Repository,
        changes: Sequence[PointUpdate],
        traces: Mapping[int, Trace],
        *,
        found: datetime | None = None,
    ) -> list[int]:
        """Write what a run of alerts changed; return the id of each change point, in the same order.

        ``found`` is when new points were found, None for now: points of one run have one time.
        """
        now = datetime.now(UTC)
        with self._database.transaction() as connection:
            return write_point_updates(
                self._database,
                connection,
                repository.id,
                changes,
                traces,
                seconds=now.timestamp(),
                found=(found or now).timestamp(),
            )

    def move_to_trace(self, ids: Collection[int], trace: Trace) -> None:
        """Let the change points ``ids``, with their sightings and decisions, belong to ``trace``."""
        chosen = {"ids": self._database.listed(sorted(ids))}
        with self._database.transaction() as connection:
            point = update(change_point).where(self._database.among(change_point.c.id, "ids"))
            connection.execute(point.values(trace_id=trace.id, trace_key=trace.key), chosen)
            seen = update(sighting).where(self._database.among(sighting.c.change_point_id, "ids"))
            connection.execute(seen.values(trace_id=trace.id), chosen)
            self._database.later(STATEMENTS_OF_POINTS, ids)

    def set_matched_tickets(self, matches: Mapping[int, str]) -> None:
        """Write which ticket covers which change point, "" for none."""
        with self._database.transaction() as connection:
            for key, name in matches.items():
                connection.execute(update(change_point).where(change_point.c.id == key).values(matched_ticket=name))
            refresh_changes_of(self._database, connection, matches)

    def repositories_of(self, ids: Collection[int]) -> list[Repository]:
        """Return the repositories that the change points ``ids`` belong to, by name."""
        keys = self._distinct(change_point.c.repository_id, ids)
        return [repository for repository in self._commits.repositories() if repository.id in keys]

    def changes_of(self, ids: Collection[int]) -> list[int]:
        """Return the changes that the change points ``ids`` belong to, ascending; 0 stands for none yet."""
        return sorted(self._distinct(change_point.c.change_id, ids))

    def decided_traces(self, repository: Repository) -> list[int]:
        """Return the traces with a change point that has a decision or a ticket, ascending."""
        decided = change_point.c.id.in_(select(decision.c.change_point_id)) | (change_point.c.matched_ticket != "")
        query = select(change_point.c.trace_id).where(change_point.c.repository_id == repository.id, decided)
        with self._database.reading() as connection:
            return list(connection.execute(query.distinct().order_by(change_point.c.trace_id)).scalars())

    def count_states(self, repository: Repository, alert: str) -> dict[PointState, int]:
        """Count the change points that ``alert`` found, by condition and status.

        A point that is gone counts for the alerts that saw it last.
        """
        point = change_point.c
        query = select(point.alerts, point.condition, point.status, func.count().label("number"))
        query = query.where(point.repository_id == repository.id)
        counted: Counter[PointState] = Counter()
        with self._database.reading() as connection:
            for row in connection.execute(query.group_by(point.alerts, point.condition, point.status)):
                if alert in names_of(row.alerts):
                    counted[PointState(Condition(row.condition), Status(row.status))] += row.number
        return counted

    def _rows(
        self, query: Select[Any], column: ColumnElement[int], values: Collection[int], order: ColumnElement[int]
    ) -> list[dict[str, Any]]:
        """Return the rows of ``query``, of this module, in which ``column`` is one of ``values``, sorted by ``order``."""
        if not values:
            return []
        wanted = {"wanted": self._database.listed(sorted(values))}
        with self._database.reading() as connection:
            return self._database.quick_rows(connection, _chosen(query, column, order), wanted)

    def _owners(self, key: ColumnElement[int], owner: ColumnElement[int], wanted: Collection[int]) -> dict[int, int]:
        query = select(key.label("key"), owner.label("owner")).where(self._database.among(key, "wanted"))
        with self._database.reading() as connection:
            rows = connection.execute(query, {"wanted": self._database.listed(sorted(set(wanted)))})
            return {row.key: row.owner for row in rows}

    def _distinct(self, column: ColumnElement[int], ids: Collection[int]) -> set[int]:
        """Return the values of ``column`` in the change points ``ids``."""
        query = select(column).distinct().where(self._database.among(change_point.c.id, "ids"))
        with self._database.reading() as connection:
            return set(connection.execute(query, {"ids": self._database.listed(sorted(ids))}).scalars())

    def _repository(self, key: int) -> Repository:
        for repository in self._commits.repositories():
            if repository.id == key:
                return repository
        raise HistoryError(f"there is no repository with id {key}", remedy="Restore the newest backup.")

    def _position(self, repository: Repository) -> Callable[[str, int], int]:
        """Return the function (line, slot) → position; a line that no longer exists counts as the default one."""
        default = self._commits.line(repository)
        positions: dict[str, Mapping[int, int]] = {default.name: default.positions}

        def position(line: str, slot: int) -> int:
            if line not in positions:
                exists = line in self._commits.lines(repository)
                positions[line] = self._commits.line(repository, line).positions if exists else default.positions
            return positions[line].get(slot, -1)

        return position


@cache
def _chosen(query: Select[Any], column: ColumnElement[int], order: ColumnElement[int]) -> Select[Any]:
    return query.where(Database.among(column, "wanted")).order_by(order)


def _processed(selection: Selection | None, processed: bool | None) -> Selection:  # noqa: FBT001
    wanted = selection or Selection()
    return wanted if processed is None else replace(wanted, processed=processed)


def _no_change(key: int) -> InputError:
    return InputError(f"there is no change {key}", remedy="knick changes lists them.")
