"""Group series by shape, for ``knick detect --method cluster``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from knickpoint.cli.output import Column, OutputFormat, show
from knickpoint.cli.series import NamedSeries, is_number
from knickpoint.model.errors import InputError

__all__ = ["show_clusters"]

_COLUMNS = (
    Column("cluster", right=True),
    Column("index", text=lambda index: "–" if index is None else str(index), right=True),
    Column("pos", text=lambda position: position or "–", right=True),
    Column("size", "traces", right=True),
    Column("regression", text=lambda value: f"{value:+.3g}", right=True),
    Column("interesting", text=lambda interesting: "yes" if interesting else "no"),
    Column("members", text=lambda members: " ".join(members[:3]) + (" …" if len(members) > 3 else "")),
)


def _aligned(series: Sequence[NamedSeries]) -> tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """Return all positions in order and the frame of the series over them, ``nan`` where one has no row.

    Raises:
        InputError: a series has two rows of one position.
    """
    order: dict[str, int] = {}
    for one in series:
        for position in one.positions:
            order.setdefault(position, len(order))
    if all(is_number(position) for position in order):
        order = {position: place for place, position in enumerate(sorted(order, key=float))}
    frame = np.full((len(series), len(order)), np.nan)
    for row, one in enumerate(series):
        if len(set(one.positions)) < len(one.positions):
            raise InputError(
                "two rows have one position", where=f"series {one.id!r}", remedy="Give one value a commit to cluster."
            )
        frame[row, [order[position] for position in one.positions]] = one.values
    return list(order), frame


def show_clusters(series: Sequence[NamedSeries], parameters: dict[str, Any], output: OutputFormat) -> None:
    """Print the clusters of ``series``, the strongest step first, one row each."""
    from knickpoint.detect import cluster

    positions, frame = _aligned(series)
    rows = [
        {
            "cluster": number,
            "index": None if one.step is None else one.step.index,
            "pos": None if one.step is None else positions[one.step.index],
            "size": one.size,
            "regression": one.regression,
            "interesting": one.interesting,
            "members": [series[member].id for member in one.members],
        }
        for number, one in enumerate(cluster(frame, **parameters))
    ]
    show(_COLUMNS, rows, output, empty="No clusters.")
