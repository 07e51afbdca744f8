"""Read a corpus of labelled examples back, as histories with labels that an alert is replayed over.

The corpus is what ``knick quality corpus --values`` writes: JSON Lines, one label a row, the series in the first row of
its trace. So methods can be compared on the decisions of other people, without their instance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.change_point import Direction
from knickpoint.model.commit import NO_TIME, Commit
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Trace
from knickpoint.model.quality import Label
from knickpoint.model.unit import read_unit
from knickpoint.model.unit_names import Better
from knickpoint.watch.backtest.history import PlacedLabel, ReplayHistory

_REMEDY: Final = "Write it with knick quality corpus --values."

Row = Mapping[str, Any]


@dataclass(frozen=True)
class LabelledHistory:
    """The series of one line of one repository, and the labels of their changes."""

    history: ReplayHistory
    labels: tuple[PlacedLabel, ...]


@dataclass
class _Part:
    """What was read so far of one line of one repository."""

    repository: str
    traces: dict[tuple[str, str], int] = field(default_factory=dict)
    named: list[Trace] = field(default_factory=list)
    series: list[NDArray[np.float64]] = field(default_factory=list)
    labels: list[PlacedLabel] = field(default_factory=list)
    hashes: dict[int, str] = field(default_factory=dict)


def read_corpus(lines: Iterable[str], name: str) -> list[LabelledHistory]:
    """Return the histories in the ``lines`` of the corpus ``name``, by repository and line.

    Positions without a label have no commit in a corpus; they are called ``position-12``.

    Raises:
        InputError: a line is not a row of a corpus, or a trace has no series.
    """
    parts: dict[tuple[str, str], _Part] = {}
    for number, text in enumerate(lines, start=1):
        if text.strip():
            where = f"{name}, line {number}"
            row = _row(text, where)
            part = parts.setdefault((row["repository"], row["line"]), _Part(row["repository"]))
            _add(part, row, where)
    if not parts:
        raise InputError("the corpus has no rows", where=name, remedy=_REMEDY)
    return [_labelled(part) for _, part in sorted(parts.items())]


_TEXTS: Final = ("repository", "line", "trace", "unit", "previous_commit", "commit")
_NUMBERS: Final = ("previous", "position", "movement")


def _row(text: str, where: str) -> Row:
    """Return a row whose texts and numbers have their types."""
    try:
        row = json.loads(text)
    except ValueError as error:
        raise InputError(f"the line is not JSON: {error}", where=where, remedy=_REMEDY) from None
    if not isinstance(row, dict):
        _refuse("the line is not an object", where)
    for names, kind in ((_TEXTS, str), (_NUMBERS, int)):
        for name in names:
            if type(row.get(name)) is not kind:
                _refuse(f"{name} is {row.get(name)!r}", where)
    return row


def _add(part: _Part, row: Row, where: str) -> None:
    """Add the label of ``row``, and its series where it brings one."""
    try:
        better, label, direction = Better(row.get("better")), Label(row.get("label")), Direction(row.get("direction"))
    except ValueError as error:
        _refuse(str(error), where)
    key = (row["trace"], row["unit"])
    if "values" in row and key not in part.traces:
        part.traces[key] = len(part.named)
        unit = read_unit(row["unit"])
        part.named.append(Trace(len(part.named), row["trace"], unit.text, unit.dimension, better))
        part.series.append(_series(row["values"], where))
    if key not in part.traces:
        _refuse(f"the trace {row['trace']} has no values in its first row", where)
    index = part.traces[key]
    size = part.series[index].size
    if size != part.series[0].size:
        _refuse(f"the series has {size:,} values, the first one of its line {part.series[0].size:,}", where)
    if not -1 <= row["previous"] < row["position"] < size or row["movement"] not in {1, -1}:
        _refuse(f"the change in ({row['previous']}, {row['position']}] by {row['movement']} is not a place", where)
    part.hashes[row["previous"]], part.hashes[row["position"]] = row["previous_commit"], row["commit"]
    part.labels.append(
        PlacedLabel(
            name="",
            trace_id=index,
            trace_key=row["trace"],
            label=label,
            previous=row["previous"],
            position=row["position"],
            movement=row["movement"],
            interval=_whole(row.get("interval")),
            direction=direction,
            relative_size=_number(row.get("relative_size")),
        )
    )


def _series(values: object, where: str) -> NDArray[np.float64]:
    if not isinstance(values, list) or not all(value is None or type(value) in {int, float} for value in values):
        _refuse("values is not a list of numbers and nulls", where)
    return np.array([math.nan if value is None else value for value in values], dtype=np.float64)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _refuse(what: str, where: str) -> NoReturn:
    raise InputError(what, where=where, remedy=_REMEDY)


def _labelled(part: _Part) -> LabelledHistory:
    values = np.vstack(part.series)
    commits = [
        Commit(part.hashes.get(position, f"position-{position}"), "", "", NO_TIME, "")
        for position in range(values.shape[1])
    ]
    return LabelledHistory(ReplayHistory(part.repository, commits, part.named, values), tuple(part.labels))
