"""The verdict on one benchmark, and those on all benchmarks of new results: what every comparison says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Final, Self
from urllib.parse import quote

from knickpoint.model.machine import MachineDifference
from knickpoint.model.params import decode_key
from knickpoint.model.pull_request_check import Attribution, MovedEnvironment
from knickpoint.model.quantity_text import trace_name
from knickpoint.model.step import Check, StableRegion, Verdict
from knickpoint.model.unit_names import Better

# The verdict on new samples, compared with the level that they should belong to.


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


class ResultKind(Enum):
    """What happened to a benchmark, in the order in which it matters."""

    FAILED = "failed"
    VANISHED = "vanished"
    REGRESSED = "regressed"
    UNSTABLE = "unstable"
    NO_DATA = "no data"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"


_WORST_FIRST: Final = (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.UNSTABLE, Verdict.UNCHANGED, Verdict.NO_DATA)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A commit of the branch accepts that ``benchmark`` is worse, for a reason that its author gives."""

    benchmark: str
    reason: str
    commit: str
    author: str


@dataclass(frozen=True, slots=True)
class JudgedBenchmark:
    """The verdict on one benchmark, as each way to compare two sides gives it. Unknown numbers are nan.

    Attributes:
        trace: its trace key.
        unit: the unit of the levels and values.
        better: the direction that the verdict took.
        before: the level of the base.
        after: the level of the new side.
        relative_size: the change over |before|; ``low`` and ``high`` are its 95 % interval.
        detectable: the smallest relative change that would have been found in four cases of five.
        samples: the new values, or the rounds, that the verdict rests on.
        conditional: it rests on too little, or on another machine: measure again to confirm.
        together: it moved as most benchmarks did, which says nothing of its own.
        attribution: what moved it instead of the patch, by earlier checks of pull requests.
        decides: false for a statistic beside the main value, and for a canary.
        failed: it failed on the new side.
        vanished: the base has it, and the new side does not.
        settled: false where more rounds of a comparison could change the verdict.
        trace_id: the id of the trace, None where the history does not know it.
        past: the newest values of the base, oldest first.
        new: the values of the new side.
        canary: no commit should change it.
        accepted: the commit that accepts that it is worse.
        label: the params that tell it from the other benchmarks, for people.
        dashboard: the address of a dashboard that has the trace, "" for none.
    """

    trace: str
    unit: str
    verdict: Verdict
    reason: str
    better: Better = Better.UNKNOWN
    before: float = math.nan
    after: float = math.nan
    relative_size: float = math.nan
    low: float = math.nan
    high: float = math.nan
    detectable: float = math.nan
    p_value: float = math.nan
    samples: int = 0
    conditional: bool = False
    together: bool = False
    attribution: Attribution = Attribution.NONE
    decides: bool = True
    failed: bool = False
    vanished: bool = False
    settled: bool = True
    trace_id: int | None = None
    past: tuple[float, ...] = ()
    new: tuple[float, ...] = ()
    canary: bool = False
    accepted: Acceptance | None = None
    label: str = ""
    dashboard: str = ""

    @classmethod
    def of(
        cls,
        judgement: Judgement,
        *,
        trace: str,
        unit: str,
        better: Better,
        margin: float,
        trace_id: int | None,
        past: tuple[float, ...],
        new: tuple[float, ...],
        together: bool = False,
    ) -> Self:
        """Return the verdict of ``judgement``.

        ``margin`` is the half-width of the 95 % interval of the change, nan without one.
        """
        centre = abs(judgement.centre)
        share = margin / centre if centre else math.nan
        return cls(
            trace,
            unit,
            judgement.verdict,
            judgement.reason,
            better,
            before=judgement.centre,
            after=judgement.level,
            relative_size=judgement.relative_size,
            low=judgement.relative_size - share,
            high=judgement.relative_size + share,
            detectable=judgement.detectable_relative,
            p_value=judgement.p_value,
            samples=judgement.samples,
            conditional=judgement.conditional,
            together=together,
            trace_id=trace_id,
            past=past,
            new=new,
        )

    @property
    def params(self) -> Mapping[str, str]:
        """The params of the trace."""
        return decode_key(self.trace)

    @property
    def benchmark(self) -> str:
        """The name of the benchmark."""
        return trace_name(self.params)[0]

    @property
    def kind(self) -> ResultKind:
        """What happened to it."""
        if self.verdict is Verdict.REGRESSED and (self.failed or self.vanished):
            return ResultKind.FAILED if self.failed else ResultKind.VANISHED
        return ResultKind(self.verdict.value)

    @property
    def undecided(self) -> bool:
        """Whether it is to be measured again, because it moved as most benchmarks did."""
        return self.together and self.verdict is Verdict.UNSTABLE and self.attribution is Attribution.NONE

    @property
    def order(self) -> tuple[int, float, str]:
        """Sort by kind, the worst first, then by the size of the change."""
        size = abs(self.relative_size)
        return list(ResultKind).index(self.kind), 0.0 if math.isnan(size) else -size, self.trace

    @property
    def changed_first(self) -> tuple[int, float]:
        """Sort by verdict, what changed first, then by the size of the change."""
        size = abs(self.relative_size)
        return _WORST_FIRST.index(self.verdict), -size if math.isfinite(size) else -math.inf

    @property
    def page(self) -> str:
        """The address of the page of the trace, "" for none."""
        return f"{self.dashboard}/trace/{self.trace_id}" if self.dashboard else ""

    @property
    def picture(self) -> str:
        """The address of its plot, "" for none."""
        return f"{self.dashboard}/api/v1/traces/{quote(self.trace, safe='')}/plot.png" if self.dashboard else ""


@dataclass(frozen=True, slots=True)
class CommonMove:
    """What most benchmarks do together on the new side, and how its machine differs from that of the base.

    Of ``judged`` benchmarks whose values depend on the speed of the machine, ``moved`` moved together, 0 for none: by
    ``relative_size`` in the middle, from ``low`` to ``high``, upwards for slower. ``machine`` names the facts of the
    machine that differ, and ``software`` those that a patch may have brought itself; ``changed`` has both, whether
    anything moved or not. On an ``unlike`` machine the common move is attributed to it; elsewhere it is to be measured
    again.
    """

    judged: int = 0
    moved: int = 0
    relative_size: float = math.nan
    low: float = math.nan
    high: float = math.nan
    unlike: bool = False
    machine: str = ""
    software: str = ""
    changed: str = ""

    @property
    def again(self) -> bool:
        """Whether it is to be measured again: a patch may have moved them."""
        return self.moved > 0 and not self.unlike

    def on(self, difference: MachineDifference) -> Self:
        """Return it with the differences of the machines, as far as they explain it."""
        software = difference.software if self.moved or self.unlike else ""
        changed = ", ".join(filter(None, (difference.machine, difference.software)))
        return replace(self, machine=difference.machine if self.unlike else "", software=software, changed=changed)


@dataclass(frozen=True)
class JudgedResults:
    """The verdicts on all benchmarks of new results, and on those that vanished.

    ``false_positives`` is the share of unchanged commits at which any benchmark that decides regresses by its values,
    set from ``replayed`` past commits.

    Of a history, ``line`` is the line, ``base`` the slot of the last commit that counted, None where there is none.
    ``measured`` counts the commits at which a benchmark of the new results was measured, and ``newest`` is the slot of
    the last one, None without any. ``left_out`` counts the traces of other benchmarks that the base has: where the new
    results hold a single benchmark, the others did not vanish; it may have been measured alone on purpose.
    ``by_samples`` says that samples of the base stand for its runs, which are too few. ``move`` is what the benchmarks
    that decide do together. ``environment`` is a moved one, and ``rotating`` counts the benchmarks that one check
    of the same commit flags and another one does not.
    """

    benchmarks: tuple[JudgedBenchmark, ...]
    false_positives: float = 0.01
    replayed: int = 0
    line: str = ""
    base: int | None = None
    measured: int = 0
    newest: int | None = None
    left_out: int = 0
    by_samples: bool = False
    move: CommonMove = CommonMove()
    environment: MovedEnvironment | None = None
    rotating: int = 0

    @cached_property
    def counts(self) -> Mapping[Verdict, int]:
        """How many of the benchmarks that decide have each verdict."""
        return Counter(each.verdict for each in self.benchmarks if each.decides)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the whole: regressed if any benchmark is, no data if none could be judged."""
        worst = (Verdict.REGRESSED, Verdict.IMPROVED, Verdict.UNCHANGED, Verdict.UNSTABLE)
        return next((verdict for verdict in worst if self.counts.get(verdict)), Verdict.NO_DATA)
