"""Turn tables of TOML into dataclasses, strictly: unknown keys and wrong types are errors.

The types of the fields are the schema. A table becomes a dataclass field by field; errors name the file, the section,
the key and the nearest known key. ``docs/decisions/configuration-and-command-line.md`` compares this reader with a
library.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import types
import typing
from collections.abc import Mapping
from datetime import date
from enum import Enum
from typing import Any, Final, TypeVar, cast

from knickpoint.model.errors import ConfigError
from knickpoint.model.plain_text import SECRET
from knickpoint.model.renamed import new_name

Section = TypeVar("Section")

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PERCENT: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*", re.ASCII)
_PLAIN: Final = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
_NAME: Final = re.compile(r"[^\x00-\x1f\x7f\s](?:[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\s])?")


def read_section(kind: type[Section], table: Mapping[str, Any], *, file: str, section: str = "") -> Section:
    """Return ``table`` as the dataclass ``kind``.

    A mapping of dataclasses is a section of named sections, such as ``[alerts.NAME]``. Where these dataclasses have a
    field ``name``, it gets the name of the section. ``${NAME}`` in a text is the environment variable NAME.

    Raises:
        ConfigError: a key is unknown or missing, or a value has another type; it names the key, the section and
            ``file``.
    """
    assert dataclasses.is_dataclass(kind)
    hints = typing.get_type_hints(kind)
    fields = {key_of(field): field for field in dataclasses.fields(kind) if field.init}
    where = f"{file}, [{section}]" if section else file
    for key in table:
        if key not in fields:
            raise _unknown(key, table[key], list(fields), file, section)
    required = [
        name
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING and name not in table
    ]
    if required:
        raise ConfigError(f"{required[0]!r} is missing", where=where, remedy=f"Add {required[0]} = … there.")
    for key, value in table.items():
        if SECRET in fields[key].metadata:
            _check_texts(value, f"{section}.{key}", file)
    values = {
        fields[key].name: _value(hints[fields[key].name], value, f"{section}.{key}" if section else key, file)
        for key, value in table.items()
    }
    return cast("Section", kind(**values))


def key_of(field: dataclasses.Field[Any]) -> str:
    """Return the key of a field: its name, or ``try`` for ``try_``, which Python keeps for itself."""
    return field.name.removesuffix("_")


def _check_texts(value: Any, key: str, file: str) -> None:
    """Refuse a secret that lacks its quotes by a message that does not show it."""
    texts = value if isinstance(value, dict) else {"": value}
    for name, text in texts.items():
        if not isinstance(text, str):
            where = f"{key}.{name}".rstrip(".")
            raise ConfigError(f"{where} is not a string", where=file, remedy="Put it in quotes.")


def _unknown(key: str, value: Any, names: list[str], file: str, section: str) -> ConfigError:
    """Refuse a key that the section does not have; ``value`` tells a section from a setting."""
    where = f"{file}, [{section}]" if section else file
    new = new_name(key, names)
    if new and isinstance(value, dict) and not section:
        first = next(iter(value), "NAME")
        old, new = f"[{key}.{first}]", f"[{new}.{first}]"
        return ConfigError(f"{old} was renamed to {new}", where=f"{file}, {old}", remedy=f"Write {new} there.")
    if new:
        return ConfigError(f"{key!r} was renamed to {new!r}", where=where, remedy=f"Write {new} there.")
    return ConfigError(f"unknown key {key!r}", where=where, remedy=_suggestion(key, names))


def _suggestion(key: str, names: list[str]) -> str:
    near = difflib.get_close_matches(key, names, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {near[0]!r}?"
    return f"Known keys are {', '.join(sorted(names))}." if names else "This section has no keys."


def _value(hint: Any, value: Any, key: str, file: str) -> Any:
    """Return a value of TOML as the type ``hint``; ``key`` is its dotted name, for messages."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        return _scalar(arguments, value, key, file)
    if origin is tuple:
        if not isinstance(value, list):
            raise _wrong(value, 'a list, as in ["one", "two"],', key, file)
        return tuple(_value(arguments[0], item, f"{key}[{index}]", file) for index, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        return _named(arguments[1], value, key, file)
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            raise _wrong(value, f"a section [{key}]", key, file)
        return read_section(cast("type[Any]", hint), value, file=file, section=key)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _member(hint, value, key, file)
    return _scalar((hint,), value, key, file)


def _named(hint: Any, value: Any, key: str, file: str) -> dict[str, Any]:
    """Return a section of named sections, or of named values."""
    if not isinstance(value, dict):
        raise _wrong(value, f"a section [{key}]", key, file)
    for name in value:
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name!r} cannot be a name", where=f"{file}, [{key}]", remedy="Use a name without spaces around it."
            )
    takes_name = dataclasses.is_dataclass(hint) and any(field.name == "name" for field in dataclasses.fields(hint))
    if not takes_name:
        return {name: _value(hint, item, f"{key}.{name}", file) for name, item in value.items()}
    found = {}
    for name, table in value.items():
        if not isinstance(table, dict):
            raise _wrong(table, f"a section [{key}.{name}]", f"{key}.{name}", file)
        if "name" in table:
            raise ConfigError(
                "'name' is given twice",
                where=f"{file}, [{key}.{name}]",
                remedy="Remove it: the name of the section is the name.",
            )
        found[name] = read_section(cast("type[Any]", hint), {"name": name, **table}, file=file, section=f"{key}.{name}")
    return found


def _member(hint: type[Enum], value: Any, key: str, file: str) -> Enum:
    for member in hint:
        if member.value == value:
            return member
    new = new_name(value, [member.value for member in hint]) if isinstance(value, str) else ""
    if new:
        raise ConfigError(
            f"{key} is {value!r}, which was renamed to {new!r}", where=file, remedy=f"Write {new!r} there."
        )
    raise _wrong(value, "one of " + ", ".join(repr(member.value) for member in hint), key, file)


def _scalar(kinds: tuple[Any, ...], value: Any, key: str, file: str) -> Any:
    if isinstance(value, str) and str in kinds:
        return _VARIABLE.sub(lambda found: _variable(found[1], key, file), value)
    if type(value) is date and str in kinds:
        return value.isoformat()  # TOML reads a date without quotes as one
    if type(value) in kinds:
        return value
    if type(value) is int and float in kinds:
        return float(value)
    raise _wrong(value, " or ".join(_PLAIN.get(kind, str(kind)) for kind in kinds), key, file)


def _variable(name: str, key: str, file: str) -> str:
    if name not in os.environ:
        raise ConfigError(
            f"{key} needs the environment variable {name}, which is not set", where=file, remedy=f"Set {name}."
        )
    return os.environ[name]


def _wrong(value: Any, expected: str, key: str, file: str) -> ConfigError:
    shown = "a section" if isinstance(value, dict) else "a list" if isinstance(value, list) else repr(value)
    share = _PERCENT.fullmatch(value) if isinstance(value, str) and expected == _PLAIN[float] else None
    remedy = f"Write {float(share[1]) / 100:g}, without quotes." if share else "Correct the value."
    return ConfigError(f"{key}: expected {expected}, got {shown}", where=file, remedy=remedy)
