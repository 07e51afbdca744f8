"""What routes need: the instance, its store, and parameters that several of them share."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends, Path, Query, Request

from knickpoint.instance import Instance
from knickpoint.store import Store

__all__ = [
    "MOST",
    "FirstPosition",
    "InstanceNeed",
    "LastPosition",
    "LineName",
    "RepositoryName",
    "StoreNeed",
    "TraceKey",
]


def _instance(request: Request) -> Instance:
    instance = request.app.state.instance
    assert isinstance(instance, Instance)
    return instance


def _store(instance: Annotated[Instance, Depends(_instance)]) -> Store:
    return instance.store


MOST: Final = 2**53
"""The greatest id or position: what every client can hold exactly."""

InstanceNeed = Annotated[Instance, Depends(_instance)]
StoreNeed = Annotated[Store, Depends(_store)]
RepositoryName = Annotated[str, Query(description="Name of the repository; may be left out where there is only one.")]
LineName = Annotated[str, Query(description="Name of the line; the default line without it.")]
FirstPosition = Annotated[int | None, Query(ge=0, le=MOST, description="First position on the line, counted from 0.")]
TraceKey = Annotated[int, Path(ge=0, le=MOST, description="Id of the trace.")]
LastPosition = Annotated[int | None, Query(ge=0, le=MOST, description="Last position on the line, inclusive.")]
