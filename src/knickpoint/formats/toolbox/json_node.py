"""Values of a JSON document that know their path, so that every complaint can name its place."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from knickpoint.formats.toolbox.numbers import NoNumberError, numeral, shown, to_float
from knickpoint.model.errors import FormatError

_PLAIN_NAME: Final = re.compile(r"[^\W\d]\w*")
_DEEPEST_FACTS: Final = 20
_REMEDY: Final = "Correct that place, or write the file again."
_ROOT: Final = "the document"


def inner(entries: object, member: str = "") -> list[object]:
    """Return the entries of a list or the values of an object.

    With ``member``, those that stand under it in each of them. Never raises.
    """
    found = list(entries.values()) if isinstance(entries, dict) else entries if isinstance(entries, list) else []
    if not member:
        return found
    return [each for entry in found if isinstance(entry, dict) for each in inner(entry.get(member))]


def members(entries: object, member: str) -> list[object]:
    """Return the values under ``member`` in the entries of a list, or in the values of an object, that have it.

    Never raises.
    """
    return [entry[member] for entry in inner(entries) if isinstance(entry, dict) and member in entry]


def measures(entries: object, members: Collection[str]) -> bool:
    """Return True if an entry of a list, or a value of an object, is an object with one of ``members``. Never raises.

    A format is recognised by what it measures: a frame such as ``{"context": …, "benchmarks": […]}`` is that of many
    tools.
    """
    return any(isinstance(entry, dict) and not entry.keys().isdisjoint(members) for entry in inner(entries))


class Node:
    """A value of a JSON document with its path, as in ``benchmarks[3].stats.mean``."""

    __slots__ = ("_parent", "_step", "value")

    def __init__(self, value: object, parent: Node | None = None, step: str | int = "") -> None:
        self.value = value
        self._parent = parent
        self._step = step

    @property
    def path(self) -> str:
        """The way from the root to here, "" at the root."""
        if self._parent is None:
            return str(self._step)
        before = self._parent.path
        if isinstance(self._step, int):
            return f"{before}[{self._step}]"
        if not _PLAIN_NAME.fullmatch(self._step):
            return f"{before}[{self._step!r}]"
        return f"{before}.{self._step}" if before else self._step

    def refuse(self, message: str, *, remedy: str = "", of: str = "") -> FormatError:
        """Return the error that says ``message`` about this place, and about the benchmark ``of``."""
        full = f"{message} (benchmark {of!r})" if of else message
        return FormatError(full, where=self.path or _ROOT, remedy=remedy or _REMEDY)

    def __contains__(self, name: str) -> bool:
        return isinstance(self.value, dict) and self.value.get(name) is not None

    def has(self, name: str) -> bool:
        """Return True if there is a member ``name``, null or not: null where a number belongs is not an absence."""
        return isinstance(self.value, dict) and name in self.value

    def __getitem__(self, name: str) -> Node:
        """Return the member ``name``. Raises ``NoNumberError`` where there is none, or it is null."""
        found = self.maybe(name)
        if found is None:
            absent = isinstance(self.value, dict) and name not in self.value
            message = f"{name!r} is missing" if absent else f"{name!r} is null"
            raise NoNumberError(message, where=self.path or _ROOT, remedy=_REMEDY)
        return found

    def maybe(self, name: str) -> Node | None:
        """Return the member ``name``, None where it is absent or null. Raises where this is not an object."""
        if not isinstance(self.value, dict):
            raise self.refuse(f"expected an object, got {shown(self.value)}")
        found = self.value.get(name)
        return None if found is None else Node(found, self, name)

    def members(self) -> Iterator[tuple[str, Node]]:
        """Iterate over the members of an object, null ones included."""
        if not isinstance(self.value, dict):
            raise self.refuse(f"expected an object, got {shown(self.value)}")
        for name, value in self.value.items():
            yield name, Node(value, self, name)

    def elements(self) -> Iterator[Node]:
        """Iterate over the elements of a list."""
        if not isinstance(self.value, list):
            raise self.refuse(f"expected a list, got {shown(self.value)}")
        for index, value in enumerate(self.value):
            yield Node(value, self, index)

    def is_number(self) -> bool:
        """Return True if this is a finite number."""
        return math.isfinite(to_float(self.value))

    def number(self, of: str = "") -> float:
        """Return the finite number here.

        Raises:
            NoNumberError: another scalar stands here; the message names the benchmark ``of``.
            FormatError: a list or an object stands here.
        """
        number = to_float(self.value)
        if math.isfinite(number):
            return number
        message = f"expected a finite number, got {shown(self.value)}"
        if isinstance(self.value, list | dict):
            raise self.refuse(message, of=of)
        raise NoNumberError(message, where=self.path or _ROOT, remedy=_REMEDY, of=of)

    def numeral(self, of: str = "") -> float:
        """Return the finite number here, which may also be written as a string of digits. Raises as :meth:`number`."""
        number = numeral(self.value) if isinstance(self.value, str) else None
        return number if number is not None and math.isfinite(number) else self.number(of)

    def finite(self, names: Mapping[str, str]) -> dict[str, float]:
        """Return those members that are finite numbers, as a summary has them: ``names`` maps member to statistic."""
        return {
            statistic: number
            for member, statistic in names.items()
            if (found := self.maybe(member)) is not None and math.isfinite(number := to_float(found.value))
        }

    def numbers(self, of: str = "") -> tuple[float, ...]:
        """Return the finite numbers of a list."""
        return tuple(element.number(of) for element in self.elements())

    def text(self) -> str:
        """Return the string here. Raises ``FormatError`` where it is anything else."""
        if not isinstance(self.value, str):
            raise self.refuse(f"expected a string, got {shown(self.value)}")
        return self.value

    def words(self, name: str) -> str:
        """Return the member ``name`` as text: strings, numbers and booleans as they read, "" for none."""
        found = self.maybe(name)
        return "" if found is None else found.word()

    def word(self) -> str:
        """Return a scalar as text. Raises ``FormatError`` for lists and objects."""
        value = self.value
        if isinstance(value, bool):
            return "true" if value else "false"
        if value is None:
            return ""
        if isinstance(value, str | int | float):
            return str(value)
        raise self.refuse(f"expected a string or a number, got {shown(value)}")

    def facts(self, *, deepest: int = _DEEPEST_FACTS) -> dict[str, str]:
        """Return the scalars of an object as texts, those of objects within it under ``outer.inner``.

        Raises:
            FormatError: objects are nested deeper than ``deepest``.
        """
        if deepest < 1:
            raise self.refuse(f"the facts are nested more than {_DEEPEST_FACTS} deep")
        found: dict[str, str] = {}
        for name, node in self.members():
            if isinstance(node.value, dict):
                found.update({f"{name}.{inner}": text for inner, text in node.facts(deepest=deepest - 1).items()})
            elif not isinstance(node.value, list) and (text := node.word()):
                found[name] = text
        return found
