"""Find the values of a trace that probes of bisections measured."""

from __future__ import annotations

from typing import Final

from knickpoint.model.bisection import PROBE_FACT
from knickpoint.model.commit import Line
from knickpoint.model.report import Outcome
from knickpoint.store.points.run_records import RunPoint
from knickpoint.store.points.runs import Runs

__all__ = ["remeasured_points"]

_MOST: Final = 500
"""Commits at the end of a line that are read; each costs one look at its runs."""


def remeasured_points(runs: Runs, line: Line, trace_id: int) -> list[RunPoint]:
    """Return what probes of bisections measured of a trace, by position on ``line`` and by arrival.

    They are values among those of other runs; the point of the commit is the median of them all.
    """
    positions = line.positions
    probed = sorted((slot for slot in runs.probed(line.repository) if slot in positions), key=positions.__getitem__)
    return [
        point
        for slot in probed[-_MOST:]
        for point in runs.points(trace_id, slot)
        if PROBE_FACT in point.run.environment and point.outcome is Outcome.MEASURED
    ]
