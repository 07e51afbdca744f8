"""Build the answers that other programs read: values as JSON, points as a table, series and annotations for Grafana."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.answers.values import (
    GrafanaAnnotation,
    GrafanaAnnotationsRequest,
    GrafanaMetric,
    GrafanaQueryRequest,
    GrafanaRange,
    GrafanaSeries,
    TimesAnswer,
    TraceValuesAnswer,
    WantedValues,
)
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.budget import check_values
from knickpoint.calc import Traces
from knickpoint.model.commit import Line
from knickpoint.model.errors import QueryError
from knickpoint.model.params import decode_key
from knickpoint.model.quantity_text import trace_name
from knickpoint.model.query import parse_query
from knickpoint.plots.shapes import thin
from knickpoint.store import Store, export
from knickpoint.store.findings.change_list import Sort
from knickpoint.store.findings.selection import Selection
from knickpoint.watch.formula_traces import calculate_traces

FORMULA_MARK: Final = "="
"""A query of Grafana that begins with it is a formula."""

_MOST_SERIES: Final = 256
"""Series in one answer to Grafana."""

_MOST_TRACES: Final = 1000
"""Traces of a table of points."""

_MOST_ANNOTATIONS: Final = 1000
_MOST_TERMS: Final = 1000


def list_values(store: Store, wanted: WantedValues) -> list[TraceValuesAnswer]:
    """Return the measured values of some traces, thinned out."""
    answers = []
    rows = (row for block in wanted.blocks(store) for row in block)
    for trace, row in zip(wanted.traces, rows, strict=True):
        positions = np.flatnonzero(~np.isnan(row))
        kept = positions[thin(row[positions], wanted.points)]
        answers.append(
            TraceValuesAnswer(
                trace=trace,
                measured=len(positions),
                positions=(kept + wanted.first).tolist(),
                values=row[kept].tolist(),
            )
        )
    return answers


def list_times(store: Store, line: Line) -> TimesAnswer:
    """Return the commit times of ``line``."""
    times = store.commits.times(line.repository, line.slots).tolist()
    return TimesAnswer(times=[datetime.fromtimestamp(time, UTC) if time else None for time in times])


def write_points(visible: VisibleRepositories, line: Line, query: str, *, csv: bool) -> str:
    """Return the points of the traces that ``query`` matches as a table with a column for each param: CSV, or JSON.

    Raises:
        QueryError: the query cannot be read, or matches too many traces.
    """
    terms, store = parse_query(query), visible.store
    count = len(store.traces.select(line.repository, terms))
    if count > _MOST_TRACES:
        raise QueryError(
            f"{count:,} traces match; a table may have {_MOST_TRACES:,}",
            where="query",
            remedy="Narrow the query, or use knick export.",
        )
    check_values(count, len(line.slots))
    layout = export.param_layout(store.traces.facets(line.repository, terms))
    rows = export.table_rows(export.batches(store, [line.repository], line=line.name, query=terms), layout)
    text = io.StringIO()
    (export.write_csv if csv else export.write_json)(rows, text, layout.names)
    return text.getvalue()


# Grafana


def search_terms(visible: VisibleRepositories, line: Line, typed: str) -> list[GrafanaMetric]:
    """Return the terms of the traces that have what a person typed in them, at most 1,000."""
    facets = visible.store.traces.facets(line.repository, parse_query(""))
    terms = (f"{name}={value}" for name in sorted(facets) for value in sorted(facets[name]))
    found = [term for term in terms if typed.lower() in term.lower()]
    return [GrafanaMetric(label=term, value=term) for term in found[:_MOST_TERMS]]


def plot_series(visible: VisibleRepositories, line: Line, request: GrafanaQueryRequest) -> list[GrafanaSeries]:
    """Return the series of the queries of a panel, within its time range; commits without a time are left out.

    Raises:
        QueryError: a query or formula cannot be read, or they match too many traces.
    """
    times = visible.store.commits.times(line.repository, line.slots)
    shown = np.flatnonzero(_within(times, request.range))
    series: list[GrafanaSeries] = []
    for target in request.targets:
        text = (target.target or "").strip()
        if target.hide or not text:
            continue
        found = _traces(visible, line, text)
        if len(series) + len(found) > _MOST_SERIES:
            raise QueryError(
                f"the queries match more than {_MOST_SERIES} traces", where=text, remedy="Narrow the query."
            )
        series += [
            GrafanaSeries(target=name, datapoints=_datapoints(row, times, shown, request.maxDataPoints))
            for name, row in zip(found.ids, found.values, strict=True)
        ]
    return series


def _traces(visible: VisibleRepositories, line: Line, target: str) -> Traces:
    """Return the traces of a query of Grafana: a formula behind ``=``, else terms."""
    if target.startswith(FORMULA_MARK):
        formula = target.removeprefix(FORMULA_MARK).strip()
        return calculate_traces(visible.store, line, formula, short_id=visible.short_id)[0]
    ids = visible.store.traces.select(line.repository, parse_query(target))
    if len(ids) > _MOST_SERIES:
        raise QueryError(
            f"{len(ids):,} traces match; a panel may have {_MOST_SERIES}", where=target, remedy="Narrow the query."
        )
    check_values(len(ids), len(line.slots))
    keys = tuple(trace.key for trace in visible.store.traces.get(ids))
    values = np.asarray(visible.store.frames.values(line, ids), dtype=np.float64)
    return Traces(keys, values.reshape(len(ids), len(line.slots)))


def _within(times: NDArray[np.float64], asked: GrafanaRange) -> NDArray[np.bool_]:
    """Return the commits that have a time within the range that is asked for."""
    start, end = (_utc(moment).timestamp() for moment in (asked.start, asked.end))
    within: NDArray[np.bool_] = (times != 0) & (times >= start) & (times <= end)
    return within


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _datapoints(
    row: NDArray[np.float64], times: NDArray[np.float64], shown: NDArray[np.int64], points: int
) -> list[tuple[float, int]]:
    measured = shown[~np.isnan(row[shown])]
    kept = measured[thin(row[measured], points)]
    milliseconds = np.rint(times[kept] * 1000).astype(np.int64)
    order = np.argsort(milliseconds, kind="stable")
    return list(zip(row[kept][order].tolist(), milliseconds[order].tolist(), strict=True))


def annotate(visible: VisibleRepositories, line: Line, request: GrafanaAnnotationsRequest) -> list[GrafanaAnnotation]:
    """Return the regressions and improvements of the traces that the query matches, at the times of their commits."""
    store, repository = visible.store, line.repository
    traces = frozenset(store.traces.select(repository, parse_query(request.annotation.query or "")).tolist())
    found = store.findings.changes(
        repository, selection=Selection(traces=traces), sort=Sort.COMMIT, descending=True, limit=_MOST_ANNOTATIONS
    )
    slots = sorted({change.suspect_range.slot for change in found})
    times = dict(zip(slots, store.commits.times(repository, slots).tolist(), strict=True))
    shown = {slot for slot in slots if _within(np.array([times[slot]]), request.range)[0]}
    named = {slot for change in found if change.statement for slot in change.statement.named_slots}
    names = {each.slot: each.commit.short for each in store.commits.get(repository, sorted(named))}
    wanted = {change.statement.lead for change in found if change.statement}
    leads = {each.id: each for each in store.findings.points(wanted)}
    annotations = []
    for change in found:
        slot, stated = change.suspect_range.slot, change.statement
        if slot not in shown or change.suspect_range.line != line.name or stated is None:
            continue
        lead = leads[stated.lead]
        annotations.append(
            GrafanaAnnotation(
                time=round(times[slot] * 1000),
                title=f"R{change.id}: {trace_name(decode_key(lead.key))[0] or lead.key}: {stated.headline}",
                text=f"{lead.key}; {stated.details(names)}",
                tags=[stated.direction.value, stated.decision.value],
            )
        )
    return sorted(annotations, key=lambda each: each.time)
