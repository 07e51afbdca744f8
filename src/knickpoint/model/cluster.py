"""Clusters: traces of one shape, and the step of that shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.step import Check, Step

__all__ = ["FINGERPRINT", "Cluster", "ParamCount"]

FINGERPRINT = 20
"""Number of members nearest to the centroid that identify a cluster."""


@dataclass(frozen=True, slots=True)
class ParamCount:
    """The number of members of a cluster with ``name=value``; ``percent`` is of all members, rounded down."""

    name: str
    value: str
    count: int
    percent: int


@dataclass(frozen=True, eq=False)
class Cluster:
    """Traces whose normalised values look alike.

    Attributes:
        centroid: mean of the normalised members, one value a commit, in standard deviations, float32.
        members: rows of the frame, nearest to the centroid first.
        distances: Euclidean distance of each member to the centroid, along ``members``.
        keys: trace keys along ``members``, empty if the frame has no keys.
        params: how common each key=value is among the members, the most common names first.
        step: the step of the centroid, None if it is too short to have one; sizes are in standard deviations.
        regression: step size / error of the fit, positive when the level goes up; 0 without a step.
        interesting: whether the cluster passed every check.
        evidence: the checks.
    """

    centroid: NDArray[np.float32]
    members: tuple[int, ...]
    distances: tuple[float, ...]
    keys: tuple[str, ...]
    params: tuple[ParamCount, ...]
    step: Step | None
    regression: float
    interesting: bool
    evidence: tuple[Check, ...]

    @property
    def fingerprint(self) -> tuple[str, ...]:
        """Keys of the members nearest to the centroid, by which later runs recognise the cluster."""
        return self.keys[:FINGERPRINT]

    @property
    def size(self) -> int:
        """Number of members."""
        return len(self.members)
