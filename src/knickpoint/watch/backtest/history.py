"""What a backtest replays and compares with: commits with values, and labels as places in traces.

It is read from an instance, or from a corpus of labelled examples, which ``knick quality corpus --values`` writes: JSON
Lines, one label a row, the series in the first row of its trace. So methods can be compared on the decisions of other
people, without their instance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.change_point import Condition, Direction, LineInterval, SuspectRange
from knickpoint.model.commit import NO_TIME, Commit, Line, Repository
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Trace
from knickpoint.model.quality import Label
from knickpoint.model.unit import read_unit
from knickpoint.model.unit_names import Better
from knickpoint.store import PointSamples, Store
from knickpoint.watch.lines import Lines
from knickpoint.watch.missed_changes import list_missed

# What a backtest replays: commits of one line in order, and the values of some traces at them.


@dataclass(frozen=True)
class ReplayHistory:
    """Values of ``traces`` at ``commits``, shape (traces, commits), nan for missing.

    The replay begins behind the position ``start``: what is there up to it is known before, and is history; -1 begins
    with nothing. ``samples`` are what runs measured behind the values, None where the replay judges values alone.
    ``release`` is the position of the release with which the alert compares drifts, -1 for none.
    """

    repository: str
    commits: Sequence[Commit]
    traces: Sequence[Trace]
    values: NDArray[np.float64]
    start: int = -1
    samples: PointSamples | None = None
    release: int = -1


def read_history(
    store: Store, line: Line, trace_ids: Sequence[int], start: int, *, samples: bool = False
) -> ReplayHistory:
    """Read what is to be replayed of ``trace_ids`` on ``line``, with the ``samples`` of runs where these count."""
    slotted = {each.slot: each.commit for each in store.commits.get(line.repository, list(line.slots))}
    values = np.asarray(store.frames.values(line, trace_ids), dtype=np.float64)
    return ReplayHistory(
        repository=line.repository.name,
        commits=[slotted[slot] for slot in line.slots],
        traces=store.traces.get(trace_ids),
        values=values,
        start=start,
        samples=store.samples.read(line, np.array(trace_ids, dtype=np.int64)) if samples else None,
    )


# The labels that a backtest compares with: decisions of people and missed changes, as places in traces.


@dataclass(frozen=True, slots=True)
class PlacedLabel:
    """A label at a place: the change lies in the positions (``previous``, ``position``] of the line.

    ``name`` is the id of the finding or of the missed change (``P12``, ``M3``), "" in a corpus. ``relative_size`` is
    nan where it is not known.
    """

    name: str
    trace_id: int
    trace_key: str
    label: Label
    previous: int
    position: int
    movement: int
    interval: int
    direction: Direction
    relative_size: float


def read_labels(store: Store, repository: Repository, line: Line, trace_ids: Collection[int]) -> list[PlacedLabel]:
    """Return the labels in ``trace_ids`` on ``line``, by trace and position.

    Findings without a decision are among them, as UNDECIDED, while the data show them. A missed change is REAL; where a
    decided finding is the same change by now, that finding stands for it.
    """
    lines = Lines(store, repository)
    by_name: dict[str, PlacedLabel] = {}
    for record in store.findings.records.all(repository):
        interval = _interval(line, lines, record.suspect_range)
        if interval is None or (record.label is Label.UNDECIDED and record.condition is Condition.GONE):
            continue
        by_name[f"P{record.id}"] = PlacedLabel(
            name=f"P{record.id}",
            trace_id=record.trace_id,
            trace_key=record.trace_key,
            label=record.label,
            previous=interval.previous,
            position=interval.position,
            movement=record.movement,
            interval=record.interval,
            direction=record.direction,
            relative_size=record.relative_size,
        )
    for listed in list_missed(store, repository):
        change, point = listed.change, listed.point
        interval = _interval(line, lines, change.suspect_range)
        twin = by_name.get(f"P{point.id}") if point else None
        if interval is None or (twin is not None and twin.label is not Label.UNDECIDED):
            continue
        if twin is not None:
            del by_name[twin.name]
        by_name[f"M{change.id}"] = PlacedLabel(
            name=f"M{change.id}",
            trace_id=change.trace_id,
            trace_key=change.trace_key,
            label=Label.REAL,
            previous=interval.previous,
            position=interval.position,
            movement=change.movement,
            interval=point.interval if point else 0,
            direction=listed.direction,
            relative_size=point.numbers.relative_size if point else math.nan,
        )
    ids = set(trace_ids)
    chosen = [label for label in by_name.values() if label.trace_id in ids]
    return sorted(chosen, key=lambda label: (label.trace_id, label.position, label.previous, label.movement))


def _interval(line: Line, lines: Lines, suspect_range: SuspectRange) -> LineInterval | None:
    """Return the positions of a suspect range on ``line``, None where it lies on another line or has left it."""
    return suspect_range.on(line) if lines.line(suspect_range.line).name == line.name else None


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
