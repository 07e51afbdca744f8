"""Tell where on a trace the environment changed: another machine, compiler or runner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from knickpoint.model.commit import Line

if TYPE_CHECKING:
    from knickpoint.store.store import Store

__all__ = ["EnvironmentChange", "environment_changes"]

_OFTEN: Final = 4
_SHARE: Final = 3
"""A fact that changed at least four times, and more often than at every third commit, tells of the execution
and not of the machine (the name of a hosted runner, a time of boot): it makes no events."""

_SEVERAL: Final = " | "


@dataclass(frozen=True, slots=True)
class EnvironmentChange:
    """A change of environment between two measured commits next to each other.

    ``slot`` is the first commit in the new environment, ``previous`` the last one before it. ``facts`` has
    name → (before, after).
    """

    previous: int
    slot: int
    facts: Mapping[str, tuple[str, str]]


def environment_changes(store: Store, line: Line, trace_id: int) -> list[EnvironmentChange]:
    """Return where the environment of a trace changed, in the order of ``line``.

    Where several runs measured a commit in different environments, their values stand beside each other in one
    text. A fact that a run does not tell is taken to be as before.
    """
    values = store.frames.values(line, [trace_id])[0]
    slots = [line.slots[position] for position in np.flatnonzero(~np.isnan(values)).tolist()]
    facts = _facts(store, line, trace_id, slots)
    told: dict[str, list[tuple[int, str]]] = {}
    for slot in slots:
        for name, value in facts.get(slot, {}).items():
            told.setdefault(name, []).append((slot, value))
    place = {slot: number for number, slot in enumerate(slots)}
    changes: dict[int, dict[str, tuple[str, str]]] = {}
    for name, each in sorted(told.items()):
        steps = [(slot, (before, after)) for (_, before), (slot, after) in pairwise(each) if before != after]
        if len(steps) >= _OFTEN and len(steps) * _SHARE > len(each):
            continue
        for slot, step in steps:
            changes.setdefault(slot, {})[name] = step
    return [
        EnvironmentChange(slots[place[slot] - 1], slot, changes[slot])
        for slot in sorted(changes, key=place.__getitem__)
    ]


def _facts(store: Store, line: Line, trace_id: int, slots: list[int]) -> dict[int, dict[str, str]]:
    """Return slot → the facts of the runs that gave the trace its point there."""
    environments: dict[int, list[Mapping[str, str]]] = {}
    for run in store.runs.at(line.repository, slots):
        known = environments.setdefault(run.slot, [])
        if run.environment not in known:
            known.append(run.environment)
    found: dict[int, dict[str, str]] = {}
    for slot, each in environments.items():
        own = each if len(each) == 1 else [point.run.environment for point in store.runs.points(trace_id, slot)]
        joined: dict[str, set[str]] = {}
        for facts in own:
            for name, value in facts.items():
                joined.setdefault(name, set()).add(value)
        found[slot] = {name: _SEVERAL.join(sorted(values)) for name, values in joined.items()}
    return found
