"""What checks of pull requests found, kept to tell a moved environment and noise from what a patch does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Attribution(Enum):
    """What a move is attributed to instead of the patch, if anything."""

    NONE = ""
    ENVIRONMENT = "moved environment"
    NOISE = "noise"


@dataclass(frozen=True, slots=True)
class PullRequestCheck:
    """What one check of a pull request measured.

    Attributes:
        head: hash of the measured commit.
        branch: its branch, "" if unknown.
        commits: a digest of author and subject of each commit beyond the base; rebasing does not change it.
        time: when it was judged.
        traces: ids of the traces that have a change.
        sizes: their changes, as logarithms of ratios.
        flagged: which of them changed by their own verdict, or together with most.
        environment: the sentence about the moved environment that it showed, "" for none.
    """

    head: str
    branch: str
    commits: frozenset[str]
    time: datetime
    traces: NDArray[np.int64]
    sizes: NDArray[np.float64]
    flagged: NDArray[np.bool_]
    environment: str = ""

    @property
    def name(self) -> str:
        """Its branch, or else its commit."""
        return self.branch or self.head[:12]

    def shares_commits(self, other: PullRequestCheck) -> bool:
        """Whether both are of one pull request, or of two that share a commit beyond their base."""
        same = self.head == other.head or bool(self.branch and self.branch == other.branch)
        return same or not self.commits.isdisjoint(other.commits)


@dataclass(frozen=True, slots=True)
class MovedEnvironment:
    """A move that several pull requests without a common commit show alike, which is no patch's doing.

    ``moved`` of ``judged`` benchmarks moved by ``low`` to ``high``, upwards for slower, in the ``pull_requests`` too,
    the first of which was judged at ``since``. ``changed`` names the facts of the machine that differ from the history,
    "" for none.
    """

    moved: int
    judged: int
    low: float
    high: float
    pull_requests: tuple[str, ...]
    since: datetime
    changed: str = ""
