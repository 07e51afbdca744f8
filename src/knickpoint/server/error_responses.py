"""Turn every error into one body: what was wrong, where, and what to do."""

from __future__ import annotations

import logging
from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from knickpoint.model.errors import (
    AbsentError,
    BusyError,
    HistoryError,
    InputError,
    KnickpointError,
    ServiceError,
    StoreError,
)
from knickpoint.server.errors import NotAllowedError, UnknownError
from knickpoint.server.schemas.base import ErrorAnswer

__all__ = ["ERRORS", "add_error_handlers"]

_LOG: Final = logging.getLogger("knickpoint.server")

_CODES: Final[tuple[tuple[type[KnickpointError], int], ...]] = (
    (NotAllowedError, 401),
    (UnknownError, 404),
    (AbsentError, 404),
    (HistoryError, 404),
    (InputError, 400),
    (BusyError, 503),
    (StoreError, 503),
    (ServiceError, 503),
)

ERRORS: Final[dict[int | str, dict[str, object]]] = {
    400: {"model": ErrorAnswer, "description": "The request cannot be used."},
    404: {"model": ErrorAnswer, "description": "What the address names does not exist."},
    422: {"model": ErrorAnswer, "description": "A parameter is missing or of the wrong kind."},
    503: {"model": ErrorAnswer, "description": "The store, or a service that is needed, is unavailable."},
}


def _response(code: int, error: str, where: str = "", remedy: str = "") -> JSONResponse:
    return JSONResponse(ErrorAnswer(error=error, where=where, remedy=remedy).model_dump(), status_code=code)


def _knickpoint_error(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, KnickpointError)
    code = next((code for kind, code in _CODES if isinstance(error, kind)), 500)
    message = error.message[:1].upper() + error.message[1:].rstrip(".") + "."
    return _response(code, message, error.where, error.remedy)


def _invalid_request(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    return _response(422, f"{first['msg']}.", where, "See /api/v1/reference for what this address takes.")


def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    remedy = "See /api/v1/reference for the addresses there are." if error.status_code == 404 else ""
    return _response(error.status_code, f"{error.detail}.", request.url.path, remedy)


def _unexpected_error(request: Request, error: Exception) -> JSONResponse:
    _LOG.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _response(
        500,
        "This is a defect of the server.",
        request.url.path,
        "Its log has the details; please report them.",
    )


def add_error_handlers(app: FastAPI) -> None:
    """Have ``app`` answer every error with an :class:`ErrorAnswer`."""
    app.add_exception_handler(KnickpointError, _knickpoint_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected_error)
