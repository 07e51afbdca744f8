"""Renames of benchmarks: a new trace that continues an old one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

__all__ = ["TraceRename"]


@dataclass(frozen=True, slots=True)
class TraceRename:
    """A rename that a person accepted: the trace ``new`` continues the trace ``old``, both by id."""

    old: int
    new: int
    who: str
    time: datetime
