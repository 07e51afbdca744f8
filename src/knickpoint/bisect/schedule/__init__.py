"""The schedule: which commits are measured as they arrive, and which are measured later to narrow a finding."""

from knickpoint.bisect.schedule.filling import FillRange, useful_commits
from knickpoint.bisect.schedule.policy import Waiting, due_commits, waiting_commits

__all__ = ["FillRange", "Waiting", "due_commits", "useful_commits", "waiting_commits"]
