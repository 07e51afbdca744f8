"""What all bodies of requests and answers have in common, and the shape of an error."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Answer",
    "ErrorAnswer",
    "Id",
]


Id = Annotated[int, Field(ge=0, le=2**53)]


class Answer(BaseModel):
    """Be the root of all shapes; what is not named in a request is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ErrorAnswer(Answer):
    """Every error of the API: what was wrong, where, and what to do."""

    error: str
    where: str = ""
    remedy: str = ""
