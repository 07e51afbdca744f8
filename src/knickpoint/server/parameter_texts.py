"""Refuse texts in addresses that no store can hold, and say in the description of the API which texts are accepted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from fastapi import Request

from knickpoint.model.errors import InputError
from knickpoint.server.schemas.base import TEXT_PATTERN

__all__ = ["check_texts", "describe_texts"]

_NUL: Final = "\0"
_NARROWER: Final = frozenset({"pattern", "enum", "const", "format"})


async def check_texts(request: Request) -> None:
    """Check that neither the path nor a parameter of a request has the character NUL, which PostgreSQL refuses.

    Raises:
        InputError: one has.
    """
    for name, value in (("path", request.url.path), *request.query_params.multi_items()):
        if _NUL in value or _NUL in name:
            raise InputError("the text has the character NUL", where=name.replace(_NUL, ""), remedy="Take it out.")


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
