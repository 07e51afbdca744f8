"""Explain why there is, or is not, a finding in a trace: every candidate, every check, every filter."""

from knickpoint.watch.explanation.parts import (
    AlertExplanation,
    ExplainedBisection,
    ExplainedCandidate,
    ExplainedChange,
    ExplainedFlipping,
    ExplainedQuarantine,
    ExplainedStep,
    Explanation,
)
from knickpoint.watch.explanation.replay import explain_trace, find_trace_in

__all__ = [
    "AlertExplanation",
    "ExplainedBisection",
    "ExplainedCandidate",
    "ExplainedChange",
    "ExplainedFlipping",
    "ExplainedQuarantine",
    "ExplainedStep",
    "Explanation",
    "explain_trace",
    "find_trace_in",
]
