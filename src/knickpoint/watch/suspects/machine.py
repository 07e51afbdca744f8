"""Weigh whether the machine made a change: a fact of its runs, such as the CPU, is another one from the step on.

The facts of the runs are compared at the two commits that bound the suspect range. A fact that changes once in a hundred
measured commits and changes exactly there is a hundred times likelier if the machine made the step. With the probability that a
step comes from no commit, this gives that of the machine; the more often the facts change by themselves, the less it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np

from knickpoint.model.commit import Line
from knickpoint.model.regression import SuspectRange
from knickpoint.store import Store
from knickpoint.store.points.environments import environment_changes

__all__ = ["MachineChange", "chance_of_machine", "find_machine_change"]

_MOST_TRACES: Final = 3
"""Members whose runs are compared; those of one regression were mostly measured together."""

_MOST_CERTAIN: Final = 0.98
"""The highest probability of the machine: a commit may have come with it."""


@dataclass(frozen=True, slots=True)
class MachineChange:
    """The facts of the machine that are others since a step, name → (before, after).

    They changed ``changes`` times between the ``measured`` commits of the trace.
    """

    facts: Mapping[str, tuple[str, str]]
    changes: int
    measured: int

    def __str__(self) -> str:
        """Say what changed, and how often such facts do."""
        facts = ", ".join(f"{name} {before} → {after}" for name, (before, after) in sorted(self.facts.items()))
        often = "once" if self.changes == 1 else f"{self.changes} times"
        return f"The machine changed: {facts}. Such facts changed {often} in {self.measured:,} measured commits."


def chance_of_machine(change: MachineChange, none: float) -> float:
    """Return the probability that no commit made the step, where it was ``none`` without the ``change``."""
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
    return known[0] if len(known) == len(found) else None


def _facts_differ(store: Store, line: Line, suspect_range: SuspectRange) -> bool:
    """Return whether any fact of the runs at the two ends differs: one query, and enough for nearly all regressions."""
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
    measured = int(np.count_nonzero(~np.isnan(store.frames.values(line, [trace])[0])))
    return MachineChange(here.facts, often, measured)
