"""The history boundary of a repository."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from knickpoint.server.schemas.base import Answer
from knickpoint.server.schemas.commits import CommitAnswer

__all__ = ["HistoryAnswer"]


class HistoryAnswer(Answer):
    """The last commit whose findings are history, and the number of findings on either side of it."""

    repository: str
    line: str = Field(description="The default line; on other lines the boundary may lie elsewhere.")
    commit: CommitAnswer | None = Field(description="The last commit that is history; null where nothing is.")
    changed: datetime | None = Field(description="When the boundary was set; null before the first run.")
    who: str = Field(description="Who moved it; empty where the first run set it.")
    history: int = Field(description="Number of findings that are history.")
    work: int = Field(description="Number of findings after the boundary, which are to be triaged.")
    history_changes: int
    work_changes: int
