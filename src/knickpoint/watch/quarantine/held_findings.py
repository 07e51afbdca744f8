"""Mark the findings in whose suspect range results are quarantined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from knickpoint.model.commit import Repository
from knickpoint.model.quarantine import Quarantine, QuarantineState
from knickpoint.store import Store
from knickpoint.watch.lines import Lines

__all__ = ["hold_findings", "why_held"]


def hold_findings(store: Store, repository: Repository, lines: Lines | None = None) -> list[int]:
    """Hold the change points whose suspect range has a quarantined commit of their trace, and no others.

    This includes points that are gone, because they may be gone only as their values are quarantined. Returns the points
    that are held now and were not, or the other way round, or for another reason.
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
    """Return why a finding is held, in words: the reason of the first commit, and how many results are concerned."""
    first = min(quarantines, key=lambda each: (positions.get(each.slot, -1), each.identity))
    others = len(quarantines) - 1
    further = f", and {others} further quarantined run{'s' if others > 1 else ''}" if others else ""
    return first.reason + further
