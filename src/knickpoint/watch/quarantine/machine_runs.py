"""Read what the runs of a line say about their machines: facts, and the values of canaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line, Repository
from knickpoint.model.params import decode_key
from knickpoint.model.query import parse_query
from knickpoint.store import RunHead, Store
from knickpoint.watch.quarantine.assessment import CanaryTrace, MachineRun
from knickpoint.watch.quarantine.canaries import QuarantineRule


@dataclass(frozen=True, slots=True)
class LineRuns:
    """The runs of a line by identity, and what they say, by machine; the machine "" has the runs that name none."""

    runs: Mapping[str, RunHead]
    machines: Mapping[str, Sequence[MachineRun]]


def canary_traces(store: Store, repository: Repository, rule: QuarantineRule) -> dict[int, CanaryTrace]:
    """Return the canaries of ``repository`` by trace; the first name counts where several match.

    Raises:
        QueryError: a query cannot be read.
    """
    names: dict[int, str] = {}
    for canary in rule.canaries:
        if canary.repository in {"", repository.name}:
            for key in store.traces.select(repository, parse_query(canary.query)).tolist():
                names.setdefault(key, canary.name)
    traces = store.traces.get(sorted(names))
    return {trace.id: CanaryTrace(names[trace.id], trace.id, trace.key, trace.unit) for trace in traces}


def read_runs(store: Store, line: Line, canaries: Mapping[int, CanaryTrace], rule: QuarantineRule) -> LineRuns:
    """Read the facts of the runs of ``line`` about their machines."""
    runs = [run for run in store.runs.heads(line.repository) if run.slot in line.positions]
    values = _canary_values(store, line, np.array(sorted(canaries), dtype=np.int64), runs)
    machines: dict[str, list[MachineRun]] = defaultdict(list)
    params = {key: decode_key(canary.key) for key, canary in canaries.items()}
    for run in runs:
        stated = [run.environment, *(params[key] for key in sorted(values.get(run.id, {})))]
        machine = _machine_of(stated, rule)
        facts = {name: run.environment[name] for name in rule.facts if run.environment.get(name)}
        said = MachineRun(run.identity, line.positions[run.slot], facts, values.get(run.id, {}))
        machines[machine].append(said)
    return LineRuns({run.identity: run for run in runs}, machines)


def facts_differ(environments: Iterable[Mapping[str, str]], rule: QuarantineRule) -> bool:
    """Return True if a machine ever had two values of a watched fact: else no run is suspect by its facts."""
    known: dict[tuple[str, str], str] = {}
    for facts in environments:
        if machine := _machine_of([facts], rule):
            for name in rule.facts:
                if facts.get(name) and known.setdefault((machine, name), facts[name]) != facts[name]:
                    return True
    return False


def _machine_of(stated: Iterable[Mapping[str, str]], rule: QuarantineRule) -> str:
    return next((facts[name] for facts in stated for name in rule.machine if facts.get(name)), "")


def _canary_values(
    store: Store, line: Line, ids: NDArray[np.int64], runs: Sequence[RunHead]
) -> Mapping[int, Mapping[int, float]]:
    """Return run → canary → value: the point, where a commit has one run, else what each of its runs measured."""
    if not ids.size:
        return {}
    by_slot: dict[int, list[RunHead]] = defaultdict(list)
    for run in runs:
        by_slot[run.slot].append(run)
    shared = sorted(slot for slot, several in by_slot.items() if len(several) > 1)
    found = store.runs.values_at(line.repository, ids, shared)
    points = store.frames.values(line, ids)
    for slot, several in by_slot.items():
        if len(several) == 1:
            column = points[:, line.positions[slot]]
            held = ~np.isnan(column)
            found[several[0].id] = dict(zip(ids[held].tolist(), column[held].tolist(), strict=True))
    return found
