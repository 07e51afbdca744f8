"""Render the reference page of the configuration from the docstrings of the settings."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

from knickpoint.instance.config.reader import CONFIG_FILE
from knickpoint.instance.config.settings import Config

_ATTRIBUTE = re.compile(r"^(\w+): (.*)$")


def configuration_page() -> str:
    """Return the page in Markdown: every section with every setting, its type, its default and its meaning."""
    lines = [
        f"# {CONFIG_FILE}",
        "",
        "Written from the code by `make docs-write`. Keys that are not listed here are refused. `${NAME}` in a text is",
        "the environment variable NAME.",
        "",
    ]
    for title, kind in _sections(Config, ""):
        summary = inspect.cleandoc(kind.__doc__ or "").partition("\n")[0].partition(";")[0].rstrip(".")
        lines += [f"## {title}", "", summary.replace("``", "`") + ".", ""]
        lines += ["| setting | type | by default | meaning |", "|---|---|---|---|"]
        meanings = attribute_meanings(kind)
        hints = typing.get_type_hints(kind)
        for each in dataclasses.fields(kind):
            if _section_of(hints[each.name]) is None and not (each.name == "name" and title.endswith("NAME]")):
                meaning = meanings.get(each.name, "").replace("|", "∣").replace("``", "`")
                lines.append(f"| `{each.name}` | {_type(hints[each.name])} | {_default(each)} | {meaning} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _sections(kind: type[Any], path: str) -> Iterator[tuple[str, type[Any]]]:
    """Yield every section, outermost first."""
    yield f"[{path}]" if path and not path.startswith("[") else path or "At the top", kind
    for name, hint in typing.get_type_hints(kind).items():
        inner = _section_of(hint)
        if inner is None:
            continue
        section, suffix = inner
        below = f"{path}.{name.removesuffix('_')}".lstrip(".") + suffix
        yield from _sections(section, f"[[{below}]]" if typing.get_origin(hint) is tuple else below)


def _section_of(hint: Any) -> tuple[type[Any], str] | None:
    """Return the dataclass that a field holds, and the suffix of its name in the title of the section."""
    if dataclasses.is_dataclass(hint):
        return typing.cast("type[Any]", hint), ""
    arguments = typing.get_args(hint)
    if not arguments:
        return None
    last = arguments[0] if typing.get_origin(hint) is tuple else arguments[-1]
    if not dataclasses.is_dataclass(last):
        return None
    return typing.cast("type[Any]", last), "" if typing.get_origin(hint) is tuple else ".NAME"


def attribute_meanings(kind: type[Any]) -> dict[str, str]:
    """Return the meaning of each attribute in the docstring of a dataclass."""
    _, _, attributes = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")
    found: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(attributes).splitlines():
        begun = _ATTRIBUTE.match(line)
        if begun:
            name = begun[1]
            found[name] = begun[2]
        elif name:
            found[name] += " " + line.strip()
    return found


def _type(hint: Any) -> str:
    plain = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    if hint in plain:
        return plain[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return ", ".join(f"`{member.value}`" for member in hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return f"list of {_type(arguments[0])}s"
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return f"name = {_type(arguments[1])}"
    return " or ".join(_type(argument) for argument in arguments) or str(hint)


def _default(each: dataclasses.Field[Any]) -> str:
    if each.default is dataclasses.MISSING:
        return "none" if each.default_factory is not dataclasses.MISSING else "**required**"
    value = each.default.value if isinstance(each.default, Enum) else each.default
    if value in {"", ()}:
        return "none"
    if isinstance(value, tuple):
        return ", ".join(f"`{item}`" for item in value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
