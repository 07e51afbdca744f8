"""The coordinator: a bisection from its request to its answer, with a journal that survives a kill."""

from knickpoint.bisect.coordinator.bisection import (
    Bisection,
    BisectionAnswer,
    BisectionProgress,
    Journal,
    JournalEntry,
    LevelEstimate,
)
from knickpoint.bisect.coordinator.coordinate import coordinate
from knickpoint.bisect.coordinator.file_journal import FileJournal
from knickpoint.bisect.coordinator.narration import outcome_text
from knickpoint.bisect.coordinator.revision_range import RevisionRange, priors_of, range_inside, read_range
from knickpoint.bisect.coordinator.two_repositories import OtherRange, TwoRepositoriesAnswer, coordinate_two

__all__ = [
    "Bisection",
    "BisectionAnswer",
    "BisectionProgress",
    "FileJournal",
    "Journal",
    "JournalEntry",
    "LevelEstimate",
    "OtherRange",
    "RevisionRange",
    "TwoRepositoriesAnswer",
    "coordinate",
    "coordinate_two",
    "outcome_text",
    "priors_of",
    "range_inside",
    "read_range",
]
