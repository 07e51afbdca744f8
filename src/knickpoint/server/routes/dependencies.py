"""Parameters that several routes share: the instance and its store, repository, line, trace."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends, Path, Query, Request

from knickpoint.instance import Instance
from knickpoint.store import Store

__all__ = [
    "MOST",
    "FirstPosition",
    "LastPosition",
    "LineName",
    "RepositoryName",
    "RequestInstance",
    "RequestStore",
    "TraceKey",
]


def _instance(request: Request) -> Instance:
    instance = request.app.state.instance
    assert isinstance(instance, Instance)
    return instance


def _store(instance: Annotated[Instance, Depends(_instance)]) -> Store:
    return instance.store


MOST: Final = 2**53
"""The greatest id or position: the greatest integer that JavaScript holds exactly."""

RequestInstance = Annotated[Instance, Depends(_instance)]
RequestStore = Annotated[Store, Depends(_store)]
RepositoryName = Annotated[str, Query(description="Name of the repository; optional where there is only one.")]
LineName = Annotated[str, Query(description="Name of the line. Default: the default line.")]
FirstPosition = Annotated[int | None, Query(ge=0, le=MOST, description="First position on the line, counted from 0.")]
TraceKey = Annotated[int, Path(ge=0, le=MOST, description="Id of the trace.")]
LastPosition = Annotated[int | None, Query(ge=0, le=MOST, description="Last position on the line, inclusive.")]
