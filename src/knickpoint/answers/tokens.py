"""Tokens for machines, and the audit log."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final

from pydantic import AwareDatetime, Field

from knickpoint.access import tokens
from knickpoint.answers.base import Answer, Text
from knickpoint.model.access import AuditKind, Caller, CallerKind, Permission, Token, TokenState
from knickpoint.model.errors import AbsentError, ForbiddenError
from knickpoint.store import Store

# Tokens for machines, and the request for a new one.


_MOST_REPOSITORIES = 1000


class TokenAnswer(Answer):
    """A token for machines, without its secret."""

    name: str
    scopes: list[Permission] = Field(
        description="What the token permits. `decide` and `measure` include `read`, `admin` includes all."
    )
    repositories: list[str] = Field(description="Names of the repositories that it is limited to; empty: all.")
    created: datetime
    created_by: str = Field(description="Name of the caller who created it.")
    expires: datetime | None = Field(description="From when on it is refused; null: never.")
    last_used: datetime | None = Field(description="When it was last used, to the minute; null: never.")
    revoked: datetime | None = Field(description="When it was revoked; null: it is not.")
    state: TokenState = Field(description="Whether it is accepted now.")


class TokenRequest(Answer):
    """A token to create."""

    name: str = Field(
        max_length=200,
        json_schema_extra={"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},
        description="1 to 64 letters, digits, dots, underscores and hyphens; a name that no token had before.",
    )
    scopes: list[Permission] = Field(
        max_length=len(Permission),
        json_schema_extra={"minItems": 1},
        description="What the token permits; at least one.",
    )
    repositories: list[Text] = Field(
        default=[],
        max_length=_MOST_REPOSITORIES,
        description="Names of the repositories that it is limited to. Default: all, which takes an admin of all.",
    )
    expires: AwareDatetime | None = Field(
        default=None, description="From when on it is refused; with an offset to UTC. Default: never."
    )


class NewTokenAnswer(Answer):
    """A new token with its secret."""

    token: TokenAnswer
    secret: str = Field(description="What machines send as `Authorization: Bearer SECRET`. It cannot be read again.")


# List, create and revoke tokens, within what the caller administers.


_TOKEN: Final = "token:"  # noqa: S105  # what the names of callers begin with, not a secret


def list_tokens(store: Store, caller: Caller) -> list[TokenAnswer]:
    """List the tokens that ``caller`` administers by name, revoked and expired ones too."""
    return [token_answer(token) for token in tokens.list_tokens(store) if _administers(caller, token.repositories)]


def create_token(store: Store, caller: Caller, request: TokenRequest) -> NewTokenAnswer:
    """Create a token that grants no more than ``caller`` has, and for no longer where ``caller`` is a token.

    Raises:
        ForbiddenError: it is for a repository, or for all, of which ``caller`` is not an admin, or it outlives
        ``caller``. InputError: its name is taken, or a value cannot be used.
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
    """Return True if ``caller`` is an admin of all ``repositories``, of every one where none is named.

    An admin may do everything, so a token for these repositories grants no more, whatever its scopes.
    """
    if not repositories:
        return Permission.ADMIN in caller.grants.everywhere
    return all(caller.grants.allow(Permission.ADMIN, repository) for repository in repositories)


def _end_of(store: Store, caller: Caller) -> datetime | None:
    """Return when the token expires that ``caller`` is, None where it does not, or is not a token."""
    if caller.kind is not CallerKind.TOKEN:
        return None
    name = caller.name.removeprefix(_TOKEN)
    return next((token.expires for token in tokens.list_tokens(store) if token.name == name), None)


def token_answer(token: Token) -> TokenAnswer:
    """Return a token, with its state of now."""
    scopes = [scope for scope in Permission if scope in token.scopes]
    return TokenAnswer.of(token, scopes=scopes, state=token.state_at(datetime.now(UTC)))


# Entries of the audit log.


class AuditEntryAnswer(Answer):
    """One entry of the audit log."""

    id: int
    time: datetime
    kind: AuditKind
    who: str = Field(description="Name of the caller: a mail address or user name, `token:NAME`, or that of a CI job.")
    about: str = Field(description="What the caller did, in words.")
    address: str = Field(description="Network address that the request came from; empty for a command.")


# List the audit log.


def list_entries(
    store: Store, *, before: int | None, kind: AuditKind | None, who: str, limit: int
) -> list[AuditEntryAnswer]:
    """List at most ``limit`` entries, the newest first."""
    entries = store.audit.entries(before_id=before, kind=kind, who=who, limit=limit)
    return [AuditEntryAnswer.of(entry) for entry in entries]
