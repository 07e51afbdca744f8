"""Print the candidates of each series with every check, for ``knick detect --explain``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from knickpoint.cli.commands.detect.joint import detect_together
from knickpoint.cli.commands.detect.series import aligned, end_if_too_short, in_rows
from knickpoint.cli.commands.detect.steps import level_columns
from knickpoint.cli.evidence import check_lines, detection_lines, flipping_lines, json_ready, outcome_of
from knickpoint.cli.output import Column, OutputFormat, Row, percent, show
from knickpoint.cli.terminal import plain_json
from knickpoint.formats.series import NamedSeries
from knickpoint.model.quantity_text import figure_text
from knickpoint.model.settlement import FindingKind

if TYPE_CHECKING:
    from knickpoint.model.cluster import Cluster
    from knickpoint.model.step import Detection, Step


_COLUMNS = tuple(
    Column(name)
    for name in ("id", "index", "pos", "accepted", "reason", "check", "value", "relation", "bound", "passed")
)


def _lines(series: NamedSeries, detection: Detection) -> Iterator[str]:
    measured = np.count_nonzero(~np.isnan(series.values))
    name = f"series {series.id}" if series.id else "the series"
    yield f"{name}: {measured} measured values, method {detection.method}"
    yield from (f"  {line}" for line in detection_lines(detection))
    yield from (f"  {line}" for line in flipping_lines(detection, series.positions))
    yield f"  steps: {len(detection.steps)}"
    shown_below = {candidate.index: candidate.checks for candidate in detection.candidates}
    for step, levels in _with_levels(series, detection):
        yield f"    {_place(series, step)}: {percent(levels['relative_size'])}"
        others = (check for check in step.evidence if check not in shown_below.get(step.index, ()))
        yield from (f"      {line}" for line in check_lines(others))
    yield f"  candidates: {len(detection.candidates)}"
    for candidate in detection.candidates:
        at = f"{candidate.index} (pos {series.positions[candidate.index]})"
        yield f"    at {at}: {outcome_of(candidate)}"
        yield from (f"      {line}" for line in check_lines(candidate.checks))


def _with_levels(series: NamedSeries, detection: Detection) -> Iterator[tuple[Step, dict[str, float]]]:
    """Yield each step with the levels and the size that the table of steps shows."""
    from knickpoint.detect import estimate_sizes

    yield from zip(detection.steps, map(level_columns, estimate_sizes(series.values, detection.steps)), strict=True)


def _place(series: NamedSeries, step: Step) -> str:
    """Return the kind and the place of a finding; a drift lies between two values."""
    if step.kind is not FindingKind.DRIFT:
        return f"{step.kind.value} at {step.index} (pos {series.positions[step.index]})"
    first, last = step.previous, step.after.last
    return f"drift from {first} (pos {series.positions[first]}) to {last} (pos {series.positions[last]})"


def _rows(series: NamedSeries, detection: Detection) -> Iterator[Row]:
    for candidate in detection.candidates:
        for check in candidate.checks:
            yield {
                "id": series.id,
                "index": candidate.index,
                "pos": series.positions[candidate.index],
                "accepted": candidate.accepted,
                "reason": candidate.reason,
                "check": check.name,
                "value": check.value,
                "relation": check.relation,
                "bound": check.bound,
                "passed": check.passed,
            }


def _with_positions(series: NamedSeries, detection: Detection) -> dict[str, Any]:
    """Return a detection as JSON, with the position of each step and candidate."""
    found: dict[str, Any] = {"id": series.id, **json_ready(detection)}
    for entry, (_, levels) in zip(found["steps"], _with_levels(series, detection), strict=True):
        entry.update(json_ready(levels))
        del entry["label"]  # its place in a file is ``pos``
    for entry in (*found["steps"], *found["candidates"]):
        entry["pos"] = series.positions[entry["index"]]
    for entry in found["flipping"]:
        entry |= {f"{end}_pos": series.positions[entry[end]] for end in ("first", "last")}
    return found


def show_explanations(
    series: Sequence[NamedSeries], method: str, parameters: dict[str, str], output: OutputFormat
) -> None:
    """Print all candidates of each series with every number: as text, as JSON, or as CSV with a row for each check."""
    from knickpoint.detect import MethodKind, explain, load_method

    if load_method(method).kind is MethodKind.JOINT:
        explained = detect_together(series, method, parameters)
    else:
        explained = [
            (each, explain(each.values, method=method, samples=each.samples, **in_rows(each, parameters)))
            for each in series
            if each.positions
        ]
    if output is OutputFormat.JSON:
        click.echo(plain_json(json.dumps([_with_positions(*each) for each in explained], indent=2, ensure_ascii=False)))
    elif output is OutputFormat.CSV:
        show(_COLUMNS, (row for each in explained for row in _rows(*each)), output)
    else:
        click.echo("\n\n".join("\n".join(_lines(*each)) for each in explained) or "No values.")
    end_if_too_short(series, method, parameters)


# Group series and print the clusters, for ``knick detect`` with a method that takes groups, such as ``cluster``.


_CLUSTER_COLUMNS = (
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
    """Return the fields that JSON has beyond the columns: the params of members, and the evidence of the decision."""
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
    show(_CLUSTER_COLUMNS, rows, output, empty="No clusters.")
