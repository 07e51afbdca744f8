"""The last stages of a write: points and provenance as planned, and the events about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from knickpoint.model.commit import Repository
from knickpoint.store.database import Database
from knickpoint.store.events import MOST_LISTED, Outbox, TracesChanged, pack_ids
from knickpoint.store.points.parts import PartRow, PartTable
from knickpoint.store.points.sealer import Sealer
from knickpoint.store.points.tile_codec import hot_rows
from knickpoint.store.points.tile_merge import SPAN
from knickpoint.store.points.tiles import Tiles
from knickpoint.store.points.write_plan import CommitUpdate, WritePlan
from knickpoint.store.traces.trace_chunks import CHUNK

# Write points and provenance as planned: the fifth stage of a write.


_SEGMENT_CHUNKS: Final = 4
"""New points of a commit in so many chunks are written as one segment: one row, where tiles would be a row a chunk."""


class PointWriter:
    """Write what runs measured into tiles, and each run's parts beside them."""

    def __init__(self, database: Database, parts: PartTable, tiles: Tiles) -> None:
        self._parts = parts
        self._tiles = tiles
        self._sealer = Sealer(database)

    def write(self, connection: Connection, repository_id: int, plan: WritePlan, run_ids: Sequence[int]) -> None:
        """Write the parts and the points of a plan; ``run_ids`` are those of its runs.

        Parts that kept no samples were read for the plan, before their points change here.
        """
        # Provenance
        for stored in plan.leaving:
            self._parts.delete(connection, stored.slot, stored.id)
        self._parts.update(connection, plan.explicit)
        parts = [
            PartRow(run.slot, chunk, run_id, data)
            for run, run_id in zip(plan.runs, run_ids, strict=True)
            for chunk, data in run.parts
        ]
        self._parts.insert(connection, parts)

        # Points: large commits as segments in front of everything, small ones as tiles.
        small: list[CommitUpdate] = []
        for commit in plan.commits:
            if not len(commit.chunks):
                continue
            if len(commit.chunks) < _SEGMENT_CHUNKS:
                small.append(commit)
                continue
            encoded = commit.template.encoded_ids if commit.template is not None else None
            self._tiles.write_segment(connection, repository_id, commit.slot, commit.ids, commit.values, encoded)
        self._write_tiles(connection, repository_id, small)

        # Sealing: blocks of 64 commits that the last of these completes.
        full: dict[int, list[NDArray[np.int64]]] = {}
        for commit in small:
            full.setdefault(commit.slot // SPAN, []).append(commit.chunks)
        for block in sorted({commit.slot // SPAN for commit in small if commit.slot % SPAN == SPAN - 1}):
            self._sealer.seal_block(connection, np.unique(np.concatenate(full[block])), block * SPAN)

    def _write_tiles(self, connection: Connection, repository_id: int, commits: Sequence[CommitUpdate]) -> None:
        """Write the points of commits into hot tiles: new tiles, or those that other runs wrote before."""
        segments: dict[int, list[tuple[int, int]]] = {}
        written = [commit for commit in commits if len(commit.ids)]
        if written:
            first, last = min(int(commit.ids[0]) for commit in written), max(int(commit.ids[-1]) for commit in written)
            slots = [commit.slot for commit in written]
            for slot, low, high in self._tiles.segment_spans(connection, repository_id, slots, first, last):
                segments.setdefault(slot, []).append((low, high))
        rows: list[dict[str, Any]] = []
        shared: list[tuple[CommitUpdate, NDArray[np.bool_], bool]] = []
        for commit in commits:
            # A tile that is there already, or that a segment hides, is read and changed; others are written as new.
            hidden = commit.slot in segments and _spans(segments[commit.slot], commit.ids)
            if not hidden and not len(commit.occupied):
                rows += hot_rows(commit.slot, commit.ids, commit.values, commit.chunks)
                continue
            known = commit.chunks if hidden else np.intersect1d(commit.chunks, commit.occupied, assume_unique=True)
            free = np.setdiff1d(commit.chunks, known, assume_unique=True)
            rows += hot_rows(commit.slot, commit.ids, commit.values, free)
            shared.append((commit, np.isin(commit.ids // CHUNK, known), hidden))
        self._tiles.write_hot(connection, rows)
        for commit, which, hidden in shared:
            ids, values = commit.ids[which], commit.values[which]
            self._tiles.change(connection, repository_id, commit.slot, ids, values, hidden=hidden)


def _spans(segments: Sequence[tuple[int, int]], ids: NDArray[np.int64]) -> bool:
    """Whether one of ``segments``, given as lowest and highest trace, may hold some of sorted ``ids``."""
    return any(low <= ids[-1] and high >= ids[0] for low, high in segments) if len(ids) else False


# Publish which traces a write changed: the last stage of a write.


_IDS_IN_EVENT: Final = 40_000
"""Traces that one event names unless they are neighbours; so it stays below 256 KiB, whichever they are."""


def publish_changes(outbox: Outbox, repository: Repository, plan: WritePlan, run_ids: Sequence[int]) -> None:
    """Publish ``traces-changed`` for the traces of a plan: one event, or several where they are very many."""
    ids = plan.touched
    if not len(ids):
        return
    neighbours = int(ids[-1]) - int(ids[0]) + 1 == len(ids)
    at_once = len(ids) if neighbours else _IDS_IN_EVENT
    template = plan.commits[0].template if len(plan.commits) == 1 else None
    if template is not None and len(ids) <= at_once:
        named = [template.event_ids]
    else:
        named = [pack_ids(ids[begin : begin + at_once]) for begin in range(0, len(ids), at_once)]
    slots = plan.slots
    truncated = max(len(slots), len(run_ids)) > MOST_LISTED
    for traces in named:
        listed = slots[:MOST_LISTED], run_ids[:MOST_LISTED]
        outbox.publish(TracesChanged(repository.name, *listed, traces, truncated=truncated))
