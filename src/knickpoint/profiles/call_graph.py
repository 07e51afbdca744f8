"""A profile that says what each function costs and what its calls cost, and the stacks that explain it best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from knickpoint.profiles.profile import MOST_DEPTH, Cost, Floats, Profile, ProfileBuilder, ValueKind

_SMALLEST_SHARE: Final = 1e-5
"""Stacks below this share of the whole cost are not drawn: their cost stays with the function that they begin with."""
_MOST_STACKS: Final = 200_000


class CallGraph:
    """Functions with the cost of their own code, and calls with the cost of all that happens in them."""

    def __init__(self, builder: ProfileBuilder) -> None:
        self._builder = builder
        self._own: dict[int, float] = {}
        self._calls: dict[int, dict[int, float]] = {}
        self._totals: dict[int, float] = {}

    def add_own(self, function: int, cost: float) -> None:
        """Add to the cost of a function's own code."""
        self._own[function] = self._own.get(function, 0.0) + cost

    def add_call(self, caller: int, callee: int, cost: float) -> None:
        """Add calls with all that happens in them. Calls of a function to itself are part of its cost already."""
        self._own.setdefault(caller, 0.0)
        self._own.setdefault(callee, 0.0)
        if caller != callee:
            calls = self._calls.setdefault(caller, {})
            calls[callee] = calls.get(callee, 0.0) + cost

    def state_total(self, function: int, cost: float) -> None:
        """Add to the total cost of a function where the profile states it."""
        self._totals[function] = self._totals.get(function, 0.0) + cost

    def profile(self, format_: str, kind: ValueKind, unit: str) -> Profile:
        """Return the profile: own and total cost of each function as stated, and stacks in proportion to the calls.

        What a function costs is divided among its callers as the cost of their calls is: calls from everywhere are
        assumed to cost alike. Functions that call each other in a circle cost together what comes into the circle.
        """
        count = self._builder.functions
        own = np.array([self._own.get(function, 0.0) for function in range(count)])
        total = self._all_totals(own)
        self._draw(own, total)
        return self._builder.build(format_, kind, unit, stated=Cost(own, total))

    def _all_totals(self, own: Floats) -> Floats:
        """Return the cost of each function with all that it calls, in a circle at most the cost of the circle."""
        total = own.copy()
        for caller, calls in self._calls.items():
            total[caller] += sum(calls.values())
        for circle in _circles(self._calls, len(own)):
            leaving = sum(
                cost
                for caller in circle
                for callee, cost in self._calls.get(caller, {}).items()
                if callee not in circle
            )
            for function in circle:
                total[function] = min(total[function], sum(own[each] for each in circle) + leaving)
        for function, stated in self._totals.items():
            total[function] = max(stated, own[function])
        return total

    def _draw(self, own: Floats, total: Floats) -> None:
        """Add stacks to the builder, from the functions that something besides calls starts."""
        called = np.zeros(len(own))
        for calls in self._calls.values():
            for callee, cost in calls.items():
                called[callee] += cost
        whole = float(own.sum())
        least = whole * _SMALLEST_SHARE
        started = np.maximum(total - called, 0.0)
        if not (started > least).any() and len(own):
            started[int(np.argmax(total))] = total.max()
        waiting = [
            (-1, int(function), float(started[function]), frozenset[int]())
            for function in np.argsort(-started, kind="stable")
            if started[function] > least
        ]
        waiting.reverse()
        drawn = 0
        while waiting:
            above, function, cost, path = waiting.pop()
            stack = self._builder.stack(above, function)
            drawn += 1
            parts = {
                callee: part
                for callee, part in self._calls.get(function, {}).items()
                if callee not in path and part > 0
            }
            inside = own[function] + sum(parts.values())
            scale = cost / inside if inside > 0 else 0.0
            kept = {callee: part * scale for callee, part in parts.items() if part * scale > least}
            if drawn + len(waiting) + len(kept) > _MOST_STACKS or len(path) >= MOST_DEPTH - 1:
                kept = {}
            self._builder.add(stack, max(cost - sum(kept.values()), 0.0))
            waiting += ((stack, callee, part, path | {function}) for callee, part in sorted(kept.items(), reverse=True))


def _circles(calls: Mapping[int, Mapping[int, float]], count: int) -> list[set[int]]:
    """Return the sets of functions that call each other in circles (strong components of several), after Tarjan."""
    numbers: dict[int, int] = {}
    lowest: dict[int, int] = {}
    kept: list[int] = []
    inside: set[int] = set()
    found: list[set[int]] = []
    for start in range(count):
        if start in numbers:
            continue
        numbers[start] = lowest[start] = len(numbers)
        kept.append(start)
        inside.add(start)
        waiting = [(start, iter(calls.get(start, {})))]
        while waiting:
            function, rest = waiting[-1]
            following = next(rest, None)
            if following is None:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    lowest[above] = min(lowest[above], lowest[function])
                if lowest[function] == numbers[function]:
                    circle = set(kept[kept.index(function) :])
                    del kept[len(kept) - len(circle) :]
                    inside -= circle
                    if len(circle) > 1:
                        found.append(circle)
            elif following not in numbers:
                numbers[following] = lowest[following] = len(numbers)
                kept.append(following)
                inside.add(following)
                waiting.append((following, iter(calls.get(following, {}))))
            elif following in inside:
                lowest[function] = min(lowest[function], numbers[following])
    return found
