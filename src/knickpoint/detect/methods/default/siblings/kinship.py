"""Learn from past changes which params traces share that move together: the same machine, the same suite, or none.

A change that one trace made is asked how many of those with its value of a param made it as well, and how many of the
others. Where sharing a value makes no difference, the param carries no kinship. What it carries is one number, the
correlation of two traces with one value, as in a beta-binomial distribution (J. G. Skellam, A probability distribution
derived from the binomial distribution by regarding the probability of success as variable between the sets of trials,
1948).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

_SPAN: Final = 5
"""Commits over which steps of several traces can be one change."""

_FEWEST: Final = 3
"""Past changes from which something is learnt."""

_UNRELATED: Final = 2.0
"""Changes without kinship that are counted beside those that were seen: few changes prove little."""

_LEAST: Final = 0.1
"""Correlation from which a param carries kinship."""

_MOST: Final = 0.95
"""Correlation that is believed at most: even close relatives do not always move together."""


@dataclass(frozen=True, slots=True)
class PastChanges:
    """Changes that traces show by themselves, one row each.

    ``first`` and ``last`` are the columns between which the traces of one change step. ``moved`` says which traces did,
    and ``live`` which were measured before and after; both are changes x traces.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    moved: NDArray[np.bool_]
    live: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ParamHistory:
    """Moves of traces by the groups that the param ``name`` makes, one entry for each change of a trace with relatives.

    ``together`` is the share of the relatives of those that made it who made it as well, ``apart`` that of the others.
    ``first`` and ``last`` are the columns of the change.
    """

    name: str
    groups: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    together: NDArray[np.float64]
    apart: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Kinship:
    """What the param ``name`` says about traces that move together.

    ``groups`` has a number for each trace, the same for those with one value of the param, and -1 where no other trace
    has it. ``together`` is the share of those with its value that made a past change of a trace as well, ``apart`` the
    share of the others, and ``changes`` how many changes say so.
    """

    name: str
    groups: NDArray[np.int64]
    changes: int
    together: float
    apart: float

    @property
    def correlation(self) -> float:
        """The correlation of two traces with one value: 0 where sharing it makes no difference."""
        return min(max((self.together - self.apart) / max(1 - self.apart, 1 - _MOST), 0.0), _MOST)

    def shares(self, chances: NDArray[np.float64], overall: float) -> NDArray[np.float64]:
        """Return the share of its relatives expected to move with each trace, ``overall`` if it has none.

        ``chances`` are those that the traces moved. A trace does not speak for itself: the answer is the mean of a beta
        distribution around ``overall`` with this correlation, after it has seen the other traces of its group.
        """
        related = self.groups >= 0
        groups = self.groups[related]
        sums = np.bincount(groups, chances[related])[groups] - chances[related]
        counts = np.bincount(groups)[groups] - 1
        unseen = 1 / self.correlation - 1
        shares = np.full(len(chances), overall)
        shares[related] = (unseen * overall + sums) / (unseen + counts)
        return shares


def group_by_params(keys: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return the groups of traces by the values of each param that divides the traces into groups.

    ``keys`` are trace keys. A param with one value for all, or another value for each, divides nothing; of params that
    divide alike, the first by name stands for all.
    """
    values: dict[str, dict[int, str]] = {}
    for row, key in enumerate(keys):
        for pair in key.strip(",").split(","):
            name, sign, value = pair.partition("=")
            if sign:
                values.setdefault(name, {})[row] = value
    found: dict[str, NDArray[np.int64]] = {}
    seen: set[bytes] = set()
    for name in sorted(values):
        groups = _numbered(values[name], len(keys))
        if groups.max(initial=-1) < 0 or np.all(groups == 0) or groups.tobytes() in seen:
            continue
        seen.add(groups.tobytes())
        found[name] = groups
    return found


def _numbered(values: Mapping[int, str], traces: int) -> NDArray[np.int64]:
    """Number the values that several rows have, in the order of the rows."""
    rows: dict[str, list[int]] = {}
    for row, value in values.items():
        rows.setdefault(value, []).append(row)
    groups = np.full(traces, -1, dtype=np.int64)
    for number, members in enumerate(members for members in rows.values() if len(members) > 1):
        groups[members] = number
    return groups


def past_changes(steps: Iterable[tuple[int, int, int]], held: NDArray[np.bool_]) -> PastChanges:
    """Join the ``steps`` of traces, each (column, way, row), to changes: those one way within a few commits are one.

    ``held`` says, traces x commits, where a value was measured.
    """
    changes: list[tuple[int, int, set[int]]] = []
    open_at: dict[int, int] = {}
    for column, way, row in sorted(steps):
        number = open_at.get(way)
        if number is None or column - changes[number][0] > _SPAN:
            open_at[way] = len(changes)
            changes.append((column, column, {row}))
        else:
            first, _, rows = changes[number]
            changes[number] = (first, column, rows | {row})
    moved = np.zeros((len(changes), len(held)), dtype=np.bool_)
    for number, (_, _, rows) in enumerate(changes):
        moved[number, sorted(rows)] = True
    begins = np.array([first for first, _, _ in changes], dtype=np.int64)
    ends = np.array([last for _, last, _ in changes], dtype=np.int64)
    oldest = np.argmax(held, axis=1)
    newest = held.shape[1] - 1 - np.argmax(held[:, ::-1], axis=1)
    return PastChanges(begins, ends, moved, (oldest < begins[:, None]) & (newest >= ends[:, None]))


def read_history(past: PastChanges, name: str, groups: NDArray[np.int64]) -> ParamHistory:
    """Ask each change how many relatives of those that made it did so as well, and how many others.

    Time grows with changes x traces.
    """
    numbers = int(groups.max()) + 1
    related = groups >= 0
    rows: list[int] = []
    together: list[float] = []
    apart: list[float] = []
    for row, (moved, live) in enumerate(zip(past.moved & past.live, past.live, strict=True)):
        made = np.bincount(groups[moved & related], minlength=numbers)
        could = np.bincount(groups[live & related], minlength=numbers)
        with_kin = made * (could > 1)
        if not with_kin.any():
            continue
        shares = (made - 1) / np.maximum(could - 1, 1)
        others = (moved.sum() - made) / np.maximum(live.sum() - could, 1)
        rows.append(row)
        together.append(float((with_kin * shares).sum() / with_kin.sum()))
        apart.append(float((with_kin * others).sum() / with_kin.sum()))
    return ParamHistory(name, groups, past.first[rows], past.last[rows], np.array(together), np.array(apart))


def learn_kinship(histories: Iterable[ParamHistory], column: int, *, near: int) -> list[Kinship]:
    """Return the params that carry kinship, learnt from changes that are not ``near`` the ``column`` to be judged."""
    learnt = (
        _learn(history, (history.first > column + near) | (history.last < column - near)) for history in histories
    )
    return [kinship for kinship in learnt if kinship.changes >= _FEWEST and kinship.correlation >= _LEAST]


def _learn(history: ParamHistory, chosen: NDArray[np.bool_]) -> Kinship:
    changes = int(np.count_nonzero(chosen))
    if not changes:
        return Kinship(history.name, history.groups, 0, 0.0, 0.0)
    rest = float(history.apart[chosen].mean())
    share = (float(history.together[chosen].sum()) + _UNRELATED * rest) / (changes + _UNRELATED)
    return Kinship(history.name, history.groups, changes, share, rest)
