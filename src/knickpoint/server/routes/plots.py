"""Routes of what is drawn: pictures of traces, formulas over them, and the JSON data source of Grafana."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Path, Query, Response

from knickpoint.answers.plots import (
    FormulaAnswer,
    ShortcutAnswer,
    ShortcutIdAnswer,
    ShortcutRequest,
    add_shortcut,
    calculate,
    draw_badge_of,
    draw_plot,
    read_shortcut,
)
from knickpoint.answers.tabular_values import annotate, plot_series, search_terms
from knickpoint.answers.values import (
    MOST_TRACES,
    GrafanaAnnotation,
    GrafanaAnnotationsRequest,
    GrafanaMetric,
    GrafanaQueryRequest,
    GrafanaSearchRequest,
    GrafanaSeries,
)
from knickpoint.model.commit import Line
from knickpoint.plots import Drawing, Theme, png, svg
from knickpoint.plots.trend import LARGEST_SIZE, SMALLEST_SIZE, USUAL_SIZE
from knickpoint.server.callers import Reader
from knickpoint.server.routes.dependencies import LineName, RepositoryName, RequestInstance, TraceKey, Visible

pictures_router = APIRouter(tags=["traces"])

_SVG: Final = "image/svg+xml"
_PNG: Final = "image/png"
_NOT_MODIFIED: Final = 304

Near = Annotated[
    str, Query(max_length=200, description="Show what is near the change next to this commit: hash, prefix or number.")
]
Width = Annotated[int, Query(ge=SMALLEST_SIZE[0], le=LARGEST_SIZE[0], description="Width in pixels.")]
Height = Annotated[int, Query(ge=SMALLEST_SIZE[1], le=LARGEST_SIZE[1], description="Height in pixels.")]
ThemeChoice = Annotated[Theme, Query(description="Light or dark background.")]
Known = Annotated[str, Header(alias="if-none-match", description="ETag of the picture that the caller has.")]


def _described(media_type: str) -> dict[int | str, dict[str, Any]]:
    return {
        200: {
            "description": "The picture.",
            "content": {media_type: {"schema": {"type": "string", "format": "binary"}}},
        },
        _NOT_MODIFIED: {"description": "The caller has the picture already."},
    }


def _picture(content: bytes, media_type: str, known: str) -> Response:
    """Return a picture that may be kept and is asked for again, or that the one with the ETag ``known`` still holds."""
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "private, no-cache"}
    tags = {each.strip().removeprefix("W/") for each in known.split(",")}
    if tag in tags or "*" in tags:
        return Response(status_code=_NOT_MODIFIED, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


@pictures_router.get("/traces/{key}/plot.svg", response_class=Response, responses=_described(_SVG))
def get_plot_svg(
    visible: Visible,
    *,
    key: TraceKey,
    line: LineName = "",
    at: Near = "",
    width: Width = USUAL_SIZE[0],
    height: Height = USUAL_SIZE[1],
    theme: ThemeChoice = Theme.LIGHT,
    known: Known = "",
) -> Response:
    """Draw a trace with its findings as SVG."""
    drawing: Drawing = draw_plot(visible, key, line_name=line, at=at, size=(width, height), theme=theme)
    return _picture(svg(drawing), _SVG, known)


@pictures_router.get("/traces/{key}/plot.png", response_class=Response, responses=_described(_PNG))
def get_plot_png(
    visible: Visible,
    *,
    key: TraceKey,
    line: LineName = "",
    at: Near = "",
    width: Width = USUAL_SIZE[0],
    height: Height = USUAL_SIZE[1],
    theme: ThemeChoice = Theme.LIGHT,
    known: Known = "",
) -> Response:
    """Draw a trace with its findings as PNG, with two pixels for each of width and height."""
    drawing = draw_plot(visible, key, line_name=line, at=at, size=(width, height), theme=theme)
    return _picture(png(drawing), _PNG, known)


@pictures_router.get("/traces/{key}/badge.svg", response_class=Response, responses=_described(_SVG))
def get_badge(visible: Visible, *, key: TraceKey, line: LineName = "", known: Known = "") -> Response:
    """Draw a badge: the name of the benchmark, its newest value, and its newest change."""
    return _picture(svg(draw_badge_of(visible, key, line_name=line)), _SVG, known)


formulas_router = APIRouter(tags=["formulas"])


@formulas_router.get("/formulas")
def get_formula(
    visible: Visible,
    *,
    formula: Annotated[
        str, Query(min_length=1, max_length=10_000, description='As in `ave(filter("os=linux"))`; see the guide.')
    ],
    repository: RepositoryName = "",
    line: LineName = "",
    points: Annotated[int, Query(ge=2, le=100_000, description="Points of a trace; more are thinned out.")] = 2400,
    limit: Annotated[int, Query(ge=1, le=MOST_TRACES, description="How many traces to return.")] = 16,
) -> FormulaAnswer:
    """Calculate traces from stored ones, over the whole line. An error names the column of the formula."""
    return calculate(visible, visible.line(repository, line), formula, points=points, limit=limit)


@formulas_router.post("/shortcuts")
def post_shortcut(visible: Visible, instance: RequestInstance, request: ShortcutRequest) -> ShortcutIdAnswer:
    """Keep a set of trace keys and formulas under a short id; the same set always has the same id."""
    return ShortcutIdAnswer(id=add_shortcut(visible.store, request, most=instance.config.limits.shortcuts))


@formulas_router.get("/shortcuts/{name}")
def get_shortcut(
    visible: Visible,
    name: Annotated[str, Path(max_length=100, description="The short id.")],
    repository: RepositoryName = "",
) -> ShortcutAnswer:
    """Return the traces and formulas of a short id."""
    return read_shortcut(visible, visible.choose(repository), name)


grafana_router = APIRouter(tags=["grafana"])


async def _line(visible: Visible, repository: RepositoryName = "", line: LineName = "") -> Line:
    return visible.line(repository, line)


PlottedLine = Annotated[Line, Depends(_line)]
"""The line of all queries of a data source, which its address names."""


@grafana_router.get("/grafana")
def get_grafana_state(_reader: Reader) -> dict[str, str]:
    """Say that the data source works; Grafana asks this when it is saved."""
    return {"status": "success"}


@grafana_router.post("/grafana/search")
def post_grafana_search(visible: Visible, line: PlottedLine, request: GrafanaSearchRequest) -> list[str]:
    """List the terms that a query can have and that have the typed text in them."""
    return [term.value for term in search_terms(visible, line, request.target or "")]


@grafana_router.post("/grafana/metrics")
def post_grafana_metrics(visible: Visible, line: PlottedLine, _request: GrafanaSearchRequest) -> list[GrafanaMetric]:
    """List the terms that a query can have, as newer versions of the data source ask for them."""
    return search_terms(visible, line, "")


@grafana_router.post("/grafana/query")
def post_grafana_query(visible: Visible, line: PlottedLine, request: GrafanaQueryRequest) -> list[GrafanaSeries]:
    """Return the series of the queries of a panel: terms such as `benchmark=parse`, or a formula behind `=`."""
    return plot_series(visible, line, request)


@grafana_router.post("/grafana/annotations")
def post_grafana_annotations(
    visible: Visible, line: PlottedLine, request: GrafanaAnnotationsRequest
) -> list[GrafanaAnnotation]:
    """List the regressions and improvements of the traces that a query matches, in the time range of a dashboard."""
    return annotate(visible, line, request)
