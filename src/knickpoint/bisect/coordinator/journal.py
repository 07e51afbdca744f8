"""The journal: what a coordinator writes down before and after each probe, so that a kill loses and repeats nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from knickpoint.bisect.coordinator.bisection import BisectionProgress, JournalEntry
from knickpoint.bisect.search.problem import PlannedProbe
from knickpoint.model.bisection import ProbeResult, Target

__all__ = ["Journal"]


class Journal(Protocol):
    """Keeps the probes of one bisection.

    A method returns when what it writes would survive a kill. It may raise ``StoreError`` where another process took the
    bisection over: the coordinator cancels its probes then, and lets the error pass.
    """

    def load(self) -> Sequence[JournalEntry]:
        """Return the probes in the order in which they began, without those that were dropped."""

    def begin(self, probe: str, planned: PlannedProbe, target: Target) -> None:
        """Note a probe before it is submitted."""

    def record(self, result: ProbeResult) -> None:
        """Keep the result of a probe; one that is there already stays."""

    def drop(self, probe: str) -> None:
        """Note that a probe was cancelled, since its answer does not matter any more."""

    def log(self, line: str) -> None:
        """Keep a line for people."""

    def state(self, progress: BisectionProgress) -> None:
        """Show where the bisection stands, after each change."""
