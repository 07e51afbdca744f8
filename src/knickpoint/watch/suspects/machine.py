"""Weigh whether the machine made a change: a fact of its runs, such as the CPU, is another one from the step on.

The facts of the runs are compared at the two commits that bound the suspect range. A fact that changes once in a hundred
measured commits and changes exactly there is a hundred times likelier if the machine made the step. With the probability that a
step comes from no commit, this gives that of the machine; the more often the facts change by themselves, the less it says.
Where one environment measured on both sides of the step, its own values decide (:mod:`~knickpoint.watch.suspects.same_environment`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from knickpoint.model.change_point import SuspectRange
from knickpoint.model.commit import Line
from knickpoint.store import Store
from knickpoint.store.points.environments import environment_changes, environments_at
from knickpoint.watch.suspects.same_environment import (
    EnvironmentComparison,
    EnvironmentVerdict,
    compare_within_environments,
)

__all__ = ["MachineChange", "chance_of_machine", "find_machine_change"]

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
        """Say what changed, how often such facts do, and what the values of one environment did."""
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
    """Return what changed about the machine of all the ``traces`` that are looked at; None where it stayed the same."""
    if not traces or not _facts_differ(store, line, suspect_range):
        return None
    found = [_change_of(store, line, suspect_range, trace) for trace in islice(traces, _MOST_TRACES)]
    known = [change for change in found if change is not None]
    if len(known) < len(found):
        return None
    # A member whose own environment decides says more than one that was measured in another one since.
    return next((change for change in known if change.within), known[0])


def _facts_differ(store: Store, line: Line, suspect_range: SuspectRange) -> bool:
    """Return whether any fact of the runs at the two ends differs: one query, and enough for nearly all changes."""
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
