"""Read what Callgrind writes: exact numbers of instructions (or other events) by line, function and call."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from knickpoint.model.errors import FormatError
from knickpoint.profiles.call_graph import CallGraph
from knickpoint.profiles.profile import Profile, ProfileBuilder, ValueKind, chosen

_NAMED: Final = re.compile(r"\((\d+)\)(?: (.*))?$")
"""A compressed name: its number, and the name where the number comes first."""
_HEADER: Final = re.compile(r"([a-z]+): ?(.*)$", re.IGNORECASE)
_SPACES: Final = dict.fromkeys(("fl", "fi", "fe", "cfi", "cfl"), "file") | {
    "fn": "function",
    "cfn": "function",
    "ob": "object",
    "cob": "object",
}
"""Key of a name → what its numbers count."""
_LEVEL: Final = re.compile(r"'\d+$")
"""What Callgrind adds to the name of a function that is called by itself: its depth."""
_SYSTEM: Final = ("/usr/lib", "/lib")
_ROUNDING: Final = 1e-6


def is_callgrind(text: str) -> bool:
    """Whether the text begins as a file of Callgrind does."""
    start = text[:4096]
    return start.startswith("# callgrind format") or bool(
        re.search(r"^events: ?\w", start, re.MULTILINE)
        and re.search(r"^(fn|fl|positions|version)[=:]", text[:65536], re.MULTILINE)
    )


def read_callgrind(lines: Sequence[str], where: str, value: str) -> Profile:
    """Read the lines of a file of Callgrind.

    Raises:
        FormatError: a line cannot be read, or the file ends early.
    """
    reader = _Reader(where, value)
    for number, line in enumerate(lines, start=1):
        try:
            reader.read(line.strip())
        except (ValueError, KeyError, IndexError) as error:
            raise FormatError(
                f"line not understood ({error}): {line[:60]!r}",
                where=f"{where}, line {number}" if where else f"line {number}",
                remedy="The file is damaged; record the profile again.",
            ) from error
    return reader.profile()


class _Reader:
    """Where the lines have come to: names are given once, positions relative to the last ones."""

    def __init__(self, where: str, value: str) -> None:
        self._where = where
        self._value = value
        self._builder = ProfileBuilder(where)
        self._graph = CallGraph(self._builder)
        self._names: dict[tuple[str, str], str] = {}
        self._functions: dict[str, int] = {}
        self._events: list[str] = []
        self._event = 0
        self._columns = 1
        self._positions = [0]
        self._file = self._called_file = ""
        self._object = self._called_object = ""
        self._inside: int | None = None
        self._callee: int | None = None
        self._calls = False
        self._sum = 0.0
        self._stated = 0.0

    def read(self, line: str) -> None:
        """Read one line."""
        first = line[:1]
        if not first or first == "#":
            return
        if first.isdigit() or first in "+-*":
            self._read_cost(line.split())
            return
        key, is_name, text = line.partition("=")
        if is_name and key in _SPACES:
            self._read_name(key, text.strip())
        elif is_name and key == "calls":
            if self._callee is None:
                raise ValueError("calls= without cfn=")
            self._calls = True
        elif is_name and key in {"jump", "jcnd"}:
            pass
        elif header := _HEADER.match(line):
            self._read_header(header[1].lower(), header[2].split())
        else:
            raise ValueError("unknown key")

    def _read_header(self, key: str, words: Sequence[str]) -> None:
        if key == "events":
            self._events = list(words)
            usual = self._value or ("Ir" if "Ir" in words else "")
            self._event = self._events.index(chosen(self._events, usual, self._where))
        elif key == "positions":
            self._columns = len(words)
            self._positions = [0] * self._columns
        elif key in {"totals", "summary"} and len(words) > self._event:
            whole = float(words[self._event])
            # Each part of a file has a summary; totals follow the last one.
            self._stated = whole if key == "totals" else self._stated

    def _read_name(self, key: str, text: str) -> None:
        named = _NAMED.match(text)
        name = text
        if named:
            known = (_SPACES[key], named[1])
            if named[2]:
                self._names[known] = named[2]
            name = self._names[known]
        if key in {"fl", "fi", "fe"}:
            self._file = name
        elif key in {"cfi", "cfl"}:
            self._called_file = name
        elif key == "ob":
            self._object = name
        elif key == "cob":
            self._called_object = name
        elif key == "fn":
            self._inside = self._function(named[1] if named else "", name, self._file, self._object)
        elif key == "cfn":
            file, place = self._called_file or self._file, self._called_object or self._object
            self._callee = self._function(named[1] if named else "", name, file, place)
            self._called_file = self._called_object = ""

    def _function(self, number: str, name: str, file: str, place: str) -> int:
        """Return the frame of a function; a compressed one has one number wherever it is called.

        Of a function in an object of the system, that object is the file: its source was on another machine.
        """
        key = number or f"{name}\0{file}"
        if key not in self._functions:
            file = place if place.startswith(_SYSTEM) or file == "???" else file
            self._functions[key] = self._builder.frame(_LEVEL.sub("", name), "" if file == "???" else file)
        return self._functions[key]

    def _read_cost(self, words: Sequence[str]) -> None:
        if not self._events:
            raise ValueError("costs before events:")
        for column, word in enumerate(words[: self._columns]):
            if word == "*":
                continue
            number = int(word, 0) if word[0] not in "+-" else int(word[1:], 0)
            sign = {"+": 1, "-": -1}.get(word[0])
            self._positions[column] = number if sign is None else self._positions[column] + sign * number
        costs = words[self._columns :]
        cost = float(costs[self._event]) if len(costs) > self._event else 0.0
        if not 0 <= cost < 1e300:
            raise ValueError("expected a cost of 0 or more")
        if self._inside is None:
            raise ValueError("a cost before fn=")
        if self._calls:
            assert self._callee is not None
            self._graph.add_call(self._inside, self._callee, cost)
            self._calls, self._callee = False, None
        else:
            self._graph.add_own(self._inside, cost)
            self._sum += cost

    def profile(self) -> Profile:
        """Return the profile. Raises ``FormatError`` where the costs are less than the file says."""
        if self._calls or self._sum < self._stated * (1 - _ROUNDING):
            raise FormatError(
                f"truncated: the costs are {self._sum:,.0f}, and the file says {self._stated:,.0f}",
                where=self._where,
                remedy="Fetch or record the profile again.",
            )
        event = self._events[self._event] if self._events else ""
        if event in {"Ir", "Instructions"}:
            return self._graph.profile("callgrind", ValueKind.INSTRUCTIONS, "instructions")
        return self._graph.profile("callgrind", ValueKind.COUNT, event or "events")
