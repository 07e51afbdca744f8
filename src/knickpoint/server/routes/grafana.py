"""Routes for the JSON data source of Grafana: what it tests, searches, plots and annotates."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from knickpoint.answers.tabular_values import annotate, plot_series, search_terms
from knickpoint.answers.values import (
    GrafanaAnnotation,
    GrafanaAnnotationsRequest,
    GrafanaMetric,
    GrafanaQueryRequest,
    GrafanaSearchRequest,
    GrafanaSeries,
)
from knickpoint.model.commit import Line
from knickpoint.server.callers import Reader
from knickpoint.server.routes.dependencies import LineName, RepositoryName, Visible

router = APIRouter(tags=["grafana"])


async def _line(visible: Visible, repository: RepositoryName = "", line: LineName = "") -> Line:
    return visible.line(repository, line)


PlottedLine = Annotated[Line, Depends(_line)]
"""The line of all queries of a data source, which its address names."""


@router.get("/grafana")
def get_grafana_state(_reader: Reader) -> dict[str, str]:
    """Say that the data source works; Grafana asks this when it is saved."""
    return {"status": "success"}


@router.post("/grafana/search")
def post_grafana_search(visible: Visible, line: PlottedLine, request: GrafanaSearchRequest) -> list[str]:
    """List the terms that a query can have and that have the typed text in them."""
    return [term.value for term in search_terms(visible, line, request.target or "")]


@router.post("/grafana/metrics")
def post_grafana_metrics(visible: Visible, line: PlottedLine, _request: GrafanaSearchRequest) -> list[GrafanaMetric]:
    """List the terms that a query can have, as newer versions of the data source ask for them."""
    return search_terms(visible, line, "")


@router.post("/grafana/query")
def post_grafana_query(visible: Visible, line: PlottedLine, request: GrafanaQueryRequest) -> list[GrafanaSeries]:
    """Return the series of the queries of a panel: terms such as `benchmark=parse`, or a formula behind `=`."""
    return plot_series(visible, line, request)


@router.post("/grafana/annotations")
def post_grafana_annotations(
    visible: Visible, line: PlottedLine, request: GrafanaAnnotationsRequest
) -> list[GrafanaAnnotation]:
    """List the regressions and improvements of the traces that a query matches, in the time range of a dashboard."""
    return annotate(visible, line, request)
