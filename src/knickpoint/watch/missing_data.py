"""What is missing, grouped by its cause: whole jobs, traces that stopped together, and renames that explain it.

A job that stops is one entry, however many traces it measured. The rule of what counts as missing is that of
:mod:`knickpoint.watch.missing_traces`: each trace, and the line, by its own rhythm.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from enum import Enum
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.access import AuditKind
from knickpoint.model.commit import Line, Repository
from knickpoint.model.distribution import MAD
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Trace
from knickpoint.model.params import decode_key
from knickpoint.store import Store
from knickpoint.store.events import TracesChanged, pack_ids
from knickpoint.store.traces.catalogue import ParamCodes
from knickpoint.watch.missing_traces import Absences, KnownHabits, MissingTrace, absences

# Accept a rename, and take it back: the new trace continues the old one, and no stored value changes.
#
# From then on every reader of values sees one history: plots, detection, verdicts. The findings of the old trace, with
# their decisions, become findings of the new one. See ``docs/decisions/missing-data-quarantine-canaries.md``.


def accept_rename(store: Store, repository: Repository, old: Trace, new: Trace, *, who: str) -> None:
    """Let ``new`` continue ``old``. Both are judged again, as one trace, by the next run.

    Raises:
        InputError: they are one trace, have different units or values at the same commits, or one of them is part of
            another rename in the same role.
    """
    with store.transaction():
        _check(store, repository, old, new)
        points = [point.id for points in store.findings.known([old.id]).values() for point in points]
        store.traces.renames.add(repository, old.id, new.id, who=who)
        store.findings.move_to_trace(points, new)
        _judge_again(store, repository, new)
        store.audit.append(AuditKind.RENAME_ACCEPTED, who, f"{repository.name}: {old.key} → {new.key}")


def withdraw_rename(store: Store, repository: Repository, old: Trace, new: Trace, *, who: str) -> None:
    """Take back that ``new`` continues ``old``: findings up to the last value of the old trace go back to it.

    Raises:
        InputError: there is no such rename.
    """
    with store.transaction():
        if (old.id, new.id) not in {(each.old, each.new) for each in store.traces.renames.all(repository)}:
            raise InputError(
                f"{new.key} does not continue {old.key}", remedy="knick missing renames lists the renames."
            )
        store.traces.renames.remove(old.id)
        first = _positions(store, repository, new)
        begin = first[0] if first.size else np.inf
        line = store.commits.line(repository)
        known = store.findings.known([new.id]).get(new.id, [])
        points = [point.id for point in known if line.positions.get(point.suspect_range.slot, -1) < begin]
        store.findings.move_to_trace(points, old)
        _judge_again(store, repository, old, new)
        store.audit.append(AuditKind.RENAME_WITHDRAWN, who, f"{repository.name}: {old.key} → {new.key}")


def _positions(store: Store, repository: Repository, trace: Trace) -> np.typing.NDArray[np.int64]:
    values = store.frames.values(store.commits.line(repository), [trace.id])[0]
    return np.flatnonzero(~np.isnan(values))


def _check(store: Store, repository: Repository, old: Trace, new: Trace) -> None:
    where = f"{old.key} → {new.key}"
    if old.id == new.id:
        raise InputError("both are the same trace", where=where, remedy="Name the old and the new one.")
    if old.unit != new.unit:
        raise InputError(
            f"their units are {old.unit!r} and {new.unit!r}", where=where, remedy="Give the results one unit."
        )
    renames = store.traces.renames.all(repository)
    if any(each.old == old.id for each in renames):
        raise InputError(
            "another trace continues the old one", where=where, remedy="Take that back first, with --undo."
        )
    if any(each.new == new.id for each in renames):
        raise InputError(
            "the new one continues another trace", where=where, remedy="Take that back first, with --undo."
        )
    shared = np.intersect1d(_positions(store, repository, old), _positions(store, repository, new))
    if shared.size:  # this excludes circles, too: a trace that continues another has its values
        raise InputError(
            f"both have values at {shared.size:,} commits", where=where, remedy="They are two benchmarks, no rename."
        )


def _judge_again(store: Store, repository: Repository, *traces: Trace) -> None:
    """Let every alert judge ``traces`` at its next run, and publish that they changed."""
    for name in store.findings.alerts_in_force.all():
        store.findings.digests.forget(name)
    ids = pack_ids(np.array(sorted(trace.id for trace in traces), dtype=np.int64))
    store.outbox.publish(TracesChanged(repository.name, slots=(), runs=(), traces=ids))


# Propose renames: a trace that began where another one stopped, under a similar name and with similar values.
#
# The probability is Bayes' rule with stated parts. Half of the traces that stop are taken to be renamed; the other half
# was removed. A likeness counts by how rarely a bystander has it: the share of other traces of the same unit that are
# as like to the missing one. So in a small repository no likeness can be convincing, and the probability never exceeds
# 0.95: a person decides.


_PRIOR: Final = 0.5
"""Probability that a trace which stopped was renamed, before anything is compared."""

_CERTAIN: Final = 0.95
"""The greatest probability: names and values cannot show what a developer did."""

_LEAST: Final = 0.05
"""Probability from which a rename is proposed."""

_NEAR: Final = 20
"""Measured commits after the last value within which a continuation begins."""

_COMPARED: Final = 20
"""Values on each side that are compared."""

_MOST_MISSING: Final = 200
_MOST_CANDIDATES: Final = 50
_MOST_BYSTANDERS: Final = 300
_MOST_CHANGED: Final = 2
"""Params that a rename may change."""


@dataclass(frozen=True, slots=True)
class RenameProposal:
    """A rename that may explain why ``old`` stopped.

    ``name_likeness`` and ``value_likeness`` lie between 0 and 1; that of values compares level and noise.
    ``probability`` is that of the rename, given both.
    """

    old: Trace
    new: Trace
    name_likeness: float
    value_likeness: float
    probability: float


@dataclass(frozen=True, slots=True)
class _Level:
    """The median of some values, and a robust standard deviation around it."""

    median: float
    noise: float


def propose_renames(store: Store, line: Line, found: Absences) -> list[RenameProposal]:
    """Return the likely renames among the missing traces, the most likely first; each trace is in one of them."""
    missing = sorted(found.traces, key=lambda each: each.trace.id)[:_MOST_MISSING]
    measured = found.measured
    if not missing or not measured.active.size:
        return []

    # Traces that are younger than some missing one, and bystanders: all others with values.
    last = {each.trace.id: _last(measured.ids, measured.last, each.trace.id) for each in missing}
    young = measured.first > min(last.values())
    fresh = store.traces.get(measured.ids[young][: 10 * _MOST_MISSING])
    first = dict(zip(measured.ids.tolist(), measured.first.tolist(), strict=True))
    others = measured.ids[~young & (measured.last >= 0) & ~np.isin(measured.ids, list(last))]
    bystanders = store.traces.get(others[:: max(1, len(others) // _MOST_BYSTANDERS)][:_MOST_BYSTANDERS])
    levels = _levels(store, line, [*(each.trace for each in missing), *fresh, *bystanders], set(last))

    # Candidates of each missing trace, and how often the same change of params explains one.
    ranks = {int(position): rank for rank, position in enumerate(measured.active)}
    index = _Index(fresh)
    pairs = {
        each.trace: [
            other
            for other in index.near(each.trace)
            if other.unit == each.trace.unit and 0 < ranks[first[other.id]] - ranks[last[each.trace.id]] <= _NEAR
        ][:_MOST_CANDIDATES]
        for each in missing
    }
    support = Counter(_substitution(old, new) for old, several in pairs.items() for new in several)
    proposals = [
        proposal
        for old, several in pairs.items()
        for proposal in _rate(old, several, bystanders, levels, support)
        if proposal.probability >= _LEAST
    ]
    return _one_to_one(proposals)


def _last(ids: NDArray[np.int64], last: NDArray[np.int64], key: int) -> int:
    return int(last[np.searchsorted(ids, key)])


def _one_to_one(proposals: Sequence[RenameProposal]) -> list[RenameProposal]:
    """Keep each trace in its most likely rename only."""
    taken: set[int] = set()
    kept: list[RenameProposal] = []
    for each in sorted(proposals, key=lambda each: (-each.probability, each.old.key, each.new.key)):
        if not {each.old.id, each.new.id} & taken:
            taken |= {each.old.id, each.new.id}
            kept.append(each)
    return kept


class _Index:
    """Find traces whose params differ from those of another in at most two."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._found: Mapping[frozenset[tuple[str, str]], list[Trace]] = defaultdict(list)
        for trace in traces:
            for part in self._parts(trace):
                self._found[part].append(trace)

    @staticmethod
    def _parts(trace: Trace) -> Iterator[frozenset[tuple[str, str]]]:
        params = sorted(decode_key(trace.key).items())
        for count in range(min(_MOST_CHANGED, len(params)) + 1):
            for left in combinations(params, len(params) - count):
                yield frozenset(left)

    def near(self, trace: Trace) -> list[Trace]:
        """Return the traces near ``trace`` by id."""
        found = {each.id: each for part in self._parts(trace) if part for each in self._found.get(part, ())}
        single = len(decode_key(trace.key)) <= 1
        if single:
            found |= {each.id: each for each in self._found.get(frozenset(), ())}
        return [found[key] for key in sorted(found)]


def _substitution(old: Trace, new: Trace) -> tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]:
    """Return the params that only ``old`` has, and those that only ``new`` has."""
    before, after = set(decode_key(old.key).items()), set(decode_key(new.key).items())
    return frozenset(before - after), frozenset(after - before)


def _rate(
    old: Trace,
    candidates: Sequence[Trace],
    bystanders: Sequence[Trace],
    levels: Mapping[int, _Level],
    support: Counter[tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]],
) -> Iterator[RenameProposal]:
    """Yield the candidates with their probabilities, which add up to less than 1."""
    if not candidates:
        return
    chance = np.sort([_likeness(old, other, levels)[2] for other in bystanders if other.unit == old.unit])
    prior = {each.id: support[_substitution(old, each)] for each in candidates}
    total = sum(prior.values())
    weights: list[float] = []
    rated = [_likeness(old, each, levels) for each in candidates]
    for each, (_, _, both) in zip(candidates, rated, strict=True):
        as_like = len(chance) - int(np.searchsorted(chance, both))
        rarity = (len(chance) + 1) / (as_like + 1)
        weights.append(_PRIOR * prior[each.id] / total * rarity * both)
    everything = (1 - _PRIOR) + sum(weights)
    for each, weight, (name, value, _) in zip(candidates, weights, rated, strict=True):
        yield RenameProposal(old, each, name, value, min(_CERTAIN, weight / everything))


def _likeness(old: Trace, new: Trace, levels: Mapping[int, _Level]) -> tuple[float, float, float]:
    """Return the likeness of the names, of the values, and of both together."""
    name = _name_likeness(decode_key(old.key), decode_key(new.key))
    value = _value_likeness(levels.get(old.id), levels.get(new.id))
    return name, value, name * value


def _name_likeness(before: Mapping[str, str], after: Mapping[str, str]) -> float:
    """Return the mean over all params: 1 for an equal value, the share of equal text for another, 0 for none."""
    names = {*before, *after}
    shares = [
        1.0
        if before.get(name) == after.get(name)
        else SequenceMatcher(None, before[name], after[name], autojunk=False).ratio()
        if name in before and name in after
        else 0.0
        for name in sorted(names)
    ]
    return float(np.mean(shares)) if shares else 0.0


def _value_likeness(before: _Level | None, after: _Level | None) -> float:
    """Return 1 for the same level and noise; a level that is off by its noise, or by 2 %, halves it, and so on."""
    if before is None or after is None:
        return 0.0
    scale = max(before.noise, after.noise, 0.02 * max(abs(before.median), abs(after.median)))
    apart = abs(before.median - after.median) / scale if scale else 0.0
    smaller, larger = sorted((before.noise, after.noise))
    noise = (smaller + 0.1 * scale) / (larger + 0.1 * scale) if scale else 1.0
    return float(noise**0.5 / (1.0 + apart))


def _levels(store: Store, line: Line, traces: Sequence[Trace], ended: set[int]) -> dict[int, _Level]:
    """Return the levels of traces: of their last values where they ``ended``, of their first ones elsewhere."""
    ids = np.array(sorted({trace.id for trace in traces}), dtype=np.int64)
    found: dict[int, _Level] = {}
    for frame in store.frames.blocks(line, ids, memory=32 * 2**20):
        for trace, row in zip(frame.traces, frame.values, strict=True):
            values = row[~np.isnan(row)].astype(np.float64)
            values = values[-_COMPARED:] if trace.id in ended else values[:_COMPARED]
            if values.size:
                median = float(np.median(values))
                found[trace.id] = _Level(median, MAD * float(np.median(np.abs(values - median))))
    return found


_HABIT: Final = 5
"""Measured commits before a gap, from which their gaps show a habit."""

_RECENT: Final = 20
_PATIENCE: Final = 2
_LONGEST: Final = 200
"""Measured commits back to which gaps in the line are looked for."""

_LEAST_OF_JOB: Final = 2
"""Traces that make a job; a single one is a series."""


class MissingKind(Enum):
    """What is missing: all traces with some params (or all of the repository), some traces, or commits of the line."""

    JOB = "job"
    SERIES = "series"
    COMMITS = "commits"


@dataclass(frozen=True, slots=True)
class MissingEntry:
    """Something that should have results and has none.

    ``params`` are what its traces have in common and others lack, as ``name=value``. ``last`` is the slot of the last
    commit that had results, ``silent`` the number of commits without them since, measured ones for traces; ``usual`` is
    the longest recent gap. Of commits, ``until`` is the slot of the next commit with results, -1 for none.
    """

    kind: MissingKind
    params: tuple[str, ...]
    traces: tuple[MissingTrace, ...]
    last: int
    silent: int
    usual: int
    until: int = -1


@dataclass(frozen=True, slots=True)
class MissingData:
    """What is missing in one repository: the largest entries first; and the renames that may explain it."""

    line: Line
    entries: tuple[MissingEntry, ...]
    renames: tuple[RenameProposal, ...]


def find_missing_data(
    store: Store,
    repository: Repository,
    query: str = "",
    *,
    newer: Sequence[datetime] = (),
    known: KnownHabits | None = None,
) -> MissingData:
    """Find missing data among the traces of ``query``, on the default line.

    ``newer`` are the times of commits that follow the line in git and are not in the store yet. ``known`` spares values
    that are as they were at an earlier call.

    Raises:
        QueryError: the query cannot be read.
    """
    line = store.commits.line(repository)
    found = absences(store, repository, query, newer=newer, known=known)
    entries = [*_stopped(found), *_groups(store, repository, found), *_gaps(line, found)]
    ordered = sorted(entries, key=lambda each: (each.kind is MissingKind.COMMITS, -len(each.traces), -each.silent))
    return MissingData(line, tuple(ordered), tuple(propose_renames(store, line, found)))


def _stopped(found: Absences) -> list[MissingEntry]:
    """Return the job that measured everything, where it stopped."""
    if found.job is None:
        return []
    return [MissingEntry(MissingKind.JOB, (), (), found.job.last_slot, found.job.silent, found.job.usual)]


def _groups(store: Store, repository: Repository, found: Absences) -> list[MissingEntry]:
    """Group missing traces by params of which every trace is missing, then by the commit at which they stopped."""
    missing = sorted(found.traces, key=lambda each: each.trace.id)
    if not missing:
        return []
    params = store.traces.params(repository, np.array([each.trace.id for each in missing], dtype=np.int64))
    running = _running_params(store, repository, found)
    left = np.ones(len(missing), dtype=np.bool_)
    entries: list[MissingEntry] = []

    # Whole jobs: the param that covers most of the missing traces, and that no running trace has.
    while left.any():
        number, name, value = max(_most_common(params, running, left), default=(0, "", ""))
        if number < _LEAST_OF_JOB:
            break
        of_job = left & (params[name].codes == params[name].values.index(value))
        left &= ~of_job
        entries.append(_entry(MissingKind.JOB, missing, np.flatnonzero(of_job), params, running))

    # The rest: those that stopped at one commit belong together.
    by_slot: dict[int, list[int]] = defaultdict(list)
    for row in np.flatnonzero(left).tolist():
        by_slot[missing[row].last_slot].append(row)
    several = (np.array(rows, dtype=np.int64) for rows in by_slot.values())
    return entries + [_entry(MissingKind.SERIES, missing, rows, params, running) for rows in several]


def _most_common(
    params: Mapping[str, ParamCodes], running: Mapping[str, frozenset[str]], left: NDArray[np.bool_]
) -> Iterator[tuple[int, str, str]]:
    """Yield per name the value that most of the traces ``left`` have, and no running one: how many, name and value."""
    for name, (codes, values) in params.items():
        counts = np.bincount(codes[left], minlength=len(values))
        counts[[0, *(code for code, value in enumerate(values) if value in running.get(name, ()))]] = 0
        most = int(counts.max())
        if most:
            yield most, name, max(values[code] for code in np.flatnonzero(counts == most).tolist())


def _running_params(store: Store, repository: Repository, found: Absences) -> dict[str, frozenset[str]]:
    """Return name → values of the traces that have results at one of the last measured commits."""
    measured = found.measured
    if not measured.active.size:
        return {}
    missing = np.array([each.trace.id for each in found.traces], dtype=np.int64)
    lately = measured.last >= measured.active[-min(_RECENT, measured.active.size)]
    params = store.traces.params(repository, measured.ids[lately & ~np.isin(measured.ids, missing)])
    return {
        name: frozenset(values[code] for code in np.flatnonzero(np.bincount(codes, minlength=1)).tolist() if code)
        for name, (codes, values) in params.items()
    }


def _entry(
    kind: MissingKind,
    missing: Sequence[MissingTrace],
    rows: NDArray[np.int64],
    params: Mapping[str, ParamCodes],
    running: Mapping[str, frozenset[str]],
) -> MissingEntry:
    """Return the entry of the traces in ``rows`` of ``missing``, with what they have in common."""
    shared = []
    for name, (codes, values) in params.items():
        first, value = codes[rows[0]], values[int(codes[rows[0]])]
        is_distinctive = kind is not MissingKind.JOB or value not in running.get(name, ())
        if first and is_distinctive and bool((codes[rows] == first).all()):
            shared.append(f"{name}={value}")
    members = tuple(missing[row] for row in rows.tolist())
    newest = min(members, key=lambda each: each.silent)
    return MissingEntry(kind, tuple(shared), members, newest.last_slot, newest.silent, newest.usual)


def _gaps(line: Line, found: Absences) -> list[MissingEntry]:
    """Return the commits without results in a gap of more than twice the longest one before it."""
    active = found.measured.active
    entries: list[MissingEntry] = []
    for index in range(max(_HABIT, active.size - _LONGEST), active.size):
        usual = int(np.diff(active[max(0, index - 1 - _RECENT) : index]).max())
        gap = int(active[index] - active[index - 1])
        if gap > _PATIENCE * usual:
            last, until = (line.slots[int(active[place])] for place in (index - 1, index))
            entries.append(MissingEntry(MissingKind.COMMITS, (), (), last, gap - 1, usual, until))
    return entries
