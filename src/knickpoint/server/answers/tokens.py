"""List, create and revoke tokens, within what the caller administers."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

from knickpoint.access import tokens
from knickpoint.model.access import Caller, CallerKind, Permission, Token
from knickpoint.model.errors import AbsentError, ForbiddenError
from knickpoint.server.schemas.tokens import NewTokenAnswer, TokenAnswer, TokenRequest
from knickpoint.store import Store

__all__ = ["create_token", "list_tokens", "revoke_token", "token_answer"]

_TOKEN: Final = "token:"  # noqa: S105  # what the names of callers begin with, not a secret


def list_tokens(store: Store, caller: Caller) -> list[TokenAnswer]:
    """List the tokens that ``caller`` administers by name, revoked and expired ones too."""
    return [token_answer(token) for token in tokens.list_tokens(store) if _administers(caller, token.repositories)]


def create_token(store: Store, caller: Caller, request: TokenRequest) -> NewTokenAnswer:
    """Create a token that grants no more than ``caller`` has, and for no longer where ``caller`` is a token.

    Raises:
        ForbiddenError: it is for a repository, or for all, of which ``caller`` is no admin, or it outlives ``caller``.
        InputError: its name is taken, or a value cannot be used.
    """
    if not _administers(caller, request.repositories):
        wanted = ", ".join(request.repositories) or "all repositories"
        raise ForbiddenError(
            f"the caller {caller.name} may not create a token for {wanted}",
            where="repositories",
            remedy="Name only repositories of which you are an admin; GET /api/v1/me lists them.",
        )
    end = _end_of(store, caller)
    if end is not None and (request.expires is None or request.expires > end):
        raise ForbiddenError(
            f"the caller {caller.name} may not create a token that outlives it",
            where="expires",
            remedy=f"Have it expire at {end.isoformat(timespec='seconds')} or earlier.",
        )
    created = tokens.create_token(
        store,
        request.name,
        request.scopes,
        by=caller.name,
        repositories=request.repositories,
        expires=request.expires,
    )
    return NewTokenAnswer(token=token_answer(created.token), secret=created.secret)


def revoke_token(store: Store, caller: Caller, name: str) -> TokenAnswer:
    """Revoke the token ``name``.

    Raises:
        AbsentError: there is no such token among those that ``caller`` administers.
        InputError: it is revoked already.
    """
    if name not in {token.name for token in list_tokens(store, caller)}:
        raise AbsentError(f"there is no token {name!r}", where="name", remedy="GET /api/v1/tokens lists the tokens.")
    return token_answer(tokens.revoke_token(store, name, by=caller.name))


def _administers(caller: Caller, repositories: Collection[str]) -> bool:
    """Return whether ``caller`` is an admin of all ``repositories``, of every one where none is named.

    An admin may do everything, so a token for these repositories grants no more, whatever its scopes.
    """
    if not repositories:
        return Permission.ADMIN in caller.grants.everywhere
    return all(caller.grants.allow(Permission.ADMIN, repository) for repository in repositories)


def _end_of(store: Store, caller: Caller) -> datetime | None:
    """Return when the token expires that ``caller`` is, None where it does not, or is no token."""
    if caller.kind is not CallerKind.TOKEN:
        return None
    name = caller.name.removeprefix(_TOKEN)
    return next((token.expires for token in tokens.list_tokens(store) if token.name == name), None)


def token_answer(token: Token) -> TokenAnswer:
    """Return a token, with its state of now."""
    scopes = [scope for scope in Permission if scope in token.scopes]
    return TokenAnswer.of(token, scopes=scopes, state=token.state_at(datetime.now(UTC)))
