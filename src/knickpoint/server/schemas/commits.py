"""Repositories, lines and commits."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.server.schemas.base import Answer

__all__ = [
    "CommitAnswer",
    "CommitsAnswer",
    "LineAnswer",
    "ReleaseAnswer",
    "RepositoryAnswer",
]


class RepositoryAnswer(Answer):
    """A repository of the instance."""

    name: str
    location: str = Field(description="Path or URL of the git repository, empty where commits come from results only.")
    lines: list[str] = Field(description="Names of its lines, the default line first.")
    commits: int = Field(description="Number of commits on the default line.")
    traces: int


class LineAnswer(Answer):
    """A line: one branch by first parent."""

    name: str
    base: str = Field(description="The line that it branched off; empty for a base line.")
    commits: int


class ReleaseAnswer(Answer):
    """A release of a repository: a tag of git."""

    repository: str
    name: str = Field(description="The name of the tag.")
    position: int | None = Field(
        description="Position of the last commit of the default line that the tag contains; null where it has none."
    )


class CommitAnswer(Answer):
    """A commit, and its position on the line of the request."""

    hash: str = Field(examples=["9c1f0a64be2d57f38a0c41d6e97b25a3f04d8e6b"])
    short: str = Field(examples=["9c1f0a64b"], description="The beginning of the hash, for people.")
    author: str = Field(examples=["Ada Okafor"])
    email: str = Field(examples=["ada@example.org"])
    time: datetime | None = Field(description="null where it is unknown.")
    subject: str = Field(examples=["Cache the tables of the parser"])
    url: str = Field(description="Its page at the forge; empty where none is known.")
    position: int | None = Field(description="0-based position on the line, null where it is not on the line.")


class CommitsAnswer(Answer):
    """Consecutive commits of a line, oldest first."""

    repository: str
    line: str
    total: int = Field(description="Number of commits on the line.")
    first: int = Field(description="Position of the first commit of this answer.")
    commits: list[CommitAnswer]
