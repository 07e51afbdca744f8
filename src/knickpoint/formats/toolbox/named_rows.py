"""Tables whose rows name benchmarks and whose columns name units, such as ``name,time_ms``, without a commit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from knickpoint.formats.toolbox.table_cells import Cell, cell_text
from knickpoint.formats.toolbox.table_columns import name_and_unit, roles, says_nothing
from knickpoint.model.errors import FormatError
from knickpoint.model.unit import unit_in_name

EXAMPLE: Final = "name,time_ms"
"""A header that is understood."""
_REPETITIONS: Final = frozenset({"sample", "repetition", "rep", "repeat", "iteration", "trial", "round"})
"""Columns that number the repetitions of a benchmark."""
_NO_NAMES: Final = ("time", "commit_time", "order", "status", "exit_code", "message", "author", "email", "subject")
"""Roles of columns that tell no two benchmarks apart."""


def has_named_rows(header: Sequence[str]) -> bool:
    """Return True if a column names benchmarks, another one names its unit, and none says of which commit or when."""
    found = roles(header)
    if "benchmark" not in found or {"commit", "time", "commit_time", "value", "samples"} & found.keys():
        return False
    taken = set(found.values())
    return any(_unit(name) for index, name in enumerate(header) if index not in taken)


def check_told_apart(header: Sequence[str], wide: Collection[int], rows: Sequence[tuple[str, Sequence[Cell]]]) -> None:
    """Refuse rows of one run and benchmark that may be several benchmarks, told apart by a column of numbers.

    They are repetitions where a column numbers them, where they differ in one measured column only, or where the others
    are called ``metric:``. A column without a unit counts as measured only where none has a unit.

    Raises:
        FormatError: there are such rows; the message names them and the columns.
    """
    found = roles(header)
    numbering = {index for index, name in enumerate(header) if name.strip().lower() in _REPETITIONS}
    ignored = {*wide, *(found[role] for role in _NO_NAMES if role in found)} - numbering
    named = [
        index
        for index, name in enumerate(header)
        if index in numbering or (index not in ignored and not says_nothing(name))
    ]
    doubtful = [index for index in wide if header[index].partition(":")[0].lower() != "metric"]
    with_unit = any(_unit(header[index]) for index in wide)
    known: dict[tuple[str, ...], tuple[str, dict[int, str]]] = {}
    for where, row in rows:
        first, texts = known.setdefault(tuple([cell_text(row[index]) for index in named]), (where, {}))
        if first == where:
            texts.update({index: text for index in doubtful if (text := cell_text(row[index]))})
            continue
        differing = [index for index in doubtful if (text := cell_text(row[index])) != texts.setdefault(index, text)]
        if len(differing) > 1 or (differing and with_unit and not _unit(header[differing[0]])):
            raise _not_told_apart([header[index] for index in differing], first, where)


def _not_told_apart(columns: Sequence[str], first: str, where: str) -> FormatError:
    listed = ", ".join(map(repr, columns))
    example = next((name for name in columns if not _unit(name)), columns[0])
    return FormatError(
        f"this row and {first} belong to one benchmark, differ in {listed}, and no column numbers repetitions",
        where=where,
        remedy=f"Call it param:{example} if its values are different benchmarks, or metric:{example} if it was "
        "measured; a column rep numbers repetitions.",
    )


def _unit(column: str) -> str:
    name, unit = name_and_unit(column)
    return unit or unit_in_name(name)
