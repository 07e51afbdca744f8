"""Read a file as a table of text: CSV with any delimiter, or rows of JSON.

Columns that number or date the rows are told from series; rows that go backwards are refused.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from knickpoint.formats.delimited import delimiter_of, habit_of
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.numbers import Habit, NumberCell, number_reader
from knickpoint.formats.toolbox.table_cells import check_width, split_rows
from knickpoint.model.errors import FormatError, InputError
from knickpoint.model.plain_text import unguarded

COMMITS: Final = (
    "commit",
    "revision",
    "commit_hash",
    "git_commit",
    "git_hash",
    "hash",
    "sha",
    "commit_id",
    "commit_sha",
)
"""Columns that say which rows are of one commit where none gives positions; the first one counts."""
_BUILDS: Final = frozenset({"build", "build_id", "build_number", "run_id", "run_number", "pipeline", "pipeline_id"})
"""Columns with numbers of a CI, which rise from build to build."""

_MOMENTS: Final = frozenset({"timestamp", "date", "datetime", "epoch"})
"""Titles of columns that hold moments and nothing else."""
_TIMES: Final = _MOMENTS | {
    "time",
    "when",
    "ts",
    "day",
    "commit_date",
    "commit_time",
    "commit_timestamp",
    "author_date",
    "authored_at",
    "committed_at",
    "committer_date",
    "created_at",
    "measured_at",
    "run_at",
}

_ENOUGH: Final = 3
"""Different numbers from which on their order says something."""
_WHOLE: Final = re.compile(r"\d{1,12}")
"""A number; a hash without a letter is longer, or one of few."""
_DECIMAL: Final = re.compile(r"\d+\.(\d+)")


def _whole(texts: Sequence[str]) -> list[int]:
    """Return the whole numbers in ``texts``, none where one is something else."""
    plain = [text.strip() for text in texts]
    return list(map(int, plain)) if all(map(_WHOLE.fullmatch, plain)) else []


def _runs(numbers: Sequence[int]) -> int:
    """Return 1 for numbers that only rise, -1 for those that only fall, 0 for others and few.

    Neighbours may be equal.
    """
    steps = {later > earlier for earlier, later in pairwise(numbers) if later != earlier}
    if len(steps) != 1 or len(set(numbers)) < _ENOUGH:
        return 0
    return 1 if steps == {True} else -1


def _is_text(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return bool(text.strip())
    return False


def column_of_commits(header: Sequence[str], rows: Sequence[Sequence[str]], *, wide: bool) -> int | None:
    """Return the column that names the commits of rows, None for none.

    In a ``wide`` table, where each column may be a series, it has to have text such as a hash, or whole numbers that
    only rise or only fall: ``commit`` may be what a data base takes for one.
    """
    column = next((header.index(name) for name in COMMITS if name in header), None)
    if column is None or not wide:
        return column
    texts = [fields[column] for fields in rows]
    return column if any(map(_is_text, texts)) or _runs(_whole(texts)) else None


def numbers_rows(title: str, texts: Sequence[str]) -> bool:
    """Return True if a column only numbers the rows: each number is the next one, or it is a rising build number."""
    numbers = _whole(texts)
    if len(set(numbers)) < _ENOUGH:
        return False
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    return steps in ({1}, {-1}) or (title.strip().lower() in _BUILDS and _runs(numbers) != 0)


def check_numbers(
    header: Sequence[str], rows: Sequence[Sequence[str]], first: str, last: str, *, wide: bool = False
) -> None:
    """Refuse rows whose commits or builds are numbered backwards, where no column orders them.

    In a ``wide`` table, a column that counts down to the last row is refused as well. ``first`` and ``last`` are the
    places of the first and the last row, for messages.

    Raises:
        InputError: the rows go backwards, so that each change would be found in the wrong direction.
    """
    for column, title in enumerate(header):
        texts = [fields[column] for fields in rows]
        named = title.strip().lower() in _BUILDS.union(COMMITS)
        if (named or (wide and numbers_rows(title, texts))) and _runs(_whole(texts)) < 0:
            raise InputError(
                f"the rows go backwards: {title!r} falls from {texts[0].strip()} to {texts[-1].strip()} ({last})",
                where=first,
                remedy="Name that column pos, which sorts the rows, or leave it out if their order is right.",
            )


def are_versions(positions: Sequence[str]) -> bool:
    """Return True if positions such as 1.9 and 1.10 are versions: as decimals, 1.10 would be 1.1, and come before 1.9.

    Decimals either have as many digits as all others, or end with no zero that says nothing.
    """
    decimals = [found[1] for found in (_DECIMAL.fullmatch(text.strip()) for text in positions) if found]
    return len(set(map(len, decimals))) > 1 and any(len(digits) > 1 and digits[-1] == "0" for digits in decimals)


def is_moment(title: str) -> bool:
    """Return True if a column with this title says when, and is not a series."""
    return title.strip().lower() in _MOMENTS


def seconds(text: str) -> float:
    """Return the seconds since 1970 of a date or time in ISO 8601; without an offset it is UTC.

    Raises ``ValueError``.
    """
    moment = datetime.fromisoformat(text)
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() - (  # noqa: DTZ001
        offset.total_seconds() if (offset := moment.utcoffset()) else 0.0
    )


def _moments(title: str, texts: Sequence[str]) -> list[float]:
    """Return the moments in ``texts``, none where they are none: a number in a column ``time`` is a duration."""
    try:
        return [seconds(text.strip()) for text in texts]
    except ValueError:
        pass
    try:
        return [] if title == "time" else [float(text) for text in texts]
    except ValueError:
        return []


def check_times(header: Sequence[str], rows: Sequence[Sequence[str]], first: str, last: str) -> str:
    """Return a word about rows that are not in the order of a column of moments, "" where they are or none is there.

    ``first`` and ``last`` are the places of the first and the last row, for messages.

    Raises:
        InputError: the rows go backwards, so that each change would be found in the wrong direction.
    """
    for column, title in enumerate(header):
        name = title.strip().lower()
        moments = _moments(name, [fields[column] for fields in rows]) if name in _TIMES else []
        steps = [later - earlier for earlier, later in pairwise(moments) if later != earlier]
        if steps and max(steps) < 0:
            raise InputError(
                f"the rows go backwards in time: {title!r} falls from {rows[0][column].strip()!r} to "
                f"{rows[-1][column].strip()!r} ({last})",
                where=first,
                remedy="Name that column pos, which sorts the rows, or leave it out if their order is right.",
            )
        if steps and min(steps) < 0:
            return (
                f"the rows are taken in the order of the file, which is not that of their column {title!r}; "
                "name the column pos if it orders them"
            )
    return ""


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
            f"the column {shown(header[0])} contains times, and no column contains values",
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
