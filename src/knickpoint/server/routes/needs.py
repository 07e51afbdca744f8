"""What routes need: the instance, its store, and parameters that several of them share."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request

from knickpoint.instance import Instance
from knickpoint.store import Store

__all__ = ["FirstPosition", "InstanceNeed", "LastPosition", "LineName", "RepositoryName", "StoreNeed"]


def _instance(request: Request) -> Instance:
    instance = request.app.state.instance
    assert isinstance(instance, Instance)
    return instance


def _store(instance: Annotated[Instance, Depends(_instance)]) -> Store:
    return instance.store


InstanceNeed = Annotated[Instance, Depends(_instance)]
StoreNeed = Annotated[Store, Depends(_store)]
RepositoryName = Annotated[str, Query(description="Name of the repository; may be left out where there is only one.")]
LineName = Annotated[str, Query(description="Name of the line; the default line without it.")]
FirstPosition = Annotated[int | None, Query(ge=0, description="First position on the line, counted from 0.")]
LastPosition = Annotated[int | None, Query(ge=0, description="Last position on the line, inclusive.")]
