"""The runner: one probe in a worktree, from the checkout to the values in the results."""

from knickpoint.bisect.runner.machine_slots import locked, try_lock
from knickpoint.bisect.runner.probe import SKIP_CODE, run_probe
from knickpoint.bisect.runner.workspace import Workspace, Worktree

__all__ = ["SKIP_CODE", "Workspace", "Worktree", "locked", "run_probe", "try_lock"]
