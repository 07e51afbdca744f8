"""The address at which AI agents use the tools of the instance, by the Model Context Protocol."""

from __future__ import annotations

from importlib.util import find_spec

from fastapi import APIRouter, Request, Response

from knickpoint.answers.visible_repositories import UnknownError
from knickpoint.model.access import CallerKind, Permission
from knickpoint.server.callers import Reader
from knickpoint.server.request_limits import limits_of
from knickpoint.server.routes.dependencies import PrimaryInstance

router = APIRouter(tags=["agents"])


@router.post("/mcp")
async def post_mcp(request: Request, caller: Reader, instance: PrimaryInstance) -> Response:
    """Answer one message of the Model Context Protocol, with what the caller may read.

    A token opens what its scopes say. A person who signed in, or sits at this machine, only reads through an agent,
    because only a token states that an agent may do more.
    """
    if find_spec("mcp") is None:
        raise UnknownError(
            "the server has no tools for agents", where="/mcp", remedy='Run: pip install "knickpoint[mcp]"'
        )
    from knickpoint.agents import answer_http, begin_session  # the package is an extra of its own

    allowed = frozenset(Permission) if caller.kind is CallerKind.TOKEN else frozenset[Permission]()
    session = begin_session(instance, caller, allowed)
    body_bytes = limits_of(request).settings.body_bytes
    status, headers, body = await answer_http(session, request.scope, request.receive, body_bytes=body_bytes)
    return Response(body, status, {name.decode("latin-1"): value.decode("latin-1") for name, value in headers})
