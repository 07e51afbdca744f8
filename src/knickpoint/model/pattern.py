"""Match regular expressions in time that grows with pattern times text, whatever both are.

Queries come from anybody who can reach the server, and the matcher of the standard library needs exponential time
for some of them. This one follows all alternatives at once (Thompson, *Regular expression search algorithm*, 1968) and
remembers the sets of places that it has met. It only says whether a pattern occurs. What cannot be matched that way,
references back and looking around, is refused. The record is ``docs/decisions/0055-patterns-in-linear-time.md``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Final

from knickpoint.model.errors import QueryError

__all__ = ["Pattern", "compile_pattern"]

_LONGEST: Final = 1000
"""Characters of a pattern."""

_LARGEST: Final = 500
"""Steps of a pattern whose counted repetitions are written out."""

_DEEPEST: Final = 50
"""Groups within groups."""

_REMEMBERED: Final = 4096
"""Sets of places that a pattern remembers before it begins anew."""

_MOST_WORK: Final = 5_000_000
"""Steps looked at to learn what follows a set of places, in all the texts of one call: two seconds."""

_COUNTED: Final = re.compile(r"\{([0-9]*)(,?)([0-9]*)\}")
_SPECIAL: Final = frozenset("\\.^$|?*+()[]{}")
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_CLASSES: Final[dict[str, Callable[[str], bool]]] = {"d": str.isdecimal, "s": str.isspace, "w": _is_word}


class _Edge(Enum):
    """What must be true between two characters."""

    BEGIN = "^"
    END = "$"
    WORD = "b"
    WITHIN = "B"


@dataclass(frozen=True, slots=True)
class _Take:
    """Take one character: one of ranges or classes, or none of them."""

    ranges: tuple[tuple[str, str], ...] = ()
    classes: tuple[tuple[str, bool], ...] = ()
    negated: bool = False
    folded: bool = False

    def fits(self, character: str) -> bool:
        variants = {character, character.lower(), character.upper()} if self.folded else {character}
        found = any(low <= one <= high for one in variants for low, high in self.ranges)
        found = found or any(_CLASSES[name](character) is wanted for name, wanted in self.classes)
        return found is not self.negated


@dataclass(frozen=True, slots=True)
class _Fork:
    """Go on at both of two distances from here."""

    one: int
    other: int


_Step = _Take | _Fork | _Edge
_SIGNS: Final[dict[str, _Step]] = {
    "^": _Edge.BEGIN,
    "$": _Edge.END,
    ".": _Take(ranges=(("\n", "\n"),), negated=True),
}


_NOTHING, _WORD, _OTHER = 0, 1, 2
_FOUND: Final = -1


def _state(places: int, side: int) -> int:
    """Return a set of places, and the side of the character before them, as one number."""
    return places << 2 | side


@dataclass
class Pattern:
    """A compiled pattern; threads may share it."""

    _text: str
    _steps: tuple[_Step, ...]
    _literal: str | None = None
    _met: dict[tuple[int, str], int] = field(default_factory=dict)

    def occurs_in(self, text: str) -> bool:
        """Say whether the pattern matches anywhere in ``text``.

        Raises:
            QueryError: that takes too much work.
        """
        return self.occurs_in_each((text,))[0]

    def occurs_in_each(self, texts: Iterable[str]) -> list[bool]:
        """Say of each of ``texts`` whether the pattern matches anywhere in it.

        Raises:
            QueryError: that takes too much work, as only patterns do that are made for it.
        """
        if self._literal is not None:
            return [self._literal in text for text in texts]
        found: list[bool] = []
        work = 0
        for text in texts:
            state = _state(1, _NOTHING)
            for character in text:
                following = self._met.get((state, character))
                if following is None:
                    work += len(self._steps)
                    if work > _MOST_WORK:
                        raise QueryError(
                            f"the regular expression {self._text!r} takes too much work",
                            remedy="Write it with fewer alternatives within repetitions.",
                        )
                    following = self._follow(state, character)
                state = following
                if state == _FOUND:
                    break
            found.append(state == _FOUND or self._is_found(self._reach(state, _NOTHING)))
        return found

    def _is_found(self, places: set[int]) -> bool:
        return len(self._steps) in places

    def _follow(self, state: int, character: str) -> int:
        """Return the state after ``character``, and remember it."""
        side = _WORD if _is_word(character) else _OTHER
        reached = self._reach(state, side)
        if self._is_found(reached):
            following = _FOUND
        else:
            places = 1
            for place in reached:
                step = self._steps[place]
                if isinstance(step, _Take) and step.fits(character):
                    places |= 1 << (place + 1)
            following = _state(places, side)
        if len(self._met) >= _REMEMBERED:
            self._met.clear()
        self._met[state, character] = following
        return following

    def _reach(self, state: int, after: int) -> set[int]:
        """Return the places from which the next character is taken; ``after`` is the side of that character."""
        places, before = state >> 2, state & 3
        held = {
            _Edge.BEGIN: before == _NOTHING,
            _Edge.END: after == _NOTHING,
            _Edge.WORD: (before == _WORD) != (after == _WORD),
            _Edge.WITHIN: (before == _WORD) == (after == _WORD),
        }
        waiting = [place for place in range(places.bit_length()) if places >> place & 1]
        reached: set[int] = set()
        while waiting:
            place = waiting.pop()
            if place in reached:
                continue
            reached.add(place)
            step = self._steps[place] if place < len(self._steps) else None
            if isinstance(step, _Fork):
                waiting += (place + step.one, place + step.other)
            elif isinstance(step, _Edge) and held[step]:
                waiting.append(place + 1)
        return reached


@dataclass
class _Reader:
    """Read one pattern from left to right."""

    text: str
    place: int = 0
    depth: int = 0
    folded: bool = False

    def fault(self, message: str, remedy: str = "") -> QueryError:
        return QueryError(
            f"{self.text!r} is not a regular expression that can be used: {message} (character {self.place + 1})",
            remedy=remedy,
        )

    def ahead(self, *texts: str) -> bool:
        return self.text.startswith(texts, self.place)

    def take(self, text: str) -> bool:
        if not self.ahead(text):
            return False
        self.place += len(text)
        return True

    def whole(self) -> list[_Step]:
        if self.take("(?i)"):
            self.folded = True
        steps = self.choice()
        if self.place < len(self.text):
            raise self.fault("a bracket is closed that was not opened", "Write \\) for the character itself.")
        return steps

    def choice(self) -> list[_Step]:
        steps = self.sequence()
        while self.take("|"):
            other = self.sequence()
            steps = [_Fork(1, len(steps) + 2), *steps, _Fork(len(other) + 1, len(other) + 1), *other]
        return steps

    def sequence(self) -> list[_Step]:
        steps: list[_Step] = []
        while self.place < len(self.text) and not self.ahead("|", ")"):
            steps += self.repeated()
            if len(steps) > _LARGEST:
                raise self.fault("it is too large", "Repeat less often, or query for values.")
        return steps

    def repeated(self) -> list[_Step]:
        steps = self.single()
        least, most = self.count()
        if (least, most) == (1, 1):
            return steps
        if self.count() != (1, 1) or self.ahead("+"):
            raise self.fault("a repetition is repeated", "Put the inner one into (?: ).")
        if len(steps) * max(least, most or 0) > _LARGEST:
            raise self.fault("it is too large", "Repeat less often, or query for values.")
        found = steps * least
        if most is None:
            return [*found, _Fork(1, len(steps) + 2), *steps, _Fork(-len(steps) - 1, -len(steps) - 1)]
        rest: list[_Step] = []
        for _ in range(most - least):
            rest = [_Fork(1, len(steps) + len(rest) + 1), *steps, *rest]
        return found + rest

    def count(self) -> tuple[int, int | None]:
        """Read how often; the sign that takes as few as possible changes nothing about whether a text fits."""
        counts: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        sign = self.text[self.place : self.place + 1]
        counted = _COUNTED.match(self.text, self.place)
        if sign in counts:
            self.place += 1
            least, most = counts[sign]
        elif counted and (counted[1] or counted[2]):
            self.place = counted.end()
            least = int(counted[1] or 0)
            most = (int(counted[3]) if counted[3] else None) if counted[2] else least
            if most is not None and most < least:
                raise self.fault(f"{counted[0]} asks for at most fewer than at least", "Swap the two numbers.")
        else:
            return 1, 1
        self.take("?")
        return least, most

    def single(self) -> list[_Step]:
        sign = self.text[self.place]
        if sign == "(":
            return self.group()
        if sign == "[":
            return [self.bracket()]
        if sign in "*+?":
            raise self.fault("there is nothing to repeat", f"Write \\{sign} for the character itself.")
        self.place += 1
        if sign == "\\":
            return [self.escaped()]
        return [_SIGNS.get(sign) or _Take(ranges=((sign, sign),), folded=self.folded)]

    def group(self) -> list[_Step]:
        self.place += 1
        if self.take("?") and not self.take(":"):
            named = re.compile(r"P<[A-Za-z_][A-Za-z0-9_]*>").match(self.text, self.place)
            if named is None:
                raise self.fault("looking around, options and the like are not available", "Use ( ) or (?: ).")
            self.place = named.end()
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.fault("its groups are nested too deeply", "Write it with fewer brackets.")
        steps = self.choice()
        self.depth -= 1
        if not self.take(")"):
            raise self.fault("a bracket is not closed", "Close it with ).")
        return steps

    def escaped(self) -> _Step:
        sign = self.text[self.place : self.place + 1]
        if sign in ("A", "Z", "b", "B"):
            self.place += 1
            return {"A": _Edge.BEGIN, "Z": _Edge.END, "b": _Edge.WORD, "B": _Edge.WITHIN}[sign]
        kind = self.class_or_character()
        return _Take(classes=(kind,)) if isinstance(kind, tuple) else _Take(((kind, kind),), folded=self.folded)

    def class_or_character(self) -> tuple[str, bool] | str:
        """Read what stands behind a backslash: the name of a class and whether it is wanted, or a character."""
        sign = self.text[self.place : self.place + 1]
        if not sign:
            raise self.fault("it ends with a backslash", "Write \\\\ for the character itself.")
        if sign.lower() in _CLASSES:
            self.place += 1
            return sign.lower(), sign.islower()
        digits = {"x": 2, "u": 4, "U": 8}.get(sign)
        if digits is not None:
            code = self.text[self.place + 1 : self.place + 1 + digits]
            if not re.fullmatch(f"[0-9A-Fa-f]{{{digits}}}", code) or int(code, 16) > sys.maxunicode:
                raise self.fault(f"\\{sign} wants the {digits} hex digits of a character", "Write the character.")
            self.place += 1 + digits
            return chr(int(code, 16))
        if sign not in _CONTROLS and sign.isascii() and sign.isalnum():
            raise self.fault(f"\\{sign} is not available", "Write what is meant without it.")
        self.place += 1
        return _CONTROLS.get(sign, sign)

    def bracket(self) -> _Take:
        self.place += 1
        negated = self.take("^")
        ranges: list[tuple[str, str]] = []
        classes: list[tuple[str, bool]] = []
        first = True
        while first or not self.ahead("]"):
            first = False
            low = self.member()
            if isinstance(low, tuple):
                classes.append(low)
            elif self.ahead("-") and not self.ahead("-]"):
                self.place += 1
                high = self.member()
                if isinstance(high, tuple) or high < low:
                    raise self.fault("a range ends before it begins", "Swap its ends, or write \\- for the character.")
                ranges.append((low, high))
            else:
                ranges.append((low, low))
        self.place += 1
        return _Take(tuple(ranges), tuple(classes), negated, self.folded)

    def member(self) -> tuple[str, bool] | str:
        if self.place >= len(self.text):
            raise self.fault("a bracket [ is not closed", "Close it with ], or write \\[ for the character itself.")
        if self.take("\\"):
            if self.take("b"):
                return "\b"
            return self.class_or_character()
        self.place += 1
        return self.text[self.place - 1]


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """Read a regular expression: what Python's have, without references back, looking around and options inside.

    Raises:
        QueryError: it is none, needs what is not available, or is too large; names the character, from 1.
    """
    if len(text) > _LONGEST:
        raise QueryError(
            f"the regular expression {text[:20] + ' …'!r} has {len(text):,} characters",
            remedy=f"Use at most {_LONGEST:,}.",
        )
    steps = tuple(_Reader(text).whole())
    if len(steps) > _LARGEST:
        raise QueryError(f"the regular expression {text!r} is too large", remedy="Repeat less often.")
    return Pattern(text, steps, text if not _SPECIAL.intersection(text) else None)
