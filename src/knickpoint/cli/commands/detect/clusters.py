"""Group series and print the clusters, for ``knick detect`` with a method that takes groups, such as ``cluster``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from knickpoint.cli.commands.detect.frame import aligned
from knickpoint.cli.evidence import json_ready
from knickpoint.cli.output import Column, OutputFormat, Row, show
from knickpoint.cli.terminal import plain_json
from knickpoint.formats.series import NamedSeries
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.model.cluster import Cluster

__all__ = ["show_clusters"]

_COLUMNS = (
    Column("cluster", right=True),
    Column("index", text=lambda index: "–" if index is None else str(index), right=True),
    Column("pos", text=lambda position: position or "–", right=True),
    Column("size", "traces", right=True),
    Column("regression", text=lambda value: figure_text(value, "+.3g"), right=True),
    Column("interesting", text=lambda interesting: "yes" if interesting else "no"),
    Column("members", text=lambda members: " ".join(members[:3]) + (" …" if len(members) > 3 else "")),
    Column("shared", "in common", text=" ".join),
)


def _key(text: str) -> str:
    """Return the id of a series as a trace key: with outer commas, and names in order."""
    pairs = sorted(text.strip(",").split(","), key=lambda pair: pair.partition("=")[0])
    return f",{','.join(pairs)},"


def _evidence(cluster: Cluster) -> dict[str, Any]:
    """Return what JSON has beyond the columns: the params of the members, and the evidence of the decision."""
    fields = {"params": cluster.params, "distances": cluster.distances, "centroid": cluster.centroid.tolist()}
    fields |= {"step": cluster.step, "evidence": cluster.evidence}
    return {name: json_ready(value) for name, value in fields.items()}


def show_clusters(
    series: Sequence[NamedSeries], method: str, parameters: Mapping[str, str], output: OutputFormat
) -> None:
    """Print the clusters of ``series``, the strongest step first, one row each; JSON includes their evidence."""
    from knickpoint.detect import find_clusters

    positions, frame = aligned(series)
    found = find_clusters(frame, [_key(each.id) for each in series], method=method, **parameters)
    rows: list[Row] = [
        {
            "cluster": number,
            "index": None if cluster.step is None else cluster.step.index,
            "pos": None if cluster.step is None else positions[cluster.step.index],
            "size": cluster.size,
            "regression": cluster.regression,
            "interesting": cluster.interesting,
            "members": [series[member].id for member in cluster.members],
            "shared": [f"{param.name}={param.value}" for param in cluster.params if param.count == cluster.size],
        }
        for number, cluster in enumerate(found)
    ]
    if output is OutputFormat.JSON:
        full = [{**row, **_evidence(cluster)} for row, cluster in zip(rows, found, strict=True)]
        click.echo(plain_json(json.dumps(full, indent=2, ensure_ascii=False)))
        return
    show(_COLUMNS, rows, output, empty="No clusters.")
