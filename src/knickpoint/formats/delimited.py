"""Read CSV and TSV, long (a measurement a row) and wide (a run a row)."""

from __future__ import annotations

from functools import partial
from typing import Final

from knickpoint.formats.companion_files import companion_of
from knickpoint.formats.criterion import RAW_HEADER
from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import numeral
from knickpoint.formats.toolbox.table_cells import header_cells, read_cells
from knickpoint.formats.toolbox.table_columns import read_table, roles
from knickpoint.model.errors import FormatError

__all__ = ["fits", "read"]

_NAME: Final = "csv"
_DELIMITERS: Final = (",", "\t", ";", "|")


def fits(file: FileContent) -> bool:
    """Tell whether the first line is a header that has values and says of what."""
    if companion_of(file):
        return False
    text = file.readable[:65536]
    if text.lstrip()[:1] in ("{", "[", "<", "") or text.startswith(RAW_HEADER):
        return False
    header = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    names = header_cells(header, _delimiter(header))
    if len(names) < 2 or any(numeral(name) is not None for name in names):
        return False
    found = roles(names)
    named = {"commit", "time", "benchmark", "commit_time"} & found.keys()
    if "value" in found or "samples" in found:
        return bool(named) or len(names) > len(found)
    return bool({"commit", "time", "commit_time"} & found.keys()) and len(names) > len(found)


def read(file: FileContent) -> Parsed:
    """Read the runs that the rows make; lines that begin with ``#`` are comments."""
    lines = file.lines
    first = next((index for index, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    if first is None:
        raise FormatError("the table has no header", remedy="Begin with a line that names the columns.")
    delimiter = _delimiter(lines[first])
    header = header_cells(lines[first], delimiter)
    number = partial(numeral, decimal_comma=delimiter == ";")
    rows = read_cells(lines, len(header), first=first + 1, delimiter=delimiter)
    report = read_table(_NAME, header, ((f"line {line}", cells) for line, cells in rows), number=number)
    return report, file.open_line_warning()


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)
