"""Read what a plot of a trace shows: its values near a change, the levels there, other changes, and tickets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.patterns.distribution import describe_values
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint, Condition
from knickpoint.model.commit import Line
from knickpoint.model.distribution import distribution_text
from knickpoint.model.errors import InputError, QueryError
from knickpoint.model.frame import Trace
from knickpoint.model.params import decode_key
from knickpoint.model.quantity_text import trace_name
from knickpoint.model.query import Query, parse_query
from knickpoint.model.settlement import FindingKind
from knickpoint.model.step import StableRegion
from knickpoint.model.summary import MEDIAN, read_summary
from knickpoint.plots import ChangeMark, FocusedChange, Level, TicketMark, Trend
from knickpoint.store import Store
from knickpoint.watch.detection.commit_values import read_summaries
from knickpoint.watch.lines import Lines

# What a finding is about, where its levels alone do not say it: the number of the samples, or the distribution on both
# sides.


def finding_note(
    point: ChangePoint, alerts: Iterable[Alert], line: Line, values: NDArray[np.floating[Any]] | None
) -> str:
    """Describe the levels of ``point``, or the change of its distribution; "" if the levels say all.

    ``alerts`` are those in force, ``values`` the points of its trace on ``line``, None where they were not read.
    """
    note = summary_note([alert for alert in alerts if alert.name in point.alerts])
    if note or not point.kind.changes_distribution or values is None:
        return note
    sides = [_between(point_side, line.positions) for point_side in (point.numbers.before, point.numbers.after)]
    return distribution_note(values, sides, point.unit)


def summary_note(alerts: Sequence[Alert]) -> str:
    """Name the statistic of the samples that ``alerts`` judged, as in `p99 of the samples`; "" if they differ."""
    name = summary_name(alerts)
    return summary_text(name) if name else ""


def summary_text(name: str) -> str:
    """Return the usual name of a summary: `p99 of the samples`."""
    return f"{name} of the samples"


def summary_name(alerts: Sequence[Alert]) -> str:
    """Return the summary that ``alerts`` judged, as `p99`; "" where they are not all about one."""
    names = {alert.summary for alert in alerts}
    return names.pop() if len(names) == 1 else ""


def distribution_note(values: NDArray[np.floating[Any]], sides: Sequence[tuple[int, int]], unit: str) -> str:
    """Compare the distributions of ``values`` from the first to the last column of both ``sides``.

    "" if one has none.
    """
    parts = [np.asarray(values[first : last + 1], dtype=np.float64) for first, last in sides]
    measured = [part[~np.isnan(part)] for part in parts]
    if not all(part.size for part in measured):
        return ""
    before, after = map(describe_values, measured)
    return distribution_text(before, after, unit)


def _between(region: StableRegion, positions: Mapping[int, int]) -> tuple[int, int]:
    """Return the positions that a region reaches from and to; nothing where its commits are not on the line."""
    return positions.get(region.first, 0), positions.get(region.last, -1)


NEAR: Final = 150
"""Measured commits on each side of a change that a plot in a message shows."""
_MOST_TICKETS: Final = 20_000


def focus_at(points: Sequence[ChangePoint], line: Line, slot: int | None) -> ChangePoint | None:
    """Return the change that a plot is about: the one nearest to the commit ``slot``, else the newest one.

    ``points`` are the change points of the trace; those that are gone or not on ``line`` do not count.
    """
    live = [
        each for each in points if each.condition is not Condition.GONE and each.suspect_range.slot in line.positions
    ]
    at = line.positions.get(slot, len(line.slots)) if slot is not None else len(line.slots)
    return min(live, key=lambda each: (abs(line.positions[each.suspect_range.slot] - at), each.id), default=None)


def read_trend(
    store: Store,
    lines: Lines,
    trace: Trace,
    line: Line,
    *,
    focus: ChangePoint | None = None,
    near: int | None = None,
    marks: bool = True,
) -> Trend:
    """Read the plot of ``trace`` on ``line``, with the change ``focus`` and its levels.

    A change that was found in a number of the samples, such as `p99`, is drawn with the values of that number, and the
    plot says so; with the points of the trace where no samples are kept. ``near`` leaves out what is more measured
    commits away from the focus. ``marks`` adds other changes and tickets.
    """
    summary = _judged_summary(store, focus)
    values = _summary_values(store, trace, line, summary) if summary else None
    note = summary_text(summary) if values is not None else ""
    if values is None:
        values = np.asarray(store.frames.values(line, [trace.id])[0], dtype=np.float64)
    positions = np.flatnonzero(~np.isnan(values))
    change = _focused(focus, line, positions) if focus else None
    if change and near is not None and len(positions):
        at = int(np.searchsorted(positions, change.position))
        positions = positions[max(0, at - near) : at + near]
    params = decode_key(trace.key)
    name, rest = trace_name(params)
    return Trend(
        name=name,
        params=", ".join(filter(None, (rest, note))),
        unit=trace.unit,
        first=int(positions[0]) if len(positions) else 0,
        last=int(positions[-1]) if len(positions) else 0,
        positions=positions,
        values=values[positions],
        commit_name=_CommitNames(store, line).name,
        focus=change,
        marks=_marks(store, trace, line, focus) if marks else (),
        tickets=_tickets(store, lines, line, params) if marks else (),
    )


def _judged_summary(store: Store, focus: ChangePoint | None) -> str:
    """Return the number of the samples that a change was found in, as `p99`; "" for the points of its trace."""
    if focus is None or not focus.change_id:
        return ""
    alerts = store.findings.alerts_of_changes({focus.change_id}).get(focus.change_id, ())
    name = summary_name([alert for alert in alerts if alert.name in focus.alerts])
    return "" if name == MEDIAN.name else name


def _summary_values(store: Store, trace: Trace, line: Line, summary: str) -> NDArray[np.float64] | None:
    """Return a number of the samples at each position of ``line``, None where there are samples for it nowhere."""
    values = read_summaries(store, store.frames.read(line, [trace.id]), read_summary(summary))[0]
    return None if np.isnan(values).all() else values


def _focused(point: ChangePoint, line: Line, positions: NDArray[np.int64]) -> FocusedChange | None:
    """Return the change with its levels as far as they reach; None where its commit is not on ``line``."""
    interval = point.suspect_range.on(line)
    if interval is None:
        return None
    previous, position = interval.previous, interval.position
    numbers = point.numbers
    last = int(positions[-1]) if len(positions) else position
    begin = line.positions.get(numbers.before.first, previous)
    end = line.positions.get(numbers.after.last, last)
    levels = numbers.before_level, numbers.after_level
    noisy = point.kind is FindingKind.NOISE
    before, after = (numbers.before.median, numbers.after.median) if noisy else levels
    return FocusedChange(
        previous=previous,
        position=position,
        before=Level(min(begin, previous), previous, before),
        after=Level(position, max(end, position), after),
        relative_size=numbers.relative_size,
        direction=point.direction,
        noise=levels if noisy else None,
    )


def _marks(store: Store, trace: Trace, line: Line, focus: ChangePoint | None) -> tuple[ChangeMark, ...]:
    return tuple(
        ChangeMark(line.positions[each.suspect_range.slot], rise=each.numbers.size > 0, direction=each.direction)
        for each in store.findings.change_points(trace.id)
        if each.suspect_range.slot in line.positions and (focus is None or each.id != focus.id)
    )


def _tickets(store: Store, lines: Lines, line: Line, params: dict[str, str]) -> tuple[TicketMark, ...]:
    found = [
        TicketMark(line.positions[each.slot], each.name)
        for each in store.findings.tickets.all(lines.repository)[:_MOST_TICKETS]
        if each.slot in line.positions and _query(each.query).matches(params)
    ]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=4096)
def _query(text: str) -> Query:
    """Return a query; one that cannot be read matches no trace."""
    try:
        return parse_query(text)
    except (QueryError, InputError):
        return parse_query("knickpoint=no-trace")


@dataclass(frozen=True, slots=True)
class _CommitNames:
    """Look up the few commits that an axis names."""

    store: Store
    line: Line

    def name(self, position: int) -> tuple[str, str]:
        """Return short name and day of the commit at ``position``, each "" where it is unknown."""
        if not 0 <= position < len(self.line.slots):
            return "", ""
        found = self.store.commits.get(self.line.repository, [self.line.slots[position]])
        return (found[0].commit.short, found[0].commit.day) if found else ("", "")


# The addresses of pages of the dashboard, relative to the server.


def change_path(change: int) -> str:
    """Return the path of the page of a change: ``/change/R12``."""
    return f"/change/R{change}"


def change_page(lines: Lines, point: ChangePoint) -> str:
    """Return the path of the page of the change of ``point``; of a point without one, that of its trace."""
    if point.change_id:
        return change_path(point.change_id)
    line = lines.line(point.suspect_range.line)
    position = line.positions.get(point.suspect_range.slot)
    query = {"line": line.name} if line.name != lines.default.name else {}
    query |= {"commit": str(position)} if position is not None else {}
    return f"/trace/{point.trace_id}" + (f"?{urlencode(query)}" if query else "")
