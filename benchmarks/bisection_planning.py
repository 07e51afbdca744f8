"""Time the planning of one batch: at the start, after the ends, and late in a search."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from knickpoint.bisect.search import plan
from knickpoint.bisect.search.problem import Level, Observation, Problem
from knickpoint.model.bisection import ProbePurpose
from stopwatch import fastest

__all__ = ["seconds_to_plan"]

_REPEATS: Final = 7


def seconds_to_plan(candidates: int, devices: int) -> Iterator[tuple[str, float]]:
    """Yield what is planned and the seconds of the fastest of some calls, for values and for passing and failing."""
    random = np.random.default_rng(1)
    culprit = candidates // 3
    names = [f"d{number}" for number in range(devices)]
    values = Problem(candidates, before=Level(0, 1, 40), after=Level(2, 1, 40), movement=1)
    for kind, problem in (("values", values), ("pass/fail", Problem(candidates, error=0.1))):
        noise = iter(random.standard_normal(200).tolist())
        ends = [_observe(problem, place, names[0], culprit, next(noise), end=True) for place in (0, candidates)]
        near = np.clip(culprit + np.arange(-60, 60) * 5, 0, candidates).tolist()
        late = [_observe(problem, place, names[k % devices], culprit, next(noise)) for k, place in enumerate(near)]
        for when, observations in (("after the ends", ends), ("after 122 probes", ends + late)):
            seconds, _ = fastest(partial(plan, problem, observations, (), names), _REPEATS)
            yield f"{kind}, {when}", seconds


def _observe(
    problem: Problem, place: int, device: str, culprit: int, noise: float, *, end: bool = False
) -> Observation:
    purpose = ProbePurpose.END if end else ProbePurpose.SEARCH
    if problem.error is None:
        return Observation(place, device, 2.0 * (place >= culprit) + noise, purpose=purpose)
    return Observation(place, device, passed=place < culprit, purpose=purpose)
