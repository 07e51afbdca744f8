"""The verdict about a merge: two sides are judged, commits accept, canaries doubt, and the rest decides.

``judging`` has the ways to two sides: the history of a line, other files, two commits of the store, or rounds on one
machine. All of them end in ``decision``, and that in a ``report``, which the commands, the API and all forms of reports
read.
"""

from knickpoint.gate.decision import GateOptions
from knickpoint.gate.judging import judge_commits, judge_files, judge_results, judge_rounds, judge_upload, known_noise
from knickpoint.gate.report import GateReport, Sides, Standing

__all__ = [
    "GateOptions",
    "GateReport",
    "Sides",
    "Standing",
    "judge_commits",
    "judge_files",
    "judge_results",
    "judge_rounds",
    "judge_upload",
    "known_noise",
]
