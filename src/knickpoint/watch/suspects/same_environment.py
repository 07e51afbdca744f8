"""Compare the values of one environment on both sides of a step: where it measured before and after, it decides.

A machine that changed at a step may have made it. But if the old machine went on for a while, or the new one had measured
before, their own values say whether the code made it: the level of one environment moved, or it stayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.local_levels import LocalChange, compare_levels
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import percent_text

__all__ = ["EnvironmentComparison", "EnvironmentVerdict", "compare_within_environments"]

Floats = NDArray[np.float64]
Facts = Mapping[str, str]

_FEWEST: Final = 3
"""Values that an environment needs on each side."""

_REACH: Final = 100
"""Measured values on each side of the step among which those of an environment are looked for."""

_MOST_VALUES: Final = 20
"""Values on each side that make a level, the nearest ones."""

_MOVED: Final = 0.5
"""Share of the whole step from which on an environment moved with it, if its interval leaves out no change."""


class EnvironmentVerdict(Enum):
    """What the values of one environment say about a step: they MOVED with it, they STAYED, or it is UNKNOWN."""

    MOVED = "moved"
    STAYED = "stayed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class EnvironmentComparison:
    """The values of one environment before and after a step.

    ``facts`` name the environment, ``before`` and ``after`` count its values, ``change`` is between their levels.
    """

    facts: Facts
    before: int
    after: int
    change: LocalChange
    verdict: EnvironmentVerdict

    def __str__(self) -> str:
        """Say what the values of the environment did."""
        named = ", ".join(f"{name} {value}" for name, value in sorted(self.facts.items()))
        counts = f"{counted(self.before, 'value')} before and {self.after:,} after the step"
        size = self.change.relative_size
        moved = f"{'+' if size > 0 else '−'}{percent_text(size)}"
        if self.verdict is EnvironmentVerdict.MOVED:
            return (
                f"With {named} alone, {counts}, the level moved as well ({moved}): the machine did not make the change."
            )
        if self.verdict is EnvironmentVerdict.STAYED:
            return f"With {named} alone, {counts}, the level stayed ({moved}): the machine made the change."
        return f"With {named} alone, {counts}, the level moved by {moved}, which decides nothing."


def compare_within_environments(
    values: Floats, facts: Sequence[Facts | None], at: int, names: Sequence[str]
) -> EnvironmentComparison | None:
    """Compare the levels before and after a step within the environment that has most values on both sides.

    ``values`` are measured values in the order of the line, ``facts`` those of their runs (None: unknown), ``at`` is the index
    of the first value after the step, and ``names`` are the facts that changed there. None where no environment has 3
    values on each side.
    """
    first, last = max(0, at - _REACH), min(values.size, at + _REACH)
    places: dict[tuple[str | None, ...], list[int]] = {}
    for place in range(first, last):
        known = facts[place]
        if known is not None and any(name in known for name in names):
            places.setdefault(tuple(known.get(name) for name in names), []).append(place)
    found = []
    for environment, own in places.items():
        split = int(np.searchsorted(own, at))
        if min(split, len(own) - split) >= _FEWEST:
            found.append((min(split, len(own) - split), environment, own[:split], own[split:]))
    if not found:
        return None
    _, environment, before, after = max(found, key=lambda each: each[0])
    before, after = before[-_MOST_VALUES:], after[:_MOST_VALUES]
    whole = float(np.median(values[at : at + _MOST_VALUES]) - np.median(values[max(0, at - _MOST_VALUES) : at]))
    change = compare_levels(values[before], values[after])
    named = {name: value for name, value in zip(names, environment, strict=True) if value is not None}
    return EnvironmentComparison(named, len(before), len(after), change, _verdict(change, whole))


def _verdict(change: LocalChange, whole: float) -> EnvironmentVerdict:
    """Return what the change within an environment says about the ``whole`` step."""
    share = change.size / whole if whole else 0.0
    if share >= _MOVED and change.low * change.high > 0:
        return EnvironmentVerdict.MOVED
    if abs(share) < _MOVED and change.low <= 0 <= change.high:
        return EnvironmentVerdict.STAYED
    return EnvironmentVerdict.UNKNOWN
