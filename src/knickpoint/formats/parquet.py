"""Read Parquet tables, long and wide, with the same columns as CSV; needs the package ``pyarrow``."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any, Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.table_cells import Cell
from knickpoint.formats.toolbox.table_columns import read_table
from knickpoint.model.errors import FormatError

__all__ = ["fits", "read"]

_NAME: Final = "parquet"
_MAGIC: Final = b"PAR1"


def fits(file: FileContent) -> bool:
    """Tell whether this begins as Parquet files do."""
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
        table = parquet.read_table(io.BytesIO(file.data))
        columns = {name: table.column(index).to_pylist() for index, name in enumerate(table.column_names)}
    except (pa.ArrowException, OSError, OverflowError, ValueError) as error:
        raise FormatError(
            f"is no whole Parquet file: {error}", remedy="If the file was cut short, write it again."
        ) from error
    return read_table(_NAME, table.column_names, _rows(list(columns.values()), table.num_rows)), ()


def _rows(columns: list[list[Any]], count: int) -> Iterator[tuple[str, Sequence[Cell]]]:
    for index in range(count):
        yield f"row {index + 1}", [_cell(column[index]) for column in columns]


def _cell(value: Any) -> Cell:
    if value is None or isinstance(value, str | int | float | bool | datetime):
        return value
    if isinstance(value, list):
        return value
    if isinstance(value, date):
        return value.isoformat()
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
