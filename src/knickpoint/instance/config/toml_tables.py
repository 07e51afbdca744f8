"""Turn tables of TOML into dataclasses, strictly: what nobody reads is refused, not ignored."""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypeVar, cast

from knickpoint.model.errors import ConfigError

__all__ = ["read_section"]

Section = TypeVar("Section")

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PLAIN: Final = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f\s](?:[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\s])?")


def read_section(kind: type[Section], table: Mapping[str, Any], *, file: str, section: str = "") -> Section:
    """Return ``table`` as the dataclass ``kind``.

    A field that is a mapping of dataclasses is a section of named sections; where such a dataclass has a
    field ``name``, the section's name fills it. ``${NAME}`` in a text is the environment variable NAME.

    Raises:
        ConfigError: a key that ``kind`` does not have, a missing one, or a value of another type; it names the
            key, the section and ``file``.
    """
    assert dataclasses.is_dataclass(kind)
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind) if field.init}
    where = f"{file}, [{section}]" if section else file
    for key in table:
        if key not in fields:
            raise ConfigError(f"unknown key {key!r}", where=where, remedy=_suggestion(key, list(fields)))
    required = [
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING and name not in table
    ]
    if required:
        raise ConfigError(f"{required[0]!r} is missing", where=where, remedy=f"Add {required[0]} = … there.")
    values = {
        key: _value(hints[key], value, f"{section}.{key}" if section else key, file) for key, value in table.items()
    }
    return cast("Section", kind(**values))


def _suggestion(key: str, names: list[str]) -> str:
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"Known keys are {', '.join(sorted(names))}." if names else "This section has no keys."


def _value(hint: Any, value: Any, place: str, file: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return _scalar(arguments, value, place, file)
    if origin is tuple:
        if not isinstance(value, list):
            raise _wrong(value, 'a list, as in ["one", "two"],', place, file)
        return tuple(_value(arguments[0], one, f"{place}[{index}]", file) for index, one in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        return _named(arguments[1], value, place, file)
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise _wrong(value, f"a section [{place}]", place, file)
        return read_section(cast("type[Any]", hint), value, file=file, section=place)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _member(hint, value, place, file)
    return _scalar((hint,), value, place, file)


def _named(hint: Any, value: Any, place: str, file: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(value, f"a section [{place}]", place, file)
    for name in value:
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} cannot be a name", where=f"{file}, [{place}]", remedy="Use a name without space around it."
            )
    takes_name = dataclasses.is_dataclass(hint) and any(field.name == "name" for field in dataclasses.fields(hint))
    if not takes_name:
        return {name: _value(hint, one, f"{place}.{name}", file) for name, one in value.items()}
    found = {}
    for name, one in value.items():
        if not isinstance(one, dict):
            raise _wrong(one, f"a section [{place}.{name}]", f"{place}.{name}", file)
        if "name" in one:
            raise ConfigError(
                "'name' is given twice", where=f"{file}, [{place}.{name}]", remedy="The section's own name is the name."
            )
        found[name] = read_section(cast("type[Any]", hint), {"name": name, **one}, file=file, section=f"{place}.{name}")
    return found


def _member(hint: type[Enum], value: Any, place: str, file: str) -> Enum:
    for member in hint:
        if member.value == value:
            return member
    raise _wrong(value, "one of " + ", ".join(repr(member.value) for member in hint), place, file)


def _scalar(kinds: tuple[Any, ...], value: Any, place: str, file: str) -> Any:
    if isinstance(value, str) and str in kinds:
        return _VARIABLE.sub(lambda found: _variable(found[1], place, file), value)
    if type(value) in kinds:
        return value
    if type(value) is int and float in kinds:
        return float(value)
    raise _wrong(value, " or ".join(_PLAIN.get(kind, str(kind)) for kind in kinds), place, file)


def _variable(name: str, place: str, file: str) -> str:
    if name not in os.environ:
        raise ConfigError(
            f"{place} needs the environment variable {name}, which is not set", where=file, remedy=f"Set {name}."
        )
    return os.environ[name]


def _wrong(value: Any, expected: str, place: str, file: str) -> ConfigError:
    shown = "a section" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(value)
    return ConfigError(f"{place} is {shown} where {expected} belongs", where=file, remedy="Correct the value.")
