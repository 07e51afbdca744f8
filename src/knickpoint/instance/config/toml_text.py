"""Write settings as TOML, where the text that a person wrote cannot be kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from typing import Any, Final

__all__ = ["Table", "copied", "literal", "written"]

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")

Table = Mapping[str, Any]
"""A table of TOML, as Python reads it."""


def copied(table: Table) -> dict[str, Any]:
    """Return a copy of a table whose sections can be changed."""
    return {name: copied(value) if isinstance(value, dict) else value for name, value in table.items()}


def literal(text: str) -> str:
    """Return a text as a basic string of TOML, which escapes as JSON does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def written(table: Table) -> str:
    """Return a table as the text of a file, without comments."""
    return "\n".join(_lines(table, ())).lstrip("\n") + "\n"


def _lines(table: Table, place: tuple[str, ...]) -> Iterator[str]:
    if place:
        yield f"\n[{'.'.join(map(_key, place))}]"
    for name, value in table.items():
        if not isinstance(value, dict):
            yield f"{_key(name)} = {_value(value)}"
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _lines(value, (*place, name))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_value(item)}" for name, item in value.items()) + " }"
    return value.isoformat() if isinstance(value, datetime | date | time) else repr(value)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else literal(name)
