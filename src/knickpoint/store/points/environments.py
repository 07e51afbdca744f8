"""Find where the environment of a trace changed: another machine, compiler or runner.

A run states facts about its environment, such as ``compiler`` and ``cpu``. Where a fact of a trace differs between two
measured commits next to each other, a step there may come from the environment and not from the code.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from knickpoint.model.bisection import PROBE_FACT, SCHEDULE_FACT
from knickpoint.model.commit import Line, Repository
from knickpoint.model.report import Outcome
from knickpoint.store.points.frames import Frames
from knickpoint.store.points.run_table import RunPoint
from knickpoint.store.points.runs import Runs

_OFTEN: Final = 4
_SHARE: Final = 3
"""A fact that changed at least four times, and more often than at every third commit, describes the execution and
not the machine (the name of a hosted runner, the time of boot). Its changes are left out."""

_MACHINE: Final = re.compile(
    r"(?:machine_info\.|context\.)?(?:(?P<system>goos|os|os_?name|system|goarch|arch|architecture|cpu\.arch)"
    r"|os_?version|platform|cpu|cpu[._](?:brand|brand_raw|model|model_name)|processor|processor_?name(?:\.value)?)",
    re.IGNORECASE,
)
"""Facts that name the system (it and its architecture are the same on all runners of a kind), its version or the
processor.
"""

_RECENT: Final = 20
"""Newest runs that show which machine measured a trace so far."""

_REQUESTERS: Final = frozenset({PROBE_FACT, SCHEDULE_FACT, "gate"})
"""Facts that name who asked for a measurement; they say nothing of the machine.

A schedule was a gate in runs of older versions.
"""

_SEVERAL: Final = " | "

_SEVERAL_ENVIRONMENTS: Final = 2


@dataclass(frozen=True, slots=True)
class EnvironmentChange:
    """A change of environment between two measured commits next to each other.

    ``slot`` is the first commit in the new environment, ``previous`` the last one before it. ``facts`` has
    name → (before, after).
    """

    previous: int
    slot: int
    facts: Mapping[str, tuple[str, str]]


def environment_changes(frames: Frames, runs: Runs, line: Line, trace_id: int) -> list[EnvironmentChange]:
    """Return the changes of the environment of a trace, in the order of ``line``.

    Where runs measured a commit in different environments, the text of a fact joins their values. A fact that a run
    does not state is taken to be as before.
    """
    if len(runs.environments(line.repository)) < _SEVERAL_ENVIRONMENTS:
        return []
    values = frames.values(line, [trace_id])[0]
    slots = [line.slots[position] for position in np.flatnonzero(~np.isnan(values)).tolist()]
    facts = environments_at(runs, line, trace_id, slots)

    # Each fact by itself: the measured commits that state it, in the order of the line
    stated: dict[str, list[tuple[int, str]]] = {}
    for slot in slots:
        for name, value in facts.get(slot, {}).items():
            stated.setdefault(name, []).append((slot, value))

    # Its changes, unless it changes all the time; changes of several facts at one commit are one change
    changes: dict[int, dict[str, tuple[str, str]]] = {}
    for name, values_of_fact in sorted(stated.items()):
        steps = [(slot, (before, after)) for (_, before), (slot, after) in pairwise(values_of_fact) if before != after]
        if _names_execution(len(steps), len(values_of_fact)):
            continue
        for slot, step in steps:
            changes.setdefault(slot, {})[name] = step

    order = {slot: number for number, slot in enumerate(slots)}
    return [
        EnvironmentChange(slots[order[slot] - 1], slot, changes[slot])
        for slot in sorted(changes, key=order.__getitem__)
    ]


def _names_execution(changes: int, values: int) -> bool:
    """Return True if a fact that changed so often between ``values`` describes the execution and not the machine."""
    return changes >= _OFTEN and changes * _SHARE > values


def machine_difference(
    runs: Runs, repository: Repository, facts: Mapping[str, str], trace_id: int, written: Collection[int]
) -> dict[str, tuple[str, str]]:
    """Return facts of the machine that differ from the newest other run of a trace: name → (before, now).

    ``facts`` are those of a run that measured the trace, ``written`` the ids of the runs that came with it. Only the
    newest runs of the repository are looked at. A processor or a version that changes all the time is that of hosted
    runners, and no difference.
    """
    matches = {name: match for name in facts if (match := _MACHINE.fullmatch(name))}
    now = {name: facts[name] for name in matches}
    others = [run for run in runs.recent(repository, _RECENT + len(written)) if run.id not in written] if now else []
    differing = {name for run in others for name in now if run.environment.get(name, now[name]) != now[name]}
    if not differing:
        return {}
    measured = runs.values_at(repository, np.array([trace_id]), sorted({run.slot for run in others}))
    sharing = [run for run in others if measured.get(run.id)]
    found = {}
    for name in sorted(differing):
        past = [run.environment[name] for run in sharing if name in run.environment]
        changes = sum(newer != older for newer, older in pairwise([now[name], *past]))
        tells = matches[name]["system"] or not _names_execution(changes, len(past) + 1)
        if past and past[0] != now[name] and tells:
            found[name] = (past[0], now[name])
    return found


def environments_at(runs: Runs, line: Line, trace_id: int, slots: Sequence[int]) -> dict[int, dict[str, str]]:
    """Return slot → the facts of the runs that gave the trace its point there, for those of ``slots`` with runs.

    Where runs measured a commit in different environments, the text of a fact joins their values.
    """
    environments: dict[int, list[Mapping[str, str]]] = {}
    for slot, environment in runs.environments_at(line.repository, slots):
        environments.setdefault(slot, []).append(environment)
    found: dict[int, dict[str, str]] = {}
    alone: dict[int, dict[str, str]] = {}  # by the identity of the mapping, of which there is one for each environment
    for slot, known in environments.items():
        if len(known) > 1:
            # Only where the runs of a commit differ does it matter which of them measured this trace
            found[slot] = _joined([point.run.environment for point in runs.points(trace_id, slot)])
            continue
        (facts,) = known
        if id(facts) not in alone:
            alone[id(facts)] = _joined([facts])
        found[slot] = alone[id(facts)]
    return found


def _joined(environments: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Return the facts of several environments; the text of a fact joins their values."""
    values: dict[str, set[str]] = {}
    for facts in environments:
        for name in facts.keys() - _REQUESTERS:
            values.setdefault(name, set()).add(facts[name])
    return {name: _SEVERAL.join(sorted(each)) for name, each in values.items()}


# Find the values of a trace that probes of bisections measured.


_MOST: Final = 500
"""Commits at the end of a line that are read; each costs one look at its runs."""


def remeasured_points(runs: Runs, line: Line, trace_id: int) -> list[RunPoint]:
    """Return the values of a trace that probes of bisections measured, by position on ``line`` and by arrival.

    They are values among those of other runs; the point of the commit is the median of them all.
    """
    positions = line.positions
    probed = sorted((slot for slot in runs.probed(line.repository) if slot in positions), key=positions.__getitem__)
    return [
        point
        for slot in probed[-_MOST:]
        for point in runs.points(trace_id, slot)
        if PROBE_FACT in point.run.environment and point.outcome is Outcome.MEASURED
    ]
