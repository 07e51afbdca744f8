"""Check every row, and name what is damaged: table, key and column, and for points repository, commits, traces.

Rows of points and provenance have checksums, and so have packed numbers and compressed files of all other tables. Of
these, texts, JSON and types are checked besides: a flip that leaves a text or a number valid is not found.

The check reads the whole store once, in one snapshot, beside writers and readers.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, LargeBinary, Row, Table, Text, and_, cast, select

from knickpoint.model.errors import StoreError
from knickpoint.store.array_codec import is_damaged, unpack
from knickpoint.store.database import Database
from knickpoint.store.points.tile_codec import RowName, hot_name, part_name, row_checksum, sealed_name, segment_name
from knickpoint.store.tables import metadata
from knickpoint.store.tables.commits import chunk as chunk_table
from knickpoint.store.tables.commits import commit as commit_table
from knickpoint.store.tables.commits import line as line_table
from knickpoint.store.tables.commits import repository as repository_table
from knickpoint.store.tables.points import hot, part, sealed, segment
from knickpoint.store.traces.trace_chunks import CHUNK

_ROWS_AT_ONCE: Final = 200
_PIECE: Final = 1 << 20

LOST_NAME: Final = "damaged"
"""The name of a repository or a param whose name is damaged, where damage is left out."""

LOST_UNIT: Final = "damaged"
"""The unit of traces whose unit is damaged, where damage is left out."""

_JSON: Final[Mapping[str, Collection[str]]] = {
    "alert_file": ("definitions",),
    "alert_in_force": ("definition",),
    "bisection": ("culprits", "devices", "request"),
    "cause": ("body",),
    "change_point": ("alerts",),
    "cluster": ("body", "group_key"),
    "cluster_member": ("body",),
    "delivery": ("announcements",),
    "environment": ("facts",),
    "ledger_quarantine": ("options", "problems"),
    "ledger_waiting": ("options",),
    "outbox_event": ("payload",),
    "planned_probe": ("target",),
    "probe": ("measured",),
    "proposal_decision": ("after", "before"),
    "pull_request_check": ("commits",),
    "quarantine": ("reasons",),
    "run": ("links", "revisions", "unmeasured"),
    "scheduled_probe": ("pins",),
    "shortcut": ("content",),
    "statement": ("body",),
    "stored_alert": ("definition",),
    "suspects": ("body",),
    "token": ("repositories", "scopes"),
}
"""Table → columns of JSON; "" is none."""

_PACKED: Final[Mapping[tuple[str, str], int]] = {
    ("bisection", "slots"): 1,
    ("chunk", "codes"): 1,
    ("chunk", "facts"): 3,
    ("layout", "traces"): 2,
    ("line", "slots"): 2,
    ("pull_request_check", "changes"): 3,
    ("quarantine", "trace_ids"): 1,
    ("run", "chunks"): 1,
    ("withheld_run", "kept"): 1,
}
"""Table and column → how many packed arrays it has at least."""

_COMPRESSED: Final = {
    ("chunk", "keys"),
    ("ledger_quarantine", "payload"),
    ("ledger_waiting", "payload"),
    ("probe_file", "content"),
    ("profile_content", "data"),
}
"""Table and column of what zlib compressed, with its checksum."""

_EXPORTED: Final = ("repository", "commit_", "line", "chunk", "unit", "run", "param_name", "param_value")
"""Tables that the export of points reads beside those with checksums."""

_REPLACED: Final[Mapping[tuple[str, str], str]] = {
    **{("commit_", name): "" for name in ("author", "email", "subject", "parents", "url")},
    ("line", "base"): "",
    **{("run", name): "" for name in ("branch", "entry", "links", "revisions", "source", "unmeasured")},
    ("param_name", "name"): LOST_NAME,
    ("param_value", "value"): LOST_NAME,
    **{("repository", name): LOST_NAME for name in ("location", "name")},
    ("unit", "text"): LOST_UNIT,
}
"""Cells that can be left out alone, and what takes their place: without the others, their row has no meaning."""


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
    """Check the checksums of all rows that hold points or provenance, and the content of all others."""
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
        cells = _damaged_cells(connection, [table.name for table in metadata.sorted_tables])
        damaged.extend(DamagedRow(str(cell), "", (), (-1, -1)) for cell in cells)
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
    """Return the content of a part; one for all chunks of its run may be about any trace of the repository."""
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


# What has no checksum


@dataclass(frozen=True, slots=True)
class _Cell:
    """A damaged cell of a table, and the values that its row has in the columns of the key."""

    table: Table
    key: Mapping[str, Any]
    column: str
    reason: str

    def __str__(self) -> str:
        facts = ", ".join(f"{name} {_shown(value)}" for name, value in self.key.items())
        return f"{self.table.name} ({facts}), column {self.column}: {self.reason}"


def _shown(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _damaged_cells(connection: Connection, tables: Collection[str]) -> Iterator[_Cell]:
    """Yield the damaged cells of ``tables``, those with checksums excepted."""
    with_checksums = {table.name for table, *_ in _KINDS}
    for table in metadata.sorted_tables:
        if table.name not in tables or table.name in with_checksums:
            continue
        key = [column.name for column in table.primary_key] or [column.name for column in table.columns][:1]
        for row in _stored_rows(connection, table):
            for column in table.columns:
                if reason := _reason(table.name, column.name, column.type, row[column.name]):
                    yield _Cell(table, {name: row[name] for name in key}, column.name, reason)


def _stored_rows(connection: Connection, table: Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table as they are stored: SQLite does not check its texts, which are bytes here."""
    names = [column.name for column in table.columns]
    if connection.dialect.name != "sqlite":
        yield from (dict(zip(names, row, strict=True)) for row in _rows(connection, table))
        return
    driver: Any = connection.connection.driver_connection
    cursor = driver.execute(str(select(table).compile(connection)))
    usual = driver.text_factory
    while True:
        driver.text_factory = bytes
        try:
            some = cursor.fetchmany(_ROWS_AT_ONCE)
        finally:
            driver.text_factory = usual
        if not some:
            return
        yield from (dict(zip(names, row, strict=True)) for row in some)


def _reason(table: str, column: str, kind: object, value: object) -> str:
    """Return the defect of a cell that was not written so, "" if there is none."""
    if value is None:
        return ""
    if isinstance(kind, LargeBinary):
        return _reason_of_bytes(table, column, value) if isinstance(value, bytes) else "not bytes"
    if isinstance(kind, Text):
        return _reason_of_text(value, is_json=column in _JSON.get(table, ()))
    return "" if isinstance(value, (int, float)) else "not a number"


def _reason_of_bytes(table: str, column: str, value: bytes) -> str:
    try:
        if is_damaged(value):
            return "not those of their checksum"
        if (table, column) in _COMPRESSED:
            _decompress(value)
        elif value and (table, column) in _PACKED:
            unpack(value, _PACKED[table, column])
    except (StoreError, zlib.error):
        return "cannot be unpacked"
    return ""


def _decompress(value: bytes) -> None:
    """Read compressed bytes to their end, a piece at a time in memory.

    Raises:
        zlib.error: they are not what was compressed.
    """
    packed = zlib.decompressobj()
    while not packed.eof:
        if not packed.decompress(value, _PIECE):
            packed.flush()
            break
        value = packed.unconsumed_tail
    if not packed.eof:
        raise zlib.error("they end early")


def _reason_of_text(value: object, *, is_json: bool) -> str:
    try:
        text = value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return "not UTF-8"
    if not isinstance(text, str):
        return "not a text"
    try:
        if is_json and text and not isinstance(json.loads(text), (dict, list)):
            return "not a JSON list or object"
    except ValueError:
        return "not JSON"
    return ""


@contextmanager
def without_damage(database: Database) -> Iterator[tuple[str, ...]]:
    """Leave out what is damaged beside the points while a ``with`` lasts, for an export, and give what that is.

    Nothing changes in the store: it is left out in a savepoint that is rolled back.
    """
    with database.reading() as connection:
        cells = tuple(_damaged_cells(connection, _EXPORTED))
    if not cells:
        yield ()
        return
    with database.transaction() as connection, connection.begin_nested() as undone:
        for cell in cells:
            _leave_out(connection, cell)
        yield tuple(map(str, cells))
        undone.rollback()


def _leave_out(connection: Connection, cell: _Cell) -> None:
    table = cell.table
    row = and_(*(_equals(table.c[name], value) for name, value in cell.key.items()))
    replacement = _replacement(connection, cell)
    statement = table.delete() if replacement is None else table.update().values({cell.column: replacement})
    connection.execute(statement.where(row))


def _replacement(connection: Connection, cell: _Cell) -> str | None:
    """Return the replacement of a cell, None if its row is left out. A line or its default is known by the other."""
    place, lines = (cell.table.name, cell.column), select(line_table.c.name)
    if place == ("repository", "default_line"):
        return connection.execute(lines.where(line_table.c.repository_id == cell.key["id"])).scalar()
    if place == ("line", "name"):
        owner = cell.key["repository_id"]
        query = select(repository_table.c.default_line).where(repository_table.c.id == owner)
        name = connection.execute(query).scalar()
        taken = connection.execute(lines.where(line_table.c.repository_id == owner, line_table.c.name == name)).scalar()
        return name if taken is None else None
    return _REPLACED.get(place)


def _equals(column: ColumnElement[Any], value: object) -> ColumnElement[bool]:
    """Compare a column of a key; as bytes where SQLite may have a text that is none."""
    return cast(column, LargeBinary) == value if isinstance(value, bytes) else column == value
