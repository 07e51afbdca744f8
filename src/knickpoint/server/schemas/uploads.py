"""Shapes of what became of uploaded results."""

from __future__ import annotations

from pydantic import Field

from knickpoint.ingest.import_summary import ImportState
from knickpoint.server.schemas.base import Answer

__all__ = [
    "ArrivalsAnswer",
    "UploadAnswer",
]


class UploadAnswer(Answer):
    """What became of an uploaded results file."""

    outcome: ImportState
    repository: str
    format: str
    new: int = Field(description="Runs that were new.")
    same: int = Field(description="Runs that were in already.")
    corrected: int
    rerun: int
    waiting: int = Field(description="Runs whose commits nobody knows yet; they come in once somebody does.")
    points: int
    new_traces: int
    lines: list[str] = Field(description="The same in words, one line for each fact.")


class ArrivalsAnswer(Answer):
    """What became of the files that a notification named."""

    files: list[UploadAnswer] = Field(description="Those that belong to a source and are still there.")
