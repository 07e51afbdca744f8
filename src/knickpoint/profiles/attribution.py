"""Attribute the difference of two sides to functions: charge callers, and take out cost that only moved."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import numpy as np

from knickpoint.profiles.profile import Floats
from knickpoint.profiles.scatter import WORTH, CostChange, Scatter, Sides, cost_changes, run_speeds
from knickpoint.profiles.sides import Function, Pair, Side, match
from knickpoint.profiles.stack_tree import Ints

_FALSE_CAUSES: Final = {True: 0.02, False: 0.01}
"""The chance that equal programs have any cause, shared by all functions: of samples, of others (2 % was measured)."""
_LOOKED_AT: Final = 1e-4
"""The share of the whole cost from which on a function is looked at."""
_NEW: Final = 0.1
"""A function with at most this share of its later cost before is new, and of its earlier cost after is gone."""
_ROUNDING: Final = 1e-9
"""The share of the largest cost below which a rest of a difference is an error of floating point."""

_LIBRARY_CALLER: Final = 0.7
"""The share of what a library function grew that one caller must have, to be charged for it."""
_OTHER_CALLER: Final = 0.8
_MINOR_CALLER: Final = 0.5
"""A function of the program grew for a caller's sake where that caller had at most this share of its cost before."""
_ENDED: Final = 1e-9


class CostState(Enum):
    """What the difference of a function says."""

    CAUSE = "cause"
    MINOR = "small part"
    """It has changed, and explains too little of the change to be called its cause."""
    MOVED = "moved"
    """Cost only came from, or went to, functions next to it."""
    CHARGED = "charged"
    """It costs more or less because of one caller, which has the difference."""
    UNSURE = "unsure"
    """It is new or gone, and what calls it changed within its scatter: cost may have moved between them."""
    UNCHANGED = "within scatter"


@dataclass(frozen=True, slots=True)
class FunctionChange:
    """How the cost of one function changed.

    ``former`` is its name before, where it was renamed. ``explained`` is what is left of the difference of its own code
    when cost that moved is left out, and what its calls of libraries cost is added. ``partner`` names the function
    that cost moved from or to.
    """

    name: str
    file: str
    line: int
    former: str
    own: CostChange
    total: CostChange
    explained: CostChange
    state: CostState
    partner: str = ""

    @property
    def place(self) -> str:
        """The file, with the line where it is known."""
        return f"{self.file}:{self.line}" if self.file and self.line else self.file


class Attribution:
    """The functions of both sides in rows; ``-1`` stands for the caller of what nothing calls."""

    def __init__(self, base: Side, head: Side, counting: float, *, exact: bool) -> None:
        self._pairs = match(base, head)
        self._base, self._head = base, head
        self._exact = exact
        self.scatter = Scatter.of(counting, exact=exact)
        self._own = self._rows(base.own, head.own)
        self._total = self._rows(base.total, head.total)
        rows = ({}, {})  # type: tuple[dict[int, int], dict[int, int]]
        for row, sides in enumerate(self._pairs):
            for known, place in zip(rows, sides, strict=True):
                if place is not None:
                    known[place] = row
        self._called = self._by_caller(rows)
        means = (_means([sides[which] for sides in self._called.values()]) for which in (0, 1))
        self._called_means: dict[Pair, tuple[float, float]] = dict(
            zip(self._called, zip(*means, strict=True), strict=True)
        )
        self._calls = {
            (known[a], known[b]) for side, known in zip((base, head), rows, strict=True) for a, b in side.calls
        }
        self._callers: dict[int, set[int]] = {}
        for callee, caller in [*self._calls, *(pair for pair in self._called if pair[1] >= 0)]:
            self._callers.setdefault(callee, set()).add(caller)
        whole = max(float(side.own.sum(axis=0).mean()) for side in (base, head))
        self._worth = whole * WORTH
        tested = np.maximum(*(side.mean(axis=1) for side in self._own)) > whole * _LOOKED_AT
        self._doubt = _FALSE_CAUSES[counting > 0] / max(int(tested.sum()), 1)
        self._own_changes = cost_changes(self._own, self.scatter, self._doubt)

    def _rows(self, base: Floats, head: Floats) -> Sides:
        def side(values: Floats, which: int) -> Floats:
            places = np.array([-1 if pair[which] is None else pair[which] for pair in self._pairs])
            return np.where(places[:, None] >= 0, values[places], 0.0)

        return side(base, 0), side(head, 1)

    def _by_caller(self, rows: tuple[Mapping[int, int], Mapping[int, int]]) -> dict[Pair, Sides]:
        found: dict[Pair, Sides] = {}
        sides = (self._base, self._head)
        for which, side in enumerate(sides):
            for (callee, caller), cost in side.called.items():
                pair = (rows[which][callee], rows[which][caller] if caller >= 0 else -1)
                empty = (np.zeros(self._base.own.shape[1]), np.zeros(self._head.own.shape[1]))
                found.setdefault(pair, empty)[which][:] += cost
        return found

    def _function(self, row: int) -> Function:
        base, head = self._pairs[row]
        if head is not None:
            return self._head.functions[head]
        assert base is not None
        return self._base.functions[base]

    def functions(self, total: CostChange) -> tuple[FunctionChange, ...]:
        """Return all functions, in the order of their rows."""
        explained, charged = self._charged()
        if not self._exact:
            speeds = run_speeds(explained)
            explained = explained[0] / speeds[0], explained[1] / speeds[1]
        scatter = self.scatter.learned(explained)
        changes = cost_changes(explained, scatter, self._doubt)
        totals = cost_changes(self._total, self.scatter, self._doubt)
        net, partners = self._without_moved(changes)
        found = []
        for row, (base, _) in enumerate(self._pairs):
            function = self._function(row)
            former = self._base.functions[base].name if base is not None else ""
            state, partner = CostState.UNCHANGED, partners.get(row, "")
            if net[row].is_certain and abs(net[row].difference) >= self._worth:
                state = CostState.UNSURE if self._may_have_moved(row, net[row], totals, total) else CostState.CAUSE
            elif partner:
                state = CostState.MOVED
            elif row in charged:
                state, partner = CostState.CHARGED, charged[row]
            found.append(
                FunctionChange(
                    name=function.name,
                    file=function.file,
                    line=function.line,
                    former=former if former != function.name else "",
                    own=self._own_changes[row],
                    total=totals[row],
                    explained=net[row],
                    state=state,
                    partner=partner,
                )
            )
        return tuple(found)

    def frame_rows(self) -> tuple[tuple[Ints, ...], tuple[Ints, ...]]:
        """Rows of the frames of each profile, before and after."""
        rows = tuple(np.zeros(len(side.functions), dtype=np.int64) for side in (self._base, self._head))
        for row, pair in enumerate(self._pairs):
            for known, place in zip(rows, pair, strict=True):
                if place is not None:
                    known[place] = row
        base, head = self._base.places, self._head.places
        return tuple(rows[0][each] for each in base), tuple(rows[1][each] for each in head)

    def _charged(self) -> tuple[Sides, Mapping[int, str]]:
        """Return own costs with those of other functions that a caller is charged for, and who is charged for which."""
        explained = self._own[0].copy(), self._own[1].copy()
        callers: dict[int, list[int]] = {}
        for callee, caller in self._called:
            callers.setdefault(callee, []).append(caller)
        charged: dict[int, str] = {}
        for callee, known in sorted(callers.items()):
            for caller in self._to_charge(callee, known):
                for which in (0, 1):
                    cost = self._called[callee, caller][which]
                    explained[which][callee] -= cost
                    explained[which][caller] += cost
                if abs(self._grown(callee, caller)) >= self._worth:
                    charged[callee] = f"to {self._function(caller).name}"
        for costs in explained:
            costs[np.abs(costs) < _ROUNDING * np.abs(costs).max(initial=0.0)] = 0.0
        return explained, charged

    def _grown(self, callee: int, caller: int) -> float:
        before, after = self._called_means[callee, caller]
        return after - before

    def _to_charge(self, callee: int, callers: Sequence[int]) -> list[int]:
        """Return the callers that are charged for what a function costs them."""
        charged = [caller for caller in callers if caller >= 0 and caller != callee]
        change = self._own_changes[callee]
        if not charged:
            return []
        parts = {
            caller: self._grown(callee, caller) / change.difference if change.difference else 0.0 for caller in callers
        }
        most = max(charged, key=lambda caller: parts[caller])
        if self._function(callee).is_library:
            return charged if not change.is_certain or parts[most] >= _LIBRARY_CALLER else []
        before = self._called_means[callee, most][0]
        is_minor = len(callers) > 1 and before <= _MINOR_CALLER * change.before and change.before > _NEW * change.after
        return [most] if change.is_certain and is_minor and parts[most] >= _OTHER_CALLER else []

    def _without_moved(self, changes: Sequence[CostChange]) -> tuple[list[CostChange], Mapping[int, str]]:
        """Take cost that only moved between neighbours out of the changes, and name where it came from or went to."""
        net = list(changes)
        certain = [row for row, change in enumerate(changes) if change.is_certain]
        losers = sorted((row for row in certain if net[row].difference < 0), key=lambda row: net[row].difference)
        gainers = sorted((row for row in certain if net[row].difference > 0), key=lambda row: -net[row].difference)
        partners: dict[int, str] = {}
        for is_call in (True, False):
            for loser in losers:
                for gainer in gainers:
                    moved = self._moved(net, loser, gainer, is_call=is_call)
                    if moved <= _ENDED * max(abs(changes[gainer].difference), abs(changes[loser].difference)):
                        continue
                    wide = math.hypot(net[gainer].half, net[loser].half)
                    net[gainer] = _shifted(net[gainer], -moved, wide)
                    net[loser] = _shifted(net[loser], moved, wide)
                    partners.setdefault(gainer, f"from {self._function(loser).name}")
                    partners.setdefault(loser, f"to {self._function(gainer).name}")
        return net, partners

    def _moved(self, net: Sequence[CostChange], loser: int, gainer: int, *, is_call: bool) -> float:
        """Return the cost that moved: one calls the other, or both have a caller and their changes cancel."""
        lost, gained = -net[loser].difference, net[gainer].difference
        if lost <= 0 or gained <= 0:
            return 0.0
        if is_call:
            related = gainer in self._callers.get(loser, ()) or loser in self._callers.get(gainer, ())
            return min(lost, gained) if related else 0.0
        related = bool(self._callers.get(loser, set()) & self._callers.get(gainer, set()))
        cancels = abs(gained - lost) <= math.hypot(net[loser].half, net[gainer].half) + self._worth
        return min(lost, gained) if related and cancels else 0.0

    def _may_have_moved(self, row: int, change: CostChange, totals: Sequence[CostChange], whole: CostChange) -> bool:
        """Whether a function is new or gone, and neither what calls it nor the program changed like it for certain."""
        callers = self._callers.get(row, set())
        less, more = sorted((change.before, change.after))
        if less > _NEW * more or not callers:
            return False
        around = (whole, *(totals[caller] for caller in callers))
        return not any(each.is_certain and each.difference * change.difference > 0 for each in around)


def _means(costs: Sequence[Floats]) -> list[float]:
    return np.mean(costs, axis=1).tolist() if costs else []


def _shifted(change: CostChange, by: float, half: float) -> CostChange:
    """Return the change with cost that moved taken out of the level after it."""
    left = change.difference + by
    return replace(change, after=change.after + by, low=left - half, high=left + half)
