"""The outcome of an upload."""

from __future__ import annotations

from pydantic import Field

from knickpoint.ingest.import_summary import ImportState
from knickpoint.server.schemas.base import Answer

__all__ = [
    "ArrivalsAnswer",
    "UploadAnswer",
]


class UploadAnswer(Answer):
    """The outcome of importing one results file."""

    outcome: ImportState
    repository: str
    format: str
    new: int = Field(description="Runs that were new.")
    same: int = Field(description="Runs that the store had already.")
    corrected: int
    rerun: int
    waiting: int = Field(
        description="Runs of unknown commits; they are imported once the repository has these commits."
    )
    points: int
    new_traces: int
    lines: list[str] = Field(description="The same in words, one line a fact.")


class ArrivalsAnswer(Answer):
    """The outcome of importing the files that a bucket event names."""

    files: list[UploadAnswer] = Field(description="Those that belong to a source and still exist.")
