"""Delete old values by rule: samples first, then points, never the evidence of what people decided.

The commits of a line are in three parts, the newest first: those that keep everything, those that keep their points but
only the median of the samples of each, and those that keep neither. Traces with findings that people decided about keep
everything. Runs stay known in any case, so that the same file is not taken for a new one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, exists, select, update

from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.store.database import Database
from knickpoint.store.points.parts import Part, medians
from knickpoint.store.points.tile_codec import DamagedRowError, RowName, part_name, require_intact, row_checksum
from knickpoint.store.points.tiles import Tiles
from knickpoint.store.tables.points import part as table
from knickpoint.store.tables.points import run as run_table
from knickpoint.store.traces.trace_chunks import CHUNK


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Count what was deleted: single samples, whose medians stay, points, and profiles."""

    samples: int
    points: int
    profiles: int = 0


def retain(
    database: Database,
    line: Line,
    *,
    samples: int | None = None,
    values: int | None = None,
    keep: Collection[int] = (),
    dry_run: bool = False,
) -> Forgotten:
    """Delete samples beyond the newest ``samples`` commits of ``line``, and values beyond the newest ``values``.

    None keeps all; samples are kept no longer than values. Traces in ``keep`` lose nothing. Each commit is a
    transaction. A commit with a damaged row stays as it is. ``dry_run`` counts what would be deleted and changes
    nothing.

    Raises:
        InputError: a rule keeps less than one commit.
    """
    if any(bound is not None and bound < 1 for bound in (samples, values)):
        raise InputError("retention needs to keep at least one commit", remedy="Leave the rule out to keep everything.")
    if values is not None and (samples is None or samples > values):
        samples = values
    if samples is None:
        return Forgotten(0, 0)

    # Before ``without_points`` nothing stays; from there to ``summarised`` the medians.
    without_points = 0 if values is None else max(0, len(line.slots) - values)
    summarised = max(without_points, len(line.slots) - samples)
    kept = np.array(sorted(keep), dtype=np.int64)
    with_parts = _slots_with_parts(database, line.repository.id)
    lost = [
        _forget_intact(database, line.repository.id, slot, kept, whole=position < without_points, dry_run=dry_run)
        for position, slot in enumerate(line.slots[:summarised])
        if slot in with_parts
    ]
    return Forgotten(sum(each.samples for each in lost), sum(each.points for each in lost))


def _forget_intact(
    database: Database, repository_id: int, slot: int, kept: NDArray[np.int64], *, whole: bool, dry_run: bool
) -> Forgotten:
    """Forget what one commit has, unless a row of it is damaged: that is for people to decide."""
    try:
        return _forget(database, repository_id, slot, kept, whole=whole, dry_run=dry_run)
    except DamagedRowError:
        return Forgotten(0, 0)


def _slots_with_parts(database: Database, repository_id: int) -> set[int]:
    """Return the slots of a repository with runs that have something to delete."""
    has_parts = exists().where(table.c.slot == run_table.c.slot, table.c.run_id == run_table.c.id)
    query = select(run_table.c.slot).where(run_table.c.repository_id == repository_id, has_parts).distinct()
    with database.reading() as connection:
        return set(connection.execute(query).scalars())


def _forget(
    database: Database, repository_id: int, slot: int, kept: NDArray[np.int64], *, whole: bool, dry_run: bool
) -> Forgotten:
    """Delete the samples of one commit, and where ``whole`` its points too, except those of the traces ``kept``."""
    samples = points = 0
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
                if not dry_run:
                    # An implicit part takes its samples from the points, which go at the end of this transaction.
                    shorter = (
                        _only(part.with_samples(tiles.points(connection, repository_id, ids, slot)), stays)
                        if stays.any()
                        else None
                    )
                    _replace(connection, slot, row, shorter)
            elif part.samples is not None and bool((part.counts[~stays] > 1).any()):
                samples += int((part.counts[~stays] - 1).sum())
                if not dry_run:
                    _replace(connection, slot, row, _summarised(part, stays))

        # The points themselves, once for all runs of the commit
        ids = np.unique(np.concatenate(gone))
        if len(ids):
            points = int(np.count_nonzero(~np.isnan(tiles.points(connection, repository_id, ids, slot))))
            if not dry_run:
                tiles.change(connection, repository_id, slot, ids, np.full(len(ids), np.nan), hidden=True)
    return Forgotten(samples, points)


def _replace(connection: Connection, slot: int, row: Row[Any], shorter: Part | None) -> None:
    """Replace a part by what is left of it, None where nothing is."""
    where = (table.c.slot == slot) & (table.c.chunk == row.chunk) & (table.c.run_id == row.run_id)
    if shorter is None:
        connection.execute(table.delete().where(where))
    else:
        data = shorter.pack()
        checksum = row_checksum(RowName("run_part", (slot, row.chunk, row.run_id)), data)
        connection.execute(update(table).where(where).values(data=data, checksum=checksum))


def _parts(connection: Connection, repository_id: int, slot: int) -> list[Row[Any]]:
    """Return the parts of a repository at a slot."""
    runs = select(run_table.c.id).where(run_table.c.repository_id == repository_id, run_table.c.slot == slot)
    query = select(table).where(table.c.slot == slot, table.c.run_id.in_(runs))
    rows = list(connection.execute(query.order_by(table.c.chunk, table.c.run_id)))
    for row in rows:
        require_intact(part_name(row), row.checksum, row.data)
    return rows


def _summarised(part: Part, stays: NDArray[np.bool_]) -> Part:
    """Return a part with the median in place of the samples, except of the traces that stay as they are."""
    assert part.samples is not None
    middle = medians(part.samples, part.counts)
    counts = np.where(stays, part.counts, 1)
    first = np.cumsum(counts) - counts
    samples = np.empty(int(counts.sum()))
    samples[np.repeat(stays, counts)] = part.samples[np.repeat(stays, part.counts)]
    samples[first[~stays]] = middle[~stays]
    return replace(part, counts=counts, samples=samples)


def _only(part: Part, stays: NDArray[np.bool_]) -> Part:
    """Return a part with the traces that stay, and with all that failed or were skipped."""
    assert part.samples is not None
    return replace(
        part,
        places=part.places[stays],
        counts=part.counts[stays],
        units=part.units[stays],
        factors=part.factors[stays],
        samples=part.samples[np.repeat(stays, part.counts)],
    )
