"""Routes that say who the caller is, and keep what the caller set in the dashboard."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request

from knickpoint.answers.me import (
    MeAnswer,
    Setting,
    SettingRequest,
    SettingsAnswer,
    describe_caller,
    put_setting,
    read_settings,
)
from knickpoint.server.callers import RequestCaller, RequestIdentity
from knickpoint.server.routes.dependencies import RequestInstance, RequestStore

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


@router.get("/me/settings")
def get_settings(caller: RequestCaller, store: RequestStore) -> SettingsAnswer:
    """Return the dashboard settings of the caller. The server keeps them for people who signed in."""
    return read_settings(store, caller)


@router.put("/me/settings/{name}")
def put_settings(
    caller: RequestCaller,
    store: RequestStore,
    name: Annotated[Setting, Path(description="Which setting.")],
    request: SettingRequest,
) -> SettingsAnswer:
    """Keep a setting of a person who signed in."""
    return put_setting(store, caller, name, request.value)
