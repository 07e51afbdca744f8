"""Make an instance of 40,000 traces × 250 commits with 2,000 changes, one of them with 8,400 members."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.instance import create_instance
from knickpoint.model.change_point import (
    Action,
    Direction,
    PointUpdate,
    Sighting,
    Status,
    StepNumbers,
    SuspectRange,
    Transition,
)
from knickpoint.model.commit import Commit
from knickpoint.model.query import parse_query
from knickpoint.model.report import ResultTable, RunReport
from knickpoint.model.step import StableRegion
from knickpoint.store import RunWrite, Store
from knickpoint.store.findings.groups import Membership

__all__ = ["CHANGES", "COMMITS", "LARGEST", "TRACES", "make_instance"]

TRACES: Final = 40_000
COMMITS: Final = 250
CHANGES: Final = 2_000
LARGEST: Final = 8_400
"""Members of the largest change."""

_PROCESSED: Final = 0.25
_MEAN_MEMBERS: Final = 12
_AUTHORS: Final = ("Ada Lovelace", "Grace Hopper", "Mary Somerville", "Émilie du Châtelet")


@dataclass(frozen=True, slots=True)
class _Step:
    """One change to be: where its traces step, by which factor, and which traces they are."""

    slot: int
    factor: float
    rows: NDArray[np.intp]


def _keys() -> tuple[str, ...]:
    systems, configs = ("Android", "iOS", "Linux", "Mac"), ("gpu", "8888", "gles", "vk", "pdf")
    return tuple(
        f",arch=arm64,benchmark=draw_rect_{n // 20},compiler=Clang,config={configs[n % 5]},"
        f"os={systems[n // 5 % 4]},source=skp,suite=render,unit=ms,"
        for n in range(TRACES)
    )


def _steps(random: np.random.Generator, commits: int, changes: int) -> list[_Step]:
    """Draw the changes; the one with most members is not the one that moved most."""
    sizes = [LARGEST, *(random.geometric(1 / _MEAN_MEMBERS, changes - 1).tolist())]
    return [
        _Step(
            slot=int(random.integers(20, commits - 20)),
            factor=1 + 0.02 * float(random.geometric(0.1)) * (1 if random.random() < 0.7 else -0.3),
            rows=random.choice(TRACES, size, replace=False),
        )
        for size in sizes
    ]


def _values(random: np.random.Generator, steps: Sequence[_Step], commits: int) -> NDArray[np.float32]:
    values = random.normal(100, 0.5, (TRACES, commits)).astype(np.float32)
    for step in steps:
        values[step.rows, step.slot :] *= np.float32(max(step.factor, 0.3))
    return values


def _region(values: NDArray[np.float32], first: int, last: int) -> StableRegion:
    part = values[first : last + 1].astype(np.float64)
    return StableRegion(
        first=first,
        last=last,
        count=len(part),
        minimum=float(part.min()),
        maximum=float(part.max()),
        median=float(np.median(part)),
        mean=float(part.mean()),
        variance=float(part.var()),
    )


def _changes(step: _Step, values: NDArray[np.float32], ids: Sequence[int]) -> Iterator[PointUpdate]:
    """Describe the members of one change as its alert saw them."""
    for row in step.rows.tolist():
        before = _region(values[row], step.slot - 15, step.slot - 1)
        after = _region(values[row], step.slot, step.slot + 14)
        size = after.median - before.median
        seen = Sighting(
            alert="default",
            trace_id=ids[row],
            suspect_range=SuspectRange("main", step.slot - 1, step.slot),
            movement=1 if size > 0 else -1,
            direction=Direction.REGRESSION if size > 0 else Direction.IMPROVEMENT,
            interval=1,
            numbers=StepNumbers(
                before=before,
                after=after,
                before_level=before.median,
                after_level=after.median,
                deviation=0.5,
                size=size,
                relative_size=size / before.median,
                hazard=float(np.log(before.mean / after.mean)),
                score=abs(size),
                p_value=0.001,
                order=0,
                method="default",
            ),
        )
        yield PointUpdate(Transition.NEW, 0, ids[row], (seen,))


def _commits(count: int) -> Iterator[Commit]:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(count):
        author = _AUTHORS[number % len(_AUTHORS)]
        yield Commit(f"{number:040x}", author, "", begin + timedelta(hours=5 * number), f"Change number {number}")


def _write_values(store: Store, values: NDArray[np.float32]) -> None:
    """Write a run a commit, as an import does."""
    repository = store.commits.add_repository("bench")
    slots = list(store.commits.add(repository, _commits(values.shape[1])).values())
    store.commits.set_line(repository, "main", slots)
    codes, small = np.zeros(TRACES, dtype=np.uint16), np.zeros(TRACES, dtype=np.uint8)
    keys, offsets = _keys(), np.arange(TRACES + 1)
    for position, slot in enumerate(slots):
        table = ResultTable(keys, values[:, position].astype(np.float64), offsets, ("ms",), codes, small, small)
        name = f"file-{position}"
        with store.transaction():
            store.runs.write(repository, [RunWrite(slot, RunReport(table), name, name, name)])
    store.seal(everything=True)


def _write_findings(store: Store, values: NDArray[np.float32], steps: Sequence[_Step]) -> None:
    """Write the changes, each set apart from the others at its commit, and acknowledge some of them."""
    (repository,) = store.commits.repositories()
    ids = store.traces.select(repository, parse_query("")).tolist()
    traces = {trace.id: trace for trace in store.traces.get(ids)}
    done = int(len(steps) * (1 - _PROCESSED))
    with store.transaction():
        for number, step in enumerate(steps):
            points = store.findings.apply(repository, list(_changes(step, values, ids)), traces)
            place = SuspectRange("main", step.slot - 1, step.slot)
            store.findings.groups.write(repository, [Membership(0, place, tuple(points))])
            status = Status.ACKNOWLEDGED if number > done else None
            store.findings.triage.decide(points, status, "ada", action=Action.SPLIT)


def make_instance(directory: Path, *, commits: int = COMMITS, changes: int = CHANGES) -> None:
    """Make the instance in ``directory``, or one with fewer ``commits`` and ``changes``: the same whenever it is made."""
    random = np.random.default_rng(7)
    steps = _steps(random, commits, changes)
    values = _values(random, steps, commits)
    with create_instance(directory) as instance:
        _write_values(instance.store, values)
        _write_findings(instance.store, values, steps)
