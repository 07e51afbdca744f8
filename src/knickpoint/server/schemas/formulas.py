"""Calculated traces, and sets of traces and formulas under a short id."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from knickpoint.calc.tokens import LONGEST
from knickpoint.model.params import MAXIMUM_KEY_BYTES
from knickpoint.server.schemas.base import TEXT_PATTERN, Answer, Text
from knickpoint.server.schemas.traces import TraceAnswer

__all__ = [
    "FormulaAnswer",
    "FormulaTraceAnswer",
    "ShortcutAnswer",
    "ShortcutIdAnswer",
    "ShortcutRequest",
]


_Key = Annotated[
    str,
    Field(max_length=MAXIMUM_KEY_BYTES, pattern=TEXT_PATTERN, json_schema_extra={"pattern": r"^,[^\u0000]*$"}),
]
"""The store checks the comma at the beginning, with an error that says more."""


class FormulaTraceAnswer(Answer):
    """A calculated trace."""

    id: str = Field(description="A trace key, or a formula behind an @.")
    trace: int | None = Field(
        description="Id of the one trace that it was calculated from, null where there are several."
    )
    unit: str = Field(description="Empty where the formula changes the unit.")
    measured: int = Field(description="Number of values before they were thinned out.")
    positions: list[int]
    values: list[float]


class FormulaAnswer(Answer):
    """The traces that a formula gives."""

    line: str
    commits: int = Field(description="Number of commits on the line.")
    total: int = Field(description="Number of traces; `traces` may have fewer.")
    traces: list[FormulaTraceAnswer]


class ShortcutRequest(Answer):
    """A set of traces and formulas to keep under a short id."""

    keys: list[_Key] = Field(default_factory=list, max_length=10_000, description="Trace keys.")
    formulas: list[Annotated[Text, Field(max_length=LONGEST)]] = Field(default_factory=list, max_length=100)


class ShortcutIdAnswer(Answer):
    """A short id."""

    id: str


class ShortcutAnswer(Answer):
    """The traces and formulas that a short id stands for."""

    id: str
    keys: list[str]
    formulas: list[str]
    traces: list[TraceAnswer] = Field(description="The traces of the keys that the repository has.")
