"""Routes of tokens and of the audit log."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Response

from knickpoint.answers import tokens
from knickpoint.answers import tokens as audit
from knickpoint.answers.tokens import AuditEntryAnswer, NewTokenAnswer, TokenAnswer, TokenRequest
from knickpoint.model.access import AuditKind
from knickpoint.server.callers import Admin, InstanceAdmin
from knickpoint.server.routes.dependencies import MOST, RequestStore

router = APIRouter(tags=["access"])

_CREATED: Final = 201


@router.get("/tokens")
def get_tokens(store: RequestStore, caller: Admin) -> list[TokenAnswer]:
    """List tokens by name, revoked and expired ones too.

    An admin of some repositories sees the tokens for these alone.
    """
    return tokens.list_tokens(store, caller)


@router.post("/tokens", status_code=_CREATED)
def post_token(store: RequestStore, caller: Admin, request: TokenRequest, response: Response) -> NewTokenAnswer:
    """Create a token. The answer is the only one that has its secret. A token grants no more than its creator has."""
    response.headers["cache-control"] = "no-store"
    return tokens.create_token(store, caller, request)


@router.delete("/tokens/{name}")
def delete_token(
    store: RequestStore, caller: Admin, name: Annotated[str, Path(max_length=200, description="Name of the token.")]
) -> TokenAnswer:
    """Revoke a token: it is refused from now on, for good, and stays in the list."""
    return tokens.revoke_token(store, caller, name)


@router.get("/audit")
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
    return audit.list_entries(store, before=before, kind=kind, who=who, limit=limit)
