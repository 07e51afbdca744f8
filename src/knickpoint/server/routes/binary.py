"""Responses of numbers: binary, or JSON for who asks for it."""

from __future__ import annotations

import gzip
from enum import Enum
from typing import Annotated, Any, Final

from fastapi import Depends, Header, Query, Response
from starlette.requests import HTTPConnection

_TYPE: Final = "application/octet-stream"
_JSON: Final = "application/json"
_LEVEL: Final = 2
_LEAST_BYTES: Final = 1024


class NumberFormat(Enum):
    """How numbers come."""

    BINARY = "binary"
    JSON = "json"


async def _as_json(
    response: Response,
    format: Annotated[  # noqa: A002  # its name in the address
        NumberFormat | None,
        Query(description="`binary` or `json`. Default: as the header `Accept` says, else binary."),
    ] = None,
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> bool:
    response.headers["vary"] = "Accept"
    if format is not None:
        return format is NumberFormat.JSON
    return _JSON in accept and _TYPE not in accept


AsJson = Annotated[bool, Depends(_as_json)]
"""Whether the caller wants JSON."""

BINARY: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The numbers; binary ones are little-endian float64.",
        "content": {_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    }
}


def binary(content: bytes, request: HTTPConnection) -> Response:
    """Return ``content`` as the body of a response, compressed for who takes that.

    Noise does not compress: of values, what is left are positions, which the quickest levels find as well. The level of
    other answers would take three quarters of the time of a large one.
    """
    headers = {"vary": "Accept, Accept-Encoding"}
    if len(content) >= _LEAST_BYTES and "gzip" in request.headers.get("accept-encoding", ""):
        content = gzip.compress(content, _LEVEL, mtime=0)
        headers["content-encoding"] = "gzip"
    return Response(content, media_type=_TYPE, headers=headers)
