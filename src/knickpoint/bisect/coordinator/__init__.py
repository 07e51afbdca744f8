"""The coordinator: a bisection from its request to its answer, with a journal that survives a kill."""

from knickpoint.bisect.coordinator.bisection import (
    Bisection,
    BisectionAnswer,
    BisectionProgress,
    JournalEntry,
    LevelEstimate,
)
from knickpoint.bisect.coordinator.journal import Journal

__all__ = [
    "Bisection",
    "BisectionAnswer",
    "BisectionProgress",
    "Journal",
    "JournalEntry",
    "LevelEstimate",
]
