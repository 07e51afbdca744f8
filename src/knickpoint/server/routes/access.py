"""Routes about callers: who asks and what they set in the dashboard, tokens, the audit log."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request, Response

from knickpoint.answers import access
from knickpoint.answers.access import (
    AuditEntryAnswer,
    MeAnswer,
    NewTokenAnswer,
    Setting,
    SettingRequest,
    SettingsAnswer,
    SharedView,
    SharedViewAnswer,
    TokenAnswer,
    TokenRequest,
    describe_caller,
    list_views,
    put_setting,
    read_settings,
    share_view,
    unshare_view,
)
from knickpoint.model.access import AuditKind
from knickpoint.server.callers import Admin, InstanceAdmin, RequestCaller, RequestIdentity
from knickpoint.server.routes.dependencies import MOST, RequestInstance, RequestStore

me_router = APIRouter(tags=["access"])


@me_router.get("/me")
def get_me(identity: RequestIdentity, request: Request, instance: RequestInstance) -> MeAnswer:
    """Return who the caller is, what the caller may do, and how to sign in.

    A token that is not valid is refused here as everywhere. A sign-in that has ended is not: the answer is that of
    anyone, with a notice.
    """
    return describe_caller(
        instance.config, identity.caller, open_port=request.app.state.open_port, ended=identity.ended
    )


@me_router.get("/me/settings")
def get_settings(caller: RequestCaller, store: RequestStore) -> SettingsAnswer:
    """Return the dashboard settings of the caller. The server keeps them for people who signed in."""
    return read_settings(store, caller)


@me_router.put("/me/settings/{name}")
def put_settings(
    caller: RequestCaller,
    store: RequestStore,
    name: Annotated[Setting, Path(description="Which setting.")],
    request: SettingRequest,
) -> SettingsAnswer:
    """Keep a setting of a person who signed in."""
    return put_setting(store, caller, name, request.value)


@me_router.get("/views")
def get_views(caller: RequestCaller, store: RequestStore) -> list[SharedViewAnswer]:
    """List the views that people share, by name.

    A view of one repository is for those who may read it; others are for those who may read all repositories.
    """
    return list_views(store, caller)


@me_router.put("/views")
def put_view(caller: RequestCaller, store: RequestStore, request: SharedView) -> SharedViewAnswer:
    """Share a page of the dashboard under a name, in place of the former one of this name; at most 200."""
    return share_view(store, caller, request)


@me_router.delete("/views")
def delete_view(
    caller: RequestCaller, store: RequestStore, name: Annotated[str, Query(max_length=80, description="Which view.")]
) -> SharedViewAnswer:
    """Stop sharing a view; the answer is the view."""
    return unshare_view(store, caller, name)


access_router = APIRouter(tags=["access"])

_CREATED: Final = 201


@access_router.get("/tokens")
def get_tokens(store: RequestStore, caller: Admin) -> list[TokenAnswer]:
    """List tokens by name, revoked and expired ones too.

    An admin of some repositories sees the tokens for these alone.
    """
    return access.list_tokens(store, caller)


@access_router.post("/tokens", status_code=_CREATED)
def post_token(store: RequestStore, caller: Admin, request: TokenRequest, response: Response) -> NewTokenAnswer:
    """Create a token. The answer is the only one that has its secret. A token grants no more than its creator has."""
    response.headers["cache-control"] = "no-store"
    return access.create_token(store, caller, request)


@access_router.delete("/tokens/{name}")
def delete_token(
    store: RequestStore, caller: Admin, name: Annotated[str, Path(max_length=200, description="Name of the token.")]
) -> TokenAnswer:
    """Revoke a token: it is refused from now on, for good, and stays in the list."""
    return access.revoke_token(store, caller, name)


@access_router.get("/audit")
def get_audit(
    store: RequestStore,
    _caller: InstanceAdmin,
    *,
    before: Annotated[
        int | None,
        Query(ge=0, le=MOST, description="Id of the last entry of the page before. Default: the newest ones."),
    ] = None,
    kind: Annotated[AuditKind | None, Query(description="Only entries of this kind.")] = None,
    who: Annotated[str, Query(max_length=500, description="Only entries of the caller of exactly this name.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000, description="How many to return.")] = 200,
) -> list[AuditEntryAnswer]:
    """List the audit log, the newest entries first; it is for admins of all repositories."""
    return access.list_entries(store, before=before, kind=kind, who=who, limit=limit)
