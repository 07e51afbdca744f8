"""Read rows of JSON: a list of objects, or one object a line, with the columns of CSV as their members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.formats.toolbox.json_node import Node
from knickpoint.formats.toolbox.named_rows import check_told_apart
from knickpoint.formats.toolbox.table_cells import Cell
from knickpoint.formats.toolbox.table_columns import read_table, roles
from knickpoint.model.errors import FormatError

_NAME: Final = "json"
_MOST_CELLS: Final = 1_000_000
_SPARSEST: Final = 50
"""Cells for each member of a large table: rows that share few members would make a table far larger than the file."""
_CODESPEED: Final = frozenset({"commitid", "benchmark", "result_value"})
"""Members of a result that is sent to Codespeed."""


_FRAME: Final = (
    "Write rows with the columns commit, benchmark, value and unit as df.to_json(orient='records'),"
    " or a table with a column for each series as df.to_csv(index=False)."
)


def fits(file: FileContent) -> bool:
    """Return True if this is a list of plain objects, or one, that have a value and say of which commit or time."""
    found = _roles(file)
    return bool({"value", "samples"} & found) and bool({"commit", "time"} & found)


def unread_rows(file: FileContent) -> str:
    """Return the remedy for rows that name no commit and no time, or none of both; "" if the file has neither."""
    if file.document in ([], {}):
        return "It holds nothing. Check whether a filter excluded all benchmarks."
    rows = file.document if isinstance(file.document, list) else [file.document]
    if all(isinstance(row, dict) and row.keys() >= _CODESPEED for row in rows):
        return (
            "It looks like what is sent to Codespeed. Rename commitid to commit, revision_date to commit_time and "
            "result_value to value, give a unit, and leave std_dev, min and max out; then it is read with --as json."
        )
    if _is_frame(file.document):
        return f"It looks like a frame of pandas. {_FRAME}"
    found = _roles(file)
    if {"value", "samples"} & found:
        return (
            "Its rows name neither commit nor time, so other files may look like this: say that it holds results with "
            '--as json, or by format = "json" of a recipe or sidecar.'
        )
    if found and {"commit", "time", "benchmark", "commit_time"} & found:
        return f"Its rows have no member value. {_FRAME}"
    return ""


def _is_frame(document: object) -> bool:
    """Return True if pandas wrote this as columns, index, split or table."""
    if not isinstance(document, dict) or not document:
        return False
    if isinstance(document.get("data"), list) and ("columns" in document or "schema" in document):
        return True
    return all(
        isinstance(member, dict) and member and _is_plain([*member.values()]) for member in document.values()
    ) and any(
        all(key.isdecimal() for key in names)
        for names in ([*document], [key for member in document.values() for key in member])
    )


def _roles(file: FileContent) -> frozenset[str]:
    """Return the roles of the members of plain objects, none where there is anything else."""
    document = file.document
    rows = document if isinstance(document, list) else [document]
    objects = [row for row in rows if isinstance(row, dict) and all(map(_is_plain, row.values()))]
    return frozenset(roles(_header(objects))) if objects and len(objects) == len(rows) else frozenset()


def read(file: FileContent) -> Parsed:
    """Read the runs that the rows make; a member that is a list holds samples, null is missing."""
    root = Node(file.json)
    rows = list(root.elements()) if isinstance(root.value, list) else [root]
    members = [dict(row.members()) for row in rows]
    header = _header(members)
    if len(rows) * len(header) > max(_MOST_CELLS, _SPARSEST * sum(map(len, members))):
        raise FormatError(
            f"the {len(rows):,} rows have {len(header):,} different members, and few of them in common",
            remedy="Write a measurement a row: a member for the name and a member value.",
        )
    cells = ((row.path or "the document", _cells(row, header)) for row in rows)
    return read_table(_NAME, header, cells, check=check_told_apart)


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(item is None or isinstance(item, str | int | float) for item in value)
    return value is None or isinstance(value, str | int | float)


def _header(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the names of all members, in the order in which they first come."""
    return list(dict.fromkeys(name for row in rows for name in row))


def _cells(row: Node, header: Sequence[str]) -> list[Cell]:
    members = dict(row.members())
    return [_cell(members[name]) if name in members else None for name in header]


def _cell(node: Node) -> Cell:
    if isinstance(node.value, list) and _is_plain(node.value):
        return node.value
    if isinstance(node.value, int) and not isinstance(node.value, bool) and not node.is_number():
        return str(node.value)
    return node.value if isinstance(node.value, int | float) else node.word()
