"""Read what Python's ``cProfile`` writes: the statistics of ``pstats``, a file of the module ``marshal``.

``marshal.loads`` builds code objects and may crash on damaged data. This reader takes whole numbers, floats, strings,
tuples and one dictionary within another, and refuses everything else.
"""

from __future__ import annotations

import re
import struct
from typing import Any, Final, NoReturn

from knickpoint.model.errors import FormatError
from knickpoint.profiles.call_graph import CallGraph
from knickpoint.profiles.profile import Profile, ProfileBuilder, ValueKind

_NUMBERS: Final = {"i": "i", "I": "q", "g": "d"}
"""Code of a number → its form for ``struct``."""
_LENGTHS: Final = {
    "z": ("ascii", "B"), "Z": ("ascii", "B"), "a": ("ascii", "I"), "A": ("ascii", "I"),
    "u": ("utf-8", "I"), "t": ("utf-8", "I"),
}  # fmt: skip
"""Code of a text → its encoding, and the form of its length."""
_REFERABLE: Final = 0x80
_DIGIT_BITS: Final = 15
_MOST_DIGITS: Final = 5
"""Digits of a number beyond 32 bits: calls are fewer than 2^75."""
_DEEPEST: Final = 5
"""A dictionary of tuples and tuples with a dictionary of tuples."""
_CALLER_FIELDS: Final = 4
_ADDRESS: Final = re.compile(r" at 0x[0-9a-f]+")
"""In names of built-in methods: where an object was in the memory of one run."""


def is_python_stats(data: bytes) -> bool:
    """Whether the bytes begin as a marshalled dictionary with a tuple as its first key does."""
    return (len(data) > 1 and data[0] & 0x7F == ord("{") and data[1] & 0x7F in b"()") or data in {b"{0", b"\xfb0"}


def read_python_stats(data: bytes, where: str) -> Profile:
    """Read the statistics of ``cProfile`` or ``profile``: seconds of each function and of each caller's calls.

    Raises:
        FormatError: the file is truncated, or has something that no profile has; the byte is named.
    """
    stats = _Marshal(data, where).read()
    builder = ProfileBuilder(where)
    graph = CallGraph(builder)
    try:
        for function, (_, _, own, total, callers) in stats.items():
            callee = _frame(builder, function)
            graph.add_own(callee, _seconds(own))
            graph.state_total(callee, _seconds(total))
            for caller, timing in callers.items():
                seconds = timing[3] if isinstance(timing, tuple) and len(timing) == _CALLER_FIELDS else 0.0
                graph.add_call(_frame(builder, caller), callee, _seconds(seconds))
    except (AttributeError, TypeError, ValueError) as error:
        raise FormatError(
            f"this is marshalled data, and not statistics of cProfile ({error})",
            where=where,
            remedy="Write the file with python -m cProfile -o FILE.",
        ) from error
    return graph.profile("cProfile", ValueKind.TIME, "s")


def _frame(builder: ProfileBuilder, function: tuple[str, int, str]) -> int:
    file, line, name = function
    if not (isinstance(file, str) and isinstance(line, int) and isinstance(name, str)):
        raise TypeError("a function is not (file, line, name)")
    return builder.frame(_ADDRESS.sub("", name), "" if file == "~" else file, line)


def _seconds(value: float) -> float:
    """Return a time; clocks that jump back leave small negative ones."""
    if not abs(value) < 1e12:
        raise ValueError("a time is not a number")
    return max(float(value), 0.0)


class _Marshal:
    """The bytes of a marshalled dictionary; each object comes with its depth, as references could build deep ones."""

    def __init__(self, data: bytes, where: str) -> None:
        self._data = data
        self._place = 0
        self._where = where
        self._references: list[tuple[Any, int] | None] = []

    def read(self) -> dict[Any, Any]:
        try:
            found, _ = self._object(0)
        except (struct.error, IndexError, UnicodeDecodeError, TypeError, OverflowError) as error:
            self._refuse(f"truncated or damaged ({error})")
        if not isinstance(found, dict) or self._place != len(self._data):
            self._refuse("extra content after the statistics")
        return found

    def _refuse(self, what: str) -> NoReturn:
        raise FormatError(
            f"{what}, at byte {self._place} of {len(self._data):,}",
            where=self._where,
            remedy="Give a file of python -m cProfile -o FILE; nothing else is read of marshalled data.",
        )

    def _take(self, size: int) -> bytes:
        taken = self._data[self._place : self._place + size]
        if size < 0 or len(taken) < size:
            raise IndexError("truncated data")
        self._place += size
        return taken

    def _number(self, form: str) -> Any:
        return struct.unpack(f"<{form}", self._take(struct.calcsize(form)))[0]

    def _object(self, depth: int) -> tuple[Any, int]:
        """Return the next object, and how many levels it has."""
        if depth > _DEEPEST:
            self._refuse("nested too deeply")
        byte = self._number("B")
        code, referable = chr(byte & 0x7F), byte & _REFERABLE
        if code == "r":
            index = self._number("I")
            known = self._references[index] if index < len(self._references) else None
            if known is None:
                self._refuse("a reference to nothing")
            if depth + known[1] > _DEEPEST:
                self._refuse("nested too deeply")
            return known[0], known[1]
        slot = len(self._references)
        if referable:
            self._references.append(None)
        found = self._of(code, depth)
        if referable:
            self._references[slot] = found
        return found

    def _of(self, code: str, depth: int) -> tuple[Any, int]:
        """Return the object whose code has been read, and how many levels it has."""
        if code in _LENGTHS:
            encoding, length = _LENGTHS[code]
            return self._take(self._number(length)).decode(encoding, "surrogatepass"), 0
        if code in _NUMBERS:
            return self._number(_NUMBERS[code]), 0
        if code == "l":
            return self._long(), 0
        if code == "{":
            return self._dict(depth)
        if code not in "()":
            self._place -= 1
            self._refuse(f"there is an object of type {code!r}, which no profile has")
        size = self._number("B" if code == ")" else "I")
        if size > len(self._data) - self._place:
            self._refuse("truncated data")
        items = [self._object(depth + 1) for _ in range(size)]
        return tuple(item for item, _ in items), 1 + max((levels for _, levels in items), default=0)

    def _dict(self, depth: int) -> tuple[dict[Any, Any], int]:
        found, deepest = {}, 0
        while self._data[self._place] & 0x7F != ord("0"):
            key, levels = self._object(depth + 1)
            found[key], inner = self._object(depth + 1)
            deepest = max(deepest, levels, inner)
        self._place += 1
        return found, 1 + deepest

    def _long(self) -> int:
        size = self._number("i")
        if abs(size) > _MOST_DIGITS:
            self._refuse("a number is too large")
        digits = [int(self._number("H")) for _ in range(abs(size))]
        value = sum(digit << _DIGIT_BITS * place for place, digit in enumerate(digits))
        return -value if size < 0 else value
