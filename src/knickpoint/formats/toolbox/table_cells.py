"""What stands in tables; split the lines of those with delimiters, and refuse what is not whole."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from knickpoint.formats.toolbox.numbers import numeral
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome

Cell = str | float | int | bool | datetime | list[float] | None


def cell_text(cell: Cell) -> str:
    """Return ``cell`` as text without space around it, "" for an empty one."""
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return cell.isoformat()
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell.strip() if isinstance(cell, str) else str(cell)


def header_cells(line: str, delimiter: str = ",") -> list[str]:
    """Return the cells of one ``line`` without space around them, none where its quotes are not whole."""
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, strict=True), [])]
    except csv.Error:
        return []


def read_cells(
    lines: Sequence[str], width: int, *, first: int = 0, delimiter: str = ","
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the line, counted from 1, and the cells of every row from ``lines[first]`` on.

    Rows without content, and comments that begin with ``#``, are left out.

    Raises:
        FormatError: a row has other than ``width`` cells, its quotes are not closed, or a cell is too long.
    """
    for number, cells in split_rows((f"{line}\n" for line in lines[first:]), delimiter, first=first):
        if any(cell.strip() for cell in cells) and not cells[0].startswith("#"):
            check_width(cells, width, number)
            yield number, cells


def split_rows(lines: Iterable[str], delimiter: str = ",", *, first: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the line and the cells of every row of ``lines``, which have their ends.

    ``first`` lines precede them.

    Raises:
        FormatError: the quotes of a row are not closed, or a cell is too long.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number = first + reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FormatError(
                f"incomplete row: {error}",
                where=f"line {number}",
                remedy="Close the quotes; if the file is truncated, write it again.",
            ) from error
        yield number, cells


def check_width(cells: Sequence[str], width: int, line: int) -> None:
    """Refuse a row that has other than ``width`` cells."""
    if len(cells) != width:
        raise FormatError(
            f"the row has {len(cells)} cells, the header {width}",
            where=f"line {line}",
            remedy="Give every row a cell for every column; quote cells that hold the delimiter, and write decimals "
            "with a point.",
        )


# What the columns of a table say about how a row ended: its status, and the exit code of what was measured.


_STATUSES: Final = {
    "ok": Outcome.MEASURED,
    "passed": Outcome.MEASURED,
    "pass": Outcome.MEASURED,
    "success": Outcome.MEASURED,
    "measured": Outcome.MEASURED,
    "": Outcome.MEASURED,
    "failed": Outcome.FAILED,
    "fail": Outcome.FAILED,
    "failure": Outcome.FAILED,
    "error": Outcome.FAILED,
    "skipped": Outcome.SKIPPED,
    "skip": Outcome.SKIPPED,
    "ignored": Outcome.SKIPPED,
}


def row_outcome(status: str, exit_code: str, message: str, where: str) -> tuple[Outcome, str]:
    """Return the outcome of the row at ``where`` and its reason; the cells are "" if the table has no such column.

    Raises:
        FormatError: the status is none that is known.
    """
    outcome = _STATUSES.get(status.lower())
    if outcome is None:
        raise FormatError(
            f"the status {status!r} is none of ok, failed, skipped",
            where=where,
            remedy="Use one of them, or name that column param:status.",
        )
    if outcome is Outcome.MEASURED and (numeral(exit_code) or 0) != 0:
        return Outcome.FAILED, message or f"exit code {exit_code}"
    return outcome, message
