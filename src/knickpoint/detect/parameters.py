"""Parameters of a method: those of its function, checked and converted before it runs.

A method is a function with keyword-only parameters, each annotated with one of ``bool``, ``int``,
``float``, ``str``, ``Literal[...]`` of texts, ``tuple[int, ...]`` or ``tuple[float, ...]``, or one of these
``| None``. A value can be a text from a command line or a file, which is converted:

=====================  =====================================================================
type                   text
=====================  =====================================================================
``bool``               ``true``, ``yes``, ``on``, ``1`` and ``false``, ``no``, ``off``, ``0``
``int``, ``float``     as Python reads them; ``1e3`` is an integer, ``nan`` is refused
``str``, ``Literal``   unchanged; ``Literal`` accepts hyphens for underscores
``tuple``              numbers with commas in between; an empty text is the empty tuple
``… | None``           ``none`` or an empty text, besides the above
=====================  =====================================================================
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from functools import cache
from operator import index
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from knickpoint.model.errors import InputError

__all__ = ["CANDIDATES", "EVIDENCE", "Value", "describe", "effective", "resolve", "takes"]

CANDIDATES: Final = "candidates"
"""A method whose rejected candidates take time to describe has this parameter, a ``bool``, to leave them out. Users do
not set it: ``explain`` asks for candidates, ``find_steps`` does not."""

EVIDENCE: Final = "evidence"
"""A ``detect_many`` whose evidence takes time to describe has this parameter, a ``bool``, to leave all of it out that only
people read."""

Value = bool | int | float | str | None | tuple[int, ...] | tuple[float, ...]

_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})


@cache
def _keyword_parameters(method: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Return the annotation and the default of every keyword-only parameter.

    Other parameters are left out before annotations are evaluated, since those may name what only type checkers import.
    """
    settable = [
        parameter
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.name != CANDIDATES
    ]

    def probe() -> None: ...

    probe.__annotations__ = {parameter.name: parameter.annotation for parameter in settable}
    hints = get_type_hints(probe, globalns=getattr(inspect.unwrap(method), "__globals__", {}))
    return {parameter.name: (hints[parameter.name], parameter.default) for parameter in settable}


@cache
def takes(method: Callable[..., Any], name: str) -> bool:
    """Return whether ``method`` has a parameter ``name``."""
    return name in inspect.signature(method).parameters


def describe(method: Callable[..., Any]) -> dict[str, Value]:
    """Return the parameters of ``method`` with their defaults, in the order of its signature."""
    return {name: default for name, (_, default) in _keyword_parameters(method).items()}


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError("true or false")


def _whole(value: object) -> int:
    if isinstance(value, bool):
        raise ValueError("a whole number")  # noqa: TRY004 - one kind of error says what was expected
    try:
        return int(value) if isinstance(value, str) else index(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = _real(value, "a whole number")
    if math.isinf(number) or number != int(number):
        raise ValueError("a whole number")
    return int(number)


def _real(value: object, expected: str = "a number") -> float:
    if isinstance(value, bool):
        raise ValueError(expected)  # noqa: TRY004 - as above
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(expected) from None
    if math.isnan(number):
        raise ValueError(expected)
    return number


def _choice(value: object, choices: tuple[str, ...]) -> str:
    text = str(value).strip().replace("-", "_")
    for choice in choices:
        if text == choice.replace("-", "_"):
            return choice
    raise ValueError("one of " + ", ".join(choices))


def _sequence(value: object, kind: type) -> tuple[Any, ...]:
    expected = "numbers with commas in between"
    items: Any = [part for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    try:
        return tuple((_whole if kind is int else _real)(item) for item in items)
    except TypeError:
        raise ValueError(expected) from None


def _convert(value: object, kind: Any) -> Value:  # noqa: PLR0911 - one return a kind
    origin = get_origin(kind)
    if origin in {Union, UnionType}:
        if value is None or (isinstance(value, str) and value.strip().lower() in {"", "none"}):
            return None
        return _convert(value, next(part for part in get_args(kind) if part is not NoneType))
    if origin is Literal:
        return _choice(value, get_args(kind))
    if origin is tuple:
        return _sequence(value, get_args(kind)[0])
    if kind is bool:
        return _boolean(value)
    if kind is int:
        return _whole(value)
    if kind is float:
        return _real(value)
    if not isinstance(value, str):
        raise ValueError("text")  # noqa: TRY004 - as above
    return value


def _listing(parameters: Mapping[str, Value]) -> str:
    return ", ".join(f"{name}={getattr(default, 'value', default)}" for name, default in parameters.items()) or "none"


def resolve(
    method: Callable[..., Any],
    name: str,
    presets: Mapping[str, Mapping[str, Value]],
    given: Mapping[str, object],
) -> dict[str, Any]:
    """Return the arguments for ``method``: the given ones, and those of the preset that are not given.

    Raises:
        InputError: a preset or a parameter that the method does not have, or a value of the wrong type.
    """
    known = _keyword_parameters(method)
    rest = {key.replace("-", "_"): value for key, value in given.items()}
    arguments: dict[str, Any] = {}
    preset = rest.pop("preset", None)
    if preset not in {None, ""}:
        if preset not in presets:
            raise InputError(
                f"the method {name} has no preset {preset!r}",
                remedy=f"Its presets are: {', '.join(sorted(presets)) or 'none'}.",
            )
        arguments.update(presets[str(preset)])
    for key, value in rest.items():
        if key not in known:
            raise InputError(
                f"the method {name} has no parameter {key!r}",
                remedy=f"Its parameters are: {_listing(describe(method))}.",
            )
        try:
            arguments[key] = _convert(value, known[key][0])
        except ValueError as error:
            raise InputError(
                f"the parameter {key} of the method {name} is {value!r}", remedy=f"Give {error}."
            ) from error
    return arguments


def effective(method: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Value]:
    """Return ``arguments`` with the defaults of ``method`` filled in, in the order of its signature."""
    return {name: arguments.get(name, default) for name, default in describe(method).items()}
