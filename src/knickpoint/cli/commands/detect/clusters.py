"""Group series by shape, for ``knick detect`` with a method that judges groups, such as ``cluster``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from knickpoint.cli.commands.detect.series_csv import NamedSeries, position_keys
from knickpoint.cli.evidence import plain
from knickpoint.cli.output import Column, OutputFormat, show
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.model.cluster import Cluster

__all__ = ["aligned", "show_clusters"]

_COLUMNS = (
    Column("cluster", right=True),
    Column("index", text=lambda index: "–" if index is None else str(index), right=True),
    Column("pos", text=lambda position: position or "–", right=True),
    Column("size", "traces", right=True),
    Column("regression", text=lambda value: f"{value:+.3g}", right=True),
    Column("interesting", text=lambda interesting: "yes" if interesting else "no"),
    Column("members", text=lambda members: " ".join(members[:3]) + (" …" if len(members) > 3 else "")),
    Column("shared", "in common", text=" ".join),
)


def aligned(series: Sequence[NamedSeries]) -> tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """Return all positions in order and the frame of the series over them, ``nan`` where one has no row.

    Raises:
        InputError: a series has two rows of one position, or positions are not of one kind.
    """
    texts = [position for one in series for position in one.positions]
    try:
        keys = position_keys(texts)
    except ValueError:
        raise InputError(
            "some series have numbers for positions and others dates",
            remedy="Number the commits in pos, the same numbers for all series.",
        ) from None
    shown = dict(zip(reversed(keys), reversed(texts), strict=True))
    places = {key: place for place, key in enumerate(sorted(shown))}
    frame = np.full((len(series), len(places)), np.nan)
    first = 0
    for row, one in enumerate(series):
        own = keys[first : first + len(one.positions)]
        first += len(own)
        if len(set(own)) < len(own):
            raise InputError(
                "two rows have one position",
                where=f"series {one.id!r}",
                remedy="Give one value a commit, to look at series together.",
            )
        frame[row, [places[key] for key in own]] = one.values
    return [shown[key] for key in sorted(shown)], frame


def _key(text: str) -> str:
    """Return the trace key that the id of a series spells, which may lack the outer commas or the order of names."""
    pairs = sorted(text.strip(",").split(","), key=lambda pair: pair.partition("=")[0])
    return f",{','.join(pairs)},"


def _evidence(one: Cluster) -> dict[str, Any]:
    """Return what JSON says beyond the columns: the params of the members, and what the decision rests on."""
    fields = {"params": one.params, "distances": one.distances, "centroid": one.centroid.tolist()}
    return {name: plain(value) for name, value in (fields | {"step": one.step, "evidence": one.evidence}).items()}


def show_clusters(series: Sequence[NamedSeries], method: str, parameters: dict[str, Any], output: OutputFormat) -> None:
    """Print the clusters that ``method`` makes of ``series``, the strongest step first, one row each; JSON has their evidence, too."""
    from knickpoint.detect import find_clusters

    positions, frame = aligned(series)
    found = find_clusters(frame, [_key(one.id) for one in series], method=method, **parameters)
    rows: list[dict[str, Any]] = [
        {
            "cluster": number,
            "index": None if one.step is None else one.step.index,
            "pos": None if one.step is None else positions[one.step.index],
            "size": one.size,
            "regression": one.regression,
            "interesting": one.interesting,
            "members": [series[member].id for member in one.members],
            "shared": [f"{param.name}={param.value}" for param in one.params if param.count == one.size],
        }
        for number, one in enumerate(found)
    ]
    if output is OutputFormat.JSON:
        full = [row | _evidence(one) for row, one in zip(rows, found, strict=True)]
        click.echo(json.dumps(full, indent=2, ensure_ascii=False))
        return
    show(_COLUMNS, rows, output, empty="No clusters.")
