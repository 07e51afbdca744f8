"""Read a file as a table of text: CSV with any delimiter, or rows of JSON."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from knickpoint.formats.delimited import delimiter_of, habit_of
from knickpoint.formats.series.row_order import COMMITS, column_of_commits, is_moment
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import Habit, NumberCell, number_reader
from knickpoint.formats.toolbox.table_cells import check_width, split_rows
from knickpoint.model.errors import FormatError, InputError
from knickpoint.model.plain_text import unguarded

VALUE: Final = "value"
POSITION: Final = "pos"

_LONGEST: Final = 40
"""Characters of a field that a message quotes."""

_REMEDY: Final = (
    "Give a list of objects, such as pandas' df.to_json(orient='records') writes, or CSV, such as "
    "df.to_csv(index=False) writes; results files of tools are for knick import and knick check."
)


@dataclass(frozen=True)
class Table:
    """The header of a file and its line number, the rows and the line number at which each ends, and the file name.

    ``place`` is the word before such a number: lines of CSV, elements of JSON.
    """

    header: list[str]
    line: int
    rows: list[list[str]]
    lines: list[int]
    name: str
    place: str = "line"

    @property
    def wide(self) -> bool:
        """Whether each column is a series."""
        return VALUE not in self.header

    @cached_property
    def column_of_commits(self) -> int | None:
        """The column that names the commit of each row, None without one."""
        return column_of_commits(self.header, self.rows, wide=self.wide)

    @cached_property
    def commits(self) -> list[int]:
        """The commit of each row, numbered as they first come; a row without one is by itself.

        Empty without such a column.
        """
        column = self.column_of_commits
        if column is None:
            return []
        numbers: dict[str | int, int] = {}
        return [numbers.setdefault(fields[column].strip() or row, len(numbers)) for row, fields in enumerate(self.rows)]

    def location(self, row: int) -> str:
        """Return the file and line of a row, for messages."""
        return f"{self.name}, {self.place} {self.lines[row]}"


def is_number(text: str) -> bool:
    """Return True if ``text`` is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def shown(text: str) -> str:
    """Quote ``text`` for a message, shortened where it is very long."""
    return repr(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


def read_table(file: FileContent) -> Table:
    """Return the table of a file: rows of CSV, or of JSON.

    In a table of one column, an empty line is a missing value, unless no value follows. One column that begins with a
    number has no header, so that empty lines before it are missing values as well.

    Raises:
        FormatError: this is not a table, a row has more or fewer fields than the header, or the notation of numbers is
            unclear.
        InputError: the header names a column twice or not at all.
    """
    if "\0" in file.text:
        raise InputError("this is not text", where=file.name, remedy="Give CSV in UTF-8.")
    table = _json_table(file) if file.text.lstrip()[:1] in {"{", "["} else _csv_table(file)
    _check_header(table)
    return table


def _csv_table(file: FileContent) -> Table:
    text, name = file.text, file.name
    delimiter = delimiter_of(text.lstrip().partition("\n")[0])
    try:
        rows = [
            (line, [*map(unguarded, cells)]) for line, cells in split_rows(io.StringIO(text, newline=""), delimiter)
        ]
        filled = [row for row, (_, cells) in enumerate(rows) if cells]
        if not filled:
            raise InputError("there are no rows", where=name, remedy="Give CSV with a header such as id,pos,value.")
        first, last = filled[0], filled[-1]
        line, header = rows[first]
        if len(header) > 1:
            rest = [rows[row] for row in filled[1:]]
        else:
            has_header = not is_number(header[0])
            rest = [(line, cells or [""]) for line, cells in rows[first + 1 if has_header else 0 : last + 1]]
            header = header if has_header else [VALUE]
        for number, cells in rest:
            check_width(cells, len(header), number)
    except FormatError as error:
        raise FormatError(error.message, where=f"{name}, {error.where}", remedy=error.remedy) from error
    table = Table(_titles(header), line, [cells for _, cells in rest], [number for number, _ in rest], name)
    if len(header) > 1 and delimiter != ",":
        _read_notation(table, habit_of(file, delimiter))
    return table


def _titles(fields: Sequence[str]) -> list[str]:
    return [title.strip() for title in fields]


def _read_notation(table: Table, habit: Habit) -> None:
    """Write the values of a table with a decimal point. Raises ``FormatError`` where their notation is unclear."""
    columns = [
        column
        for column, title in enumerate(table.header)
        if (title not in {POSITION, *COMMITS} and not is_moment(title) if table.wide else title == VALUE)
    ]
    fields = [
        (cells, column, table.location(row))
        for row, cells in enumerate(table.rows)
        for column in columns
        if column < len(cells) and cells[column].strip()
    ]
    number, _ = number_reader(
        [NumberCell(cells[column], table.header[column], where) for cells, column, where in fields], habit
    )
    for cells, column, _ in fields:
        value = number(cells[column])
        if value is not None and not (is_number(cells[column]) and float(cells[column]) == value):
            cells[column] = repr(value)


def _check_header(table: Table) -> None:
    header, where = table.header, f"{table.name}, line {table.line}" if table.line else table.name
    repeated = next((title for title in header if title and header.count(title) > 1), None)
    if repeated is not None:
        raise InputError(
            f"the header names {shown(repeated)} twice", where=where, remedy="Give each column a name of its own."
        )
    if VALUE in header:
        return
    if header == [POSITION] or any(is_number(title) for title in header):
        raise InputError(
            "the first line is not a header",
            where=where,
            remedy="Begin with the names of the columns: id,pos,value, or pos and one name a series; "
            "write decimals with a point.",
        )
    if all(map(is_moment, header)):
        raise InputError(
            f"the column {shown(header[0])} says when, and no column has values",
            where=where,
            remedy="Add a column for each series.",
        )
    if "" in header:
        raise InputError(
            f"column {header.index('') + 1} has no name",
            where=where,
            remedy="Name it pos if it orders the rows, name the series that it holds, or leave it out.",
        )


def _json_table(file: FileContent) -> Table:
    """Return the table of a list of objects or numbers, of one object a line, or of what pandas splits into columns."""
    header, rows = _json_rows(file)
    return Table(_titles(header), 0, rows, list(range(len(rows))), file.name, "element")


def _json_rows(file: FileContent) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows; a member that is missing or null is an empty field.

    A list of numbers is the series ``value``.
    """
    name = file.name
    document = [file.parse_json(each.text) for each in file.documents] if file.several else file.json
    if isinstance(document, dict) and isinstance(document.get("data"), list):
        # pandas: orient="split" beside its columns, orient="table" beside its schema, which names the index.
        columns, rows, schema = document.get("columns"), document["data"], document.get("schema")
        if isinstance(columns, list):
            return _split(columns, rows, name)
        index = schema.get("primaryKey") if isinstance(schema, dict) else None
        left_out = {"index"} if index == ["index"] else set()
        return _of_objects(rows, name, without=left_out)
    if isinstance(document, list) and document and all(not isinstance(row, dict | list) for row in document):
        return ["value"], [[_field(row, f"{name}, element {place}")] for place, row in enumerate(document)]
    if not isinstance(document, list):
        raise InputError("this JSON is an object, not a list of rows", where=name, remedy=_REMEDY)
    return _of_objects(document, name)


def _split(columns: Sequence[Any], rows: Sequence[Any], name: str) -> tuple[list[str], list[list[str]]]:
    for place, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(columns):
            raise InputError(
                f"this row does not have the {len(columns)} fields of the columns",
                where=f"{name}, data[{place}]",
                remedy=_REMEDY,
            )
    return [str(title) for title in columns], [
        [_field(field, f"{name}, data[{place}]") for field in row] for place, row in enumerate(rows)
    ]


def _of_objects(rows: Sequence[Any], name: str, *, without: Collection[str] = ()) -> tuple[list[str], list[list[str]]]:
    odd = next((place for place, row in enumerate(rows) if not isinstance(row, dict)), None)
    if odd is not None:
        raise InputError("this row is not an object", where=f"{name}, element {odd}", remedy=_REMEDY)
    header = [title for title in dict.fromkeys(title for row in rows for title in row) if title not in without]
    return header, [
        [_field(row.get(title), f"{name}, element {place}, {title!r}") for title in header]
        for place, row in enumerate(rows)
    ]


def _field(value: Any, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        raise InputError("this is a list or an object in place of a number or text", where=where, remedy=_REMEDY)
    return str(value).lower() if isinstance(value, bool) else str(value)
