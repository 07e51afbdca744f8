"""Draw pictures of a trace: its plot, and a badge with its newest value."""

from __future__ import annotations

from dataclasses import replace

from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.model.errors import HistoryError
from knickpoint.model.params import decode_key
from knickpoint.model.quantity_text import trace_name, value_text
from knickpoint.model.unit import read_unit
from knickpoint.plots import Drawing, Theme, draw_badge, draw_trend
from knickpoint.plots.trend import USUAL_SIZE
from knickpoint.watch.lines import Lines
from knickpoint.watch.trend import NEAR, focus_at, read_trend


def draw_plot(
    visible: VisibleRepositories,
    key: int,
    *,
    line_name: str,
    at: str = "",
    size: tuple[int, int] = USUAL_SIZE,
    theme: Theme = Theme.LIGHT,
    named: bool = True,
) -> Drawing:
    """Draw the trace ``key`` on a line, with its newest change.

    With ``at``, what is near the change next to that commit. Without ``named``, nothing in it is a text from outside:
    an agent that reads pictures cannot tell who wrote a name.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line or commit.
    """
    store = visible.store
    repository, trace = visible.trace(key)
    line = store.commits.line(repository, line_name)
    slot = None
    if at:
        found = store.commits.find(repository, at)
        if found is None or found.slot not in line.positions:
            raise HistoryError(
                f"there is no commit {at!r} on the line {line.name!r}",
                where="at",
                remedy="Give the hash of a commit, its beginning, or its number.",
            )
        slot = found.slot
    focus = focus_at(store.findings.change_points(key), line, slot)
    trend = read_trend(store, Lines(store, repository), trace, line, focus=focus, near=NEAR if at else None)
    if not named:
        unit = "" if read_unit(trace.unit).dimension.startswith("?") else trace.unit
        trend = replace(trend, name=f"trace {key}", params="", unit=unit, tickets=())
    return draw_trend(trend, size=size, theme=theme)


def draw_badge_of(visible: VisibleRepositories, key: int, *, line_name: str) -> Drawing:
    """Draw a badge of the trace ``key``: its name, its newest value, and the headline of its newest change.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line.
    """
    store = visible.store
    repository, trace = visible.trace(key)
    line = store.commits.line(repository, line_name)
    newest = store.frames.read(line, [key], measured=1).values
    value = value_text(float(newest[0, -1]), trace.unit) if newest.shape[1] else "no value"
    name, _ = trace_name(decode_key(trace.key))
    focus = focus_at(store.findings.change_points(key), line, None)
    if focus is None:
        return draw_badge(name, value)
    stated = store.findings.statements.of_changes([focus.change_id]).get(focus.change_id)
    return draw_badge(name, value, stated.headline, stated.side) if stated else draw_badge(name, value)
