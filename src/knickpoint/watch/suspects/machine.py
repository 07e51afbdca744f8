"""Weigh whether the machine made a change: a fact of its runs, such as the CPU, is another one from the step on.

The facts of the runs are compared at the two commits that bound the suspect range. A fact that changes once in a
hundred measured commits and changes exactly there is a hundred times likelier if the machine made the step. With the
probability that a step comes from no commit, this gives that of the machine; the more often the facts change by
themselves, the less it says. Where one environment measured on both sides of the step, its own values decide
(:mod:`~knickpoint.watch.suspects.machine`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.local_levels import LocalChange, compare_levels
from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Line
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import percent_text
from knickpoint.store import Store
from knickpoint.store.points.environments import environment_changes, environments_at

# Compare the values of one environment on both sides of a step: where it measured before and after, it decides.
#
# A machine that changed at a step may have made it. But if the old machine went on for a while, or the new one had
# measured before, their own values say whether the code made it: the level of one environment moved, or it stayed.


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
        """Describe the values of the environment."""
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

    ``values`` are measured values in the order of the line, ``facts`` those of their runs (None: unknown), ``at`` is
    the index of the first value after the step, and ``names`` are the facts that changed there. None where no
    environment has 3 values on each side.
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
    """Return the verdict of the change within an environment about the ``whole`` step."""
    share = change.size / whole if whole else 0.0
    if share >= _MOVED and change.low * change.high > 0:
        return EnvironmentVerdict.MOVED
    if abs(share) < _MOVED and change.low <= 0 <= change.high:
        return EnvironmentVerdict.STAYED
    return EnvironmentVerdict.UNKNOWN


_MOST_TRACES: Final = 3
"""Members whose runs are compared; those of one change were mostly measured together."""

_MOST_CERTAIN: Final = 0.98
"""The highest probability of the machine: a commit may have come with it."""


@dataclass(frozen=True, slots=True)
class MachineChange:
    """The facts of the machine that are others since a step, name → (before, after).

    They changed ``changes`` times between the ``measured`` commits of the trace. ``within`` compares the values of one
    environment before and after the step, None where none measured on both sides.
    """

    facts: Mapping[str, tuple[str, str]]
    changes: int
    measured: int
    within: EnvironmentComparison | None = None

    @property
    def excluded(self) -> bool:
        """Whether the values of one environment show that the machine did not make the step."""
        return self.within is not None and self.within.verdict is EnvironmentVerdict.MOVED

    def __str__(self) -> str:
        """Describe the change, the frequency of such facts, and the values of one environment."""
        facts = ", ".join(f"{name} {before} → {after}" for name, (before, after) in sorted(self.facts.items()))
        often = "once" if self.changes == 1 else f"{self.changes} times"
        within = f" {self.within}" if self.within else ""
        return (
            f"The machine changed: {facts}. Such facts changed {often} in {self.measured:,} measured commits.{within}"
        )


def chance_of_machine(change: MachineChange, none: float) -> float:
    """Return the probability that no commit made the step, where it was ``none`` without the ``change``.

    Values of one environment that moved with the step leave it as it was; values that stayed make it nearly certain.
    """
    if change.within is not None and change.within.verdict is EnvironmentVerdict.MOVED:
        return none
    if change.within is not None and change.within.verdict is EnvironmentVerdict.STAYED:
        return _MOST_CERTAIN
    odds = none / (1 - none) * change.measured / change.changes
    return min(odds / (1 + odds), _MOST_CERTAIN)


def find_machine_change(
    store: Store, line: Line, suspect_range: SuspectRange, traces: Sequence[int]
) -> MachineChange | None:
    """Find the change of the machine of all the ``traces`` that are looked at; None if it stayed the same."""
    if not traces or not _facts_differ(store, line, suspect_range):
        return None
    found = [_change_of(store, line, suspect_range, trace) for trace in islice(traces, _MOST_TRACES)]
    known = [change for change in found if change is not None]
    if len(known) < len(found):
        return None
    # A member whose own environment decides says more than one that was measured in another one since.
    return next((change for change in known if change.within), known[0])


def _facts_differ(store: Store, line: Line, suspect_range: SuspectRange) -> bool:
    """Return True if any fact of the runs at the two ends differs: one query, and enough for nearly all changes."""
    ends: dict[int, set[tuple[str, str]]] = {}
    for run in store.runs.at(line.repository, [suspect_range.previous, suspect_range.slot]):
        ends.setdefault(run.slot, set()).update(run.environment.items())
    before, after = (ends.get(slot, set()) for slot in (suspect_range.previous, suspect_range.slot))
    return bool(before and after and before != after)


def _change_of(store: Store, line: Line, suspect_range: SuspectRange, trace: int) -> MachineChange | None:
    changes = environment_changes(store.frames, store.runs, line, trace)
    here = next((change for change in changes if change.slot == suspect_range.slot), None)
    if here is None or here.previous != suspect_range.previous:
        return None
    often = sum(1 for change in changes if change.facts.keys() & here.facts.keys())
    values = store.frames.values(line, [trace])[0]
    positions = np.flatnonzero(~np.isnan(values))
    slots = [int(line.slots[position]) for position in positions.tolist()]
    facts = environments_at(store.runs, line, trace, slots)
    within = compare_within_environments(
        values[positions].astype(np.float64),
        [facts.get(slot) for slot in slots],
        slots.index(here.slot),
        sorted(here.facts),
    )
    return MachineChange(here.facts, often, positions.size, within)
