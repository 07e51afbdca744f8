"""What a detection method is: one record that the method's package declares and the registry loads."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from operator import index
from types import NoneType, UnionType
from typing import Any, Final, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from knickpoint.model.errors import InputError
from knickpoint.model.step import Step

# Parameters of a method: those of its function, checked and converted before it runs.
#
# A method is a function with keyword-only parameters, each annotated with one of ``bool``, ``int``,
# ``float``, ``str``, ``Literal[...]`` of texts, ``tuple[int, ...]`` or ``tuple[float, ...]``, or one of these
# ``| None``. A value can be a text from a command line or a file, which is converted:
#
# =====================  =====================================================================
# type                   text
# =====================  =====================================================================
# ``bool``               ``true``, ``yes``, ``on``, ``1`` and ``false``, ``no``, ``off``, ``0``
# ``int``, ``float``     as Python reads them; ``1e3`` is an integer, ``nan`` is refused
# ``str``, ``Literal``   unchanged; ``Literal`` accepts hyphens for underscores
# ``tuple``              numbers with commas in between; an empty text is the empty tuple
# ``… | None``           ``none`` or an empty text, besides the above
# =====================  =====================================================================


CANDIDATES: Final = "candidates"
"""A method whose rejected candidates take time to describe has this parameter, a ``bool``, to leave them out. Users do
not set it: ``explain`` asks for candidates, ``find_steps`` does not."""

EVIDENCE: Final = "evidence"
"""A ``detect_many`` whose evidence takes time to describe has this parameter, a ``bool``, to leave all of it out that
only people read.
"""

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
    """Return True if ``method`` has a parameter ``name``."""
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


Answer = TypeVar("Answer")
"""What the function of a method returns; it depends on the kind."""


class MethodKind(Enum):
    """What a method takes, and what it returns.

    ======  =================================  ================================================
    kind    takes                              returns
    ======  =================================  ================================================
    SERIES  one series, 1-D                    a ``Detection``
    JOINT   several series, traces x commits   a ``Detection`` for each
    GROUP   the same, and the trace keys       ``Cluster`` objects, each of traces of one shape
    ======  =================================  ================================================

    In all of them ``nan`` stands for a missing value.
    """

    SERIES = "series"
    JOINT = "joint"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Method(Generic[Answer]):
    """Describe a detection method.

    Attributes:
        name: what users call it, with underscores.
        kind: what ``detect`` takes and returns.
        detect: the method. Its keyword-only parameters are those that users set, see
            :mod:`knickpoint.detect.method`.
        presets: name of a preset to the parameters that it sets.
        releases_gil: true when nearly all the time is spent in kernels, which let other threads run; threads then
            share the work of many series.
        detect_many: for ``SERIES``: gives the steps of each row of a frame in less time than one by one; with the
            parameters of ``detect``, and perhaps :data:`~knickpoint.detect.method.EVIDENCE`.
        own_steps: for ``JOINT``: true when the steps of each trace are final; else the method says where the traces
            step together, and a trace has a step only where its own values moved.
        takes_keys: for ``JOINT``: true when ``detect`` takes the trace keys of the rows as its second argument, as
            those of the kind ``GROUP`` do, or None where there are none.
        fewest: for ``SERIES`` and ``JOINT``: gives, from all parameters by name, the number of values below which the
            method finds no step in any series; None where that is not known.
    """

    name: str
    kind: MethodKind
    detect: Callable[..., Answer]
    presets: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    releases_gil: bool = False
    detect_many: Callable[..., Sequence[Sequence[Step]]] | None = None
    fewest: Callable[[Mapping[str, Any]], int] | None = None
    own_steps: bool = False
    takes_keys: bool = False

    @property
    def parameters(self) -> dict[str, Value]:
        """The parameters with their defaults."""
        return describe(self.detect)

    @property
    def without_candidates(self) -> Mapping[str, bool]:
        """The arguments that leave out what only ``explain`` wants."""
        return {CANDIDATES: False} if takes(self.detect, CANDIDATES) else {}

    @property
    def without_evidence(self) -> Mapping[str, bool]:
        """The arguments of ``detect_many`` that leave out the evidence that only people read."""
        return {EVIDENCE: False} if self.detect_many and takes(self.detect_many, EVIDENCE) else {}

    def arguments(self, given: Mapping[str, object]) -> dict[str, Any]:
        """Return the arguments for ``detect`` that the given parameters, and perhaps a ``preset``, mean.

        Raises:
            InputError: a preset or a parameter that the method does not have, or a value of another type.
        """
        return resolve(self.detect, self.name, self.presets, given)

    def fewest_values(self, given: Mapping[str, object]) -> int:
        """Return the number of values below which no step can be found with the given parameters, 0 if unknown.

        Raises:
            InputError: as :meth:`arguments`.
        """
        arguments = self.arguments(given)
        return self.fewest(effective(self.detect, arguments)) if self.fewest else 0

    def reported_parameters(
        self, given: Mapping[str, object], arguments: Mapping[str, Any]
    ) -> dict[str, float | int | str | bool | None]:
        """Return all parameters as a detection reports them: ``arguments`` and defaults, tuples as text, the preset."""
        reported = {
            name: ",".join(str(item) for item in value) if isinstance(value, tuple) else value
            for name, value in effective(self.detect, arguments).items()
        }
        if given.get("preset"):
            reported["preset"] = str(given["preset"])
        return reported
