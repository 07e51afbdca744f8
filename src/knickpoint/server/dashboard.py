"""Serve the files of the dashboard."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI
from fastapi.responses import FileResponse, PlainTextResponse, Response
from starlette.datastructures import Headers
from starlette.staticfiles import StaticFiles

if TYPE_CHECKING:
    from starlette.types import Scope

__all__ = ["STATIC", "add_pages"]

STATIC: Final = Path(__file__).parent / "static"
"""The directory of the built dashboard."""

_FOR_EVER: Final = "public, max-age=31536000, immutable"
_VIEWS: Final = (
    "/",
    "/triage",
    "/explore",
    "/trace/{number}",
    "/commit/{name:path}",
    "/benchmark",
    "/alerts",
    "/status",
    "/missing",
    "/quality",
    "/compare",
    "/clusters",
    "/settings",
    "/tokens",
    "/audit",
)
_NOT_BUILT: Final = (
    "This installation has no dashboard.\n"
    "In a checkout, build it with `make setup`; elsewhere, install a wheel or a source distribution that was not built "
    "with KNICKPOINT_WITHOUT_DASHBOARD.\n"
    "The API under /api/v1/ works without it.\n"
)


def _accepts_brotli(scope: Scope) -> bool:
    """Return whether the request's ``Accept-Encoding`` names ``br`` with a weight above 0."""
    for choice in Headers(scope=scope).get("accept-encoding", "").split(","):
        name, _, weight = choice.replace(" ", "").lower().partition(";q=")
        if name == "br":
            return not weight or weight.strip("0.") != ""
    return False


class _Assets(StaticFiles):
    """Files whose names change with their content, so that browsers keep them.

    The build adds each file as Brotli beside itself. Who does not accept that gets the file, which the application
    compresses with gzip.
    """

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        compressed = Path(f"{os.fspath(full_path)}.br")
        encoded = compressed.is_file()
        if encoded and _accepts_brotli(scope):
            response = super().file_response(compressed, compressed.stat(), scope, status_code)
            response.headers["content-encoding"] = "br"
        else:
            response = super().file_response(full_path, stat_result, scope, status_code)
        if encoded:
            response.headers.add_vary_header("accept-encoding")
        response.headers["cache-control"] = _FOR_EVER
        return response


def add_pages(app: FastAPI, static: Path = STATIC) -> None:
    """Serve the dashboard in ``static`` at the address of every view."""

    def index(number: str = "", name: str = "") -> Response:  # noqa: ARG001  # the page reads them from its address
        page = static / "index.html"
        if not page.is_file():
            return PlainTextResponse(_NOT_BUILT, status_code=503)
        return FileResponse(page, headers={"cache-control": "no-cache"})

    def icon() -> Response:
        return FileResponse(static / "icon.svg")

    for view in _VIEWS:
        app.add_api_route(view, index, include_in_schema=False)
    if (static / "assets").is_dir():
        app.add_api_route("/icon.svg", icon, include_in_schema=False)
        app.mount("/assets", _Assets(directory=static / "assets"))
