"""Detect in a shard: the values of some traces, and how to judge them. It can be sent to another process or machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_steps_without_evidence
from knickpoint.model.settlement import Settlement, SettleRule
from knickpoint.model.step import Step
from knickpoint.watch.detection.settlement import settle_steps
from knickpoint.watch.detection.view_cache import ViewCache

__all__ = ["SettledSteps", "Shard", "detect_shard"]


@dataclass(frozen=True, slots=True)
class Shard:
    """Values of some traces, and how to judge them; it can be sent to another process."""

    values: NDArray[np.floating[Any]]
    method: str
    parameters: Mapping[str, float | int | str | bool]
    threads: int | None
    rule: SettleRule


@dataclass(frozen=True, slots=True)
class SettledSteps:
    """The steps of one trace, and for each of them whether it is settled."""

    steps: Sequence[Step]
    settlements: Sequence[Settlement]


def detect_shard(shard: Shard, cache: ViewCache | None = None) -> list[SettledSteps]:
    """Return the steps of each trace of ``shard``, and which of them are settled; a ``cache`` saves repeated detections."""
    if not shard.values.shape[1]:
        return [SettledSteps((), ()) for _ in shard.values]

    def detect(values: NDArray[np.floating[Any]]) -> list[list[Step]]:
        return find_steps_without_evidence(values, shard.method, shard.parameters, threads=shard.threads)

    steps = detect(shard.values)
    views = cache.of(shard.method, shard.parameters) if cache is not None else None
    settlements = settle_steps(shard.values, steps, detect, shard.rule, views)
    return [SettledSteps(*pair) for pair in zip(steps, settlements, strict=True)]
