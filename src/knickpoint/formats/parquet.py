"""Read Parquet tables, long and wide, with the same columns as CSV; needs the package ``pyarrow``.

A Parquet file of some kilobytes may hold billions of rows: one value and how often it repeats. What the file says of
its size is therefore checked first. Rows are read in batches, and texts as dictionaries, so that a long text that
repeats is in memory once.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any, Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent, check_memory
from knickpoint.formats.toolbox.named_rows import check_told_apart
from knickpoint.formats.toolbox.table_cells import Cell
from knickpoint.formats.toolbox.table_columns import read_table
from knickpoint.model.errors import FormatError

_NAME: Final = "parquet"
_MAGIC: Final = b"PAR1"
_CELL_BYTES: Final = 100
_BATCH_ROWS: Final = 10_000


def fits(file: FileContent) -> bool:
    """Return True if this begins as Parquet files do."""
    return file.data.startswith(_MAGIC)


def read(file: FileContent) -> Parsed:
    """Read the runs that the rows make; a cell that is a list holds samples."""
    try:
        import pyarrow as pa  # type: ignore[import-untyped]
        from pyarrow import parquet
    except ImportError as error:
        raise FormatError(
            "reading Parquet needs the package pyarrow", remedy="Install it: pip install 'knickpoint[parquet]'."
        ) from error
    try:
        plain = parquet.ParquetFile(io.BytesIO(file.data))
        _check_size(plain.metadata, file)
        names = list(plain.schema_arrow.names)
        texts = [field.name for field in plain.schema_arrow if _is_text(pa, field.type)]
        table = parquet.ParquetFile(io.BytesIO(file.data), read_dictionary=texts)
        columns = _columns(pa, table, file)
    except MemoryError:  # which Arrow also has as one of its own errors
        raise
    except (pa.ArrowException, OSError, OverflowError, ValueError) as error:
        raise FormatError(
            f"incomplete Parquet file: {error}", remedy="If the file is truncated, write it again."
        ) from error
    return read_table(_NAME, names, _rows(columns), check=check_told_apart)


def _check_size(metadata: Any, file: FileContent) -> None:
    """Refuse the file where what it says of its cells and its content takes more memory than it may."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    cells = max(metadata.num_rows * metadata.num_columns, sum(chunk.num_values for chunk in chunks))
    content = sum(chunk.total_uncompressed_size for chunk in chunks)
    check_memory(_CELL_BYTES * cells + 2 * content, file.limits, file.name)


def _is_text(pa: Any, kind: Any) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind))


def _columns(pa: Any, table: Any, file: FileContent) -> list[list[Any]]:
    """Return the cells of each column."""
    columns: list[list[Any]] = [[] for _ in table.schema_arrow.names]
    content = 0
    for batch in table.iter_batches(batch_size=_BATCH_ROWS):
        content += batch.nbytes  # what the file said of its size need not be true
        check_memory(_CELL_BYTES * sum(map(len, columns)) + content, file.limits, file.name)
        for cells, column in zip(columns, batch.columns, strict=True):
            cells.extend(_cells(pa, column))
    return columns


def _cells(pa: Any, column: Any) -> list[Any]:
    """Return the cells of a column; those with the same text share it."""
    if not isinstance(column, pa.DictionaryArray):
        return list(column.to_pylist())
    values = column.dictionary.to_pylist()
    return [None if index is None else values[index] for index in column.indices.to_pylist()]


def _rows(columns: list[list[Any]]) -> Iterator[tuple[str, Sequence[Cell]]]:
    for number, row in enumerate(zip(*columns, strict=True), 1):
        yield f"row {number}", [_cell(cell) for cell in row]


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, str | int | float | bool | datetime):
        return value
    if isinstance(value, list):
        return value
    if isinstance(value, date):
        return value.isoformat()
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
