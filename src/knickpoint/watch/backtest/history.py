"""What a backtest replays and compares with: commits with values, and labels as places in traces."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.change_point import Condition, Direction, LineInterval, SuspectRange
from knickpoint.model.commit import Commit, Line, Repository
from knickpoint.model.frame import Trace
from knickpoint.model.quality import Label
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
