"""Write runs exactly once, and tell where a point comes from."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, bindparam, func, select, update

from knickpoint.model.commit import Repository
from knickpoint.model.errors import StoreError
from knickpoint.model.params import decode_key, encode_key
from knickpoint.model.report import Outcome, Result, RunReport
from knickpoint.store.array_codec import pack
from knickpoint.store.database import Database
from knickpoint.store.events.outbox import Outbox
from knickpoint.store.events.packed_ids import PackedIds, pack_ids
from knickpoint.store.events.payloads import MOST_LISTED, TracesChanged
from knickpoint.store.points.layouts import Layouts
from knickpoint.store.points.many import (
    Fresh,
    RunItem,
    known_identities,
    known_runs,
    resolve_fresh,
    row_of,
    run_ids,
    write_points,
)
from knickpoint.store.points.points import Points
from knickpoint.store.points.results import Entries, gather, measured_of, routine_of, told_by
from knickpoint.store.points.run_records import Changes, Put, Receipt, Run, RunPoint
from knickpoint.store.points.tiles import Tiles
from knickpoint.store.tables import runs as tables
from knickpoint.store.traces.traces import Asked, Found, Traces

__all__ = ["Runs"]


"""Slots, and runs, that an event names; the store has the rest."""

_IDS_IN_EVENT: Final = 40_000
"""Traces that one event names unless they are neighbours; so it stays below 256 KiB, whichever they are."""


_KNOWN: Final = select(tables.run.c.id).where(
    tables.run.c.repository_id == bindparam("own"), tables.run.c.identity == bindparam("named")
)
_INSERT: Final = tables.run.insert().returning(tables.run.c.id)
_UPDATE: Final = update(tables.run).where(tables.run.c.id == bindparam("written"))


def _timestamp(time_: datetime | None) -> float | None:
    return time_.timestamp() if time_ is not None else None


class Runs:
    """Hold the runs area of a store."""

    def __init__(self, database: Database, traces: Traces, outbox: Outbox) -> None:
        self._database = database
        self._traces = traces
        self._outbox = outbox
        self._points = Points(database)
        self._layouts = Layouts(database)
        self._tiles = Tiles(database)

    def put(
        self,
        repository: Repository,
        slot: int,
        run: RunReport,
        *,
        identity: str,
        content_hash: str,
        source: str,
        branch: str = "",
    ) -> Receipt:
        """Write a run, its values, provenance, new traces and event, in one transaction, exactly once.

        The same content under the same identity changes nothing (SAME); other content under the same identity
        replaces what the run had said (CORRECTION); another identity at a commit where one of the traces has a
        value joins it (RERUN): the point is the median of the runs' values, whatever the order of arrival.

        Raises:
            InputError: a sample is not finite, or a key is not canonical; nothing is written.
            StoreError: the database refused; nothing is written.
        """
        if not identity:
            raise StoreError("a run needs an identity", where=source, remedy="Give its CI run id or its content hash.")
        measured = measured_of(run.results)
        with self._database.transaction() as connection:
            known = self._database.quick(connection, _KNOWN, {"own": repository.id, "named": identity}).fetchone()
            query = select(tables.run).where(tables.run.c.id == known[0]) if known is not None else None
            old = connection.execute(query).one() if query is not None else None
            if old is not None and old.content_hash == content_hash and old.slot == slot:
                nothing = np.empty(0, dtype=np.int64)
                return Receipt(Put.SAME, old.id, nothing, nothing, Changes())
            entries, new = self._entries(connection, repository, run, measured)
            before = self._points.erase(connection, repository.id, old) if old is not None else None
            values = self._row(slot, run, source, branch or run.branch)
            values |= {"repository_id": repository.id, "environment_id": self._environment(connection, run.environment)}
            values |= {"identity": identity, "content_hash": content_hash, "points": len(entries.ids)}
            if old is None:
                usual = _everywhere(repository.id)
                values |= {"created": time.time(), "corrections": 0, "chunks": usual}
                run_id = int(self._database.quick(connection, _INSERT, values).fetchone()[0])
                values = {"chunks": usual}
            else:
                run_id = old.id
                values["corrections"] = old.corrections + 1
            added = self._points.add(connection, repository.id, slot, run_id, entries)
            written = values | {"chunks": pack(added.chunks)}
            if written != values:
                connection.execute(_UPDATE, written | {"written": run_id})
            changes = _changes(before, entries)
            touched = entries.touched
            if before is not None:
                touched = np.union1d(touched, before[0])
            slots = sorted({slot, old.slot}) if old is not None else [slot]
            described = entries.routine.described if entries.routine is not None and before is None else None
            self._publish(repository, slots, touched, [run_id], described)
        outcome = Put.CORRECTION if old is not None else Put.RERUN if added.joined else Put.NEW
        return Receipt(outcome, run_id, entries.touched, new, changes)

    def put_many(self, repository: Repository, items: Sequence[RunItem]) -> list[Receipt]:
        """Write the runs of a file in one transaction, with the outcome of :meth:`put` one after the other.

        Runs that are new, at commits where no stored run has their traces, are written together: one look-up of
        all their traces, one statement a table, and one event.

        Raises:
            InputError: as :meth:`put`; nothing is written.
            StoreError: two items have one identity, or as :meth:`put`; nothing is written.
        """
        identities = {item.identity for item in items}
        if len(identities) < len(items) or "" in identities:
            raise StoreError("each run of a file needs an identity of its own", remedy="Give each run its own id.")
        for item in items:
            measured_of(item.run.results)
        receipts: dict[str, Receipt] = {}
        nothing = np.empty(0, dtype=np.int64)
        with self._database.transaction() as connection:
            known = known_runs(connection, repository, items)
            for item in items:
                old = known.get(item.identity)
                if old is not None and old.content_hash == item.content_hash and old.slot == item.slot:
                    receipts[item.identity] = Receipt(Put.SAME, old.id, nothing, nothing, Changes())
            fresh = [item for item in items if item.identity not in known]
            busy = {item.slot for item in items if item.identity in known and item.identity not in receipts}
            together = resolve_fresh(connection, self._traces, repository, fresh, busy) if len(fresh) > 1 else []
            born = {one.item.identity: one.new for one in together if one.scattered}
            receipts |= self._put_together(connection, repository, [one for one in together if not one.scattered])
            for item in items:
                if item.identity not in receipts:
                    receipt = self._put_item(repository, item)
                    new = np.union1d(receipt.new_traces, born.get(item.identity, nothing))
                    receipts[item.identity] = replace(receipt, new_traces=new)
        return [receipts[item.identity] for item in items]

    def _put_item(self, repository: Repository, item: RunItem) -> Receipt:
        return self.put(
            repository,
            item.slot,
            item.run,
            identity=item.identity,
            content_hash=item.content_hash,
            source=item.source,
            branch=item.branch,
        )

    def _put_together(
        self, connection: Connection, repository: Repository, fresh: Sequence[Fresh]
    ) -> dict[str, Receipt]:
        """Write new runs, at commits where no stored run has their traces."""
        if not fresh:
            return {}
        numbers: dict[str, int] = {}
        rows = []
        for one in fresh:
            item = one.item
            facts = json.dumps(dict(item.run.environment), sort_keys=True)
            if facts not in numbers:
                numbers[facts] = self._environment(connection, item.run.environment)
            row = self._row(item.slot, item.run, item.source, item.branch or item.run.branch)
            rows.append(row | row_of(one) | {"repository_id": repository.id, "environment_id": numbers[facts]})
        ids = run_ids(connection, rows)
        write_points(connection, self._database, self._tiles, dict(zip(ids, fresh, strict=True)))
        touched = np.unique(np.concatenate([one.entries.ids for one in fresh]))
        self._publish(repository, sorted({one.item.slot for one in fresh}), touched, ids)
        return {
            one.item.identity: Receipt(Put.RERUN if one.joins else Put.NEW, run_id, one.entries.ids, one.new, Changes())
            for run_id, one in zip(ids, fresh, strict=True)
        }

    def remove(self, run: Run | int) -> None:
        """Take a run and its values out of the store; the points of other runs stay.

        Raises:
            StoreError: there is no such run.
        """
        run_id = run if isinstance(run, int) else run.id
        table = tables.run
        with self._database.transaction() as connection:
            row = connection.execute(select(table).where(table.c.id == run_id)).first()
            if row is None:
                raise StoreError(f"there is no run {run_id}", remedy="It may have been removed already.")
            ids, _ = self._points.erase(connection, row.repository_id, row)
            connection.execute(table.delete().where(table.c.id == run_id))
            repository = Repository(row.repository_id, self._repository_name(connection, row.repository_id))
            self._publish(repository, [row.slot], ids, [run_id])

    def points(self, trace_id: int, slot: int) -> list[RunPoint]:
        """Return what every run gave to a point, oldest run first, failures and skips included."""
        found = []
        with self._database.reading() as connection:
            for run_id, piece in self._points.parts(connection, trace_id, slot):
                row = connection.execute(select(tables.run).where(tables.run.c.id == run_id)).one()
                unit = self._traces.units.of_id(connection, piece.unit).unit.text if piece.samples else ""
                run = self._run_of(connection, row)
                found.append(RunPoint(run, trace_id, piece.outcome, piece.value, unit, piece.samples, piece.message))
        return found

    def has_any(self, repository: Repository) -> bool:
        """Say whether ``repository`` has results."""
        query = select(tables.run.c.id).where(tables.run.c.repository_id == repository.id).limit(1)
        with self._database.reading() as connection:
            return connection.execute(query).first() is not None

    def get(self, repository: Repository, identity: str) -> Run | None:
        """Return a run by its identity."""
        table = tables.run
        where = (table.c.repository_id == repository.id) & (table.c.identity == identity)
        with self._database.reading() as connection:
            row = connection.execute(select(table).where(where)).first()
            return self._run_of(connection, row) if row is not None else None

    def known(self, repository: Repository, identities: Sequence[str]) -> set[str]:
        """Return those of ``identities`` that a run of ``repository`` has."""
        with self._database.reading() as connection:
            return known_identities(connection, repository, identities).keys() & set(identities)

    def at(self, repository: Repository, slots: Sequence[int]) -> list[Run]:
        """Return the runs at ``slots``, by slot and then by arrival."""
        table = tables.run
        query = select(table).where(self._database.among(table.c.slot))
        query = query.where(table.c.repository_id == repository.id).order_by(table.c.slot, table.c.id)
        with self._database.reading() as connection:
            rows = connection.execute(query, {"numbers": self._database.listed(slots)}).all()
            return [self._run_of(connection, row) for row in rows]

    def slots(self, repository: Repository) -> set[int]:
        """Return the slots of the commits that have a run."""
        query = select(tables.run.c.slot).where(tables.run.c.repository_id == repository.id).distinct()
        with self._database.reading() as connection:
            return set(connection.execute(query).scalars())

    def failures(self, repository: Repository, slots: Sequence[int]) -> dict[int, set[str]]:
        """Return slot → keys of the benchmarks that failed in a run there, measured ones of other runs included."""
        found: dict[int, set[str]] = {slot: set() for slot in slots}
        with self._database.reading() as connection:
            for slot, ids in self._points.failed(connection, repository.id, slots):
                found[slot] |= {trace.key for trace in self._traces.get(ids)}
        for run in self.at(repository, slots):
            found[run.slot] |= {
                encode_key(result.params) for result in run.unmeasured if result.outcome is Outcome.FAILED
            }
        return found

    def first_times(self, repository: Repository) -> dict[int, datetime]:
        """Return slot → when the first of its runs ran, for the slots of which a run says when."""
        table = tables.run
        query = (
            select(table.c.slot, func.min(table.c.time))
            .where(table.c.repository_id == repository.id, table.c.time.is_not(None))
            .group_by(table.c.slot)
        )
        with self._database.reading() as connection:
            return {slot: datetime.fromtimestamp(time, UTC) for slot, time in connection.execute(query)}

    def never_measured(self, repository: Repository, *, limit: int = 1000) -> list[Run]:
        """Return the newest runs with results that made no trace, as nobody ever measured them; newest first."""
        table = tables.run
        query = select(table).where(table.c.repository_id == repository.id, table.c.unmeasured != "")
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(table.c.id.desc()).limit(limit)).all()
            return [self._run_of(connection, row) for row in rows]

    def without_value(self, trace_id: int, slots: Sequence[int]) -> list[RunPoint]:
        """Return what runs at ``slots`` gave to a trace that is no value: failures and skips, by slot and arrival."""
        found: list[RunPoint] = []
        with self._database.reading() as connection:
            pieces = self._points.without_value(connection, trace_id, slots)
            listed = self._database.listed([number for number, _ in pieces])
            query = select(tables.run).where(self._database.among(tables.run.c.id))
            rows = {row.id: row for row in connection.execute(query, {"numbers": listed})}
            for run_id, piece in pieces:
                run = self._run_of(connection, rows[run_id])
                found.append(RunPoint(run, trace_id, piece.outcome, piece.value, "", (), piece.message))
        return found

    def _entries(
        self, connection: Connection, repository: Repository, run: RunReport, measured: NDArray[np.bool_]
    ) -> tuple[Entries, NDArray[np.int64]]:
        results = run.results
        units = self._traces.units.of_texts(connection, results.units)
        digest = self._layouts.digest(results)
        routine = self._layouts.routine(repository.id, digest) if digest else None
        if routine is not None and len(results.samples) == len(results) and not results.messages:
            return told_by(routine, results), np.empty(0, dtype=np.int64)
        known = self._layouts.find(connection, repository.id, digest) if digest else None
        if known is not None:
            found = Found(*known, np.empty(0, dtype=np.int64))
        else:
            each = [units[code] for code in results.unit_codes.tolist()]
            asked = Asked(results.keys, each, results.better_codes, measured)
            found = self._traces.resolve(connection, repository.id, asked)
            if digest and found.units.all():
                self._layouts.keep(connection, repository.id, digest, (found.ids, found.units))
        own = {number: self._traces.units.of_id(connection, number) for number in _distinct(found.units)}
        own |= {unit.id: unit for unit in units}
        entries = gather(results, measured, found.ids, own, found.units, units)
        if digest and known is not None:
            routine = routine_of(results, found.ids, entries)
            if routine is not None:
                self._layouts.learn(repository.id, digest, routine)
        return entries, found.new

    @staticmethod
    def _row(slot: int, run: RunReport, source: str, branch: str) -> dict[str, Any]:
        return {
            "slot": slot,
            "source": source,
            "entry": run.entry,
            "branch": branch,
            "time": _timestamp(run.time),
            "links": json.dumps(dict(run.links)) if run.links else "",
            "revisions": json.dumps(dict(run.revisions)) if run.revisions else "",
            "unmeasured": _without_values(run.unmeasured),
        }

    def _environment(self, connection: Connection, facts: Mapping[str, str]) -> int:
        """Return the number of an environment, 0 for one without facts."""
        if not facts:
            return 0
        text = json.dumps(dict(facts), sort_keys=True)
        digest = blake2b(text.encode(), digest_size=16).hexdigest()
        table = tables.environment
        known = connection.execute(select(table.c.id).where(table.c.digest == digest)).scalar()
        if known is not None:
            return int(known)
        key = connection.execute(table.insert().values(digest=digest, facts=text)).inserted_primary_key
        assert key is not None
        return int(key[0])

    def _run_of(self, connection: Connection, row: Row[Any]) -> Run:
        facts = ""
        if row.environment_id:
            query = select(tables.environment.c.facts).where(tables.environment.c.id == row.environment_id)
            facts = str(connection.execute(query).scalar_one())
        return Run(
            row.id,
            row.repository_id,
            row.slot,
            row.identity,
            row.content_hash,
            row.source,
            row.entry,
            row.branch,
            datetime.fromtimestamp(row.time, UTC) if row.time is not None else None,
            json.loads(facts) if facts else {},
            json.loads(row.links) if row.links else {},
            json.loads(row.revisions) if row.revisions else {},
            datetime.fromtimestamp(row.created, UTC),
            row.corrections,
            tuple(
                Result(decode_key(key), outcome=Outcome(outcome), message=message)
                for key, outcome, message in json.loads(row.unmeasured or "[]")
            ),
        )

    def _repository_name(self, connection: Connection, number: int) -> str:
        from knickpoint.store.tables.commits import repository

        return str(connection.execute(select(repository.c.name).where(repository.c.id == number)).scalar_one())

    def _publish(
        self,
        repository: Repository,
        slots: list[int],
        ids: NDArray[np.int64],
        run_ids: list[int],
        described: PackedIds | None = None,
    ) -> None:
        """Write the events of a run; ``described`` are its ids as :func:`pack_ids` gives them, where known."""
        neighbours = len(ids) and int(ids[-1]) - int(ids[0]) + 1 == len(ids)
        at_once = len(ids) if neighbours else _IDS_IN_EVENT
        for begin in range(0, len(ids), max(1, at_once)):
            known = described if at_once >= len(ids) else None
            traces = known or pack_ids(ids[begin : begin + at_once])
            truncated = max(len(slots), len(run_ids)) > MOST_LISTED
            listed = slots[:MOST_LISTED], run_ids[:MOST_LISTED]
            self._outbox.publish(TracesChanged(repository.name, *listed, traces, truncated=truncated))


@cache
def _everywhere(repository_id: int) -> bytes:
    """Return where the parts of a run are that has one for all its chunks: most runs have."""
    return pack(np.array([-repository_id], dtype=np.int64))


def _distinct(numbers: NDArray[np.int64]) -> list[int]:
    """Return each of ``numbers`` once; most often they are all the same."""
    if len(numbers) and bool((numbers == numbers[0]).all()):
        return [int(numbers[0])]
    return [int(number) for number in np.unique(numbers)]


def _without_values(results: Sequence[Result]) -> str:
    """Return results without a value as JSON: key, outcome and message of each; "" for none."""
    if not results:
        return ""
    return json.dumps([(encode_key(one.params), one.outcome.value, one.message) for one in results])


def _changes(before: tuple[NDArray[np.int64], NDArray[np.float64]] | None, entries: Entries) -> Changes:
    if before is None:
        return Changes()
    ids = np.union1d(before[0], entries.ids)
    old, new = np.full(len(ids), np.nan), np.full(len(ids), np.nan)
    old[np.searchsorted(ids, before[0])] = before[1]
    new[np.searchsorted(ids, entries.ids)] = entries.values
    different = ~((old == new) | (np.isnan(old) & np.isnan(new)))
    return Changes(ids[different], old[different], new[different])
