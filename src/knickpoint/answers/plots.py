"""What is drawn: the plot of a trace, a badge with its newest value, and calculated traces.

Keys and formulas of a drawing are kept under a short id.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from knickpoint.answers.base import TEXT_PATTERN, Answer, Text
from knickpoint.answers.traces import TraceAnswer, trace_answer
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.calc import FORMULA_SIGN, parse
from knickpoint.calc.grammar import LONGEST
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import HistoryError
from knickpoint.model.params import MAXIMUM_KEY_BYTES, decode_key
from knickpoint.model.quantity_text import trace_name, value_text
from knickpoint.model.unit import read_unit
from knickpoint.plots import Drawing, Theme, draw_badge, draw_trend
from knickpoint.plots.shapes import thin
from knickpoint.plots.trend import USUAL_SIZE
from knickpoint.store import Store
from knickpoint.watch.formula_traces import calculate_traces
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


# Calculated traces, and sets of traces and formulas under a short id.


_Key = Annotated[
    str,
    Field(max_length=MAXIMUM_KEY_BYTES, pattern=TEXT_PATTERN, json_schema_extra={"pattern": r"^,[^\u0000]*$"}),
]
"""The store checks the comma at the beginning, with an error that says more."""


class FormulaTraceAnswer(Answer):
    """A calculated trace."""

    id: str = Field(description="A trace key, or a formula behind an @.")
    trace: int | None = Field(
        description="Id of the one trace that it was calculated from, null where there are several."
    )
    unit: str = Field(description="Empty where the formula changes the unit.")
    measured: int = Field(description="Number of values before they were thinned out.")
    positions: list[int]
    values: list[float]


class FormulaAnswer(Answer):
    """The traces that a formula gives."""

    line: str
    commits: int = Field(description="Number of commits on the line.")
    total: int = Field(description="Number of traces; `traces` may have fewer.")
    traces: list[FormulaTraceAnswer]


class ShortcutRequest(Answer):
    """A set of traces and formulas to keep under a short id."""

    keys: list[_Key] = Field(default_factory=list, max_length=10_000, description="Trace keys.")
    formulas: list[Annotated[Text, Field(max_length=LONGEST)]] = Field(default_factory=list, max_length=100)


class ShortcutIdAnswer(Answer):
    """A short id."""

    id: str


class ShortcutAnswer(Answer):
    """The traces and formulas that a short id stands for."""

    id: str
    keys: list[str]
    formulas: list[str]
    traces: list[TraceAnswer] = Field(description="The traces of the keys that the repository has.")


# Evaluate formulas over the traces of a repository, and keep sets of keys and formulas under a short id.


def calculate(visible: VisibleRepositories, line: Line, formula: str, *, points: int, limit: int) -> FormulaAnswer:
    """Evaluate ``formula`` on ``line``: at most ``limit`` traces, each thinned out to ``points`` values.

    Raises:
        QueryError: the formula cannot be read or evaluated; it names the column.
    """
    found, unit = calculate_traces(visible.store, line, formula, short_id=visible.short_id)
    origins = visible.store.traces.find_ids(line.repository, [key for key in found.origins[:limit] if key])
    answers = []
    for name, values, origin in zip(found.ids[:limit], found.values, found.origins, strict=False):
        positions = np.flatnonzero(~np.isnan(values))
        kept = positions[thin(values[positions], points)]
        answers.append(
            FormulaTraceAnswer(
                id=name,
                trace=next(iter(origins.get(origin, ())), None),
                unit=unit,
                measured=len(positions),
                positions=kept.tolist(),
                values=values[kept].tolist(),
            )
        )
    return FormulaAnswer(line=line.name, commits=len(line.slots), total=len(found), traces=answers)


def add_shortcut(store: Store, request: ShortcutRequest, *, most: int) -> str:
    """Return the short id of a set of keys and formulas; the same set has the same id.

    Raises:
        InputError: the set is empty, a key or formula is invalid, or ``most`` sets are kept already.
    """
    for formula in request.formulas:
        parse(formula)
    entries = [*request.keys, *(FORMULA_SIGN + formula for formula in request.formulas)]
    return store.shortcuts.add(entries, most=most)


def read_shortcut(visible: VisibleRepositories, repository: Repository, name: str) -> ShortcutAnswer:
    """Return the keys and formulas of a short id, with the traces of those keys that ``repository`` has.

    Raises:
        UnknownError: there is no such short id.
    """
    store = visible.store
    entries = visible.short_id(name)
    keys = [entry for entry in entries if not entry.startswith(FORMULA_SIGN)]
    known = store.traces.find_ids(repository, keys)
    traces = store.traces.get([number for key in keys for number in known.get(key, ())])
    return ShortcutAnswer(
        id=name,
        keys=keys,
        formulas=[entry.removeprefix(FORMULA_SIGN) for entry in entries if entry.startswith(FORMULA_SIGN)],
        traces=[trace_answer(trace, repository.name) for trace in traces],
    )
