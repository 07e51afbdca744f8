"""Routes of bisections."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from knickpoint.answers.base import BisectionId, ChangeId
from knickpoint.answers.bisections import (
    BisectionAnswer,
    BisectionDetailAnswer,
    BisectionRequest,
    RemeasuredAnswer,
    ask,
    find_bisection,
    list_bisections,
    list_recipes,
    list_remeasured,
    read_found_flame_graph,
    stop,
)
from knickpoint.answers.flame_graphs import FlameGraphAnswer
from knickpoint.model.bisection import BisectionState
from knickpoint.server.callers import Measurer
from knickpoint.server.routes.dependencies import (
    ChangeKey,
    LineName,
    RepositoryName,
    RequestInstance,
    TraceKey,
    Visible,
)

router = APIRouter(tags=["bisections"])

BisectionKey = Annotated[BisectionId, Path(description="Id of the bisection.")]


@router.get("/bisections")
def get_bisections(
    visible: Visible,
    repository: RepositoryName = "",
    state: Annotated[list[BisectionState] | None, Query(description="Only these states; repeatable.")] = None,
    change: Annotated[ChangeId | None, Query(description="Only those of this change.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="How many to return.")] = 50,
) -> list[BisectionAnswer]:
    """List bisections, the newest first."""
    return list_bisections(visible, repository, state or [], change or 0, limit)


@router.get("/bisections/{bisection}")
def get_bisection(visible: Visible, bisection: BisectionKey) -> BisectionDetailAnswer:
    """Return everything about one bisection: probability of each commit, probes, log, devices, time left."""
    return find_bisection(visible, bisection)


@router.get("/bisections/{bisection}/flame")
def get_found_flame_graph(
    visible: Visible,
    instance: RequestInstance,
    bisection: BisectionKey,
    benchmark: Annotated[str, Query(description="Default: the first one with profiles of both commits.")] = "",
) -> FlameGraphAnswer:
    """Return the differential flame graph of the commit that a bisection found, against the one before it.

    Only known callers may read it, unless `public_profiles` of `[access]` says otherwise.
    """
    return read_found_flame_graph(visible, instance, bisection, benchmark)


@router.post("/bisections/{bisection}/stop")
def post_stop(
    _caller: Measurer, visible: Visible, instance: RequestInstance, bisection: BisectionKey
) -> BisectionDetailAnswer:
    """Stop a bisection. Probes that run are ended."""
    return stop(visible, instance, bisection)


@router.get("/changes/{change}/recipes")
def get_recipes(visible: Visible, instance: RequestInstance, change: ChangeKey) -> list[str]:
    """List the recipes of the configuration with which a change can be bisected."""
    return list_recipes(visible, instance, change)


@router.post("/changes/{change}/bisection")
def post_bisection(
    _caller: Measurer,
    visible: Visible,
    instance: RequestInstance,
    change: ChangeKey,
    request: BisectionRequest,
) -> BisectionDetailAnswer:
    """Ask for a bisection of a change; where the same one waits or runs, it is returned.

    Only commands of the configuration are run: the request names one of its recipes.
    """
    return ask(visible, instance, change, request.recipe)


@router.get("/traces/{key}/remeasured")
def get_remeasured(visible: Visible, key: TraceKey, line: LineName = "") -> list[RemeasuredAnswer]:
    """List the values of a trace that probes of bisections measured, in the order of the line."""
    return list_remeasured(visible, key, line)
