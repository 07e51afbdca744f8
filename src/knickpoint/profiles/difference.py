"""Find the functions that a change costs: the difference of two sets of profiles, with its doubt."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

import numpy as np

from knickpoint.detect.outliers import student_quantile
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import scale_for, value_text
from knickpoint.model.unit import convert, read_unit
from knickpoint.profiles.profile import Floats, Profile, ValueKind
from knickpoint.profiles.sides import Function, Pair, Side, match, side_of

_FALSE_CAUSES: Final = {True: 0.02, False: 0.01}
"""The chance that equal programs have any cause, shared by all functions: of samples, of others (2 % was measured)."""
_TOTAL_DOUBT: Final = 0.05
_LOOKED_AT: Final = 1e-4
"""The share of the whole cost from which on a function is looked at."""
_WORTH: Final = 1e-3
"""The share of the whole cost below which a change is not called a cause."""
_SCATTER: Final = {True: 1e-3, False: 0.05}
"""The scatter of a cost from run to run that is assumed where a side has one profile: of exact values, of others."""
_NORMAL: Final = 1e6
"""Degrees of freedom of a scatter that is assumed."""
_SHARED_FREEDOM: Final = 12.0
"""Degrees of freedom of the scatter that functions share, where samples were counted."""
_NEW: Final = 0.1
"""A function with at most this share of its later cost before is new."""
_LIBRARY_CALLER: Final = 0.7
"""The share of what a library function grew that one caller must have, to be charged for it."""
_OTHER_CALLER: Final = 0.8
_MINOR_CALLER: Final = 0.5
"""A function of the program grew for a caller's sake where that caller had at most this share of its cost before."""
_LEAST_ALIKE: Final = 4
"""Functions of equal cost (the inverse of their squared shares) below which the speed of a run is not taken out."""
_APART: Final = 3
"""A function takes part in the speed of the runs if it changed by at most so many of its deviations."""
_MOST_SHARE: Final = 1.2
"""A function explains a part of the whole difference up to this share; what exceeds it stands beside it."""
_ENDED: Final = 1e-9


@dataclass(frozen=True, slots=True)
class CostChange:
    """A mean cost before and after, and the interval in which their difference lies."""

    before: float
    after: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """After less before."""
        return self.after - self.before

    @property
    def is_certain(self) -> bool:
        """Whether the difference exceeds its scatter."""
        return self.low > 0 or self.high < 0

    @property
    def half(self) -> float:
        """Half of the width of the interval."""
        return (self.high - self.low) / 2


class CostState(Enum):
    """What the difference of a function says."""

    CAUSE = "cause"
    MOVED = "moved"
    """Cost only came from, or went to, functions next to it."""
    CHARGED = "charged to caller"
    """It costs more or less because of one caller, which has the difference."""
    UNSURE = "unsure"
    """It is new, and what calls it does not cost more beyond its scatter: cost may have moved here."""
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


@dataclass(frozen=True, slots=True)
class Measured:
    """The change that was measured without a profiler, and its interval."""

    difference: float
    low: float
    high: float
    unit: str


@dataclass(frozen=True, slots=True)
class Difference:
    """The functions of two sets of profiles, those that explain most of the difference first.

    ``shows`` says whether the profiles show the change that was measured: their totals agree with it, and something
    explains it; None where none was given.
    """

    kind: ValueKind
    unit: str
    profiles: tuple[int, int]
    total: CostChange
    functions: tuple[FunctionChange, ...]
    measured: Measured | None = None
    shows: bool | None = None

    @property
    def causes(self) -> tuple[FunctionChange, ...]:
        """What explains the difference: those of its direction first; none where it is not shown."""
        return () if self.shows is False else _causes(self.functions, self._sign)

    @property
    def _sign(self) -> float:
        return self.measured.difference if self.measured else self.total.difference if self.total.is_certain else 0.0

    @property
    def sentence(self) -> str:
        """Return the answer in a sentence."""
        return " ".join(filter(None, (self._answer(), self._doubt())))

    def _answer(self) -> str:
        whole = _signed_text(self.total.difference, self.unit)
        if self.measured and self.shows is False:
            known = _signed_text(self.measured.difference, self.measured.unit)
            total = f"its total changed by {whole} ({_interval(self.total, self.unit)})"
            return f"The profile does not show the measured change of {known}: {total}."
        if not self.causes:
            total = f"the total changed by {whole} ({_interval(self.total, self.unit)})"
            return f"No function differs by more than its scatter; {total}."
        lead = self.causes[0]
        part = _signed_text(lead.explained.difference, self.unit)
        place = f" ({lead.place})" if lead.place else ""
        former = f", {lead.former} before" if lead.former else ""
        more = f", and {counted(len(self.causes) - 1, 'more function')} changed" if len(self.causes) > 1 else ""
        share = lead.explained.difference / self.total.difference if self.total.is_certain else 0.0
        if 0 < share <= _MOST_SHARE:
            return f"{part} of {whole} in {lead.name}{place}{former}{more}."
        total = f"the total changed by {whole} ({_interval(self.total, self.unit)})"
        return f"{part} in {lead.name}{place}{former}{more}; {total}."

    def _doubt(self) -> str:
        if min(self.profiles) > 1:
            return ""
        scatter = _SCATTER[self.kind.is_exact]
        return f"One profile a side does not show its scatter: {100 * scatter:g} % from run to run is assumed."


def difference(before: Sequence[Profile], after: Sequence[Profile], measured: Measured | None = None) -> Difference:
    """Compare the profiles of two versions of a program that does the same work in each run.

    Raises:
        InputError: a side has no profile, or they have different kinds of values.
    """
    kind, unit = _one_unit([*before, *after], bool(before) and bool(after))
    base, head = side_of(before), side_of(after)
    counting = _counting([*before, *after])
    table = _Table(base, head, counting, exact=kind.is_exact)
    totals = [np.array([profile.total for profile in side]) for side in (before, after)]
    total = _change(totals[0], totals[1], table.scatter, _TOTAL_DOUBT)
    functions = table.functions(total)
    shows = None
    if measured is not None:
        measured = _in_unit(measured, unit)
        overlaps = total.low <= measured.high and measured.low <= total.high
        found = _causes(functions, measured.difference)
        shows = overlaps and bool(found) and found[0].explained.difference * measured.difference > 0
    return Difference(kind, unit, (len(before), len(after)), total, functions, measured, shows)


def _causes(functions: Iterable[FunctionChange], sign: float) -> tuple[FunctionChange, ...]:
    found = [each for each in functions if each.state is CostState.CAUSE]
    return tuple(
        sorted(found, key=lambda each: (each.explained.difference * sign < 0, -abs(each.explained.difference)))
    )


def _one_unit(profiles: Sequence[Profile], complete: bool) -> tuple[ValueKind, str]:  # noqa: FBT001
    if not complete:
        raise InputError("a side has no profile", remedy="Give at least one profile before and one after.")
    units = sorted({(profile.kind.value, profile.unit) for profile in profiles})
    if len(units) > 1:
        raise InputError(
            f"the profiles have different values: {' and '.join(f'{kind} ({unit})' for kind, unit in units)}",
            remedy="Record both sides with the same profiler, or choose one value with --value.",
        )
    return profiles[0].kind, profiles[0].unit


def _in_unit(measured: Measured, unit: str) -> Measured:
    source, target = read_unit(measured.unit), read_unit(unit)
    if source.dimension != target.dimension:
        raise InputError(
            f"the measured change is in {measured.unit!r}, and the profiles are in {unit!r}",
            remedy="Give the change in the unit of the profiles, or leave it out.",
        )
    change, low, high = (convert(each, source, target) for each in (measured.difference, measured.low, measured.high))
    return Measured(change, low, high, unit)


def _counting(profiles: Sequence[Profile]) -> float:
    """Return the cost that one sample stands for, 0 without samples: a cost times it is its variance by counting."""
    parts = [profile.total / profile.samples for profile in profiles if profile.samples]
    return float(np.mean(parts)) if parts else 0.0


@dataclass(frozen=True, slots=True)
class _Scatter:
    """What is known of the scatter besides the profiles: of counting samples, and what is assumed from run to run."""

    counting: float
    assumed: float
    shared: float = 1.0
    """The variance in terms of that of counting samples, from all functions."""
    weight: float = 0.0
    """Degrees of freedom that ``shared`` counts for, beside those of a function's own scatter."""

    def learned(self, costs: tuple[Floats, Floats]) -> _Scatter:
        """Return the scatter with what all functions have in common, where samples were counted."""
        freedom = sum(side.shape[1] for side in costs) - 2
        if not self.counting or min(side.shape[1] for side in costs) < 2:
            return self
        squares = sum(((side - side.mean(axis=1, keepdims=True)) ** 2).sum() for side in costs)
        counted = self.counting * sum(side.mean(axis=1).sum() for side in costs) / 2
        return replace(self, shared=max(float(squares / freedom / counted), 1.0), weight=_SHARED_FREEDOM)

    def half_width(self, before: Floats, after: Floats, doubt: float) -> float:
        count = len(before) + len(after)
        level = max(float(before.mean()), float(after.mean()), 0.0)
        freedom = count - 2.0
        if min(len(before), len(after)) > 1:
            squares = float(((before - before.mean()) ** 2).sum() + ((after - after.mean()) ** 2).sum())
            counted = level * self.counting
            together = (squares + self.weight * self.shared * counted) / (freedom + self.weight)
            variance, freedom = max(together, counted), freedom + self.weight
        else:
            variance, freedom = (level * self.assumed) ** 2 + level * self.counting, _NORMAL
        spread = variance * (1 / len(before) + 1 / len(after))
        return student_quantile(1 - doubt / 2, freedom) * math.sqrt(spread) if spread > 0 else 0.0


def _change(before: Floats, after: Floats, scatter: _Scatter, doubt: float) -> CostChange:
    half = scatter.half_width(before, after, doubt)
    first, second = float(before.mean()), float(after.mean())
    return CostChange(first, second, second - first - half, second - first + half)


class _Table:
    """The functions of both sides in rows; ``-1`` stands for the caller of what nothing calls."""

    def __init__(self, base: Side, head: Side, counting: float, *, exact: bool) -> None:
        self._pairs = match(base, head)
        self._base, self._head = base, head
        self._exact = exact
        self.scatter = _Scatter(counting, _SCATTER[exact])
        self._own = self._rows(base.own, head.own)
        self._total = self._rows(base.total, head.total)
        rows = ({}, {})  # type: tuple[dict[int, int], dict[int, int]]
        for row, sides in enumerate(self._pairs):
            for known, place in zip(rows, sides, strict=True):
                if place is not None:
                    known[place] = row
        self._called = self._by_caller(rows)
        self._calls = {
            (known[a], known[b]) for side, known in zip((base, head), rows, strict=True) for a, b in side.calls
        }
        self._callers: dict[int, set[int]] = {}
        for callee, caller in [*self._calls, *(pair for pair in self._called if pair[1] >= 0)]:
            self._callers.setdefault(callee, set()).add(caller)
        whole = max(float(side.own.sum(axis=0).mean()) for side in (base, head))
        self._worth = whole * _WORTH
        tested = sum(
            max(float(a.mean()), float(b.mean())) > whole * _LOOKED_AT for a, b in zip(*self._own, strict=True)
        )
        self._doubt = _FALSE_CAUSES[counting > 0] / max(tested, 1)

    def _rows(self, base: Floats, head: Floats) -> tuple[Floats, Floats]:
        def side(values: Floats, which: int) -> Floats:
            none = np.zeros(values.shape[1])
            return np.array([none if (place := pair[which]) is None else values[place] for pair in self._pairs])

        return side(base, 0), side(head, 1)

    def _by_caller(self, rows: tuple[Mapping[int, int], Mapping[int, int]]) -> dict[Pair, tuple[Floats, Floats]]:
        found: dict[Pair, tuple[Floats, Floats]] = {}
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
        """Return all functions, those that explain most first."""
        explained, charged = self._charged()
        if not self._exact:
            speeds = _speeds(explained)
            explained = explained[0] / speeds[0], explained[1] / speeds[1]
        scatter = self.scatter.learned(explained)
        changes = [_change(a, b, scatter, self._doubt) for a, b in zip(*explained, strict=True)]
        totals = [_change(a, b, self.scatter, self._doubt) for a, b in zip(*self._total, strict=True)]
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
            own = _change(self._own[0][row], self._own[1][row], self.scatter, self._doubt)
            found.append(
                FunctionChange(
                    name=function.name,
                    file=function.file,
                    line=function.line,
                    former=former if former != function.name else "",
                    own=own,
                    total=totals[row],
                    explained=net[row],
                    state=state,
                    partner=partner,
                )
            )
        return tuple(
            sorted(found, key=lambda each: (-abs(each.explained.difference), -abs(each.own.difference), each.name))
        )

    def _charged(self) -> tuple[tuple[Floats, Floats], Mapping[int, str]]:
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
        return explained, charged

    def _grown(self, callee: int, caller: int) -> float:
        before, after = self._called[callee, caller]
        return float(after.mean() - before.mean())

    def _to_charge(self, callee: int, callers: Sequence[int]) -> list[int]:
        """Return the callers that are charged for what a function costs them."""
        charged = [caller for caller in callers if caller >= 0 and caller != callee]
        change = _change(self._own[0][callee], self._own[1][callee], self.scatter, self._doubt)
        if not charged:
            return []
        parts = {
            caller: self._grown(callee, caller) / change.difference if change.difference else 0.0 for caller in callers
        }
        most = max(charged, key=lambda caller: parts[caller])
        if self._function(callee).is_library:
            return charged if not change.is_certain or parts[most] >= _LIBRARY_CALLER else []
        before = float(self._called[callee, most][0].mean())
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
        """Whether a function is new, and neither what calls it nor the program costs more beyond the scatter."""
        callers = self._callers.get(row, set())
        if change.difference < 0 or change.before > _NEW * change.after or not callers:
            return False
        return not any(each.low > 0 for each in (whole, *(totals[caller] for caller in callers)))


def _speeds(costs: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Return the slowness of each run as a factor around 1, which most functions share.

    A first estimate is the median over the functions, the last one the sum of those that did not change by it.
    """
    joined = np.concatenate(costs, axis=1)
    base = costs[0].shape[1]
    level = (costs[0].mean(axis=1) + costs[1].mean(axis=1)) / 2
    kept = np.minimum(costs[0].mean(axis=1), costs[1].mean(axis=1)) > level.sum() * _WORTH
    none = np.ones(base), np.ones(joined.shape[1] - base)
    if not kept.any() or level[kept].sum() ** 2 < _LEAST_ALIKE * float((level[kept] ** 2).sum()):
        return none
    ratios = joined[kept] / level[kept, None]
    speeds = np.array([_weighted_median(column, level[kept]) for column in ratios.T])
    if not (speeds > 0).all():
        return none
    even = ratios / speeds
    change = np.abs(even[:, base:].mean(axis=1) - even[:, :base].mean(axis=1))
    spread = np.hypot(even[:, base:].std(axis=1), even[:, :base].std(axis=1))
    calm = change <= np.maximum(_APART * spread / math.sqrt(base), float(np.median(change)))
    speeds = joined[kept][calm].sum(axis=0) / level[kept][calm].sum()
    return (speeds[:base], speeds[base:]) if (speeds > 0).all() else none


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2)])


def _shifted(change: CostChange, by: float, half: float) -> CostChange:
    """Return the change with cost that moved taken out of the level after it."""
    left = change.difference + by
    return replace(change, after=change.after + by, low=left - half, high=left + half)


def _signed_text(value: float, unit: str) -> str:
    scale = scale_for(abs(value), unit)
    return ("+" if value > 0 else "") + value_text(value, unit, scale, 3)


def _interval(change: CostChange, unit: str) -> str:
    return f"{_signed_text(change.low, unit)} to {_signed_text(change.high, unit)}"
