"""Turn every error into one body: what was wrong, where, and what to do.

Work that takes long is answered in lines while it goes on: how far it is, and at the end the answer or what went wrong.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeVar

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import compile_path
from starlette.types import Receive, Scope, Send

from knickpoint.answers.base import TEXT_PATTERN, Answer, ErrorAnswer
from knickpoint.answers.visible_repositories import BacklogError, OverloadedError, TooManyRequestsError, UnknownError
from knickpoint.budget import abandon
from knickpoint.model.errors import (
    AbandonedError,
    AbsentError,
    BusyError,
    DeadlineError,
    ForbiddenError,
    HistoryError,
    InputError,
    KnickpointError,
    NotSignedInError,
    ServiceError,
    StoreError,
)
from knickpoint.progress import Progress, Report, reporting
from knickpoint.server.process_metrics import RequestMetrics
from knickpoint.server.reads import note_lost_replica
from knickpoint.server.request_guard import SEND_LESS
from knickpoint.server.request_origin import HEADER, request_id

# Refuse parameters of addresses that the route does not take: a mistyped filter would answer something else.


_UNKNOWN: Final = "extra_forbidden"
"""The type of the error, as pydantic names it for a field of a body."""


def parameters_of(route: object) -> list[str]:
    """Return the names of the parameters behind the ``?`` that ``route`` and its dependencies take, each once."""
    return list(dict.fromkeys(_names(route.dependant))) if isinstance(route, APIRoute) else []


def _names(dependant: Dependant) -> Iterator[str]:
    yield from (parameter.alias for parameter in dependant.query_params)
    for each in dependant.dependencies:
        yield from _names(each)


async def check_parameters(request: Request) -> None:
    """Check that the route of a request takes each of its parameters.

    Raises:
        RequestValidationError: it does not take one; the first one is named, without its value, which may be a secret.
    """
    if not request.query_params:
        return
    known = parameters_of(request.scope.get("route"))
    unknown = next((name for name in request.query_params if name not in known), None)
    if unknown is not None:
        raise RequestValidationError([{"type": _UNKNOWN, "loc": ("query", unknown), "msg": "unknown parameter"}])


_LOG: Final = logging.getLogger("knickpoint.server")

_UNAUTHORIZED: Final = 401
_LONGEST_SHOWN: Final = 100
"""Characters of a refused value that a message shows."""
_QUOTED: Final = re.compile("'([^']*)'")
"""The values that pydantic says a field takes."""
_MOST_SIMILAR: Final = 3
"""Names that a message suggests for a mistyped one."""
_NOT_FOUND: Final = 404
_NOT_ALLOWED: Final = 405
_REMEDIES: Final = {
    400: "Send a body as /api/v1/reference describes it.",
    408: "Send the body at once.",
    413: SEND_LESS,
    429: "Send them more slowly, or have an admin raise the limit in [limits] of knickpoint.toml.",
}
"""What to do about errors of HTTP that the framework or the reading of a body raises."""

_BEARER: Final = 'Bearer realm="Knickpoint"'

_CODES: Final[tuple[tuple[type[KnickpointError], int], ...]] = (
    (NotSignedInError, 401),
    (ForbiddenError, 403),
    (TooManyRequestsError, 429),
    (OverloadedError, 503),
    (DeadlineError, 503),
    (AbandonedError, 499),
    (UnknownError, 404),
    (AbsentError, 404),
    (HistoryError, 404),
    (InputError, 400),
    (BusyError, 503),
    (StoreError, 503),
    (ServiceError, 503),
)

ERRORS: Final[dict[int | str, dict[str, object]]] = {
    400: {"model": ErrorAnswer, "description": "The request is malformed."},
    401: {"model": ErrorAnswer, "description": "The caller is unknown, or a token or a sign-in is invalid."},
    403: {"model": ErrorAnswer, "description": "The caller may not do this."},
    404: {"model": ErrorAnswer, "description": "The resource does not exist, or the caller may not read it."},
    408: {"model": ErrorAnswer, "description": "The body arrived too slowly."},
    413: {"model": ErrorAnswer, "description": "The body is too large."},
    429: {
        "model": ErrorAnswer,
        "description": "The caller sends too many requests; `Retry-After` says when to continue.",
    },
    422: {"model": ErrorAnswer, "description": "A parameter or a field is missing, unknown, or of the wrong kind."},
    503: {
        "model": ErrorAnswer,
        "description": "The store or a service is unavailable, the server is busy, or the request took too long.",
    },
}


_UNAVAILABLE: Final = 503
_AGAIN_SECONDS: Final = 10
"""When to ask again where the store or a service cannot be used. What was to be written is undone as a whole."""


def _response(
    code: int, error: str, where: str = "", remedy: str = "", headers: Mapping[str, str] | None = None
) -> JSONResponse:
    return JSONResponse(
        ErrorAnswer(error=error, where=where, remedy=remedy, request=request_id()).model_dump(), code, headers
    )


def status_of(error: KnickpointError) -> int:
    """Return the status of the response to an error."""
    return next((code for kind, code in _CODES if isinstance(error, kind)), 500)


def message_of(error: KnickpointError) -> str:
    """Return the message of an error as a sentence."""
    return error.message[:1].upper() + error.message[1:].rstrip(".") + "."


def _knickpoint_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, KnickpointError)
    code = status_of(error)
    headers = {"www-authenticate": _challenge(request)} if code == _UNAUTHORIZED else {}
    if isinstance(error, TooManyRequestsError | OverloadedError):
        headers["retry-after"] = str(math.ceil(error.seconds))
    elif code == _UNAVAILABLE and not isinstance(error, DeadlineError):
        headers["retry-after"] = str(_AGAIN_SECONDS)
    _count_limited(request, error)
    note_lost_replica(request, error)
    return _response(code, message_of(error), error.where, error.remedy, headers)


_LIMITS: Final[tuple[tuple[type[KnickpointError], str], ...]] = (
    (BacklogError, "uploads"),
    (TooManyRequestsError, "rate"),
    (OverloadedError, "load"),
    (DeadlineError, "time"),
)
"""The limit that an error is about, as metrics name it."""


def _count_limited(request: Request, error: KnickpointError) -> None:
    metrics = getattr(request.app.state, "request_metrics", None)
    limit = next((limit for kind, limit in _LIMITS if isinstance(error, kind)), "")
    if limit and isinstance(metrics, RequestMetrics):
        metrics.count_limited(limit)


def _challenge(request: Request) -> str:
    """Return the value of ``WWW-Authenticate``: RFC 6750 distinguishes a missing token from a wrong one."""
    return f'{_BEARER}, error="invalid_token"' if "authorization" in request.headers else _BEARER


def _invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    name = str(first["loc"][-1])
    if first["type"] == "extra_forbidden":
        kind, known = _known_names(request, str(first["loc"][0]))
        shown = name[:_LONGEST_SHOWN]
        return _response(422, f"There is no {kind} {shown!r}.", where[:_LONGEST_SHOWN], _meant(name, kind, known))
    if first["type"] == "missing":
        return _response(422, f"{name!r} is missing.", where, f"Send it; see {_operation_address(request)}.")
    message, given = first["msg"], first.get("input")
    if first["type"] == "enum" and isinstance(given, str):
        known = _QUOTED.findall(first["ctx"]["expected"])
        return _response(422, f"There is no {name} {given[:_LONGEST_SHOWN]!r}.", where, _meant(given, name, known))
    if first["type"].startswith("date_from") and isinstance(given, str):
        return _response(422, f"{given[:_LONGEST_SHOWN]!r} is not a day.", where, "Write it as 2026-03-14.")
    shown = f": {str(given)[:_LONGEST_SHOWN]!r} was sent" if isinstance(given, str | int | float) else ""
    return _response(
        422, f"{message}{shown}.", where, f"See {_operation_address(request)} for what this address takes."
    )


def _operation_address(request: Request) -> str:
    """Return the address of the description of what ``request`` asks for."""
    name = getattr(request.scope.get("route"), "name", "")
    return f"/docs#{name}" if name else "/docs"


def _known_names(request: Request, place: str) -> tuple[str, list[str]]:
    """Return the kind of names of ``place``, the query or the body, and those that ``request`` may have."""
    route = request.scope.get("route")
    if place == "query":
        return "parameter", parameters_of(route)
    kind = getattr(getattr(getattr(route, "body_field", None), "field_info", None), "annotation", None)
    return "field", list(getattr(kind, "model_fields", {}))


def _meant(name: str, kind: str, known: list[str]) -> str:
    """Suggest the names of ``known`` similar to ``name``, the most similar first, or list all."""
    if not known:
        return "Leave it out."
    similar = " or ".join(repr(each) for each in get_close_matches(name, known, _MOST_SIMILAR))
    return f"{f'Did you mean {similar}? ' if similar else ''}The {_plural(kind)} are: {', '.join(known)}."


def _plural(noun: str) -> str:
    return noun[:-1] + "ies" if noun.endswith("y") else f"{noun}{'es' if noun.endswith('s') else 's'}"


def _page_for_people(request: Request) -> Path | None:
    """Return the dashboard, which says that there is no such page, for a browser that asks outside the API."""
    page = getattr(request.app.state, "page_of_unknown_addresses", None)
    people = "text/html" in request.headers.get("accept", "") and request.method in {"GET", "HEAD"}
    within = request.url.path.startswith(("/api/", "/assets/"))
    return page if isinstance(page, Path) and people and not within and page.is_file() else None


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == _NOT_FOUND and (page := _page_for_people(request)) is not None:
        return FileResponse(page, _NOT_FOUND, headers={"cache-control": "no-cache"})
    remedy = "See /api/v1/reference for the addresses there are." if error.status_code == 404 else ""
    remedy = _REMEDIES.get(error.status_code, remedy)
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    if error.status_code == _NOT_ALLOWED:
        headers["allow"] = _allowed_methods(request, headers.get("allow", ""))
        remedy = f"Send {headers['allow']}."
    return _response(error.status_code, f"{error.detail}.", request.url.path, remedy, headers)


def _allowed_methods(request: Request, known: str) -> str:
    """Return the methods of all routes at the address of ``request``; ``known`` are those of the first one."""
    found = {method.strip() for method in known.split(",") if method.strip()}
    for template, operations in request.app.openapi()["paths"].items():
        if compile_path(template)[0].match(request.url.path):
            found |= {method.upper() for method in operations}
    return ", ".join(sorted(found | ({"HEAD"} if "GET" in found else set())))


def _unexpected_error(request: Request, error: BaseException) -> JSONResponse:
    _LOG.error("%s %s failed (request %s)", request.method, request.url.path, request_id(), exc_info=error)
    return _response(
        500,
        "This is a defect of the server.",
        request.url.path,
        "Its log has the details; please report them.",
        {HEADER: request_id()},  # this answer does not pass the middleware
    )


def error_response(request: Request, error: BaseException) -> JSONResponse:
    """Return the response to an error of the work of a request, also of one that is being answered already."""
    if isinstance(error, KnickpointError):
        return _knickpoint_error(request, error)
    return _unexpected_error(request, error)


def add_error_handlers(app: FastAPI) -> None:
    """Have ``app`` answer every error with an :class:`ErrorAnswer`."""
    app.add_exception_handler(KnickpointError, _knickpoint_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected_error)


# Refuse texts in addresses that no store can hold, and say in the description of the API which texts are accepted.


_NUL: Final = "\0"
_NARROWER: Final = frozenset({"pattern", "enum", "const", "format"})


async def check_texts(request: Request) -> None:
    """Check that neither the path nor a parameter of a request has the character NUL, which PostgreSQL refuses.

    Raises:
        InputError: one has.
    """
    for name, value in (("path", request.url.path), *request.query_params.multi_items()):
        if _NUL in value or _NUL in name:
            raise InputError("the text contains a NUL character", where=name.replace(_NUL, ""), remedy="Take it out.")


def describe_texts(description: dict[str, Any]) -> dict[str, Any]:
    """Add the pattern of accepted texts to each parameter of ``description``, in place, and return it."""
    for operations in description["paths"].values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                for schema in _texts(parameter["schema"]):
                    schema["pattern"] = TEXT_PATTERN
    return description


def _texts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in (schema, *schema.get("anyOf", ())):
        if part.get("type") == "string" and not _NARROWER & part.keys():
            yield part


# Abandon the work of a request when its client closes the connection.


Result = TypeVar("Result")

_DISCONNECT: Final = "http.disconnect"


async def while_waited_for(request: Request, work: Callable[[], Result]) -> Result:
    """Return the result of ``work``, done in a thread; if the client goes before, the work ends at its next check.

    Raises:
        AbandonedError: the client has gone.
    """
    watching = asyncio.create_task(abandon_on_disconnect(request))
    try:
        return await asyncio.create_task(run_in_threadpool(work))
    finally:
        watching.cancel()


async def abandon_on_disconnect(request: Request) -> None:
    """Wait until the client of ``request`` closes the connection, and let its work end then."""
    while (await request.receive())["type"] != _DISCONNECT:
        pass
    abandon()


_MEDIA_TYPE: Final = "application/x-ndjson"
_EVERY_SECONDS: Final = 0.1
_GZIP: Final = 16 + zlib.MAX_WBITS
_LEVEL: Final = 5

LINES: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {_MEDIA_TYPE: {"schema": {"type": "string"}}}},
}
"""What an operation documents whose answer may come in lines."""


async def answer_with_progress(request: Request, work: Callable[[], Answer]) -> Response:
    """Do ``work`` in a thread, and answer with lines of JSON.

    A line is ``{"progress": …}`` whenever that has changed, at most ten times a second, and at the end ``{"answer":
    …}``, or ``{"error": …, "status": …}``. What fails before it tells anything is an error as of any request. If the
    client goes, the work ends at its next check.

    Raises:
        KnickpointError: the work failed before it reported anything.
    """
    with reporting() as report:
        task = asyncio.create_task(run_in_threadpool(work))
    watching = asyncio.create_task(abandon_on_disconnect(request))
    try:
        while report.newest is None and not task.done():
            await asyncio.wait({task}, timeout=_EVERY_SECONDS)
        if task.done():
            task.result()
    except BaseException:
        watching.cancel()
        abandon()
        raise
    return _Lines(request, task, watching, report)


class _Lines(Response):
    """The lines of an answer; they are compressed here, one by one, as a middleware would hold them back."""

    media_type = _MEDIA_TYPE

    def __init__(
        self, request: Request, task: asyncio.Task[Answer], watching: asyncio.Task[None], report: Report
    ) -> None:
        super().__init__(headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._request, self._task, self._watching, self._report = request, task, watching, report
        self._gzip = None
        if "gzip" in request.headers.get("accept-encoding", ""):
            self._gzip = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
            self.headers["content-encoding"] = "gzip"
        self.headers.add_vary_header("Accept-Encoding")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # as of any response
        """Send the lines."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sent: Progress | None = None
        try:
            while not self._task.done():
                if self._report.newest is not sent and (sent := self._report.newest):
                    await send({"type": "http.response.body", "body": self._packed(_line(sent)), "more_body": True})
                await asyncio.wait({self._task}, timeout=_EVERY_SECONDS)
            await send({"type": "http.response.body", "body": self._packed(self._last_line(), last=True)})
        finally:
            self._watching.cancel()
            if not self._task.done():
                abandon()

    def _packed(self, line: bytes, *, last: bool = False) -> bytes:
        if self._gzip is None:
            return line
        return self._gzip.compress(line) + self._gzip.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)

    def _last_line(self) -> bytes:
        error = self._task.exception()
        if error is None:
            return b'{"answer":' + self._task.result().model_dump_json().encode() + b"}\n"
        response = error_response(self._request, error)
        return b'{"error":' + bytes(response.body) + f',"status":{response.status_code}}}\n'.encode()


def _line(progress: Progress) -> bytes:
    return json.dumps({"progress": {**asdict(progress), "stage": progress.stage.value}}).encode() + b"\n"
