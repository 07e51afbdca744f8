"""Put several profiles of one program side by side, and match its functions with those of another version."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Final

import numpy as np

from knickpoint.profiles.profile import Floats, Profile
from knickpoint.profiles.stack_tree import Ints

_MOST_RENAMED: Final = 50
"""Functions of each side that are looked at for renames, those that cost most."""
_COMPARED: Final = 60
"""Characters at the end of names that are compared."""
_ROUNDS: Final = 4
_SAME: Final = 0.65
"""How alike two functions must be, of 1, to be one that was renamed."""

_NAME: Final = 0.15
"""What equal names add to the likeness."""

Pair = tuple[int, int]
"""A function, and the function that is charged for calling it; -1 for none."""


@dataclass(frozen=True)
class Function:
    """A function: its name, the file of its code, and the line of its definition (0: unknown)."""

    name: str
    file: str
    line: int
    is_library: bool


@dataclass(frozen=True)
class Side:
    """The functions of the profiles of one side; each array has a column a profile.

    ``called`` splits the own cost of a function by the caller that is charged for it, ``calls`` are the direct callers
    of each function. ``places`` has the function of each frame of each profile.
    """

    functions: tuple[Function, ...]
    own: Floats
    total: Floats
    called: Mapping[Pair, Floats]
    calls: frozenset[Pair]
    places: tuple[Ints, ...]


def side_of(profiles: Sequence[Profile]) -> Side:
    """Put profiles of one side together: functions are one by name, file and line."""
    found: dict[tuple[str, str, int], int] = {}
    functions: list[Function] = []
    rows = []
    for profile in profiles:
        library = profile.is_library.tolist()
        row: list[int] = []
        for name, file, line, lib in zip(profile.names, profile.files, profile.lines.tolist(), library, strict=True):
            key = (name, file, line)
            if key not in found:
                found[key] = len(functions)
                functions.append(Function(name, file, line, lib))
            row.append(found[key])
        rows.append(np.array(row, dtype=np.int64))
    shape = (len(functions), len(profiles))
    own, total = np.zeros(shape), np.zeros(shape)
    charges, edges = [], []
    for column, (profile, places) in enumerate(zip(profiles, rows, strict=True)):
        own[places, column], total[places, column] = profile.cost.own, profile.cost.total
        charges.append(_charges(profile, places, len(functions) + 1))
        direct = np.flatnonzero(profile.parents >= 0)
        callees, callers = profile.frames[direct], profile.frames[profile.parents[direct]]
        edges.append(np.unique(places[callees] * len(functions) + places[callers]))
    pairs, order = np.unique(np.concatenate([keys for keys, _ in charges]), return_inverse=True)
    costs = np.zeros((len(pairs), len(profiles)))
    starts = np.cumsum([0, *(len(keys) for keys, _ in charges)])
    for column, (_, values) in enumerate(charges):
        costs[order[starts[column] : starts[column + 1]], column] = values
    charged, charging = np.divmod(pairs, len(functions) + 1)
    called = dict(zip(zip(charged.tolist(), (charging - 1).tolist(), strict=True), costs, strict=True))
    callees, callers = np.divmod(np.unique(np.concatenate(edges)), len(functions))
    apart = callees != callers
    calls = frozenset(zip(callees[apart].tolist(), callers[apart].tolist(), strict=True))
    return Side(tuple(functions), own, total, called, calls, tuple(rows))


def _charges(profile: Profile, places: Ints, width: int) -> tuple[Ints, Floats]:
    """Own cost of each function by the caller that is charged for it, under the key ``function * width + caller + 1``."""
    callers = np.where(profile.callers >= 0, places[profile.callers], -1)
    keys, order = np.unique(places[profile.frames] * width + callers + 1, return_inverse=True)
    costs = np.bincount(order, profile.values, len(keys))
    functions = keys // width
    drawn, stated = (np.zeros(width - 1) for _ in range(2))
    np.add.at(drawn, functions, costs)
    stated[places] = profile.cost.own
    # Stacks of a call graph are an estimate; what the profile says of a function is not.
    costs *= np.divide(stated, drawn, out=np.zeros(width - 1), where=drawn > 0)[functions]
    kept = costs != 0
    return keys[kept], costs[kept]


# Match the functions of two sides: by name and file, by name where the file moved, and by callers where it was renamed.


@dataclass
class _Matching:
    """Which function of the head each function of the base is."""

    base: Side
    head: Side
    heads: dict[int, int] = field(default_factory=dict)
    bases: dict[int, int] = field(default_factory=dict)

    def join(self, base: int, head: int) -> None:
        self.heads[base] = head
        self.bases[head] = base

    def by(self, key: Callable[[Function], Hashable]) -> None:
        """Match what is still alone by a key: in the order of lines where both sides have equally many."""
        left, right = _grouped(self.base, self.heads, key), _grouped(self.head, self.bases, key)
        for each, bases in left.items():
            heads = right.get(each, [])
            if len(bases) == len(heads):
                for base, head in zip(bases, heads, strict=True):
                    self.join(base, head)


def _grouped(side: Side, matched: Mapping[int, int], key: Callable[[Function], Hashable]) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = {}
    for place, function in sorted(enumerate(side.functions), key=lambda each: each[1].line):
        if place not in matched:
            found.setdefault(key(function), []).append(place)
    return found


def match(base: Side, head: Side) -> Sequence[tuple[int | None, int | None]]:
    """Return pairs of functions of base and head that are the same; None where a side lacks the function."""
    matching = _Matching(base, head)
    matching.by(lambda each: (each.name, each.file, each.line))
    matching.by(lambda each: (each.name, each.file))
    matching.by(lambda each: (each.name, _last_names(each.file, 2)))
    matching.by(lambda each: (each.name, _last_names(each.file, 1)))
    matching.by(lambda each: each.name)
    _match_renamed(matching)
    alone = (head for head in range(len(head.functions)) if head not in matching.bases)
    pairs: list[tuple[int | None, int | None]] = [
        (place, matching.heads.get(place)) for place in range(len(base.functions))
    ]
    return [*pairs, *((None, place) for place in alone)]


def _last_names(file: str, count: int) -> str:
    return "/".join(file.replace("\\", "/").rsplit("/", count)[-count:])


def _match_renamed(matching: _Matching) -> None:
    """Match functions that are alone and have callers, calls and costs alike, the most alike first.

    A match makes the callers and calls of others known, so that a few rounds find chains of renamed functions.
    """
    if not (_costly(matching.base, matching.heads) and _costly(matching.head, matching.bases)):
        return
    around = [_neighbours(side) for side in (matching.base, matching.head)]
    for _ in range(_ROUNDS):
        left, right = _costly(matching.base, matching.heads), _costly(matching.head, matching.bases)
        near = {place: _known(around[0].get(place, _NOTHING), matching.heads) for place in left}
        far = {place: around[1].get(place, _NOTHING) for place in right}
        alike = sorted((-_likeness(matching, a, b, near[a], far[b]), a, b) for a in left for b in right)
        found = False
        for likeness, base, head in alike:
            if -likeness >= _SAME and base not in matching.heads and head not in matching.bases:
                matching.join(base, head)
                found = True
        if not found:
            return


Around = tuple[frozenset[int], frozenset[int]]
"""The callers of a function and what it calls."""
_NOTHING: Final[Around] = (frozenset(), frozenset())


def _neighbours(side: Side) -> Mapping[int, Around]:
    callers: dict[int, set[int]] = {}
    callees: dict[int, set[int]] = {}
    for callee, caller in side.calls:
        callers.setdefault(callee, set()).add(caller)
        callees.setdefault(caller, set()).add(callee)
    known = callers.keys() | callees.keys()
    return {place: (frozenset(callers.get(place, ())), frozenset(callees.get(place, ()))) for place in known}


def _known(around: Around, heads: Mapping[int, int]) -> Around:
    """Return neighbours in the base as those of the head; the unmatched ones are none of these."""
    callers, callees = (frozenset(heads.get(each, -2 - each) for each in part) for part in around)
    return callers, callees


def _costly(side: Side, matched: Mapping[int, int]) -> list[int]:
    order = np.argsort(-side.total.mean(axis=1), kind="stable").tolist()
    return [place for place in order if place not in matched and not side.functions[place].is_library][:_MOST_RENAMED]


def _likeness(matching: _Matching, base: int, head: int, near: Around, far: Around) -> float:
    """Likeness of two functions, from 0 to 1; 0 where it is below what any match needs."""
    old, new = matching.base.functions[base], matching.head.functions[head]
    costs = sorted([float(matching.base.total[base].mean()), float(matching.head.total[head].mean())])
    likeness = (
        0.3 * _shared(near[0], far[0])
        + 0.2 * _shared(near[1], far[1])
        + 0.2 * (costs[0] / costs[1] if costs[1] else 0.0)
        + 0.15 * (_last_names(old.file, 1) == _last_names(new.file, 1))
    )
    if likeness < _SAME - _NAME:
        return 0.0  # no name makes them alike
    return likeness + _NAME * SequenceMatcher(None, old.name[-_COMPARED:], new.name[-_COMPARED:]).ratio()


def _shared(one: frozenset[int], other: frozenset[int]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0
