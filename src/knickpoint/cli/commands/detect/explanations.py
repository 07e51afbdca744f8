"""Print the candidates of each series with every check, for ``knick detect --explain``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from knickpoint.cli.commands.detect.joint import detect_together
from knickpoint.cli.commands.detect.positions import in_rows
from knickpoint.cli.commands.detect.short_series import end_if_too_short
from knickpoint.cli.commands.detect.steps import level_columns
from knickpoint.cli.evidence import check_lines, detection_lines, flipping_lines, json_ready, outcome_of
from knickpoint.cli.output import Column, OutputFormat, Row, percent, show
from knickpoint.cli.terminal import plain_json
from knickpoint.formats.series import NamedSeries
from knickpoint.model.settlement import FindingKind

if TYPE_CHECKING:
    from knickpoint.model.step import Detection, Step

__all__ = ["show_explanations"]

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
    """Return what was found, and where; a drift lies between two values."""
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
