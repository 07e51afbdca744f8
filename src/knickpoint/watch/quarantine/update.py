"""Bring the quarantines of a repository up to date: assess all machines, write what changed, and let points follow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.access import AuditKind
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import InputError
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import plain_line
from knickpoint.model.quarantine import Quarantine, QuarantineState
from knickpoint.model.query import parse_query
from knickpoint.store import Run, RunHead, Store
from knickpoint.store.quarantines import StoredQuarantine
from knickpoint.watch.lines import Lines
from knickpoint.watch.quarantine.assessment import (
    Assessment,
    CanaryHealth,
    CanaryTrace,
    KeptWalks,
    MachineRun,
    assess_machine,
)
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


# Mark the findings in whose suspect range results are quarantined.


def hold_findings(store: Store, repository: Repository, lines: Lines | None = None) -> list[int]:
    """Hold the change points whose suspect range has a quarantined commit of their trace, and no others.

    This includes points that are gone, because they may be gone only as their values are quarantined. Returns the
    points that are held now and were not, or the other way round, or for another reason.
    """
    quarantines = store.quarantines.stored(repository, states={QuarantineState.QUARANTINED})
    reasons: dict[int, str] = {}
    if quarantines:
        lines = lines or Lines(store, repository)
        ranges = store.quarantines.suspect_ranges(repository)
        ids = np.array([trace for trace, _ in ranges.values()], dtype=np.int64)
        suspect = [_Suspect(stored.quarantine, np.isin(ids, stored.trace_ids)) for stored in quarantines if ids.size]
        for row, (key, (_, suspect_range)) in enumerate(ranges.items()):
            interval, positions = lines.interval(suspect_range), lines.line(suspect_range.line).positions
            if interval is None:
                continue
            covering = [each for each in suspect if each.measured[row]]
            here = [each.quarantine for each in covering if positions.get(each.quarantine.slot, -1) in interval]
            if here:
                reasons[key] = why_held(here, positions)
    return store.quarantines.hold(repository, reasons)


@dataclass(frozen=True, slots=True)
class _Suspect:
    """A quarantine, and which of the change points are of traces that it concerns."""

    quarantine: Quarantine
    measured: np.ndarray[tuple[int], np.dtype[np.bool_]]


def why_held(quarantines: Sequence[Quarantine], positions: Mapping[int, int]) -> str:
    """Return the reason for which a finding is held, in words: that of the first commit, and the number of results."""
    first = min(quarantines, key=lambda each: (positions.get(each.slot, -1), each.identity))
    others = len(quarantines) - 1
    further = f", and {others} further quarantined run{'s' if others > 1 else ''}" if others else ""
    return first.reason + further


@dataclass(frozen=True, slots=True)
class QuarantineUpdate:
    """What an update changed.

    ``begun`` are the quarantines without an outcome that were not there before, ``changed`` all others whose state or
    reason changed. ``health`` says how useful each canary is. ``held`` counts the change points that began or ceased to
    be held.
    """

    begun: tuple[Quarantine, ...] = ()
    changed: tuple[Quarantine, ...] = ()
    health: tuple[CanaryHealth, ...] = ()
    held: int = 0


def update_quarantines(
    store: Store,
    repository: Repository,
    rule: QuarantineRule,
    *,
    hooks: Collection[str] = (),
    now: datetime | None = None,
    kept: KeptWalks | None = None,
) -> QuarantineUpdate:
    """Assess the default line of ``repository``, and write which results are quarantined since when, and why.

    Each of ``hooks`` is to be called once about each run whose quarantine begins without an outcome, ever. The outcome
    depends on the stored results, the decisions of people and ``now`` alone. Where nothing changed, nothing is written.
    Without a canary and without a fact that changed, only the distinct environments are read. Else the runs of the line
    are read in brief; ``kept`` has what earlier calls about this repository assessed, which is not done again.

    Raises:
        QueryError: the query of a canary cannot be read.
        StoreError: the store cannot be read or written.
    """
    time = now or datetime.now(UTC)
    with store.transaction():
        canaries = canary_traces(store, repository, rule)
        if not canaries and not _may_concern(store, repository, rule):
            return QuarantineUpdate()
        line = store.commits.line(repository)
        read = read_runs(store, line, canaries, rule)
        verdicts = [
            assess_machine(runs, canaries, rule, machine=machine, kept=kept)
            for machine, runs in sorted(read.machines.items())
        ]
        machines = {run.identity: machine for machine, runs in read.machines.items() for run in runs}
        found = {identity: each for verdict in verdicts for identity, each in verdict.runs.items()}
        writer = _Writer(store, repository, rule, time, np.array(sorted(canaries), dtype=np.int64))
        runs = {
            run.identity: run for run in store.runs.at(repository, sorted({read.runs[each].slot for each in found}))
        }
        changes = writer.compare(found, runs, machines)
        store.quarantines.put(changes)
        writer.let_points_follow()
        waiting = [each.quarantine.identity for each in changes if each.quarantine.state.holds]
        store.quarantines.hook_calls.plan(repository, waiting, hooks, time)
        held = hold_findings(store, repository)
    identities = {each.quarantine.identity for each in changes}
    written = [each for each in store.quarantines.all(repository) if each.identity in identities] if changes else []
    new = {each.quarantine.identity for each in changes if not each.quarantine.id and each.quarantine.state.holds}
    return QuarantineUpdate(
        begun=tuple(each for each in written if each.identity in new),
        changed=tuple(each for each in written if each.identity not in new),
        health=tuple(each for verdict in verdicts for each in verdict.health),
        held=len(held),
    )


def _may_concern(store: Store, repository: Repository, rule: QuarantineRule) -> bool:
    """Return True if a repository without canaries has, or may have, suspect runs."""
    return facts_differ(store.runs.environments(repository), rule) or bool(store.quarantines.all(repository))


def lift_quarantine(store: Store, repository: Repository, key: int, *, who: str, reason: str) -> Quarantine:
    """Let the results of the quarantine ``key`` count, because ``who`` says so, and return it.

    It is lifted for what the run holds now: a correction of the run makes the rule decide anew.

    Raises:
        InputError: there is no such quarantine in ``repository``, its results count already, or there is no reason.
    """
    if not reason.strip():
        raise InputError("lifting a quarantine needs a reason", remedy="Say why the results count.")
    with store.transaction():
        stored = store.quarantines.get(key)
        if stored.quarantine.repository_id != repository.id:
            raise InputError(f"there is no quarantine {key} in {repository.name}", remedy="knick canaries lists them.")
        if not stored.quarantine.state.withholds:
            raise InputError(f"the results of quarantine {key} already count", remedy="Nothing to do.")
        lifted = replace(stored.quarantine, state=QuarantineState.LIFTED, outcome=reason, who=who)
        store.quarantines.put([replace(stored, quarantine=lifted)])
        store.runs.restore(repository, [lifted.run_id])
        hold_findings(store, repository)
        (commit,) = store.commits.get(repository, [lifted.slot])
        about = f"Q{key}, run {lifted.identity} of {repository.name} at {commit.commit.hash[:12]}: {reason}"
        store.audit.append(AuditKind.QUARANTINE_LIFTED, who, plain_line(about, 500))
    return lifted


@dataclass
class _Writer:
    """Compares what was found with what is stored."""

    store: Store
    repository: Repository
    rule: QuarantineRule
    now: datetime
    canaries: NDArray[np.int64]
    known: dict[str, StoredQuarantine] = field(init=False)

    def __post_init__(self) -> None:
        self.known = {each.quarantine.identity: each for each in self.store.quarantines.stored(self.repository)}

    def compare(
        self, found: Mapping[str, Assessment], runs: Mapping[str, Run], machines: Mapping[str, str]
    ) -> list[StoredQuarantine]:
        """Return the quarantines that differ from the stored ones, as they are to be written."""
        wanted = {
            identity: self._quarantine(assessment, runs[identity], machines[identity])
            for identity, assessment in sorted(found.items())
        }
        for identity, stored in self.known.items():
            if identity not in wanted:
                wanted[identity] = _unfounded(stored)
        changes = [each for identity, each in wanted.items() if not _is_same(each, self.known.get(identity))]
        self.known |= wanted
        return changes

    def _quarantine(self, assessment: Assessment, run: Run, machine: str) -> StoredQuarantine:
        stored = self.known.get(run.identity)
        evidence = run.content_hash
        same = stored if stored is not None and stored.evidence == evidence else None
        since = same.quarantine.since if same else min(run.time or self.now, self.now)
        ids = same.trace_ids if same else self._traces(run)
        quarantine = Quarantine(
            id=stored.quarantine.id if stored else 0,
            repository_id=self.repository.id,
            identity=run.identity,
            run_id=run.id,
            slot=run.slot,
            machine=machine,
            state=assessment.state,
            since=since,
            until=since + self.rule.wait,
            moves=assessment.moves,
            facts=assessment.facts,
            traces=len(ids),
            outcome=assessment.outcome,
        )
        if same and same.quarantine.state is QuarantineState.LIFTED:
            decided = same.quarantine
            quarantine = replace(quarantine, state=decided.state, outcome=decided.outcome, who=decided.who)
        elif quarantine.state.holds and self.now >= quarantine.until:
            quarantine = replace(quarantine, state=QuarantineState.NOT_CONFIRMED, outcome="no outcome arrived in time")
        return StoredQuarantine(quarantine, evidence, ids)

    def _traces(self, run: Run) -> NDArray[np.int64]:
        pieces = [ids for ids, _ in self.store.runs.parts(self.repository, run.id)]
        ids = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *pieces]))
        return np.setdiff1d(ids, self.canaries, assume_unique=True)

    def let_points_follow(self) -> None:
        """Withhold the runs whose results take no part in levels, and restore the others."""
        wanted = {each.quarantine.run_id for each in self.known.values() if each.quarantine.state.withholds}
        withheld = self.store.runs.withheld(self.repository)
        current = {key for key, kept in withheld.items() if np.array_equal(kept, self.canaries)}
        if added := sorted(wanted - current):
            self.store.runs.withhold(self.repository, dict.fromkeys(added, self.canaries))
        if ended := sorted(withheld.keys() - wanted):
            self.store.runs.restore(self.repository, ended)


def _is_same(wanted: StoredQuarantine, stored: StoredQuarantine | None) -> bool:
    return stored is not None and (wanted.quarantine, wanted.evidence) == (stored.quarantine, stored.evidence)


def _unfounded(stored: StoredQuarantine) -> StoredQuarantine:
    if stored.quarantine.state is QuarantineState.LIFTED:
        return stored
    state = QuarantineState.UNFOUNDED
    return replace(stored, quarantine=replace(stored.quarantine, state=state, outcome="no reason is left"))
