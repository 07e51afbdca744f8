"""What a worker measures of its own work; the server makes metrics of it."""

from __future__ import annotations

from typing import Protocol

__all__ = ["NoMeasures", "WorkMeasures"]


class WorkMeasures(Protocol):
    """Receives what a worker measures."""

    def detected(self, method: str, seconds: float, traces: int) -> None:
        """Record a run of an alert with ``method`` over ``traces``."""

    def judged(self, seconds: float) -> None:
        """Record that results were judged so many seconds after they were stored; their findings are there."""


class NoMeasures:
    """Record nothing."""

    def detected(self, method: str, seconds: float, traces: int) -> None:
        """Do nothing."""

    def judged(self, seconds: float) -> None:
        """Do nothing."""
