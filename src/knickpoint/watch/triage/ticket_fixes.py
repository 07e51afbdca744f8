"""Compare a closed ticket with the data: are its traces back at their level before, from the fixing revision on?

The level since the fix is the median of up to 20 values from that commit on. A trace counts as fixed where at most a third of its
change is left, or where it went further than back. Fewer than 3 values say nothing yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from knickpoint.model.change_point import ChangePoint
from knickpoint.model.commit import Repository
from knickpoint.model.ticket import FixVerdict
from knickpoint.store import Store
from knickpoint.watch.lines import Lines

__all__ = ["compare_fix"]

_FEWEST_VALUES: Final = 3
_MOST_VALUES: Final = 20
_MOST_COMMITS: Final = 500
"""Commits after the fix in which values are looked for."""

_MOST_POINTS: Final = 1000
_LEFT: Final = 1 / 3
"""The share of a change that may be left, as for findings that have recovered."""


def compare_fix(store: Store, repository: Repository, points: Sequence[ChangePoint], revision: str) -> FixVerdict:
    """Return what the values since the commit ``revision`` say about the change points of a ticket.

    At most 1,000 of them are compared. NOT_MEASURED stands for an unknown commit as well.
    """
    commit = store.commits.find(repository, revision)
    if commit is None:
        return FixVerdict.NOT_MEASURED
    # Read the values of each line together.
    lines = Lines(store, repository)
    by_line: dict[str, list[ChangePoint]] = defaultdict(list)
    for point in points[:_MOST_POINTS]:
        by_line[lines.line(point.suspect_range.line).name].append(point)
    verdicts: set[FixVerdict] = set()
    for name, found in by_line.items():
        line = lines.line(name)
        first = line.positions.get(commit.slot)
        if first is None:
            continue
        last = min(first + _MOST_COMMITS, len(line.slots)) - 1
        values = np.asarray(
            store.frames.values(line, [point.trace_id for point in found], first=first, last=last), dtype=np.float64
        )
        verdicts |= {_verdict(point, row[~np.isnan(row)]) for point, row in zip(found, values, strict=True)}
    for verdict in (FixVerdict.NOT_FIXED, FixVerdict.FIXED):
        if verdict in verdicts:
            return verdict
    return FixVerdict.NOT_MEASURED


def _verdict(point: ChangePoint, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> FixVerdict:
    if len(values) < _FEWEST_VALUES:
        return FixVerdict.NOT_MEASURED
    before, after = point.numbers.before_level, point.numbers.after_level
    level = float(np.median(values[:_MOST_VALUES]))
    left = (level - before) / (after - before)
    return FixVerdict.FIXED if left <= _LEFT else FixVerdict.NOT_FIXED
