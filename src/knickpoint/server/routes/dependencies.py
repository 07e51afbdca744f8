"""What several routes share: the instance, what of it is visible, repository, line, trace, and numbers as bytes."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from enum import Enum
from functools import wraps
from inspect import Parameter, Signature
from typing import Annotated, Any, Final, ParamSpec, TypeVar

from fastapi import Depends, Header, Path, Query, Request, Response
from starlette.requests import HTTPConnection

from knickpoint.answers.base import Answer, ChangeId
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.instance import Instance
from knickpoint.server.callers import Reader
from knickpoint.server.reads import AnswerCache, reading_instance
from knickpoint.store import Store

_P = ParamSpec("_P")
_Found = TypeVar("_Found")
_Kind = TypeVar("_Kind", bound=Answer)


async def _primary(request: Request) -> Instance:
    instance = request.app.state.instance
    assert isinstance(instance, Instance)
    return instance


async def _instance(request: Request, instance: Annotated[Instance, Depends(_primary)]) -> Instance:
    return await reading_instance(request, instance)


async def _store(instance: Annotated[Instance, Depends(_instance)]) -> Store:
    return instance.store


async def _visible(caller: Reader, instance: Annotated[Instance, Depends(_instance)]) -> VisibleRepositories:
    return VisibleRepositories(instance.store, caller, instance.config.access.public_profiles)


async def _cache(request: Request) -> AnswerCache:
    cache = request.app.state.answer_cache
    assert isinstance(cache, AnswerCache)
    return cache


MOST: Final = 2**53
"""The greatest id or position: the greatest integer that JavaScript holds exactly."""

RESULTS_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary", "minLength": 1}}},
    }
}
"""What the description of the API says of a body that is a results file."""

PrimaryInstance = Annotated[Instance, Depends(_primary)]
"""The instance with the primary of its store, for what is said about the state of a process."""

RequestInstance = Annotated[Instance, Depends(_instance)]
"""The instance; a replica of its store may answer what is read."""

RequestStore = Annotated[Store, Depends(_store)]
"""The store, for routes about what belongs to no repository: tokens, the audit log, settings of people."""

Visible = Annotated[VisibleRepositories, Depends(_visible)]
"""What the caller may read; a route that takes it needs the permission to read."""


def in_one_snapshot(endpoint: Callable[_P, _Found]) -> Callable[_P, _Found]:
    """Read everything for a route in one snapshot of the store; for a route that takes ``visible``.

    It holds a connection until the answer is made, so it is not for routes that compute for long.
    """

    @wraps(endpoint)
    def answer(*args: _P.args, **named: _P.kwargs) -> _Found:
        visible = named["visible"]
        assert isinstance(visible, VisibleRepositories)
        with visible.store.database.reading():
            return endpoint(*args, **named)

    return answer


Cache = Annotated[AnswerCache, Depends(_cache)]
"""The cache of answers of this process."""

RepositoryName = Annotated[str, Query(description="Name of the repository; optional where there is only one.")]
LineName = Annotated[str, Query(description="Name of the line. Default: the default line.")]
FirstPosition = Annotated[int | None, Query(ge=0, le=MOST, description="First position on the line, counted from 0.")]
TraceKey = Annotated[int, Path(ge=0, le=MOST, description="Id of the trace.")]
ChangeKey = Annotated[ChangeId, Path(description="Id of the change.")]
LastPosition = Annotated[int | None, Query(ge=0, le=MOST, description="Last position on the line, inclusive.")]


def from_parameters(kind: type[_Kind]) -> Callable[..., _Kind]:
    """Return a dependency that reads ``kind``, such as a filter, from the parameters of an address: one for each field.

    FastAPI reads a model from parameters only where a route has no other ones.
    """

    def read(**parameters: object) -> _Kind:
        return kind.model_validate(parameters)

    fields = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=field.default,
            annotation=Annotated[field.annotation, *field.metadata, Query(description=field.description)],
        )
        for name, field in kind.model_fields.items()
    ]
    read.__signature__ = Signature(fields)  # type: ignore[attr-defined]
    return read


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
