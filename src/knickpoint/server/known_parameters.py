"""Refuse parameters of addresses that the route does not take: a mistyped filter would answer something else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

__all__ = ["check_parameters", "parameters_of"]

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
