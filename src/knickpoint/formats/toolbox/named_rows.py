"""Tables whose rows name benchmarks and whose columns name units, such as ``name,time_ms``: no commit, no column value."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from knickpoint.formats.toolbox.table_cells import Cell, cell_text
from knickpoint.formats.toolbox.table_columns import name_and_unit, roles, says_nothing
from knickpoint.model.errors import FormatError
from knickpoint.model.unit_in_name import unit_in_name

__all__ = ["EXAMPLE", "check_runs_told_apart", "check_told_apart", "has_named_rows"]

EXAMPLE: Final = "name,time_ms"
"""A header that is understood."""
_USUAL_PARAMS: Final = frozenset(
    [
        "size",
        "n",
        "length",
        "threads",
        "workers",
        "clients",
        "connections",
        "concurrency",
        "batch",
        "batch_size",
        "depth",
        "nodes",
        "shards",
    ]
)
"""Columns that nearly always say what was measured, even beside numbers of which none has a unit."""
_NO_NAMES: Final = ("time", "commit_time", "order", "status", "exit_code", "message", "author", "email", "subject")
"""Roles of columns that tell no two benchmarks apart."""
_OTHER: Final = frozenset({"param", "env", "link", "metric"})


def has_named_rows(header: Sequence[str]) -> bool:
    """Tell whether a column names benchmarks, another one names its unit, and none says of which commit or when."""
    found = roles(header)
    if "benchmark" not in found or {"commit", "time", "commit_time", "value", "samples"} & found.keys():
        return False
    taken = set(found.values())
    return any(_unit(name) for index, name in enumerate(header) if index not in taken)


def check_told_apart(header: Sequence[str], wide: Collection[int], rows: Sequence[tuple[str, Sequence[Cell]]]) -> None:
    """Refuse rows of one benchmark that differ in a number without a unit: it may say what was measured, as a size does.

    Rows that differ in measured values only are repetitions.

    Raises:
        FormatError: there are such rows; the message names them and the column.
    """
    doubtful = [index for index in wide if not _unit(header[index]) and header[index].partition(":")[0] not in _OTHER]
    _check_numbers(header, doubtful, _naming(header, {*wide}), rows)


def _check_numbers(
    header: Sequence[str],
    doubtful: Sequence[int],
    named: Sequence[int],
    rows: Sequence[tuple[str, Sequence[Cell]]],
) -> None:
    """Refuse rows that agree in all columns of ``named`` and differ in one of ``doubtful``."""
    seen: dict[tuple[str, ...], tuple[str, list[str]]] = {}
    for where, row in rows:
        texts = [cell_text(row[index]) for index in doubtful]
        first, known = seen.setdefault(tuple(cell_text(row[index]) for index in named), (where, texts))
        if known != texts:
            column = next(
                header[index] for index, one, other in zip(doubtful, known, texts, strict=True) if one != other
            )
            raise FormatError(
                f"this row and {first} belong to one benchmark and have different numbers in column {column!r}, which has no unit",
                where=where,
                remedy=f"Call it param:{column} if its values are different benchmarks, or metric:{column} if it was measured.",
            )


def check_runs_told_apart(
    header: Sequence[str], wide: Collection[int], rows: Sequence[tuple[str, Sequence[Cell]]]
) -> None:
    """Refuse rows of one commit and benchmark that differ in whole numbers without a unit, beside numbers that have one.

    They would be samples of one trace, although they may be different benchmarks. Fractions without a unit count as measured,
    and so do whole numbers where no column has a unit, unless their column is called as params are (``threads``).

    Raises:
        FormatError: there are such rows; the message names them and the column.
    """
    found = roles(header)
    ignored = {found[role] for role in _NO_NAMES if role in found}
    with_unit = any(_unit(header[index]) for index in wide)
    doubtful = [
        index
        for index in wide
        if (with_unit or header[index].strip().lower() in _USUAL_PARAMS)
        and not _unit(header[index])
        and header[index].partition(":")[0] not in _OTHER
        and all(_is_whole(row[index]) for _, row in rows)
    ]
    if doubtful and len(doubtful) < len(wide):
        _check_numbers(header, doubtful, _naming(header, {*wide, *ignored}), rows)


def _naming(header: Sequence[str], ignored: Collection[int]) -> list[int]:
    """Return the columns that tell rows apart: neither those to be ignored, nor counts, deviations and numbers of rows."""
    return [index for index, name in enumerate(header) if index not in ignored and not says_nothing(name)]


def _is_whole(cell: Cell) -> bool:
    text = cell_text(cell).removesuffix(".0")
    return not text or text.removeprefix("-").isdecimal()


def _unit(column: str) -> str:
    name, unit = name_and_unit(column)
    return unit or unit_in_name(name)
