"""The verdict on new samples against the level they should belong to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from knickpoint.model.step import Check, StableRegion, Verdict

__all__ = ["Judgement"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """Say what new samples are, and how small a change could have been seen.

    ``conditional`` is true where a finding rests on a single sample: measure again before acting on it. ``region``
    is the level that was compared with, None where there was none. ``level`` is the median of the ``samples`` new
    ones; ``size`` is how far it lies from ``centre``, the robust level of the region, and ``relative_size`` that over
    |centre|. A level within ``low`` to ``high`` is what the noise of the region does. ``detectable`` is the smallest
    effect that this many samples would show in four cases of five, in the unit of the values; ``detectable_relative``
    is that over |centre|. Numbers that cannot be had are ``nan``. ``reason`` says in plain words what decided.
    """

    verdict: Verdict
    conditional: bool
    reason: str
    region: StableRegion | None
    samples: int
    level: float
    centre: float
    size: float
    relative_size: float
    low: float
    high: float
    detectable: float
    detectable_relative: float
    p_value: float
    evidence: tuple[Check, ...]

    @classmethod
    def without_numbers(
        cls,
        verdict: Verdict,
        reason: str,
        *,
        region: StableRegion | None = None,
        samples: int = 0,
        evidence: tuple[Check, ...] = (),
    ) -> Self:
        """Return a verdict that rests on no comparison of levels: all of its numbers are ``nan``."""
        unknown = math.nan
        return cls(
            verdict=verdict,
            conditional=False,
            reason=reason,
            region=region,
            samples=samples,
            level=unknown,
            centre=unknown,
            size=unknown,
            relative_size=unknown,
            low=unknown,
            high=unknown,
            detectable=unknown,
            detectable_relative=unknown,
            p_value=unknown,
            evidence=evidence,
        )
