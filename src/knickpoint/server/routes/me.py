"""Routes that say who the caller is, and keep what the caller set in the dashboard."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from knickpoint.answers.me import (
    MeAnswer,
    Setting,
    SettingRequest,
    SettingsAnswer,
    SharedView,
    SharedViewAnswer,
    describe_caller,
    list_views,
    put_setting,
    read_settings,
    share_view,
    unshare_view,
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


@router.get("/views")
def get_views(caller: RequestCaller, store: RequestStore) -> list[SharedViewAnswer]:
    """List the views that people share, by name.

    A view of one repository is for those who may read it; others are for those who may read all repositories.
    """
    return list_views(store, caller)


@router.put("/views")
def put_view(caller: RequestCaller, store: RequestStore, request: SharedView) -> SharedViewAnswer:
    """Share a page of the dashboard under a name, in place of the former one of this name; at most 200."""
    return share_view(store, caller, request)


@router.delete("/views")
def delete_view(
    caller: RequestCaller, store: RequestStore, name: Annotated[str, Query(max_length=80, description="Which view.")]
) -> SharedViewAnswer:
    """Stop sharing a view; the answer is the view."""
    return unshare_view(store, caller, name)
