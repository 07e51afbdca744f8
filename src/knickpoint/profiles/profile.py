"""A profile in memory: frames and stacks in shared tables, and the cost of each stack."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.errors import FormatError
from knickpoint.profiles.stack_tree import Ints, depths_of, ends_of, inherited, merge

Floats = NDArray[np.float64]

MOST_BYTES: Final = 128_000_000
"""Bytes of a profile after decompression."""
MOST_STACKS: Final = 1_000_000
"""Different stacks of one profile, counted with all their beginnings: the nodes of the flame graph."""
MOST_DEPTH: Final = 1_000
"""Frames of one stack. Of a deeper one, the frames between this depth and the innermost are left out."""
MOST_FRAMES: Final = 100_000_000
"""Frames of all samples together, each counted as often as it comes: a short file can stand for many."""
LONGEST_NAME: Final = 1_000
"""Characters of the name of a function or file. Of a longer one, the end becomes a hash."""
MOST_NOTES: Final = 8
_MOST_WAITING: Final = 4_000_000
"""Frames of samples that are kept before equal ones are put together."""
_HASH: Final = 8
_LIBRARY: Final = re.compile(
    r"""^(?:~|<.*>|\[.*\]|\?+|node:.*|internal/.*|native\ .*|extensions::.*)?$
    |/rustc/ | /lib(?:64)?/python\d[\d.]*/(?!(?:site|dist)-packages/) | ^(?:/usr)?/lib(?:64)?/(?!python)
    |^/usr/include/ | /go(?:-?[\d.]+)?/(?:[^/]+/){0,2}src/[a-z0-9]+/
    |^(?:runtime|strconv)/[\w/]+\.(?:go|s)$ | \.so(?:\.\d+)*$""",
    re.VERBOSE,
)
"""Files of the runtime and its library; those of Go have no dot in their first directory.

Installed packages are none: the program that is measured may be one.
"""


class ValueKind(Enum):
    """What the cost in a profile is."""

    TIME = "time"
    INSTRUCTIONS = "instructions"
    BYTES = "bytes"
    ALLOCATIONS = "allocations"
    COUNT = "count"
    """Anything else that is counted: samples of an unknown rate, cache misses."""

    @property
    def is_exact(self) -> bool:
        """Whether two runs of one program cost nearly the same."""
        return self in {ValueKind.INSTRUCTIONS, ValueKind.BYTES, ValueKind.ALLOCATIONS}


TIME_UNITS: Final = {"nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1.0}
"""Names of units of time in profiles → seconds."""


@lru_cache(maxsize=10_000)
def is_library_file(file: str) -> bool:
    """Whether a file belongs to a library or the runtime, by its path."""
    return bool(_LIBRARY.search(file))


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of each frame: of its own code (``own``), and with what it calls (``total``), recursion counted once."""

    own: Floats
    total: Floats


@dataclass(frozen=True)
class Profile:
    """Where one run of a program spent its cost.

    Frames are functions: ``names``, ``files`` ("" where unknown) and ``lines`` (of the definition; 0 where unknown).
    Stacks are nodes of a tree in preorder: ``frames`` and ``parents`` (-1 for the outermost) and ``values``, the cost
    of the innermost frame itself. ``stated`` has what a profile of a call graph says of each function; its stacks are
    an estimate then. ``samples`` is the number of samples that the cost was estimated from, 0 where it was counted or
    is unknown. ``notes`` say what was left out.
    """

    format: str
    kind: ValueKind
    unit: str
    names: tuple[str, ...]
    files: tuple[str, ...]
    lines: Ints
    frames: Ints
    parents: Ints
    values: Floats
    samples: float = 0.0
    stated: Cost | None = None
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> float:
        """The whole cost."""
        return float(np.sum(self.values if self.stated is None else self.stated.own))

    @cached_property
    def ends(self) -> Ints:
        """The first stack behind each one and those that begin with it: a subtree is a slice of the tables."""
        return ends_of(self.parents)

    @cached_property
    def subtotals(self) -> Floats:
        """The cost of each stack together with those that begin with it."""
        sums = np.concatenate([[0.0], np.cumsum(self.values)])
        return np.asarray(sums[self.ends] - sums[:-1], dtype=np.float64)

    @cached_property
    def outermost(self) -> NDArray[np.bool_]:
        """Whether the frame of each stack is in none of the frames that called it."""
        count = len(self.frames)
        order = np.lexsort((np.arange(count), self.frames))
        group = self.frames[order] * (count + 1)
        reached = np.maximum.accumulate(self.ends[order] + group) - group if count else order
        first = np.ones(count, dtype=bool)
        first[order[1:]] = (np.diff(self.frames[order]) != 0) | (order[1:] >= reached[:-1])
        return first

    @cached_property
    def cost(self) -> Cost:
        """The cost of each frame."""
        if self.stated is not None:
            return self.stated
        count = len(self.names)
        first = self.outermost
        own = np.bincount(self.frames, self.values, count).astype(np.float64)
        total = np.bincount(self.frames[first], self.subtotals[first], count).astype(np.float64)
        return Cost(own, total)

    @cached_property
    def is_library(self) -> NDArray[np.bool_]:
        """Whether each frame belongs to a library or the runtime; if no frame has a file of its own, none does."""
        found = np.array([is_library_file(file) for file in self.files], dtype=bool)
        return np.zeros_like(found) if found.all() else found

    @cached_property
    def callers(self) -> Ints:
        """The frame that is charged for each stack: the nearest other function of the program itself, else -1."""
        inner = self.parents >= 0
        above = np.where(inner, self.parents, 0)
        near = np.where(inner, self.frames[above], -1)
        return inherited(self.parents, near, inner & (self.is_library[self.frames[above]] | (near == self.frames)))


_Tree = tuple[Ints, Ints, Floats]
"""Parents, frames and own costs of nodes."""
_CUT: Final = f"stacks deeper than {MOST_DEPTH:,} frames were cut; each keeps its innermost frame"


class ProfileBuilder:
    """Collect frames and stacks while a file is read; refuses what is too large, and notes what it leaves out."""

    def __init__(self, where: str = "") -> None:
        self._where = where
        self._counted = 0
        self._frames: dict[tuple[str, str, int], int] = {}
        self._stacks: dict[tuple[int, int], int] = {}
        self._parents: list[int] = []
        self._of: list[int] = []
        self._depths: list[int] = []
        self._values: list[float] = []
        self._waiting: list[int] = []
        self._lengths: list[int] = []
        self._costs: list[float] = []
        self._merged: list[_Tree] = []
        self._notes: dict[str, None] = {}

    @property
    def functions(self) -> int:
        """How many frames there are so far."""
        return len(self._frames)

    def note(self, text: str) -> None:
        """Note something that was left out, once."""
        if len(self._notes) < MOST_NOTES:
            self._notes[text] = None

    def frame(self, name: str, file: str = "", line: int = 0) -> int:
        """Return the index of a function; a known one keeps its index."""
        key = (self._cut(name) or "(anonymous)", self._cut(file), line if 0 < line < 1 << 31 else 0)
        return self._frames.setdefault(key, len(self._frames))

    def _cut(self, text: str) -> str:
        if len(text) <= LONGEST_NAME:
            return text
        self.note(f"names longer than {LONGEST_NAME:,} characters were cut")
        digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_HASH]
        return f"{text[: LONGEST_NAME - _HASH - 1]}…{digest}"

    def count(self, frames: int) -> None:
        """Count the frames of a sample before they are read. Raises ``FormatError`` where the file has too many."""
        self._counted += frames
        if self._counted > MOST_FRAMES:
            raise FormatError(
                f"more than {MOST_FRAMES:,} frames in all samples", where=self._where, remedy="Profile a shorter run."
            )

    def stack(self, parent: int, frame: int) -> int:
        """Return the index of the stack ``parent`` (-1 for none) with ``frame`` called from it."""
        if parent >= 0 and self._depths[parent] >= MOST_DEPTH:
            self.note(_CUT)
            parent = self._parents[parent]
        found = self._stacks.setdefault((parent, frame), len(self._of))
        if found == len(self._of):
            self._check_stacks(found + 1)
            self._parents.append(parent)
            self._of.append(frame)
            self._depths.append(self._depths[parent] + 1 if parent >= 0 else 1)
            self._values.append(0.0)
        return found

    def _check_stacks(self, count: int) -> None:
        if count > MOST_STACKS:
            raise FormatError(
                f"more than {MOST_STACKS:,} different stacks",
                where=self._where,
                remedy="Profile a shorter run, or one thread of it.",
            )

    def add(self, stack: int, value: float, where: str = "") -> None:
        """Add the cost of the innermost frame of a stack.

        Raises:
            FormatError: the cost is negative or not finite.
        """
        self._check(value, where)
        self._values[stack] += value

    def _check(self, value: float, where: str) -> None:
        if not 0 <= value < math.inf:
            place = ", ".join(filter(None, (self._where, where)))
            raise FormatError(
                f"expected a cost of 0 or more, got {value:g}",
                where=place,
                remedy="Give the profiles of both sides, not their difference.",
            )

    def add_path(self, frames: list[int], value: float, where: str = "") -> None:
        """Add the cost of a stack given by its frames, the outermost first; without any, it has a frame of its own.

        Raises:
            FormatError: the cost is negative or not finite.
        """
        self._check(value, where)
        frames = frames or [self.frame("(no stack)")]
        if len(frames) > MOST_DEPTH:
            self.note(_CUT)
            frames = [*frames[: MOST_DEPTH - 1], frames[-1]]
        self._waiting += frames
        self._lengths.append(len(frames))
        self._costs.append(value)
        if len(self._waiting) > _MOST_WAITING:
            self._merged = [self._with_waiting()]
            self._waiting, self._lengths, self._costs = [], [], []

    def _with_waiting(self, *trees: _Tree) -> _Tree:
        """Put trees and the stacks of all samples together."""
        found = _joined([*trees, *self._merged, _chains(self._waiting, self._lengths, self._costs)])
        self._check_stacks(len(found[0]))
        return found

    def build(
        self,
        format_: str,
        kind: ValueKind,
        unit: str,
        *,
        scale: float = 1.0,
        samples: float = 0.0,
        stated: Cost | None = None,
    ) -> Profile:
        """Return the profile, with each cost times ``scale``.

        Raises:
            FormatError: there is no cost at all.
        """
        nodes = np.array(self._parents, dtype=np.int64), np.array(self._of, dtype=np.int64)
        parents, frames, values = self._with_waiting((*nodes, np.array(self._values, dtype=np.float64)))
        values = values * scale
        if not math.isfinite(float(values.sum())) or not (values.any() or (stated is not None and stated.own.any())):
            raise FormatError(
                "no cost is recorded in the profile",
                where=self._where,
                remedy="Profile a longer run, or choose another value with --value.",
            )
        return Profile(
            format=format_,
            kind=kind,
            unit=unit,
            names=tuple(name for name, _, _ in self._frames),
            files=tuple(file for _, file, _ in self._frames),
            lines=np.array([line for _, _, line in self._frames], dtype=np.int64),
            frames=frames,
            parents=parents,
            values=values,
            samples=samples,
            stated=stated,
            notes=tuple(self._notes),
        )


def _chains(frames: list[int], lengths: list[int], costs: list[float]) -> _Tree:
    """Lay stacks of ``lengths`` frames each out as trees without branches, with the cost at the innermost frame."""
    sizes, parents = np.array(lengths, dtype=np.int64), np.arange(-1, len(frames) - 1)
    ends = np.cumsum(sizes)
    parents[ends - sizes] = -1
    values = np.zeros(len(frames))
    values[ends - 1] = costs
    return parents, np.array(frames, dtype=np.int64), values


def _joined(trees: Sequence[_Tree]) -> _Tree:
    """Put trees together into one in preorder."""
    starts = np.cumsum([0, *(len(parents) for parents, _, _ in trees)])
    parents = np.concatenate([
        np.where(tree[0] >= 0, tree[0] + start, -1) for tree, start in zip(trees, starts[:-1], strict=True)
    ])  # fmt: skip
    frames, values = (np.concatenate([tree[part] for tree in trees]) for part in (1, 2))
    merged = merge(parents, frames, depths_of(parents))
    costs = np.bincount(merged.places, values, len(merged.parents)).astype(np.float64)
    return merged.parents, merged.frames, costs


def chosen(known: Sequence[str], value: str, where: str) -> str:
    """Return the value that was asked for, else the first one.

    Raises:
        FormatError: there is no such value, or none at all.
    """
    if not known:
        raise FormatError("there are no values in the profile", where=where, remedy="Record the profile again.")
    if value and value not in known:
        raise FormatError(
            f"there is no value {value!r} in the profile",
            where=where,
            remedy=f"Choose one of: {', '.join(known[:20])}.",
        )
    return value or known[0]
