"""Results of probes that an earlier scheduler ordered: they serve the jobs that are asked for again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from knickpoint.bisect.job import ProbeJob
from knickpoint.model.bisection import ProbeResult

__all__ = ["LateResult", "LateResults"]

_MOST: Final = 100
"""Results that are kept; the oldest goes first."""


@dataclass(frozen=True, slots=True)
class LateResult:
    """A result, and the digest of the recipe under which it was made."""

    result: ProbeResult
    digest: str

    def serves(self, job: ProbeJob) -> bool:
        """Return whether the probe is that of ``job``: the same id, target, recipe, and a device that the job may have."""
        here = job.device in {"", self.result.device}
        asked = (job.probe, job.target, job.recipe.digest)
        return here and asked == (self.result.probe, self.result.target, self.digest)


@dataclass(slots=True)
class LateResults:
    """Late results by probe, each with the time at which it came, in seconds of the clock of the pool."""

    _kept: dict[str, tuple[float, LateResult]] = field(default_factory=dict)

    def keep(self, late: LateResult, now: float) -> None:
        """Keep a result until its job is asked for again."""
        self._kept.pop(late.result.probe, None)
        self._kept[late.result.probe] = now, late
        while len(self._kept) > _MOST:
            del self._kept[next(iter(self._kept))]

    def take(self, job: ProbeJob) -> ProbeResult | None:
        """Return the result that serves ``job``, once; None without one."""
        kept = self._kept.get(job.probe)
        if kept is None or not kept[1].serves(job):
            return None
        del self._kept[job.probe]
        return replace(kept[1].result, probe=job.probe)

    def forget(self, before: float) -> None:
        """Forget what came earlier than ``before``."""
        self._kept = {probe: kept for probe, kept in self._kept.items() if kept[0] >= before}
