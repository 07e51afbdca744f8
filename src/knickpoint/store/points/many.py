"""Write the runs of a whole file together: a history has hundreds of them, of a few values each."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, bindparam, or_, select

from knickpoint.model.commit import Repository
from knickpoint.model.report import RunReport
from knickpoint.store.array_codec import pack
from knickpoint.store.database import Database
from knickpoint.store.points.parts import Part, medians
from knickpoint.store.points.points import cut, is_scattered, whole_part
from knickpoint.store.points.results import Entries, gather
from knickpoint.store.points.seal import SPAN, seal_full
from knickpoint.store.points.tiles import Tiles, chunks_of, hot_row
from knickpoint.store.tables.runs import part, run
from knickpoint.store.tables.tiles import segment
from knickpoint.store.traces.traces import CHUNK, Asked, Traces

__all__ = ["Fresh", "RunItem", "known_identities", "known_runs", "resolve_fresh", "row_of", "run_ids", "write_points"]

_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class RunItem:
    """A run with what :meth:`Runs.put` has to know about it."""

    slot: int
    run: RunReport
    identity: str
    content_hash: str
    source: str
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Fresh:
    """A run that is new, with its traces.

    ``new`` are those that it brought. ``shared`` says that it has traces in common with another run that comes
    in at its commit, ``joins`` that one of those stands before it. ``late`` says that its commit has runs with
    other traces. ``apart`` says that it cannot be written with others: a run at its commit is scattered, or is
    stored and has one of its traces.
    """

    item: RunItem
    entries: Entries
    chunks: NDArray[np.int64]
    new: NDArray[np.int64]
    shared: bool = False
    joins: bool = False
    late: bool = False
    apart: bool = False

    @property
    def scattered(self) -> bool:
        """Whether its traces lie so far apart that it is to be written as a segment."""
        return self.apart or is_scattered(len(self.entries.ids), len(self.chunks))


def known_runs(connection: Connection, repository: Repository, items: Sequence[RunItem]) -> dict[str, Row[Any]]:
    """Return identity → the stored run, for those of ``items`` that are known."""
    return known_identities(connection, repository, [item.identity for item in items])


def known_identities(connection: Connection, repository: Repository, identities: Sequence[str]) -> dict[str, Row[Any]]:
    """Return identity → the stored run, for those of ``identities`` that are known."""
    query = select(run.c.id, run.c.identity, run.c.content_hash, run.c.slot)
    query = query.where(run.c.repository_id == repository.id, run.c.identity.in_(bindparam("asked", expanding=True)))
    rows: dict[str, Row[Any]] = {}
    for begin in range(0, len(identities), _AT_ONCE):
        found = connection.execute(query, {"asked": identities[begin : begin + _AT_ONCE]})
        rows.update({row.identity: row for row in found})
    return rows


def resolve_fresh(
    connection: Connection, traces: Traces, repository: Repository, items: Sequence[RunItem], busy: set[int]
) -> list[Fresh]:
    """Find or make the traces, all at once, of runs that can be written together; the others are left out.

    Those are the runs without a correction at their commit (``busy``) or a segment before it, where all results
    were measured. Runs that share traces with what is stored at their commit are ``apart``.
    """
    slow = {item.slot for item in items if not len(item.run.results) or item.run.results.outcome_codes.any()}
    slow |= busy | _with_segments(connection, repository)
    slots: dict[int, list[Fresh]] = {}
    for one in _resolved(connection, traces, repository, [item for item in items if item.slot not in slow]):
        slots.setdefault(one.item.slot, []).append(one)
    late = _with_runs(connection, repository, slots.keys())
    taken = _taken(connection, repository, {slot: slots[slot] for slot in sorted(late)})
    found: list[Fresh] = []
    for slot, each in slots.items():
        compared = [replace(one, apart=True) for one in each] if slot in taken else _compared(each)
        found += [replace(one, late=True) for one in compared] if slot in late else compared
    return found


def write_points(connection: Connection, database: Database, tiles: Tiles, fresh: Mapping[int, Fresh]) -> None:
    """Write the points and the parts of runs, by run id, and seal what is full."""
    records = []
    alike: dict[tuple[bytes, bytes], bytes] = {}
    columns: dict[tuple[int, int], list[tuple[NDArray[np.int64], NDArray[np.float64]]]] = {}
    for run_id, one in fresh.items():
        ids, slot = one.entries.ids, one.item.slot
        lows = np.searchsorted(ids, one.chunks * CHUNK).tolist()
        highs = np.searchsorted(ids, (one.chunks + 1) * CHUNK).tolist()
        pieces = cut(whole_part(one.entries), one.chunks)
        for chunk, piece, low, high in zip(one.chunks.tolist(), pieces, lows, highs, strict=True):
            data = piece.pack() if one.shared else _hidden(piece, alike)
            records.append({"slot": slot, "chunk": chunk, "run_id": run_id, "data": data})
            columns.setdefault((slot, chunk), []).append((piece.places, one.entries.values[low:high]))
    connection.execute(part.insert(), records)
    late = {one.item.slot for one in fresh.values() if one.late}
    points = {place: _points(each) for place, each in columns.items()}
    rows = [hot_row(chunk, slot, *found) for (slot, chunk), found in points.items() if slot not in late]
    for slot in sorted(late):
        chunks = np.array(sorted(chunk for at, chunk in points if at == slot), dtype=np.int64)
        for chunk, column in zip(chunks.tolist(), tiles.columns(connection, chunks, slot), strict=True):
            places, values = points[slot, chunk]
            column[places] = values
            held = np.flatnonzero(~np.isnan(column))
            rows.append(hot_row(chunk, slot, held, column[held]))
    tiles.write_rows(connection, rows)
    full: dict[int, set[int]] = {}
    for slot, chunk in columns:
        full.setdefault(slot // SPAN, set()).add(chunk)
    for span, touched in sorted(full.items()):
        seal_full(connection, database, np.array(sorted(touched), dtype=np.int64), span * SPAN)


def run_ids(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Write rows of the table of runs; return their ids in the same order."""
    statement = run.insert().returning(run.c.id, sort_by_parameter_order=True)
    return [int(number) for number in connection.execute(statement, list(rows)).scalars()]


def row_of(one: Fresh) -> dict[str, Any]:
    """Return what the table of runs has to say of a run that is written with others."""
    return {
        "identity": one.item.identity,
        "content_hash": one.item.content_hash,
        "points": len(one.entries.ids),
        "created": time.time(),
        "corrections": 0,
        "chunks": pack(one.chunks),
    }


def _with_segments(connection: Connection, repository: Repository) -> set[int]:
    """Return the slots with segments, which stand before what tiles say."""
    query = select(segment.c.slot).where(segment.c.repository_id == repository.id).distinct()
    return set(connection.execute(query).scalars())


def _with_runs(connection: Connection, repository: Repository, slots: Collection[int]) -> set[int]:
    """Return those of ``slots`` that have runs already."""
    if not slots:
        return set()
    query = select(run.c.slot).where(run.c.repository_id == repository.id).distinct()
    query = query.where(run.c.slot >= min(slots), run.c.slot <= max(slots))
    return set(slots) & set(connection.execute(query).scalars())


def _taken(connection: Connection, repository: Repository, late: Mapping[int, Sequence[Fresh]]) -> set[int]:
    """Return those of the slots where a stored run and one that comes in have a trace in common."""
    taken: set[int] = set()
    if not late:
        return taken
    ids = {slot: np.unique(np.concatenate([one.entries.ids for one in each])) for slot, each in late.items()}
    low = min(int(each[0]) for each in ids.values()) // CHUNK
    high = max(int(each[-1]) for each in ids.values()) // CHUNK
    query = select(part.c.slot, part.c.chunk, part.c.data).where(part.c.slot >= min(ids), part.c.slot <= max(ids))
    query = query.where(or_(part.c.chunk == -repository.id, part.c.chunk.between(low, high)))
    for row in connection.execute(query):
        if row.slot in ids and row.slot not in taken:
            places = Part.unpack(row.data).places + max(row.chunk, 0) * CHUNK
            if len(np.intersect1d(places, ids[row.slot], assume_unique=True)):
                taken.add(row.slot)
    return taken


def _resolved(
    connection: Connection, traces: Traces, repository: Repository, items: Sequence[RunItem]
) -> Iterator[Fresh]:
    if not items:
        return
    tables = [item.run.results for item in items]
    units = [traces.units.of_texts(connection, table.units) for table in tables]
    asked = Asked(
        [key for table in tables for key in table.keys],
        [each[code] for table, each in zip(tables, units, strict=True) for code in table.unit_codes.tolist()],
        np.concatenate([table.better_codes for table in tables]),
        np.ones(sum(len(table) for table in tables), dtype=np.bool_),
    )
    found = traces.resolve(connection, repository.id, asked)
    own = {number: traces.units.of_id(connection, number) for number in np.unique(found.units).tolist()}
    own |= {unit.id: unit for each in units for unit in each}
    born = set(found.new.tolist())
    begin = 0
    for item, table, each in zip(items, tables, units, strict=True):
        here = slice(begin, begin + len(table))
        begin += len(table)
        measured = np.ones(len(table), dtype=np.bool_)
        entries = gather(table, measured, found.ids[here], own, found.units[here], each)
        new = sorted(born.intersection(entries.ids.tolist())) if born else []
        born.difference_update(new)
        yield Fresh(item, entries, chunks_of(entries.ids), np.array(new, dtype=np.int64))


def _compared(each: Sequence[Fresh]) -> Sequence[Fresh]:
    """Say which of the runs at one commit have traces in common; none of them where one is scattered."""
    if len(each) == 1:
        return each
    if any(one.scattered for one in each):
        return [replace(one, apart=True) for one in each]
    ids, counts = np.unique(np.concatenate([one.entries.ids for one in each]), return_counts=True)
    if len(ids) == sum(len(one.entries.ids) for one in each):
        return each
    twice = ids[counts > 1]
    before = np.empty(0, dtype=np.int64)
    compared = []
    for one in each:
        common = np.intersect1d(one.entries.ids, twice, assume_unique=True)
        joins = len(np.intersect1d(common, before, assume_unique=True)) > 0
        before = np.union1d(before, common)
        compared.append(replace(one, shared=len(common) > 0, joins=joins))
    return compared


def _hidden(piece: Part, alike: dict[tuple[bytes, bytes], bytes]) -> bytes:
    """Return a part as bytes, its samples left to the points where they can tell them; most are ``alike`` then."""
    hidden = piece.hidden()
    if not hidden.implicit or hidden.messages:
        return hidden.pack()
    name = (hidden.places.tobytes(), hidden.units.tobytes())
    if name not in alike:
        alike[name] = hidden.pack()
    return alike[name]


def _points(
    each: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return places and values of what several runs gave to one chunk; a point of several is the median of theirs."""
    if len(each) == 1:
        return each[0]
    places = np.concatenate([places for places, _ in each])
    values = np.concatenate([values for _, values in each])
    order = np.argsort(places, kind="stable")
    places, values = places[order], values[order]
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    if len(starts) < len(places):
        values = medians(values, np.diff(starts, append=len(places)))
    return places[starts], values
