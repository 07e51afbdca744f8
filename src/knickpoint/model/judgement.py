"""The verdict on new samples, compared with the level that they should belong to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Self

from knickpoint.model.step import Check, StableRegion, Verdict

__all__ = ["HOPELESS", "Judgement", "NewestVerdict"]

HOPELESS: Final = 10.0
"""Share of the level from which on a detectable change is not stated as a number: the noise hides everything."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on new samples, and the smallest change that they could have shown.

    ``conditional`` is true if the verdict rests on a single sample: measure again before acting on it. ``region`` is
    the level of the comparison, None without one. ``level`` is the median of the ``samples`` new
    ones; ``size`` is how far it lies from ``centre``, the robust level of the region, and ``relative_size`` that over
    |centre|. A level from ``low`` to ``high`` is within the noise of the region. ``detectable`` is the smallest
    effect that this many samples would show in four cases of five, in the unit of the values; ``detectable_relative``
    is that over |centre|. Unknown numbers are ``nan``. ``reason`` is the reason of the verdict in plain words.
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
        """Return a verdict without a comparison of levels; all its numbers are ``nan``."""
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


@dataclass(frozen=True, slots=True)
class NewestVerdict:
    """The verdict on the newest value of a trace: REGRESSED or IMPROVED, and always provisional.

    ``value`` at the commit ``slot`` lies outside of ``low`` to ``high``, the noise of the region around ``centre``; the
    other numbers are those of :class:`Judgement`.
    """

    trace_id: int
    slot: int
    verdict: Verdict
    value: float
    centre: float
    low: float
    high: float
    relative_size: float
    p_value: float
