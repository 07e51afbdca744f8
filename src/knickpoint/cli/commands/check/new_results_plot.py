"""Put new results behind the history of a plot, as the change that they make."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from knickpoint.model.change import direction_of
from knickpoint.model.step import Verdict
from knickpoint.model.unit import Better
from knickpoint.plots import FocusedChange, Level, Trend

if TYPE_CHECKING:
    from knickpoint.reports import GateRow

__all__ = ["up_to", "with_new_results"]


def up_to(trend: Trend, position: int) -> Trend:
    """Return ``trend`` without what comes after ``position``, the last commit that new results are compared with."""
    kept = trend.positions <= position
    positions = trend.positions[kept]
    return replace(
        trend,
        last=int(positions[-1]) if len(positions) else trend.first,
        positions=positions,
        values=trend.values[kept],
        marks=tuple(mark for mark in trend.marks if mark.position <= position),
        tickets=tuple(ticket for ticket in trend.tickets if ticket.position <= position),
    )


def with_new_results(trend: Trend, row: GateRow) -> Trend:
    """Return ``trend`` with the new value of ``row`` behind its last commit, in focus; as it is where there is no value."""
    if math.isnan(row.after) or math.isnan(row.before) or not trend.positions.size:
        return trend
    names = trend.commit_name
    new = trend.last + 1
    size = row.after - row.before
    worse = row.verdict is Verdict.REGRESSED
    better = Better.LOWER if (size > 0) is worse else Better.HIGHER
    return replace(
        trend,
        last=new,
        positions=np.append(trend.positions, new),
        values=np.append(trend.values, row.after),
        commit_name=lambda position: ("new results", "") if position == new else names(position),
        focus=FocusedChange(
            previous=trend.last,
            position=new,
            before=Level(int(trend.positions[0]), trend.last, row.before),
            after=Level(new, new, row.after),
            relative_size=row.relative,
            direction=direction_of(size, better),
        ),
    )
