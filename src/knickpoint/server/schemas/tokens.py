"""Tokens for machines, and the request for a new one."""

from __future__ import annotations

from datetime import datetime

from pydantic import AwareDatetime, Field

from knickpoint.model.access import Permission, TokenState
from knickpoint.server.schemas.base import Answer, Text

__all__ = ["NewTokenAnswer", "TokenAnswer", "TokenRequest"]

_MOST_REPOSITORIES = 1000


class TokenAnswer(Answer):
    """A token for machines, without its secret."""

    name: str
    scopes: list[Permission] = Field(
        description="What the token permits. `decide` includes `read`, `admin` includes all."
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
