"""Find and print the steps of series, for ``knick detect``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import click
import numpy as np

from knickpoint.cli.commands.detect.joint import detect_together
from knickpoint.cli.commands.detect.series import end_if_too_short, in_rows, names_positions
from knickpoint.cli.evidence import flipping_lines
from knickpoint.cli.output import Column, OutputFormat, Row, percent, show
from knickpoint.cli.progress import Progress
from knickpoint.cli.terminal import note
from knickpoint.formats.series import NamedSeries
from knickpoint.model.quantity_text import figure_text, interval_text
from knickpoint.model.settlement import FindingKind

if TYPE_CHECKING:
    from knickpoint.model.step import Detection, SizeEstimate, Step

_VALUES_AT_ONCE: Final = 1_000_000
"""Values judged together: enough to occupy all cores, and few enough to report progress every second or two."""

_MOST_DESCRIBED: Final = 100
"""Series of which the table also says that they flip between levels."""


def _short(value: float) -> str:
    return figure_text(value, ".6g")


_COLUMNS = (
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

_DATA = (*(column for column in _COLUMNS if column.name != "between"), *_DETAILS)
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
    columns = _COLUMNS if output is OutputFormat.TEXT else _DATA
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
            click.echo(f"series {each.id} {line}" if each.id else f"the series {line}")
