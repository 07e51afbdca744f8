"""Tables whose rows name benchmarks and whose columns name units, such as ``name,time_ms``: no commit, no column value."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from knickpoint.formats.toolbox.table_cells import Cell, cell_text
from knickpoint.formats.toolbox.table_columns import name_and_unit, roles
from knickpoint.model.errors import FormatError
from knickpoint.model.unit_in_name import unit_in_name

__all__ = ["EXAMPLE", "check_told_apart", "has_named_rows"]

EXAMPLE: Final = "name,time_ms"
"""A header that is understood."""
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
    named = [index for index in range(len(header)) if index not in wide]
    seen: dict[tuple[str, ...], tuple[str, list[str]]] = {}
    for where, row in rows:
        texts = [cell_text(row[index]) for index in doubtful]
        first, known = seen.setdefault(tuple(cell_text(row[index]) for index in named), (where, texts))
        if known != texts:
            column = next(
                header[index] for index, one, other in zip(doubtful, known, texts, strict=True) if one != other
            )
            raise FormatError(
                f"this row and {first} have one name and different numbers in column {column!r}, which has no unit",
                where=where,
                remedy=f"Call it param:{column} if its values are different benchmarks, or metric:{column} if it was measured.",
            )


def _unit(column: str) -> str:
    name, unit = name_and_unit(column)
    return unit or unit_in_name(name)
