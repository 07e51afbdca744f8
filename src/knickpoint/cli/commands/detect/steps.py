"""Find and print the steps of series for ``knick detect``, or all candidates with every check for ``--explain``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click
import numpy as np

from knickpoint.cli.commands.detect.series import aligned, detect_together, end_if_too_short, in_rows, names_positions
from knickpoint.cli.evidence import check_lines, detection_lines, flipping_lines, json_ready, outcome_of
from knickpoint.cli.output import Column, OutputFormat, Row, percent, show
from knickpoint.cli.terminal import Progress, note, plain_json
from knickpoint.formats.series import NamedSeries
from knickpoint.model.quantity_text import figure_text, interval_text
from knickpoint.model.settlement import FindingKind

if TYPE_CHECKING:
    from knickpoint.model.cluster import Cluster
    from knickpoint.model.step import Detection, SizeEstimate, Step


_VALUES_AT_ONCE: Final = 1_000_000
"""Values judged together: enough to occupy all cores, and few enough to report progress every second or two."""

_MOST_DESCRIBED: Final = 100
"""Series of which the table also says that they flip between levels."""


def _short(value: float) -> str:
    return figure_text(value, ".6g")


_STEP_COLUMNS = (
    Column("id", "series"),
    Column("index", right=True, text=str),
    Column("pos", right=True),
    Column("kind"),
    Column("previous", right=True),
    Column("movement"),
    Column("until", text=lambda position: position or "–", right=True),
    Column("before_level", "before", _short, right=True),
    Column("after_level", "after", _short, right=True),
    Column("relative_size", "change", percent, right=True),
    Column("between", "95 %", right=True),
    Column("score", text=_short, right=True),
    Column("p_value", "p", lambda p: "–" if p is None else figure_text(p, ".2g"), right=True),
)

_DETAILS = (
    *(Column(name) for name in ("size", "low", "high", "sign", "slope", "hazard", "order", "method")),
    *(
        Column(f"{side}_{name}")
        for side in ("before", "after")
        for name in ("first", "last", "count", "minimum", "maximum", "median", "mean", "variance")
    ),
)

_DATA = (*(column for column in _STEP_COLUMNS if column.name != "between"), *_DETAILS)
"""The columns for programs, which have both ends of the interval as numbers."""


def level_columns(size: SizeEstimate) -> dict[str, float]:
    """The levels on both sides of a step, and its size by these."""
    moved = size.after - size.before
    relative = moved / abs(size.before) if size.before else math.copysign(math.inf, moved) if moved else 0.0
    return {"before_level": size.before, "after_level": size.after, "size": moved, "relative_size": relative}


def _row(series: NamedSeries, step: Step, size: SizeEstimate) -> Row:
    regions = {
        f"{side}_{name}": getattr(region, name)
        for side, region in (("before", step.before), ("after", step.after))
        for name in ("first", "last", "count", "minimum", "maximum", "median", "mean", "variance")
    }
    return {
        "id": series.id,
        "kind": step.kind.value,
        "index": step.index,
        "pos": series.positions[step.index],
        "previous": step.previous,
        "until": series.positions[step.after.last] if step.kind is FindingKind.DRIFT else "",
        **level_columns(size),
        "movement": step.movement.value,
        "low": size.low,
        "high": size.high,
        "sign": size.sign,
        "slope": step.estimate and step.estimate.slope,
        "between": interval_text(size.before, size.low, size.high, ""),
        "hazard": step.hazard,
        "score": step.score,
        "p_value": step.p_value,
        "order": step.order,
        "method": step.method,
        **regions,
    }


def _detect(series: NamedSeries, method: str, parameters: dict[str, str]) -> list[Step]:
    from knickpoint.detect import find_steps

    return find_steps(series.values, method=method, samples=series.samples, **in_rows(series, parameters))


def _detect_each(series: list[NamedSeries], method: str, parameters: dict[str, str]) -> list[list[Step]]:
    """Return the steps of each series by itself, because a parameter depends on its positions, or it has samples."""
    found: list[list[Step]] = []
    with Progress("Detecting") as progress:
        for each in series:
            steps = _detect(each, method, parameters) if each.positions else []
            found.append(steps)
            progress(len(found), len(series))
    return found


def _detect_frames(series: list[NamedSeries], method: str, parameters: dict[str, str]) -> list[list[Step]]:
    """Return the steps of each series; series of one length are judged together, on every core."""
    from knickpoint.detect import find_steps_many

    by_length: dict[int, list[int]] = {}
    for row, each in enumerate(series):
        by_length.setdefault(each.values.size, []).append(row)
    found: list[list[Step]] = [[] for _ in series]
    done = 0
    with Progress("Detecting") as progress:
        for length, rows in by_length.items():
            most = max(1, _VALUES_AT_ONCE // max(1, length))
            for part in (rows[first : first + most] for first in range(0, len(rows), most)):
                frame = np.array([series[row].values for row in part])
                for row, steps in zip(part, find_steps_many(frame, method=method, **parameters), strict=True):  # type: ignore[arg-type]
                    found[row] = steps
                done += len(part)
                progress(done, len(series))
    return found


def show_steps(series: list[NamedSeries], method: str, parameters: dict[str, str], output: OutputFormat) -> None:
    """Print the steps of each series, one row each."""
    from knickpoint.detect import MethodKind, estimate_sizes, load_method

    if load_method(method).kind is MethodKind.JOINT:
        found = [(each, detection.steps) for each, detection in detect_together(series, method, parameters)]
    else:
        detect = _detect_each if names_positions(parameters) or any(each.samples for each in series) else _detect_frames
        found = [(each, tuple(steps)) for each, steps in zip(series, detect(series, method, parameters), strict=True)]
    rows = [
        _row(each, step, size)
        for each, steps in found
        for step, size in zip(steps, estimate_sizes(each.values, steps), strict=True)
    ]
    columns = _STEP_COLUMNS if output is OutputFormat.TEXT else _DATA
    if rows or output is not OutputFormat.TEXT:
        show(columns, rows, output)
    end_if_too_short(series, method, parameters)
    if output is OutputFormat.TEXT:
        if not rows:
            note("No steps.")
        if len(series) <= _MOST_DESCRIBED:
            _show_flipping(series, method, parameters)


def _explain(series: NamedSeries, method: str, parameters: dict[str, str]) -> Detection:
    from knickpoint.detect import explain

    return explain(series.values, method=method, samples=series.samples, **in_rows(series, parameters))


def _show_flipping(series: list[NamedSeries], method: str, parameters: dict[str, str]) -> None:
    """Print which of the series flip between levels, where the method recognises that."""
    from knickpoint.detect import MethodKind, load_method

    if not (load_method(method).kind is MethodKind.SERIES and "modes" in load_method(method).parameters):
        return
    for each in series:
        detection = _explain(each, method, parameters) if each.positions else None
        for line in flipping_lines(detection, each.positions) if detection else ():
            click.echo(f"series {each.id!r} {line}" if each.id else f"the series {line}")


_CHECK_COLUMNS = tuple(
    Column(name)
    for name in ("id", "index", "pos", "accepted", "reason", "check", "value", "relation", "bound", "passed")
)


def _lines(series: NamedSeries, detection: Detection) -> Iterator[str]:
    measured = np.count_nonzero(~np.isnan(series.values))
    name = f"series {series.id!r}" if series.id else "the series"
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
        show(_CHECK_COLUMNS, (row for each in explained for row in _rows(*each)), output)
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
