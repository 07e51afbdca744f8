"""Serve the files of the dashboard."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, PlainTextResponse, Response
from starlette.datastructures import Headers
from starlette.staticfiles import StaticFiles

from knickpoint.model.access import Permission
from knickpoint.model.errors import NotSignedInError
from knickpoint.server.callers import caller_of

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
_EARLY: Final = ", ".join(
    f"</api/v1/{path}>; rel=preload; as=fetch; crossorigin" for path in ("me", "me/settings", "repositories")
)
"""What every page asks for. A browser that is told so asks for it while it loads the scripts, and not one after the other."""
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


def _early_requests(request: Request) -> dict[str, str]:
    """Return the header that names what every page asks for; none for callers who would be refused."""
    if not hasattr(request.app.state, "instance"):
        return {}  # pages without an API
    try:
        caller = caller_of(request)
    except NotSignedInError:
        return {}
    return {"link": _EARLY} if caller.grants.allow_somewhere(Permission.READ) else {}


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

    def index(request: Request, number: str = "", name: str = "") -> Response:  # noqa: ARG001  # the page reads them from its address
        page = static / "index.html"
        if not page.is_file():
            return PlainTextResponse(_NOT_BUILT, status_code=503)
        return FileResponse(page, headers={"cache-control": "no-cache", **_early_requests(request)})

    def icon() -> Response:
        return FileResponse(static / "icon.svg")

    for view in _VIEWS:
        app.add_api_route(view, index, include_in_schema=False)
    if (static / "assets").is_dir():
        app.add_api_route("/icon.svg", icon, include_in_schema=False)
        app.mount("/assets", _Assets(directory=static / "assets"))
