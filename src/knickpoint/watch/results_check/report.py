"""The verdicts of a check: on each trace, and on all of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from knickpoint.model.frame import Trace
from knickpoint.model.judgement import Judgement
from knickpoint.model.step import Verdict
from knickpoint.model.unit import Better

__all__ = ["CheckReport", "CheckedTrace"]


@dataclass(frozen=True, slots=True)
class CheckedTrace:
    """The verdict on one trace.

    ``values`` has one value a run, in ``unit``, the unit of the history where there is one; none where the benchmark
    failed, was skipped or vanished. ``trace`` is None where the history does not know the key. ``failed`` has the
    messages of failed runs. ``better`` is the direction that the verdict took, and ``margin`` the half-width of the 95 %
    interval of the change, nan without one. ``past`` has the newest values of the history, oldest first, and ``decides`` is
    false for a statistic beside the main value.
    """

    key: str
    trace: Trace | None
    unit: str
    values: tuple[float, ...]
    judgement: Judgement
    failed: tuple[str, ...] = ()
    better: Better = Better.UNKNOWN
    margin: float = math.nan
    past: tuple[float, ...] = ()
    decides: bool = True

    @property
    def vanished(self) -> bool:
        """Whether the base has the trace and the new results lack it."""
        return not self.values and self.judgement.verdict is Verdict.REGRESSED and not self.has_failed

    @property
    def has_failed(self) -> bool:
        """Whether the benchmark failed in any run."""
        return bool(self.failed)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The verdicts on all traces of the new results, and on those that vanished, by key.

    ``counts`` are those of the traces that decide. ``false_positives`` is the share of unchanged commits at which any of
    them regresses by its values, set from ``replayed`` past commits.

    ``base`` is the slot of the last commit that counted as history, None where there is no history at all. ``measured``
    counts the commits of that history at which a benchmark of the new results was measured, and ``newest`` is the slot
    of the last one, None without any. ``left_out`` counts the traces of other benchmarks that the base has: where the
    new results hold a single benchmark, the others did not vanish; it may have been measured alone on purpose. ``by_samples``
    says that samples of the base stand for its runs, which are too few.
    """

    line: str
    base: int | None
    traces: tuple[CheckedTrace, ...]
    counts: Mapping[Verdict, int] = field(default_factory=dict)
    measured: int = 0
    newest: int | None = None
    left_out: int = 0
    false_positives: float = 0.01
    replayed: int = 0
    by_samples: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict on the whole: regressed if any trace is, no data if none could be judged."""
        worst = (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.UNCHANGED, Verdict.UNSTABLE)
        return next((verdict for verdict in worst if self.counts.get(verdict)), Verdict.NO_DATA)
