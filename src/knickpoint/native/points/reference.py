"""Narrow values and lay out points in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.points.tiles import PointTiles


def narrowed(values: NDArray[np.float64]) -> tuple[NDArray[np.float32], bool, bool]:
    """Return contiguous ``values`` as float32, whether that is lossless (NaN stays NaN), and whether all are finite."""
    with np.errstate(over="ignore"):
        small = values.astype(np.float32)
    finite = bool(np.isfinite(values).all())
    same = small == values
    return small, bool(same.all()) or bool((same | np.isnan(values)).all()), finite


def lay(
    tiles: PointTiles,
    ids: NDArray[np.int64],
    chunk: int,
    columns: NDArray[np.int32],
    low: int,
    values: NDArray[np.floating[Any]],
) -> None:
    """Write the points of ``tiles`` into the matrix ``values`` (contiguous; rows are the sorted ``ids``).

    A trace's place is its id modulo ``chunk``. ``columns[slot - low]`` is the column of a slot, -1 for none. No tile
    may be wider than ``values``.
    """
    facts = (tiles.widths, tiles.firsts, tiles.begins, tiles.ends, tiles.lefts, tiles.rights)
    for number, listed in enumerate(tiles.points):
        width, first, begin, end, left, right = (int(fact[number]) for fact in facts)
        record = np.dtype([("place", "<u2"), ("slot", "<u2"), ("value", f"<f{width}")])
        points = np.frombuffer(listed, dtype=record)
        values[begin:end, left:right] = np.nan
        places = ids[begin:end] % chunk
        starts = np.searchsorted(points["place"], places, "left")
        counts = np.searchsorted(points["place"], places, "right") - starts
        rows = np.repeat(np.arange(begin, end), counts)
        which = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(starts, counts)
        slots = points["slot"][which].astype(np.int64) + first - low
        known = (slots >= 0) & (slots < len(columns))
        rows, which, slots = rows[known], which[known], slots[known]
        here = columns[slots] >= 0
        values[rows[here], columns[slots[here]]] = points["value"][which[here]]
