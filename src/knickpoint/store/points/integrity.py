"""Check every row that holds points or provenance, and name what is damaged: repository, commits, traces, row.

The check reads the whole store once, in one snapshot, beside writers and readers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Row, Table, select

from knickpoint.store.database import Database
from knickpoint.store.points.checksums import RowName, hot_name, part_name, row_checksum, sealed_name, segment_name
from knickpoint.store.tables.commits import commit as commit_table
from knickpoint.store.tables.commits import repository as repository_table
from knickpoint.store.tables.runs import part
from knickpoint.store.tables.tiles import hot, sealed, segment
from knickpoint.store.tables.traces import chunk as chunk_table
from knickpoint.store.traces.trace_chunks import CHUNK

__all__ = ["DamagedRow", "IntegrityReport", "check_integrity"]

_ROWS_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class DamagedRow:
    """A row that is not what was written, and what it holds.

    Attributes:
        row: its table and its numbers.
        repository: name of the repository, "" where the row leads to none.
        commits: hashes of the first and of the last commit that it holds something of, one where they are the same.
        traces: ids of the first and the last trace that it may hold something of.
    """

    row: str
    repository: str
    commits: tuple[str, ...]
    traces: tuple[int, int]


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """What a check of all rows found: how many it checked, how many have no checksum, and which are damaged."""

    checked: int
    without_checksum: int
    damaged: tuple[DamagedRow, ...]


@dataclass(frozen=True, slots=True)
class _Content:
    """What a row holds by its own numbers: repository or chunk, slots and traces, first and last each."""

    chunk: int
    repository_id: int
    slots: tuple[int, int]
    traces: tuple[int, int]


def check_integrity(database: Database) -> IntegrityReport:
    """Check the checksums of all rows that hold points or provenance."""
    checked = without = 0
    damaged: list[DamagedRow] = []
    with database.reading() as connection:
        for table, name_of, blobs, content_of in _KINDS:
            for row in _rows(connection, table):
                if row.checksum is None:
                    without += 1
                    continue
                checked += 1
                name = name_of(row)
                if row_checksum(name, *(getattr(row, blob) for blob in blobs)) != row.checksum:
                    damaged.append(_described(connection, name, content_of(row)))
    return IntegrityReport(checked, without, tuple(damaged))


def _rows(connection: Connection, table: Table) -> Iterator[Row[Any]]:
    """Yield all rows of a table, a few at a time in memory."""
    yield from connection.execute(select(table).execution_options(yield_per=_ROWS_AT_ONCE))


def _tile(row: Any, first: int, last: int) -> _Content:
    return _Content(row.chunk, 0, (first, last), (row.chunk * CHUNK, row.chunk * CHUNK + CHUNK - 1))


def _hot_content(row: Any) -> _Content:
    return _tile(row, row.slot, row.slot)


def _sealed_content(row: Any) -> _Content:
    return _tile(row, row.first, row.first + row.span - 1)


def _segment_content(row: Any) -> _Content:
    return _Content(-1, row.repository_id, (row.slot, row.slot), (row.lowest, row.highest))


def _part_content(row: Any) -> _Content:
    """Return what a part holds; one for all chunks of its run may be about any trace of the repository."""
    if row.chunk >= 0:
        return _tile(row, row.slot, row.slot)
    return _Content(-1, -row.chunk, (row.slot, row.slot), (-1, -1))


_KINDS: Final[Sequence[tuple[Table, Callable[[Any], RowName], tuple[str, ...], Callable[[Any], _Content]]]] = (
    (hot, hot_name, ("data",), _hot_content),
    (sealed, sealed_name, ("data",), _sealed_content),
    (segment, segment_name, ("ids", "data"), _segment_content),
    (part, part_name, ("data",), _part_content),
)


def _described(connection: Connection, name: RowName, content: _Content) -> DamagedRow:
    """Name what a damaged row holds. Its own numbers may be the damage, so what they lead to may not exist."""
    owner, traces = content.repository_id, content.traces
    if content.chunk >= 0:
        held = connection.execute(
            select(chunk_table.c.repository_id, chunk_table.c.count.label("traces")).where(
                chunk_table.c.id == content.chunk
            )
        ).first()
        if held is not None:
            owner, traces = held.repository_id, (traces[0], traces[0] + held.traces - 1)
    elif traces == (-1, -1):
        traces = _traces_of(connection, owner)
    repository = connection.execute(select(repository_table.c.name).where(repository_table.c.id == owner)).scalar()
    first, last = content.slots
    query = select(commit_table.c.hash).where(commit_table.c.repository_id == owner)
    query = query.where(commit_table.c.slot >= first, commit_table.c.slot <= last).order_by(commit_table.c.slot)
    hashes = list(connection.execute(query).scalars())
    return DamagedRow(str(name), repository or "", tuple(dict.fromkeys([*hashes[:1], *hashes[-1:]])), traces)


def _traces_of(connection: Connection, repository_id: int) -> tuple[int, int]:
    """Return the ids of the first and the last trace of a repository, -1 where it has none."""
    query = select(chunk_table.c.id, chunk_table.c.count.label("traces")).where(
        chunk_table.c.repository_id == repository_id
    )
    rows = connection.execute(query.order_by(chunk_table.c.id)).all()
    return (rows[0].id * CHUNK, rows[-1].id * CHUNK + rows[-1].traces - 1) if rows else (-1, -1)
