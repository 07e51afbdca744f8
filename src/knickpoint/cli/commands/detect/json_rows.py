"""Read rows of JSON as a table of text: a list of objects or numbers, one object a line, or what pandas splits into columns."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any, Final

from knickpoint.model.errors import InputError

__all__ = ["is_json", "read_rows"]

_REMEDY: Final = (
    "Give a list of objects, such as pandas' df.to_json(orient='records') writes, or CSV, such as df.to_csv(index=False) writes; "
    "results files of tools are for knick import and knick check."
)


def is_json(text: str) -> bool:
    """Tell whether ``text`` begins as an object or a list does."""
    return text.lstrip()[:1] in {"{", "["}


def read_rows(text: str, name: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of ``text``; a member that is missing or null is an empty field.

    A list of numbers is the series ``value``. Numbers keep the digits that the file has. ``name`` is the name of the file.

    Raises:
        InputError: the text is no JSON, or has no rows of plain members.
    """
    documents = _documents(text, name)
    document = documents[0] if len(documents) == 1 else documents
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
        raise InputError("this JSON is an object, and not a list of rows", where=name, remedy=_REMEDY)
    return _of_objects(document, name)


def _documents(text: str, name: str) -> list[Any]:
    """Return the document in ``text``, or one a line."""

    def read(part: str) -> Any:
        # Numbers stay text, so that no digit is lost before a column says what it is.
        return json.loads(part, parse_float=str, parse_int=str)

    try:
        return [read(text)]
    except json.JSONDecodeError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            return [read(line) for line in lines]
        except json.JSONDecodeError:
            raise InputError(
                f"this is no JSON: {error.msg}",
                where=f"{name}, line {error.lineno}",
                remedy="If it was cut short, write it again.",
            ) from None


def _split(columns: Sequence[Any], rows: Sequence[Any], name: str) -> tuple[list[str], list[list[str]]]:
    for place, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(columns):
            raise InputError(
                f"this row has not the {len(columns)} fields of the columns",
                where=f"{name}, data[{place}]",
                remedy=_REMEDY,
            )
    return [str(title) for title in columns], [
        [_field(field, f"{name}, data[{place}]") for field in row] for place, row in enumerate(rows)
    ]


def _of_objects(rows: Sequence[Any], name: str, *, without: Collection[str] = ()) -> tuple[list[str], list[list[str]]]:
    odd = next((place for place, row in enumerate(rows) if not isinstance(row, dict)), None)
    if odd is not None:
        raise InputError("this row is no object", where=f"{name}, element {odd}", remedy=_REMEDY)
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
