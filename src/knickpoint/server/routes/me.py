"""The route that says who the caller is."""

from __future__ import annotations

from fastapi import APIRouter, Request

from knickpoint.server.answers.me import describe_caller
from knickpoint.server.callers import RequestIdentity
from knickpoint.server.routes.dependencies import RequestInstance
from knickpoint.server.schemas.me import MeAnswer

__all__ = ["router"]

router = APIRouter(tags=["access"])


@router.get("/me")
def get_me(identity: RequestIdentity, request: Request, instance: RequestInstance) -> MeAnswer:
    """Return who the caller is, what the caller may do, and how to sign in.

    A token that is not valid is refused here as everywhere. A sign-in that has ended is not: the answer is that of
    anyone, with a notice.
    """
    return describe_caller(
        instance.config, identity.caller, open_port=request.app.state.open_port, ended=identity.ended
    )
