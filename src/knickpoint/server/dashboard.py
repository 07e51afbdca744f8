"""Serve the files of the dashboard."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, PlainTextResponse, Response
from starlette.datastructures import Headers
from starlette.staticfiles import StaticFiles

from knickpoint.model.access import Caller, Permission
from knickpoint.model.errors import KnickpointError, NotSignedInError
from knickpoint.server.callers import caller_of
from knickpoint.server.early_requests import REPOSITORY_VIEWS, early_requests, link_header, read_view_files
from knickpoint.server.replica_reads import reading_instance
from knickpoint.server.visible_repositories import VisibleRepositories

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
_PATIENCE_SECONDS: Final = 0.1
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


async def _early_requests(request: Request, view_files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the header that names what the page asks for; none for callers who would be refused."""
    state, path = request.app.state, request.url.path
    if not hasattr(state, "instance"):
        return {}  # pages without an API
    try:
        caller = caller_of(request)
    except NotSignedInError:
        return {}
    if not caller.grants.allow_somewhere(Permission.READ):
        return {}
    view = path.split("/")[1]
    names = await _repository_names(request, caller) if view in REPOSITORY_VIEWS else []
    files = view_files.get(view or "overview", ())
    return {"link": link_header(files, early_requests(path, request.query_params, names))}


async def _repository_names(request: Request, caller: Caller) -> list[str]:
    """Return the names that the caller may read; none where the store does not say at once, as the page comes without it."""
    with anyio.move_on_after(_PATIENCE_SECONDS), suppress(KnickpointError):
        instance = await reading_instance(request, request.app.state.instance)
        visible = VisibleRepositories(instance.store, caller)
        return [each.name for each in await anyio.to_thread.run_sync(visible.all, abandon_on_cancel=True)]
    return []


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
    view_files = read_view_files(static)

    async def index(request: Request, number: str = "", name: str = "") -> Response:  # noqa: ARG001  # the page reads them from its address
        page = static / "index.html"
        if not page.is_file():
            return PlainTextResponse(_NOT_BUILT, status_code=503)
        return FileResponse(page, headers={"cache-control": "no-cache", **await _early_requests(request, view_files)})

    def icon() -> Response:
        return FileResponse(static / "icon.svg")

    for view in _VIEWS:
        app.add_api_route(view, index, include_in_schema=False)
    if (static / "assets").is_dir():
        app.add_api_route("/icon.svg", icon, include_in_schema=False)
        app.mount("/assets", _Assets(directory=static / "assets"))
