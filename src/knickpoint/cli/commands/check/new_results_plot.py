"""Draw what fails a check: the history, and the new results behind it as the change that they make."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from knickpoint.cli.commands.check.printing import ReportPlots
from knickpoint.model.change_point import direction_of
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better
from knickpoint.plots import FocusedChange, Level, Trend, draw_trend, svg
from knickpoint.watch.lines import Lines
from knickpoint.watch.trend import read_trend

if TYPE_CHECKING:
    from knickpoint.gate import GateReport
    from knickpoint.instance import Instance
    from knickpoint.model.judged_benchmark import JudgedBenchmark

_MOST_PICTURES: Final = 20


def draw_failures(opened: Instance, report: GateReport) -> ReportPlots:
    """Return the plots of what fails the check and has a history."""
    store, results = opened.store, report.results
    wanted = [(row, row.trace_id) for row in report.failures if row.trace_id is not None][:_MOST_PICTURES]
    owners = {repository.id: repository for repository in store.commits.repositories()}
    traces = {trace.id: trace for trace in store.traces.get([number for _, number in wanted])}
    pictures, histories = {}, {}
    for row, number in wanted:
        repository = owners[store.traces.owners([number])[number]]
        line = store.commits.line(repository, results.line)
        read = read_trend(store, Lines(store, repository), traces[number], line)
        trend = _up_to(read, line.positions[results.newest]) if results.newest in line.positions else read
        pictures[row.trace] = svg(draw_trend(_with_new_results(trend, row))).decode()
        histories[row.trace] = trend.values.tolist()
    return ReportPlots(pictures, histories)


def _up_to(trend: Trend, position: int) -> Trend:
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


def _with_new_results(trend: Trend, row: JudgedBenchmark) -> Trend:
    """Return ``trend`` with the new value of ``row`` behind its last commit, in focus.

    As it is where there is no value.
    """
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
            relative_size=row.relative_size,
            direction=direction_of(size, better),
        ),
    )
