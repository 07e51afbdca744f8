"""Responses of binary numbers."""

from __future__ import annotations

from typing import Any, Final

from fastapi import Response

__all__ = ["BINARY", "binary"]

_TYPE: Final = "application/octet-stream"

BINARY: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Little-endian float64 numbers.",
        "content": {_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    }
}


def binary(content: bytes) -> Response:
    """Return ``content`` as the body of a response."""
    return Response(content, media_type=_TYPE)
