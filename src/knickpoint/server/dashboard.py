"""Serve the files of the dashboard, each page with its first answers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode

import anyio
import anyio.to_thread
from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, PlainTextResponse, Response
from starlette.datastructures import Headers
from starlette.staticfiles import StaticFiles

from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.model.access import Caller, Permission
from knickpoint.model.errors import KnickpointError, NotSignedInError
from knickpoint.server.callers import caller_of
from knickpoint.server.reads import reading_instance

if TYPE_CHECKING:
    from starlette.types import Scope


# What a page asks for first: its files, and the answers of the API that its address alone determines.
#
# The page comes with a header that names them, and the browser asks for them while it loads the scripts of all pages.
# Each name has to be, to the letter, what the page asks for itself: the browser hands it the answer then, and asks
# twice otherwise. `tests/browser/test_early_requests.py` opens each page and finds names that it does not use.
# Addresses with parameters that are not listed here name less.


EVERYWHERE: Final = ("me", "me/settings", "repositories")
"""What every page asks for, below ``/api/v1/``."""

FILES_OF_VIEWS: Final = "views.json"
"""The file of the built dashboard that says which modules and style sheets the page of each view loads."""

REPOSITORY_VIEWS: Final = frozenset({"", "explore", "compare"})
"""First parts of the paths of pages whose first answers depend on which repositories there are."""

_UNREAD: Final = frozenset({"embed"})
"""Parameters of addresses that change nothing of what is asked for, on any page."""

_STYLE: Final = "rel=preload; as=style; crossorigin"
_MOST_CHARACTERS: Final = 2_000
"""Of all addresses together: proxies refuse long headers."""

_Parameters = Mapping[str, str]
_Find = Callable[[str, _Parameters, Sequence[str]], list[str]]


def early_requests(path: str, parameters: _Parameters, repositories: Sequence[str]) -> list[str]:
    """Return the addresses below ``/api/v1/`` that the page at an address asks for first.

    Args:
        path: path of the page, as ``/trace/7``.
        parameters: parameters of its address.
        repositories: names of the repositories that the caller may read, in order.
    """
    view, _, rest = path.lstrip("/").partition("/")
    known = _EARLY_VIEWS.get(view)
    if known is None or not set(parameters) <= known[0] | _UNREAD:
        return []
    found = known[1](rest, parameters, repositories)
    return found if sum(map(len, found)) <= _MOST_CHARACTERS else []


def link_header(files: Sequence[str], answers: Sequence[str]) -> str:
    """Return the header ``Link`` that names files of the dashboard and answers of the API.

    The files come first: browsers ask a server for six things at a time, and show nothing without the files.
    """
    return ", ".join(
        [
            *(f"</{name}>; {_STYLE if name.endswith('.css') else 'rel=modulepreload'}" for name in files),
            *(f"</api/v1/{path}>; rel=preload; as=fetch; crossorigin" for path in (*EVERYWHERE, *answers)),
        ]
    )


def read_view_files(static: Path) -> dict[str, list[str]]:
    """Return the modules and style sheets that the page of each view loads.

    None if the dashboard was built without that.
    """
    listed = static / FILES_OF_VIEWS
    return json.loads(listed.read_text(encoding="utf-8")) if listed.is_file() else {}


def _query(**parameters: object) -> str:
    """Return parameters as the page writes them: without empty ones, encoded as browsers do."""
    given = {name: value for name, value in parameters.items() if value != ""}
    return "?" + urlencode(given, safe="*").replace("~", "%7E")


def _overview(_rest: str, _parameters: _Parameters, repositories: Sequence[str]) -> list[str]:
    # Of many repositories the others follow: browsers ask a server for six things at a time, scripts among them.
    return [f"trends{_query(repository=name, commits=250)}" for name in repositories[:1]]


def _triage(_rest: str, parameters: _Parameters, _repositories: Sequence[str]) -> list[str]:
    unset = dict.fromkeys(("processed", "history", "all", "gone"), "false")
    least = dict.fromkeys(("minimum_hazard", "minimum_effect", "minimum_sigma"), 0)
    sort = parameters.get("sort") or "-change"
    return [f"changes{_query(**unset, **least, sort=sort, page=1, size=50, members=1)}"]


def _trace(rest: str, parameters: _Parameters, _repositories: Sequence[str]) -> list[str]:
    number, line = rest.rstrip("/").lstrip("0") or "0", parameters.get("line", "")
    if not number.isdecimal():
        return []
    changes = f"traces/{number}/change-points" + (_query(line=line) if line else "")
    return [changes, f"values{_query(traces=number, line=line, points=2400, compact='false')}"]


def _change(rest: str, _parameters: _Parameters, _repositories: Sequence[str]) -> list[str]:
    number = rest.rstrip("/").removeprefix("R").lstrip("0")
    return [f"changes/R{number}"] if number.isascii() and number.isdecimal() else []


def _commit(rest: str, parameters: _Parameters, _repositories: Sequence[str]) -> list[str]:
    repository, name = parameters.get("repository", ""), quote(rest, safe="!*'()")
    return [f"commits/{name}/report" + (_query(repository=repository) if repository else "")]


def _explore(_rest: str, parameters: _Parameters, repositories: Sequence[str]) -> list[str]:
    named = parameters.get("repository", "")
    repository = named if named in repositories else next(iter(repositories), "")
    if not repository:
        return []
    query, plotted = parameters.get("query", ""), parameters.get("plot", "")
    lists = [f"traces{_query(repository=repository, query=query, limit=100)}"]
    if plotted:
        selected = {"repository": repository, "query": "" if plotted == "*" else plotted, "limit": 1000}
        values = f"values{_query(**selected, points=2400, crowd=125)}"
        lists = [f"traces{_query(**selected)}", values, f"commits/times{_query(repository=repository)}", *lists]
    return [*lists, f"facets{_query(repository=repository, query=query)}"]


def _benchmark(_rest: str, parameters: _Parameters, _repositories: Sequence[str]) -> list[str]:
    param, name = parameters.get("param", "benchmark"), parameters.get("name", "")
    if not (_is_plain(param) and _is_plain(name)):
        return []
    chosen = {"repository": parameters.get("repository", ""), "query": f"{param}={name}"}
    return [f"traces{_query(**chosen, limit=50)}", f"facets{_query(**chosen)}"]


def _compare(_rest: str, parameters: _Parameters, repositories: Sequence[str]) -> list[str]:
    base, repository = parameters.get("base", ""), parameters.get("repository", "")
    if not repository and len(repositories) == 1:
        repository = repositories[0]
    if not repository:
        return []
    line = parameters.get("line", "")
    if not base:
        newest = f"commits{_query(repository=repository, line=line, measured='true', limit=11)}"
        return [newest] if line else [newest, f"releases{_query(repository=repository)}"]
    asked = _query(
        repository=repository,
        base=base,
        line=line,
        query=parameters.get("query", ""),
        changed="true",
        by_suite="true",
        first=0,
        limit=2000,
        head=parameters.get("head") or "newest",
        head_line=parameters.get("head_line", ""),
        values=3,
    )
    return [f"comparison{asked}"]


def _is_plain(text: str) -> bool:
    """Return True if a query names a param or a value as it is, without quotes."""
    return text.replace("_", "").isascii() and text.replace("_", "").isalnum()


def _only(*paths: str) -> tuple[frozenset[str], _Find]:
    return frozenset(), lambda _rest, _parameters, _repositories: list(paths)


_EARLY_VIEWS: Final[Mapping[str, tuple[frozenset[str], _Find]]] = {
    "": (frozenset(), _overview),
    "triage": (frozenset({"sort", "open", "at"}), _triage),
    "trace": (frozenset({"line", "y", "x", "commit", "gone", "why"}), _trace),
    "change": (frozenset(), _change),
    "commit": (frozenset({"repository"}), _commit),
    "explore": (frozenset({"repository", "query", "plot", "y", "x", "smooth", "rows", "columns"}), _explore),
    "benchmark": (frozenset({"repository", "param", "name"}), _benchmark),
    "compare": (frozenset({"repository", "base", "head", "line", "head_line", "query"}), _compare),
    "alerts": _only("alerts"),
    "status": _only("status"),
    "missing": _only("missing"),
    "quality": _only("alert-quality"),
}
"""By the first part of the path: the parameters that are read here or change nothing that is asked for first, and what
that is.
"""


# Serve the files of the dashboard.


STATIC: Final = Path(__file__).parent / "static"
"""The directory of the built dashboard."""

_FOR_EVER: Final = "public, max-age=31536000, immutable"
_VIEWS: Final = (
    "/",
    "/triage",
    "/explore",
    "/trace/{number}",
    "/change/{name}",
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
    """Return True if the request's ``Accept-Encoding`` names ``br`` with a weight above 0."""
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
    """Return the names that the caller may read.

    None where the store does not say at once, as the page comes without it.
    """
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

    app.state.page_of_unknown_addresses = static / "index.html"
    for view in _VIEWS:
        app.add_api_route(view, index, include_in_schema=False)
    if (static / "assets").is_dir():
        app.add_api_route("/icon.svg", icon, include_in_schema=False)
        app.mount("/assets", _Assets(directory=static / "assets"))
