"""Turn dataclasses into documents of JSON and back, strictly: unknown, missing and mistyped fields are errors."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar, cast

__all__ = ["document_of", "read_document"]

Document = TypeVar("Document")


def document_of(value: Any) -> Any:
    """Return a dataclass as dicts, lists and plain values; its fields may hold texts, numbers, enums, tuples and mappings."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: document_of(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: document_of(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [document_of(item) for item in value]
    return value.value if isinstance(value, Enum) else value


def read_document(kind: type[Document], document: object, place: str = "") -> Document:
    """Return a document as the dataclass ``kind``; its types of fields are the schema.

    Raises:
        ValueError: a field is unknown, missing or of another type; it names the field, below ``place``.
    """
    hints = typing.get_type_hints(kind)
    if not isinstance(document, dict):
        raise ValueError(f"{place or 'it'} is no object")  # noqa: TRY004 - bad input, as the others
    if unknown := [name for name in document if name not in hints]:
        raise ValueError(f"the field {_below(place, unknown[0])} is not known")
    if missing := [name for name in _required(kind) if name not in document]:
        raise ValueError(f"the field {_below(place, missing[0])} is missing")
    return kind(**{name: _read(hints[name], value, _below(place, name)) for name, value in document.items()})


def _read(hint: Any, value: object, place: str) -> Any:
    """Return a value of JSON as the type ``hint``."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and isinstance(value, list | tuple):  # msgpack reads lists as tuples
        kinds = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(kinds) != len(value):
            raise ValueError(f"{place} has {len(value)} items, not {len(kinds)}")
        return tuple(
            _read(kind, item, f"{place}[{index}]") for index, (kind, item) in enumerate(zip(kinds, value, strict=True))
        )
    if origin is not None and issubclass(origin, Mapping) and isinstance(value, dict):
        return {name: _read(arguments[1], item, _below(place, name)) for name, item in value.items()}
    if dataclasses.is_dataclass(hint):
        return read_document(cast("type[Any]", hint), value, place)
    if isinstance(hint, type) and issubclass(hint, Enum):
        if value not in [member.value for member in hint]:
            raise ValueError(f"{place} is none of {', '.join(str(member.value) for member in hint)}")
        return hint(value)
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint or (isinstance(value, float) and not math.isfinite(value)):
        raise ValueError(f"{place} is no {getattr(origin or hint, '__name__', hint)}")
    return value


def _required(kind: type[Any]) -> list[str]:
    return [
        field.name
        for field in dataclasses.fields(kind)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    ]


def _below(place: str, name: object) -> str:
    return f"{place}.{name}" if place else str(name)
