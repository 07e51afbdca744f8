"""Bisections: their requests and states, and the journal of each: probes, results, log."""

from knickpoint.store.bisections.bisections import Bisections
from knickpoint.store.bisections.journal import Journal
from knickpoint.store.bisections.records import (
    BisectionAnswer,
    BisectionRequest,
    JournalProbe,
    LogLine,
    ProbeValue,
    StoredBisection,
    WaitingResults,
)

__all__ = [
    "BisectionAnswer",
    "BisectionRequest",
    "Bisections",
    "Journal",
    "JournalProbe",
    "LogLine",
    "ProbeValue",
    "StoredBisection",
    "WaitingResults",
]
