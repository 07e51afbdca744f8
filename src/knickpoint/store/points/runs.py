"""The runs of a store: write them exactly once, take them out, and say where a point comes from.

:meth:`Runs.write` is the one way in, for one run and for the hundreds of a history file. It reads as its stages, each
of which hands frozen results to the next:

1. identities: which of the runs are stored already (:mod:`~knickpoint.store.points.run_table`);
2. traces and units of all results (:mod:`~knickpoint.store.points.run_resolver`);
3. comparison with what is stored at their commits (:mod:`~knickpoint.store.points.stored_commits` reads it,
   :mod:`~knickpoint.store.points.write_plan` compares);
4. the rows of the runs (:mod:`~knickpoint.store.points.run_table`);
5. their points and provenance (:mod:`~knickpoint.store.points.point_writer`);
6. the event that names the changed traces (:mod:`~knickpoint.store.points.point_writer`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, func, select

from knickpoint.model.bisection import PROBE_RUN
from knickpoint.model.commit import Repository
from knickpoint.model.errors import StoreError
from knickpoint.model.params import encode_key
from knickpoint.model.report import Outcome
from knickpoint.store.array_codec import checked, moment, pack, stored_json
from knickpoint.store.database import Database
from knickpoint.store.events import Outbox
from knickpoint.store.points.parts import PartTable
from knickpoint.store.points.point_writer import PointWriter, publish_changes
from knickpoint.store.points.provenance import Provenance
from knickpoint.store.points.run_resolver import RunResolver
from knickpoint.store.points.run_results import check_samples
from knickpoint.store.points.run_table import (
    Receipt,
    Run,
    RunHead,
    RunKind,
    RunPoint,
    RunRecord,
    RunTable,
    RunWrite,
    StoredRun,
    WithheldRuns,
    run_of,
)
from knickpoint.store.points.stored_commits import ArrivingRun, StoredCommits
from knickpoint.store.points.tiles import Tiles
from knickpoint.store.points.write_plan import plan_recount, plan_write
from knickpoint.store.tables.points import environment
from knickpoint.store.tables.points import run as table
from knickpoint.store.traces.traces import Traces

_ANY: Final = select(table.c.id).where(table.c.repository_id == bindparam("owner")).limit(1)


class Runs:
    """Hold the runs area of a store."""

    def __init__(self, database: Database, traces: Traces, outbox: Outbox) -> None:
        self._database = database
        self._traces = traces
        self._outbox = outbox
        self._table = RunTable(database)
        self._resolver = RunResolver(database, traces.units)
        parts, tiles = PartTable(database), Tiles(database)
        self._withheld = WithheldRuns(database)
        self._commits = StoredCommits(parts, tiles, self._withheld)
        self._points = PointWriter(database, parts, tiles)
        self._provenance = Provenance(database)

    def write(self, repository: Repository, runs: Sequence[RunWrite]) -> list[Receipt]:
        """Write runs, their values, provenance, new traces and event, in one transaction, each exactly once.

        The same content under the same identity changes nothing (SAME); other content under the same identity
        replaces the former content (CORRECTION); another identity at a commit where one of the traces has a
        value joins it (RERUN): the point is the median of the runs' values, whatever the order of arrival. One
        write of many runs leaves the same store as many writes, and their receipts are the same.

        Returns one receipt for each run, in their order.

        Raises:
            InputError: a sample is not finite, or a key is not canonical; nothing is written.
            StoreError: a run has no identity, two runs have the same one, or the database refused; nothing is written.
        """
        _check(runs)
        with self._database.transaction() as connection:
            # Identities
            known = self._table.find(connection, repository.id, [run.identity for run in runs])
            changed = [run for run in runs if not _is_same(run, known.get(run.identity))]
            receipts = {run.identity: Receipt(RunKind.SAME, run.id) for run in known.values()}
            if not changed:
                return [receipts[run.identity] for run in runs]

            # Traces and units
            tables = [run.report.results for run in changed]
            resolved = self._resolver.resolve(connection, repository.id, tables)
            arriving = [
                ArrivingRun(run, each.results, known.get(run.identity))
                for run, each in zip(changed, resolved, strict=True)
            ]

            # Comparison
            leaving = [run.corrects for run in arriving if run.corrects is not None]
            stored = self._commits.read(connection, repository.id, arriving, leaving)
            plan = plan_write(repository.id, arriving, leaving, stored)

            # Runs
            records = [
                RunRecord(run.write, run.corrects, len(run.results.ids), checked(pack(update.chunks)))
                for run, update in zip(arriving, plan.runs, strict=True)
            ]
            run_ids = self._table.record(connection, repository.id, records)
            self._withheld.remove(connection, [run.id for run in leaving])  # a correction counts

            # Points and provenance
            self._points.write(connection, repository.id, plan, run_ids)

            # Event: runs without traces change nothing, so it does not name them.
            with_traces = [run_id for update, run_id in zip(plan.runs, run_ids, strict=True) if update.has_traces]
            publish_changes(self._outbox, repository, plan, with_traces)
        for run, each, update, run_id in zip(arriving, resolved, plan.runs, run_ids, strict=True):
            receipt = Receipt(
                update.kind, run_id, run.results.touched, each.new_traces, each.other_units, update.changes
            )
            receipts[run.write.identity] = receipt
        return [receipts[run.identity] for run in runs]

    def remove(self, repository: Repository, run_ids: Collection[int]) -> None:
        """Take runs and their values out of the store, all or none; the points of other runs stay.

        Raises:
            StoreError: ``repository`` has no such run.
        """
        with self._database.transaction() as connection:
            leaving = self._table.stored(connection, repository.id, run_ids)
            if missing := set(run_ids) - {run.id for run in leaving}:
                raise StoreError(
                    f"there is no run {min(missing)}",
                    where=repository.name,
                    remedy="It may have been removed already; see knick ingest runs.",
                )
            if not leaving:
                return
            stored = self._commits.read(connection, repository.id, [], leaving)
            plan = plan_write(repository.id, [], leaving, stored)
            self._points.write(connection, repository.id, plan, [])
            self._table.delete(connection, [run.id for run in leaving])
            self._withheld.remove(connection, [run.id for run in leaving])
            publish_changes(self._outbox, repository, plan, [run.id for run in leaving])

    def withhold(self, repository: Repository, kept: Mapping[int, NDArray[np.int64]]) -> None:
        """Take the values of runs out of the points; the runs, their samples and where they came from stay.

        ``kept`` has run → the traces that keep their values, sorted. A correction of a withheld run counts again. Each
        point is the median of the runs that count, so the traces change as if these runs were removed, with the same
        event. Runs that are no longer stored are left out.
        """
        self._recount(repository, kept.keys(), kept)

    def restore(self, repository: Repository, run_ids: Collection[int]) -> None:
        """Let the values of withheld runs count again."""
        self._recount(repository, run_ids, {})

    def withheld(self, repository: Repository) -> dict[int, NDArray[np.int64]]:
        """Return the withheld runs of a repository: run → the traces that keep their values, sorted."""
        with self._database.reading() as connection:
            return self._withheld.of_repository(connection, repository.id)

    def _recount(self, repository: Repository, run_ids: Collection[int], kept: Mapping[int, NDArray[np.int64]]) -> None:
        """Let only the traces in ``kept`` of ``run_ids`` count, all of those that are not in it."""
        with self._database.transaction() as connection:
            runs = self._table.stored(connection, repository.id, run_ids)
            if not runs:
                return

            # What is stored is read before it is marked and changed.
            stored = self._commits.read(connection, repository.id, [], runs)
            self._withheld.remove(connection, [run.id for run in runs])
            slots = {run.id: run.slot for run in runs if run.id in kept}
            self._withheld.add(connection, repository.id, slots, kept)
            plan = plan_recount(stored, kept)
            self._points.write(connection, repository.id, plan, [])
            publish_changes(self._outbox, repository, plan, [run.id for run in runs])

    def parts(self, repository: Repository, run_id: int) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Return the measured traces of a run, sorted, and their values, in pieces; also where the run is withheld."""
        with self._database.reading() as connection:
            return [
                (part.ids, part.part.values)
                for run in self._table.stored(connection, repository.id, [run_id])
                for part in self._commits.own_parts(connection, repository.id, run)
            ]

    def values_at(
        self, repository: Repository, trace_ids: NDArray[np.int64], slots: Sequence[int]
    ) -> dict[int, dict[int, float]]:
        """Return the values of some traces in each run at ``slots``: run → trace → value; withheld runs included."""
        found: dict[int, dict[int, float]] = {}
        with self._database.reading() as connection:
            for part in self._commits.parts_of_traces(connection, repository.id, trace_ids, slots):
                wanted = np.isin(part.ids, trace_ids)
                values = zip(part.ids[wanted].tolist(), part.part.values[wanted].tolist(), strict=True)
                found.setdefault(part.row.run_id, {}).update(values)
        return found

    def points(self, trace_id: int, slot: int) -> list[RunPoint]:
        """Return the results of all runs at a point, oldest run first, failures and skips included."""
        found = []
        with self._database.reading() as connection:
            for run_id, piece in self._provenance.pieces(connection, trace_id, slot):
                row = connection.execute(select(table).where(table.c.id == run_id)).one()
                unit = self._traces.units.of_id(connection, piece.unit).unit.text if piece.samples else ""
                run = run_of(connection, row)
                found.append(RunPoint(run, trace_id, piece.outcome, piece.value, unit, piece.samples, piece.message))
        return found

    def state(self, repository: Repository) -> tuple[int, int, int]:
        """Return numbers that change whenever a run arrives, is corrected or is removed."""
        query = select(
            func.count(), func.coalesce(func.max(table.c.id), 0), func.coalesce(func.sum(table.c.corrections), 0)
        )
        with self._database.reading() as connection:
            count, newest, corrections = connection.execute(query.where(table.c.repository_id == repository.id)).one()
        return int(count), int(newest), int(corrections)

    def has_any(self, repository: Repository) -> bool:
        """Return True if ``repository`` has results."""
        with self._database.reading() as connection:
            return self._database.quick(connection, _ANY, {"owner": repository.id}).fetchone() is not None

    def get(self, repository: Repository, identity: str) -> Run | None:
        """Return a run by its identity."""
        where = (table.c.repository_id == repository.id) & (table.c.identity == identity)
        with self._database.reading() as connection:
            row = connection.execute(select(table).where(where)).first()
            return run_of(connection, row) if row is not None else None

    def known(self, repository: Repository, identities: Sequence[str]) -> set[str]:
        """Return those of ``identities`` that a run of ``repository`` has."""
        with self._database.reading() as connection:
            return set(self._table.find(connection, repository.id, identities))

    def at(self, repository: Repository, slots: Sequence[int]) -> list[Run]:
        """Return the runs at ``slots``, by slot and then by arrival."""
        query = select(table).where(self._database.among(table.c.slot))
        query = query.where(table.c.repository_id == repository.id).order_by(table.c.slot, table.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query, {"numbers": self._database.listed(slots)}).all()
            return [run_of(connection, row) for row in rows]

    def branches_at(self, repository: Repository, slots: Sequence[int]) -> list[tuple[int, str, str, str]]:
        """Return slot, branch, identity and source of runs at ``slots`` with a branch, by slot and then by arrival."""
        query = select(table.c.slot, table.c.branch, table.c.identity, table.c.source)
        query = query.where(self._database.among(table.c.slot), table.c.repository_id == repository.id)
        query = query.where(table.c.branch != "").order_by(table.c.slot, table.c.id)
        with self._database.reading() as connection:
            return [(*row,) for row in connection.execute(query, {"numbers": self._database.listed(slots)})]

    def newest(
        self,
        repository: Repository,
        *,
        source: str = "",
        slot: int | None = None,
        run_ids: Collection[int] | None = None,
        limit: int | None = None,
    ) -> list[tuple[Run, int]]:
        """Return runs and how many points each gave, the newest first: of a file, of a commit, or some by their ids."""
        query = select(table).where(table.c.repository_id == repository.id).order_by(table.c.id.desc()).limit(limit)
        if source:
            query = query.where(table.c.source == source)
        if slot is not None:
            query = query.where(table.c.slot == slot)
        numbers = {}
        if run_ids is not None:
            query = query.where(self._database.among(table.c.id))
            numbers = {"numbers": self._database.listed(sorted(run_ids))}
        with self._database.reading() as connection:
            rows = connection.execute(query, numbers).all()
            return [(run_of(connection, row), int(row.points)) for row in rows]

    def counts(self, repository: Repository, slots: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Return slot → how many runs measured the commit, and how many points they gave.

        Without commits without runs.
        """
        query = select(table.c.slot, func.count(), func.sum(table.c.points)).where(self._database.among(table.c.slot))
        query = query.where(table.c.repository_id == repository.id).group_by(table.c.slot)
        with self._database.reading() as connection:
            rows = connection.execute(query, {"numbers": self._database.listed(slots)}).all()
        return {slot: (runs, int(points)) for slot, runs, points in rows}

    def heads(self, repository: Repository) -> list[RunHead]:
        """Return the least of every run of a repository, by slot and then by arrival; each environment is read once."""
        query = select(table.c.id, table.c.slot, table.c.identity, table.c.environment_id)
        query = query.where(table.c.repository_id == repository.id).order_by(table.c.slot, table.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
            facts = self._environments(connection, repository)
        return [RunHead(key, slot, identity, facts.get(number, {})) for key, slot, identity, number in rows]

    def recent(self, repository: Repository, limit: int) -> list[RunHead]:
        """Return the least of the newest runs by arrival, the newest first."""
        columns = (table.c.id, table.c.slot, table.c.identity, environment.c.facts)
        query = select(*columns).outerjoin_from(table, environment, table.c.environment_id == environment.c.id)
        query = query.where(table.c.repository_id == repository.id).order_by(table.c.id.desc()).limit(limit)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return [
            RunHead(key, slot, identity, stored_json(facts) if facts else {}) for key, slot, identity, facts in rows
        ]

    def environments_at(self, repository: Repository, slots: Sequence[int]) -> list[tuple[int, Mapping[str, str]]]:
        """Return slot and environment of the runs at ``slots``, by slot, each pair once.

        Each environment is read once.
        """
        query = select(table.c.slot, table.c.environment_id).where(self._database.among(table.c.slot))
        query = query.where(table.c.repository_id == repository.id).distinct()
        with self._database.reading() as connection:
            rows = connection.execute(
                query.order_by(*query.selected_columns), {"numbers": self._database.listed(slots)}
            )
            pairs = [(slot, number) for slot, number in rows]
            facts = self._environments(connection, repository)
        return [(slot, facts.get(number, {})) for slot, number in pairs]

    def environments(self, repository: Repository) -> list[Mapping[str, str]]:
        """Return the environments that runs of a repository state, each once."""
        with self._database.reading() as connection:
            return [facts for _, facts in sorted(self._environments(connection, repository).items())]

    def _environments(self, connection: Connection, repository: Repository) -> dict[int, Mapping[str, str]]:
        used = select(table.c.environment_id).where(table.c.repository_id == repository.id).distinct()
        query = select(environment.c.id, environment.c.facts).where(environment.c.id.in_(used))
        return {row.id: stored_json(row.facts) for row in connection.execute(query)}

    def slots(self, repository: Repository) -> set[int]:
        """Return the slots of the commits that have a run."""
        query = select(table.c.slot).where(table.c.repository_id == repository.id).distinct()
        with self._database.reading() as connection:
            return set(connection.execute(query).scalars())

    def probed(self, repository: Repository) -> set[int]:
        """Return the slots of the commits that probes of bisections measured."""
        named = table.c.identity.startswith(f"id:{PROBE_RUN}", autoescape=True)
        query = select(table.c.slot).where(table.c.repository_id == repository.id, named).distinct()
        with self._database.reading() as connection:
            return set(connection.execute(query).scalars())

    def failures(self, repository: Repository, slots: Sequence[int]) -> dict[int, set[str]]:
        """Return slot → keys of the benchmarks that failed in a run there, measured ones of other runs included."""
        found: dict[int, set[str]] = {slot: set() for slot in slots}
        with self._database.reading() as connection:
            for slot, ids in self._provenance.failed(connection, repository.id, slots):
                found[slot] |= {trace.key for trace in self._traces.get(ids)}
        for run in self.at(repository, slots):
            found[run.slot] |= {
                encode_key(result.params) for result in run.unmeasured if result.outcome is Outcome.FAILED
            }
        return found

    def first_times(self, repository: Repository) -> dict[int, datetime]:
        """Return slot → when the first of its runs ran, where a report states the time."""
        query = (
            select(table.c.slot, func.min(table.c.time))
            .where(table.c.repository_id == repository.id, table.c.time.is_not(None))
            .group_by(table.c.slot)
        )
        with self._database.reading() as connection:
            return {slot: moment(time) for slot, time in connection.execute(query)}

    def never_measured(self, repository: Repository, *, limit: int = 1000) -> list[Run]:
        """Return the newest runs with results that made no trace because no run has measured them; newest first."""
        query = select(table).where(table.c.repository_id == repository.id, table.c.unmeasured != "")
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(table.c.id.desc()).limit(limit)).all()
            return [run_of(connection, row) for row in rows]

    def traces_without_value(self, repository: Repository, slots: Sequence[int]) -> set[int]:
        """Return the ids of the traces that failed or were skipped in a run at ``slots``."""
        with self._database.reading() as connection:
            return self._provenance.traces_without_value(connection, repository.id, slots)

    def without_value(self, trace_id: int, slots: Sequence[int]) -> list[RunPoint]:
        """Return the failures and skips of a trace in the runs at ``slots``, by slot and arrival."""
        found: list[RunPoint] = []
        with self._database.reading() as connection:
            pieces = self._provenance.without_value(connection, trace_id, slots)
            listed = self._database.listed([number for number, _ in pieces])
            query = select(table).where(self._database.among(table.c.id))
            rows = {row.id: row for row in connection.execute(query, {"numbers": listed})}
            for run_id, piece in pieces:
                run = run_of(connection, rows[run_id])
                found.append(RunPoint(run, trace_id, piece.outcome, piece.value, "", (), piece.message))
        return found


def _check(runs: Sequence[RunWrite]) -> None:
    """Refuse runs without an identity of their own, or whose results cannot be stored."""
    for run in runs:
        if not run.identity:
            raise StoreError(
                "a run needs an identity", where=run.source, remedy="Give its CI run id or its content hash."
            )
    if len({run.identity for run in runs}) < len(runs):
        raise StoreError("each run of a write needs an identity of its own", remedy="Give each run its own id.")
    for run in runs:
        check_samples(run.report.results)


def _is_same(run: RunWrite, stored: StoredRun | None) -> bool:
    """Whether a run is stored with this content already, at this commit."""
    return stored is not None and (stored.content_hash, stored.slot) == (run.content_hash, run.slot)
