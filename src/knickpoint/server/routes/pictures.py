"""Routes of pictures: plots of traces, and badges."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Response

from knickpoint.answers.pictures import draw_badge_of, draw_plot
from knickpoint.plots import Drawing, Theme, png, svg
from knickpoint.plots.trend import LARGEST_SIZE, SMALLEST_SIZE, USUAL_SIZE
from knickpoint.server.routes.dependencies import LineName, TraceKey, Visible

router = APIRouter(tags=["traces"])

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


@router.get("/traces/{key}/plot.svg", response_class=Response, responses=_described(_SVG))
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


@router.get("/traces/{key}/plot.png", response_class=Response, responses=_described(_PNG))
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


@router.get("/traces/{key}/badge.svg", response_class=Response, responses=_described(_SVG))
def get_badge(visible: Visible, *, key: TraceKey, line: LineName = "", known: Known = "") -> Response:
    """Draw a badge: the name of the benchmark, its newest value, and its newest change."""
    return _picture(svg(draw_badge_of(visible, key, line_name=line)), _SVG, known)
