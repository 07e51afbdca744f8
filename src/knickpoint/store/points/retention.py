"""Forget by rule: samples first, then values, never the evidence of what people decided."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, exists, select, update

from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.store.database import Database
from knickpoint.store.points.parts import Part, medians
from knickpoint.store.points.tiles import Tiles
from knickpoint.store.tables.runs import part as table
from knickpoint.store.tables.runs import run as run_table
from knickpoint.store.traces.traces import CHUNK

__all__ = ["Forgotten", "retain"]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Count what was given up: single samples (their medians stay), and points."""

    samples: int
    points: int


def retain(
    database: Database,
    line: Line,
    *,
    samples: int | None = None,
    values: int | None = None,
    keep: Collection[int] = (),
    dry_run: bool = False,
) -> Forgotten:
    """Forget samples beyond the newest ``samples`` commits of ``line``, and values beyond the newest ``values``.

    None keeps all. Traces in ``keep`` lose nothing. Runs stay known, so that the same file is not taken for a
    new one. One transaction a commit; a run over scattered traces is treated as a whole. ``dry_run`` counts
    what would be forgotten and changes nothing.

    Raises:
        InputError: fewer samples or values than one commit, or fewer values than samples.
    """
    if any(bound is not None and bound < 1 for bound in (samples, values)):
        raise InputError("retention needs to keep at least one commit", remedy="Leave the rule out to keep everything.")
    if values is not None and (samples is None or samples > values):
        samples = values
    kept = np.array(sorted(keep), dtype=np.int64)
    if samples is None:
        return Forgotten(0, 0)
    oldest = 0 if values is None else max(0, len(line.slots) - values)
    ends = max(oldest, len(line.slots) - samples)
    held = _with_parts(database, line.repository.id)
    lost = Forgotten(0, 0)
    for position, slot in enumerate(line.slots[:ends]):
        if slot in held:
            lost = _sum(
                lost, _forget(database, line.repository.id, slot, kept, whole=position < oldest, dry_run=dry_run)
            )
    return lost


def _with_parts(database: Database, repository_id: int) -> set[int]:
    """Return the slots of a repository at which runs keep something."""
    has_parts = exists().where(table.c.slot == run_table.c.slot, table.c.run_id == run_table.c.id)
    query = select(run_table.c.slot).where(run_table.c.repository_id == repository_id, has_parts).distinct()
    with database.reading() as connection:
        return set(connection.execute(query).scalars())


def _sum(first: Forgotten, second: Forgotten) -> Forgotten:
    return Forgotten(first.samples + second.samples, first.points + second.points)


def _forget(
    database: Database, repository_id: int, slot: int, kept: NDArray[np.int64], *, whole: bool, dry_run: bool
) -> Forgotten:
    """Forget one commit: its values, or only its single samples."""
    lost = Forgotten(0, 0)
    with database.reading() if dry_run else database.transaction() as connection:
        tiles = Tiles(database)
        gone = [np.empty(0, dtype=np.int64)]
        for row in _parts(connection, repository_id, slot):
            part = Part.unpack(row.data)
            ids = part.places + (0 if row.chunk < 0 else row.chunk * CHUNK)
            stays = np.isin(ids, kept)
            if len(ids) and stays.all():
                continue
            if whole:
                gone.append(ids[~stays])
            elif part.samples is not None and bool((part.counts[~stays] > 1).any()):
                lost = _sum(lost, Forgotten(int((part.counts[~stays] - 1).sum()), 0))
            else:
                continue
            if not dry_run:
                # an implicit part reads its values from the points, which go at the end of this transaction
                told = part.told(tiles.points(connection, repository_id, ids, slot)) if stays.any() else part
                shorter = (_only(told, stays) if stays.any() else None) if whole else _summarised(part, stays)
                _replace(connection, slot, row, shorter)
        ids = np.unique(np.concatenate(gone))
        if len(ids):
            held = int(np.count_nonzero(~np.isnan(tiles.points(connection, repository_id, ids, slot))))
            lost = _sum(lost, Forgotten(0, held))
            if not dry_run:
                tiles.change(connection, repository_id, slot, ids, np.full(len(ids), np.nan))
    return lost


def _replace(connection: Connection, slot: int, row: Row[tuple[int, int, bytes]], shorter: Part | None) -> None:
    """Write what is left of a part; None where nothing is."""
    where = (table.c.slot == slot) & (table.c.chunk == row.chunk) & (table.c.run_id == row.run_id)
    if shorter is None:
        connection.execute(table.delete().where(where))
    else:
        connection.execute(update(table).where(where).values(data=shorter.pack()))


def _parts(connection: Connection, repository_id: int, slot: int) -> list[Row[tuple[int, int, bytes]]]:
    """Return the parts of a repository at a slot."""
    own = select(run_table.c.id).where(run_table.c.repository_id == repository_id, run_table.c.slot == slot)
    query = select(table.c.chunk, table.c.run_id, table.c.data).where(table.c.slot == slot, table.c.run_id.in_(own))
    return list(connection.execute(query.order_by(table.c.chunk, table.c.run_id)))


def _summarised(part: Part, stays: NDArray[np.bool_]) -> Part:
    """Return a part in which the median stands for the samples, except where they stay."""
    assert part.samples is not None
    middle = medians(part.samples, part.counts)
    counts = np.where(stays, part.counts, 1)
    first = np.cumsum(counts) - counts
    samples = np.empty(int(counts.sum()))
    samples[np.repeat(stays, counts)] = part.samples[np.repeat(stays, part.counts)]
    samples[first[~stays]] = middle[~stays]
    return replace(part, counts=counts, samples=samples)


def _only(part: Part, stays: NDArray[np.bool_]) -> Part:
    """Return a part with the traces that stay; what failed or was skipped stays too."""
    assert part.samples is not None
    return replace(
        part,
        places=part.places[stays],
        counts=part.counts[stays],
        units=part.units[stays],
        factors=part.factors[stays],
        samples=part.samples[np.repeat(stays, part.counts)],
    )
