"""Plan a write: compare runs that arrive with what is stored at their commits.

The point of a trace at a commit is the median of what its runs measured there, whatever the order in which they
arrive. So a write looks at each commit as a whole: the runs that arrive, the stored runs that leave (because they are
corrected or removed), and the stored runs that share a trace with either. From these follow the new points, the kind
of each run, and the form in which its provenance is kept. Everything here is pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.store.points.layouts import RunTemplate
from knickpoint.store.points.parts import PartRow, cut, medians
from knickpoint.store.points.run_results import RunResults
from knickpoint.store.points.run_table import RunKind, StoredRun, ValueChanges
from knickpoint.store.points.stored_commits import ArrivingRun, StoredCommit, intersects
from knickpoint.store.points.tile_codec import chunks_of

_SCATTERED_CHUNKS: Final = 32
_SCATTERED_VALUES: Final = 16
"""A run over more than 32 chunks with fewer than 16 values in each has one part for all of them."""

_NOTHING_STORED: Final = StoredCommit()


@dataclass(frozen=True, slots=True)
class CommitUpdate:
    """What changes at one commit.

    Attributes:
        slot: the slot of the commit.
        ids: the traces that get a new point, sorted.
        values: these points; NaN takes a point away.
        touched: all traces of the runs that arrive or leave, failures and skips included, sorted.
        chunks: the chunks of these traces.
        occupied: those chunks in which stored runs have something already.
        template: of the one run that arrives, where it has one and nothing else changes.
    """

    slot: int
    ids: NDArray[np.int64]
    values: NDArray[np.float64]
    touched: NDArray[np.int64]
    chunks: NDArray[np.int64]
    occupied: NDArray[np.int64]
    template: RunTemplate | None = None


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """What a run is, compared with what is stored, its parts by chunk, and what it changes as a correction."""

    slot: int
    kind: RunKind
    parts: Sequence[tuple[int, bytes]]
    changes: ValueChanges

    @property
    def chunks(self) -> NDArray[np.int64]:
        """Where the parts of the run are."""
        return np.array([chunk for chunk, _ in self.parts], dtype=np.int64)

    @property
    def has_traces(self) -> bool:
        """Whether the run has traces, or had some before its correction."""
        return bool(self.parts) or len(self.changes) > 0


@dataclass(frozen=True)
class WritePlan:
    """All that a write changes.

    Attributes:
        runs: one update for each arriving run, in their order.
        commits: one update for each commit, by slot.
        leaving: the stored runs whose parts go.
        explicit: parts of stored runs that kept no samples, and share points with other runs from now on.
    """

    runs: Sequence[RunUpdate]
    commits: Sequence[CommitUpdate]
    leaving: Sequence[StoredRun]
    explicit: Sequence[PartRow]

    @property
    def slots(self) -> list[int]:
        """The slots of the commits at which traces change, sorted."""
        changed = {commit.slot for commit in self.commits if len(commit.touched)}
        return sorted(changed | {run.slot for run in self.runs if run.has_traces} | {run.slot for run in self.leaving})

    @cached_property
    def touched(self) -> NDArray[np.int64]:
        """The traces that change, at whichever commit, sorted."""
        if len(self.commits) == 1:
            return self.commits[0].touched
        return np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(commit.touched for commit in self.commits)]))


def plan_write(
    repository_id: int,
    arriving: Sequence[ArrivingRun],
    leaving: Sequence[StoredRun],
    stored: Mapping[int, StoredCommit],
) -> WritePlan:
    """Plan a write in which ``arriving`` runs take their places and ``leaving`` ones give theirs up.

    ``stored`` has what :class:`StoredCommits` read of their commits.
    """
    by_slot: dict[int, list[int]] = {run.slot: [] for run in leaving}
    for number, run in enumerate(arriving):
        by_slot.setdefault(run.write.slot, []).append(number)
    replaced = {run.corrects.id: number for number, run in enumerate(arriving) if run.corrects is not None}
    commits: list[CommitUpdate] = []
    sharing: set[int] = set()
    joining: set[int] = set()
    for slot, numbers in sorted(by_slot.items()):
        here = {number: arriving[number].results for number in numbers}
        commit = stored.get(slot, _NOTHING_STORED)
        commits.append(_update_of(slot, list(here.values()), commit))
        if len(here) > 1 or commit.sharing or commit.leaving:
            overlapping, earlier = _overlaps(
                {number: results.ids for number, results in here.items()}, commit, replaced
            )
            sharing |= overlapping
            joining |= earlier
    updates = [
        RunUpdate(
            run.write.slot,
            RunKind.CORRECTION if run.corrects is not None else RunKind.RERUN if number in joining else RunKind.NEW,
            _parts_of(repository_id, run.results, shares=number in sharing),
            _changes(run, stored) if run.corrects is not None else ValueChanges(),
        )
        for number, run in enumerate(arriving)
    ]
    explicit = [
        part.row._replace(data=part.part.pack())
        for commit in stored.values()
        for part in commit.sharing
        if part.was_implicit
    ]
    return WritePlan(updates, commits, leaving, explicit)


def _update_of(slot: int, here: Sequence[RunResults], stored: StoredCommit) -> CommitUpdate:
    """Return the new points of a commit at which the runs ``here`` arrive."""
    if len(here) == 1 and not stored.sharing and not stored.leaving:
        (run,) = here
        return CommitUpdate(slot, run.ids, run.values, run.touched, run.chunks, stored.chunks, run.template)

    # Median: of all runs that have a value of a trace once the write is done.
    measured = [(run.ids, run.values) for run in here] + [part.counted for part in stored.sharing]
    left = [np.empty(0, dtype=np.int64), *(part.ids for part in stored.leaving)]
    ids = np.unique(np.concatenate([*(run.ids for run in here), *left]))
    values = _points_of(ids, measured)  # of a trace that only a leaving run had, nothing stays
    touched = np.unique(np.concatenate([*(run.touched for run in here), *left]))
    return CommitUpdate(slot, ids, values, touched, chunks_of(touched), stored.chunks)


def plan_recount(stored: Mapping[int, StoredCommit], kept: Mapping[int, NDArray[np.int64]]) -> WritePlan:
    """Return the plan by which runs stop to count, or count again; ``stored`` has their parts as those that leave.

    ``kept`` has run → the traces whose values count, for those that stop; the others count whole. Their parts stay,
    with samples, whatever the points become.
    """
    commits: list[CommitUpdate] = []
    explicit: list[PartRow] = []
    for slot, commit in sorted(stored.items()):
        recounted = [replace(part, kept=kept.get(part.row.run_id)) for part in commit.leaving]
        ids = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *(part.ids for part in recounted)]))
        values = _points_of(ids, [part.counted for part in (*commit.sharing, *recounted)])
        commits.append(CommitUpdate(slot, ids, values, ids, chunks_of(ids), commit.chunks))
        implicit = (part for part in (*commit.sharing, *recounted) if part.was_implicit)
        explicit += [part.row._replace(data=part.part.pack()) for part in implicit]
    return WritePlan((), commits, (), explicit)


def _points_of(
    ids: NDArray[np.int64], measured: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]]
) -> NDArray[np.float64]:
    """Return the point of each of sorted ``ids``: the median of what was measured, NaN where nothing was."""
    known, middle = _medians_by_trace(measured)
    values = np.full(len(ids), np.nan)
    if len(known):
        place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        has_value = known[place] == ids
        values[has_value] = middle[place[has_value]]
    return values


def _medians_by_trace(
    measured: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return all traces that runs measured, sorted, and the median of each one's values."""
    ids = np.concatenate([np.empty(0, dtype=np.int64), *(ids for ids, _ in measured)])
    values = np.concatenate([np.empty(0), *(values for _, values in measured)])
    order = np.argsort(ids, kind="stable")
    ids, values = ids[order], values[order]
    starts = np.flatnonzero(np.diff(ids, prepend=-1))
    return ids[starts], medians(values, np.diff(starts, append=len(ids)))


def _overlaps(
    here: Mapping[int, NDArray[np.int64]], stored: StoredCommit, replaced: Mapping[int, int]
) -> tuple[set[int], set[int]]:
    """Return the arriving runs that share a trace with another run, and those that join one that came before them.

    ``here`` has the traces of the runs by number, in order of arrival; ``replaced`` has stored run → the arriving run
    that corrects it. A stored run counts as there until its correction arrives.
    """
    staying = [part.ids for part in stored.sharing]
    ids, counts = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *here.values(), *staying]), return_counts=True)
    shared = ids[counts > 1]
    sharing: set[int] = set()
    joining: set[int] = set()
    earlier = np.empty(0, dtype=np.int64)
    for number, traces in here.items():
        still_there = [part.ids for part in stored.leaving if replaced.get(part.row.run_id, -1) > number]
        if any(intersects(traces, others) for others in (earlier, *staying, *still_there)):
            joining.add(number)
        common = np.intersect1d(traces, shared, assume_unique=True)
        if len(common):
            sharing.add(number)
            earlier = np.union1d(earlier, common)
    return sharing, joining


def _parts_of(repository_id: int, results: RunResults, *, shares: bool) -> list[tuple[int, bytes]]:
    """Return the parts of a run by chunk: without samples where the points can stand for them."""
    if not shares and (implicit := results.implicit_part) is not None:
        return [(-repository_id, implicit)]
    if _is_scattered(len(results.touched), len(results.chunks)):
        return [(-repository_id, results.part.pack())]
    parts = cut(results.part, results.chunks)
    return [(chunk, part.pack()) for chunk, part in zip(results.chunks.tolist(), parts, strict=True)]


def _is_scattered(values: int, chunks: int) -> bool:
    """Whether so few values in so many chunks are better kept as one part."""
    return chunks > _SCATTERED_CHUNKS and values < _SCATTERED_VALUES * chunks


def _changes(run: ArrivingRun, stored: Mapping[int, StoredCommit]) -> ValueChanges:
    """Return the values that a correction changes, adds or takes away."""
    assert run.corrects is not None
    before = [
        part for part in stored.get(run.corrects.slot, _NOTHING_STORED).leaving if part.row.run_id == run.corrects.id
    ]
    old_ids = np.concatenate([np.empty(0, dtype=np.int64), *(part.ids for part in before)])
    old_values = np.concatenate([np.empty(0), *(part.part.values for part in before)])
    ids = np.union1d(old_ids, run.results.ids)
    old, new = np.full(len(ids), np.nan), np.full(len(ids), np.nan)
    old[np.searchsorted(ids, old_ids)] = old_values
    new[np.searchsorted(ids, run.results.ids)] = run.results.values
    different = ~((old == new) | (np.isnan(old) & np.isnan(new)))
    return ValueChanges(ids[different], old[different], new[different])
